#include "costate/rigid/dynamics/gyroscopic.h"

#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "tests/float_traps.h"
#include "tests/rigid/models.h"
#include "tests/rigid/one_world.h"
#include "tests/rigid/reference_model.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

Model loose() {
  Model model = load(std::string(COSTATE_RIGID_REFERENCE) + "/loose.xml");
  model.options.integrator = Integrator::implicitfast;
  return model;
}

// What the step solves, from the forces of inertia alone: the columns of G are those of
// c(v + e_k) - c(v - e_k) over 2, exact since c is quadratic.
TEST(Gyroscopic, AStepSolvesTheLinearisedImplicitEquation) {
  Model model = loose();
  model.options.constraint = false;
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  const auto at = test::random_arguments(model, rollout, 3);
  const auto end = rollout.simulate(at).final_state;
  test::OneWorld w(model);
  const double h = model.options.timestep;
  const auto nv = static_cast<std::size_t>(model.nv), nq = static_cast<std::size_t>(model.nq);
  const std::vector<double> q(at.x0.begin(), at.x0.begin() + model.nq),
      v(at.x0.begin() + model.nq, at.x0.begin() + model.nq + model.nv);
  const StateIn<double> in{q.data(), v.data(), nullptr, at.controls.data(), nullptr};
  smooth_forces(w.tree, w.p.data(), in, w.d);
  const std::vector<double> tau = w.d.tau;
  crba(w.tree, w.p.data(), w.d);
  std::vector<double> a(nv), Ma(nv);
  for (std::size_t i = 0; i < nv; ++i) a[i] = (end[nq + i] - v[i]) / h;
  multiply_mass(w.tree, w.d.M.data(), a.data(), Ma.data());
  int lone = 0;
  for (const Joint& joint : model.joints) {
    const auto dof = static_cast<std::size_t>(joint.dof);
    for (std::size_t i = dof; i < dof + std::size_t(dof_size(joint.type)); ++i)
      Ma[i] += h * joint.damping * a[i];
    if (joint.name == "pair" || joint.name == "elbow") continue;
    ++lone;
    for (std::size_t k = dof + 3; k < dof + 6; ++k) {
      std::vector<double> c[2];
      for (int side : {0, 1}) {
        std::vector<double> moved = v;
        moved[k] += side ? 1 : -1;
        rnea_forward<double>(w.tree, Vec3<double>::zero(), moved.data(), nullptr, w.d);
        c[side].resize(nv);
        rnea_backward<double>(w.tree, nullptr, c[side].data(), w.d);
      }
      for (std::size_t i = dof; i < dof + 6; ++i) Ma[i] += h * a[k] * (c[1][i] - c[0][i]) / 2;
    }
  }
  EXPECT_EQ(lone, 3);
  EXPECT_LT(test::relative_error(Ma, tau), 1e-12);
}

// An asymmetric body that spins fast about its centre of mass.
TEST(Gyroscopic, ASpinningBodyGainsNoEnergyAsItDoesUnderEuler) {
  Model model = loose();
  model.options.gravity = {0, 0, 0};
  for (Body& b : model.bodies) b.com = {0, 0, 0};
  const auto energy = [&](std::int64_t steps, Integrator integrator) {
    model.options.integrator = integrator;
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = steps, .hold = steps});
    auto at = rollout.arguments();
    at.x0 = initial_state(model);
    const Joint* joint = nullptr;
    for (const Joint& j : model.joints)
      if (j.name == "marked") joint = &j;
    const auto w0 = static_cast<std::size_t>(model.nq + joint->dof + 3);
    at.x0[w0] = 3, at.x0[w0 + 1] = 20, at.x0[w0 + 2] = 5;
    const auto end = rollout.simulate(at).final_state;
    test::OneWorld one(model);
    const std::vector<double> q(end.begin(), end.begin() + model.nq),
        v(end.begin() + model.nq, end.begin() + model.nq + model.nv);
    kinematics(one.tree, one.p.data(), q.data(), one.d);
    body_inertias(one.tree, one.p.data(), one.d);
    crba(one.tree, one.p.data(), one.d);
    std::vector<double> Mv(v.size());
    multiply_mass(one.tree, one.d.M.data(), v.data(), Mv.data());
    double sum = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += 0.5 * v[i] * Mv[i];
    return sum;
  };
  double before = energy(1, Integrator::implicitfast), gained = energy(1, Integrator::euler);
  for (std::int64_t steps : {10, 100, 1000, 3000}) {
    const double after = energy(steps, Integrator::implicitfast), euler = energy(steps, Integrator::euler);
    EXPECT_LE(after, before) << steps;
    EXPECT_GT(euler, gained) << steps;
    before = after;
    gained = euler;
  }
}

TEST(Gyroscopic, EveryParametersCotangentMatchesDual) {
  const Model model = loose();
  const auto system = make_system<double>(model, {.applied_forces = true});
  Rollout<double> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u, 3u})
    costate::test::expect_transpose_matches_dual<double>(*system,
                                                         test::random_arguments(model, rollout, seed), 1e-12);
}

TEST(Gyroscopic, MeetsTheContract) {
  Model model = loose();
  for (Body& b : model.bodies) {  // heavy enough for the differences' steps
    b.mass *= 20;
    for (double& i : b.inertia) i *= 50;
  }
  const auto system = make_system<double>(model, {.applied_forces = true});
  const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                            loss::final<double>(system->signature(), "v", {}, 0.1)});
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout,
                             unsigned seed) { return test::random_arguments(model, rollout, seed + 4); },
               .objective = objective,
               .steps = 20,
               .hold = 5,
               .long_steps = 100,
               .stencil_step = 3e-4});
}

}  // namespace
}  // namespace costate::rigid
