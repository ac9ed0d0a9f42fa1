// Two bodies in states in which anything may begin and end to touch.
#pragma once

#include <vector>

#include "costate/core/philox.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/spec.h"
#include "costate/system/rollout.h"

namespace costate::rigid::test {

// A ball and a brick over a floor, a finger's breadth apart. No two geoms have the same friction: the larger
// one counts.
inline Model over_a_floor(Integrator integrator) {
  Spec spec("ball and brick");
  spec.options.integrator = integrator;
  spec.options.timestep = 0.004;
  spec.world.plane("floor");
  spec.world.last_geom().friction = {0.3, 0.01, 0.002};
  auto& ball = spec.world.body("ball", {0, 0, 0.1}).free().sphere("ball", {0, 0, 0}, 0.1);
  ball.last_geom().friction = {0.4, 0.02, 0.001};
  auto& brick =
      spec.world.body("brick", {0.22, 0.01, 0.06}).free().box("brick", {0, 0, 0}, {0.1, 0.08, 0.06});
  brick.last_geom().friction = {0.5, 0.03, 0.004};
  return compile(spec);
}

// Near the floor and into it, tilted, sliding and spinning; other contacts are made with every seed.
template <class Real>
Arguments<Real> tumbling(const Model& model, const Rollout<Real>& rollout, unsigned seed) {
  Arguments<Real> at = rollout.arguments();
  std::vector<double> x = initial_state(model);
  unsigned drawn = 0;
  const auto random = [&](double scale) { return scale * (2 * uniform(seed, 0, drawn++) - 1); };
  for (std::size_t body = 0; body < 2; ++body) {
    double* q = x.data() + 7 * body;
    double* v = x.data() + 14 + 6 * body;
    q[2] += random(2e-3);
    for (int k = 4; k < 7; ++k) q[k] = random(0.02);
    for (int k = 0; k < 3; ++k) v[k] = random(0.5), v[k + 3] = random(2);
  }
  at.x0.assign(x.begin(), x.end());
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = static_cast<Real>(random(0.2));
  return at;
}

}  // namespace costate::rigid::test
