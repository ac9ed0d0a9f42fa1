// Newton's method ends at the minimum, from every state.
#include <gtest/gtest.h>

#include <random>

#include "costate/io/model/load_model.h"
#include "tests/rigid/contact/states.h"
#include "tests/rigid/one_world.h"

namespace costate::rigid {
namespace {

// |M a - tau - J' f| / (|M a| + |tau|) at the solution.
double residual(const test::OneWorld& w) {
  std::vector<double> g(w.tree.dofs.size());
  multiply_mass(w.tree, w.c.mass.data(), w.c.a.data(), g.data());
  double scale = 0, square = 0;
  for (double x : g) scale += x * x;
  const auto force = w.constraint_forces();
  for (std::size_t i = 0; i < g.size(); ++i) {
    scale += w.d.tau[i] * w.d.tau[i];
    g[i] -= w.d.tau[i] + force[i];
    square += g[i] * g[i];
  }
  return std::sqrt(square / scale);
}

void expect_minimum(const Model& m, int states) {
  test::OneWorld w(m);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> q(static_cast<std::size_t>(m.nq)), v(static_cast<std::size_t>(m.nv)),
      act(static_cast<std::size_t>(m.na)), u(static_cast<std::size_t>(m.nu()));
  double worst = 0;
  int solved = 0;
  for (int s = 0; s < states; ++s) {
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = m.qpos0[i] + 0.5 * uniform(random);
    for (const Joint& j : m.joints) {
      if (j.type == JointType::free) q[static_cast<std::size_t>(j.qpos) + 2] = 0.3 + 0.3 * uniform(random);
    }
    for (auto* values : {&v, &act, &u}) {
      for (double& x : *values) x = 2 * uniform(random);
    }
    w.accelerate({q.data(), v.data(), act.data(), u.data(), nullptr});
    if (!w.c.in_play) continue;
    ++solved;
    worst = std::max(worst, residual(w));
  }
  EXPECT_GT(solved, states / 2);
  EXPECT_LT(worst, 1e-11);
}

// Its joints have dry friction: many kinks on the way.
TEST(ConstraintSolver, ReachesTheMinimumForTheQuadruped) {
  expect_minimum(load(COSTATE_SCENES "/quadruped.xml"), 8000);
}
TEST(ConstraintSolver, ReachesTheMinimumForTheHumanoid) {
  expect_minimum(test::contact_reference("humanoid").model, 2000);
}
TEST(ConstraintSolver, ReachesTheMinimumOnPyramids) {
  expect_minimum(test::contact_reference("zoo").model, 3000);
}
TEST(ConstraintSolver, ReachesTheMinimumOnEllipses) {
  expect_minimum(test::contact_reference("zoo_elliptic").model, 3000);
}

}  // namespace
}  // namespace costate::rigid
