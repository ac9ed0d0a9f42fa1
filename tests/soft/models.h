// A small body of masses and springs that several tests share.
#pragma once

#include <vector>

#include "costate/soft/mass_spring.h"
#include "costate/system/rollout.h"

namespace costate::soft::test {

// A tetrahedron (2-D: a triangle and a fourth mass above) on a floor, between its feet a muscle, behind it a
// wall that it does not reach.
inline MassSpringModel tetrapod(int dimensions, double friction, Contact contact = Contact::split) {
  const bool space = dimensions == 3;
  const std::vector<double> up = space ? std::vector<double>{0, 0, 1} : std::vector<double>{0, 1};
  const std::vector<double> right = space ? std::vector<double>{1, 0, 0} : std::vector<double>{1, 0};
  MassSpringModel m{
      .dimensions = dimensions,
      .masses = {1, 1.2, 0.9, 0.5},
      .gravity = up,
      .drag = 0.3,
      .planes = {{.normal = up, .friction = friction}, {.normal = right, .offset = -5, .friction = 0.2}},
      .contact = contact,
      .dt = 5e-3};
  for (double& g : m.gravity) g *= -10;
  int s = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b, ++s)
      m.springs.push_back({.a = a,
                           .b = b,
                           .rest_length = 1 + 0.03 * s,
                           .stiffness = 20.0 + s,
                           .damping = 0.2,
                           .muscle = s % 3 - 1,
                           .strength = s % 3 == 0 ? 0 : 0.15 + 0.01 * s});
  }
  return m;
}

// Three feet just below the floor, where the first step lifts them to it whatever moves them a little; they
// slide sideways.
template <class Real>
Arguments<Real> standing(const Rollout<Real>& rollout, int dimensions, double sideways) {
  const double plane[] = {0, -0.02, 1, -0.02, 2, -0.02, 1.1, 0.9};
  const double space[] = {0, 0, -0.02, 1, 0, -0.02, 0.5, 0.87, -0.02, 0.5, 0.3, 0.8};
  Arguments<Real> a = rollout.arguments();
  const int n = 4 * dimensions;
  for (int i = 0; i < n; ++i) a.x0[std::size_t(i)] = static_cast<Real>(dimensions == 2 ? plane[i] : space[i]);
  for (int i = 0; i < 4; ++i) {
    a.x0[std::size_t(n + i * dimensions)] = static_cast<Real>(sideways);
    if (dimensions == 3) a.x0[std::size_t(n + i * dimensions + 1)] = static_cast<Real>(0.5 * sideways);
  }
  for (std::size_t k = 0; k < a.controls.size(); ++k)
    a.controls[k] = static_cast<Real>(0.6 * std::sin(1.3 * double(k)));
  return a;
}

}  // namespace costate::soft::test
