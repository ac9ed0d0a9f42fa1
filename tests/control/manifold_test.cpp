// Quaternions: the state space, steps linearised in its tangents, their curvature, and plans on it.
#include <gtest/gtest.h>

#include <cmath>

#include "costate/control/plan/ddp.h"
#include "costate/rigid/compile/complete.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/program/program_objective.h"
#include "tests/control/stencil.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"

namespace costate::control {
namespace {

using costate::test::expect_error;
using test::stencil;

TEST(StateSpace, MoveAndDifferenceAreInverse) {
  const StateSpace space(9, {1, 5});
  EXPECT_EQ(space.tangents(), 7);
  const std::vector<double> x = {2, 0.5, 0.5, -0.5, 0.5, 1, 0, 0, 0},
                            d = {0.1, 0.4, -0.3, 0.2, 1.2, 0.1, -0.8};
  std::vector<double> y(9), back(7);
  space.move(x.data(), d.data(), y.data());
  space.difference(y.data(), x.data(), back.data());
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(back[i], d[i], 1e-15);
}

TEST(StateSpace, RatesAndTangentsAreInverseAndHaveTheirTransposes) {
  const StateSpace space(9, {1, 5});
  const std::vector<double> x = {2, 0.5, 0.5, -0.5, 0.5, 1, 0, 0, 0};
  std::vector<double> d, w, rate(9), back(7), pulled(7), lifted(9);
  for (int i = 0; i < 7; ++i) d.push_back(std::sin(1.0 + i));
  for (int i = 0; i < 9; ++i) w.push_back(std::cos(2.0 + i));
  space.rate_of(x.data(), d.data(), rate.data());
  space.tangent_of(x.data(), rate.data(), back.data());
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(back[i], d[i], 1e-15);
  const auto dot = [](const auto& a, const auto& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  space.pull(x.data(), w.data(), pulled.data());
  EXPECT_NEAR(dot(pulled, d), dot(w, rate), 1e-15);
  space.tangent_of(x.data(), w.data(), back.data());
  space.lift(x.data(), d.data(), lifted.data());
  EXPECT_NEAR(dot(back, d), dot(w, lifted), 1e-14);
}

TEST(StateSpace, RefusesQuaternionsThatOverlapOrDoNotFit) {
  expect_error([] { return StateSpace(5, {2}); }, "a quaternion at state 2, but there are 5 states");
  expect_error([] { return StateSpace(9, {0, 3}); }, "a quaternion at state 3");
}

// Two ways to the same Jacobian: tangents of the system with directions as lanes, and transposes of the
// acceleration with steps as lanes.
TEST(Plant, LinearisesARigidModelAsItsStepJacobianDoes) {
  const rigid::Model model = rigid::test::zoo(rigid::Integrator::euler);
  const rigid::SystemOptions options{.onset = rigid::Onset::none};
  const auto system = rigid::make_system<double>(model, options);
  const Parameters<double> parameters(system->signature());
  const Plant plant(system, parameters, space_of(model));
  EXPECT_EQ(plant.tangents(), 2 * model.nv + model.na);
  const int n = plant.tangents(), m = plant.controls();
  std::vector<double> x = rigid::test::random_state(model, 3), u(std::size_t(m), 0.2), A(std::size_t(n * n)),
                      B(std::size_t(n * m)), A2 = A, B2 = B;
  auto block = plant.take();
  plant.linearise(0, x.data(), u.data(), A.data(), B.data(), *block);
  rigid_jacobians(model, options, parameters)(1, x.data(), u.data(), A2.data(), B2.data());
  for (std::size_t i = 0; i < A.size(); ++i) EXPECT_NEAR(A[i], A2[i], 1e-10) << i;
  for (std::size_t i = 0; i < B.size(); ++i) EXPECT_NEAR(B[i], B2[i], 1e-10) << i;
  plant.give_back(std::move(block));
}

// A free body with a principal inertia per axis; forces and torques are the controls.
rigid::Model spacecraft() {
  rigid::Model m;
  m.options.gravity = {0, 0, 0};
  m.options.timestep = 0.05;
  m.bodies.resize(2);
  m.bodies[1].parent = 0;
  m.bodies[1].mass = 2;
  m.bodies[1].inertia = {0.5, 0.8, 1.1, 0, 0, 0};
  m.joints.resize(1);
  m.joints[0].body = 1;
  m.joints[0].type = rigid::JointType::free;
  rigid::complete(m);
  return m;
}

// Along random directions d: second derivative of <lambda, step(x (+) d, u + e) (-) step(x, u)>.
TEST(Plant, CurvatureOnQuaternionsMatchesDifferences) {
  const rigid::Model model = spacecraft();
  const auto system = rigid::make_system<double>(model, {.applied_forces = true});
  const Plant plant(system, Parameters<double>(system->signature()), space_of(model));
  const int n = plant.tangents(), m = plant.controls();
  std::vector<double> x = {0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5, 0.3, -0.2, 0.1, 0.9, -1.1, 0.7}, u, lambda,
                      y(13), d, e;
  for (int i = 0; i < m; ++i) u.push_back(std::sin(3.0 + i)), e.push_back(std::cos(i));
  for (int i = 0; i < n; ++i) lambda.push_back(std::cos(1.0 + i)), d.push_back(std::sin(5.0 + i));
  auto block = plant.take();
  plant.step(0, x.data(), u.data(), y.data(), *block);
  std::vector<double> Q(std::size_t(n * n)), S(std::size_t(m * n)), R(std::size_t(m * m));
  plant.add_curvature(0, x.data(), u.data(), y.data(), lambda.data(), Q.data(), S.data(), R.data(), *block);
  double curvature = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      curvature += d[std::size_t(i)] * Q[std::size_t(i * n + j)] * d[std::size_t(j)];
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j)
      curvature += 2 * e[std::size_t(i)] * S[std::size_t(i * n + j)] * d[std::size_t(j)];
    for (int j = 0; j < m; ++j)
      curvature += e[std::size_t(i)] * R[std::size_t(i * m + j)] * e[std::size_t(j)];
  }
  const auto at = [&](double h) {
    std::vector<double> moved(13), to(13), change(12), du = u, dx = d;
    for (double& number : dx) number *= h;
    for (std::size_t i = 0; i < du.size(); ++i) du[i] += h * e[i];
    plant.space().move(x.data(), dx.data(), moved.data());
    plant.step(0, moved.data(), du.data(), to.data(), *block);
    plant.space().difference(to.data(), y.data(), change.data());
    double sum = 0;
    for (std::size_t i = 0; i < change.size(); ++i) sum += lambda[i] * change[i];
    return sum;
  };
  const double h = 1e-3;  // fourth order
  const double second = (-at(2 * h) + 16 * at(h) - 30 * at(0) + 16 * at(-h) - at(-2 * h)) / (12 * h * h);
  EXPECT_GT(std::fabs(curvature), 1e-3);
  EXPECT_NEAR(curvature, second, 1e-8);
  plant.give_back(std::move(block));
}

// A turn by 2 rad about a skew axis and a move, ending at rest: the constraint is in the tangent space.
Problem reorientation(bool step_jacobian) {
  const rigid::Model model = spacecraft();
  const rigid::SystemOptions options{.applied_forces = true, .onset = rigid::Onset::none};
  Problem p;
  p.system = rigid::make_system<double>(model, options);
  p.parameters = Parameters<double>(p.system->signature());
  p.space = space_of(model);
  p.objective = loss::effort<double>(p.system->signature(), 0.05);
  p.steps = 40;
  p.x0 = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const double s = std::sin(1.0) / std::sqrt(14.0);
  p.constraints =
      reach(p.system->signature(), p.space, {1, -1, 0.5, std::cos(1.0), s, 2 * s, 3 * s, 0, 0, 0, 0, 0, 0});
  if (step_jacobian) p.jacobians = rigid_jacobians(model, options, p.parameters);
  return p;
}

TEST(Ddp, TurnsASpacecraftToAGivenOrientation) {
  for (const bool step_jacobian : {false, true}) {
    const Problem p = reorientation(step_jacobian);
    const Plan found = plan(p, std::vector<double>(6, 0.0), {.method = Method::ddp});
    EXPECT_TRUE(found.converged()) << found.reason;
    EXPECT_LT(found.violation, 1e-8);
    const double* q = &found.x[40 * 13 + 3];
    EXPECT_NEAR(2 * std::acos(std::fabs(q[0])), 2.0, 1e-7);
    EXPECT_EQ(found.K.size(), 40u * 6 * 12);
  }
}

}  // namespace
}  // namespace costate::control
