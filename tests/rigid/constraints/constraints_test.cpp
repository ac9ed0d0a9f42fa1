// Limits, dry friction and equalities: gradients of the zoo of tests/rigid/reference, which has every kind.
#include "costate/rigid/constraints/constraints.h"

#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "tests/rigid/models.h"
#include "tests/rigid/one_world.h"
#include "tests/rigid/reference_model.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

Model constrained_zoo(Integrator integrator) {
  for (auto& reference : test::references()) {
    if (reference.name != "zoo") continue;
    reference.model.options.integrator = integrator;
    return reference.model;
  }
  throw std::runtime_error("no zoo");
}

void one_step_matches_dual(Integrator integrator) {
  const Model model = constrained_zoo(integrator);
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u, 3u, 4u}) {
    costate::test::expect_transpose_matches_dual<double>(*system,
                                                         test::random_arguments(model, rollout, seed), 1e-12);
  }
}

TEST(Constraints, EveryParametersCotangentMatchesDualUnderEuler) { one_step_matches_dual(Integrator::euler); }
TEST(Constraints, EveryParametersCotangentMatchesDualUnderImplicitfast) {
  one_step_matches_dual(Integrator::implicitfast);
}
TEST(Constraints, EveryParametersCotangentMatchesDualUnderRk4) { one_step_matches_dual(Integrator::rk4); }

// Straight curves (power 1) and impedances at their bounds: the transpose takes the side that the primal
// takes.
TEST(Constraints, CotangentsMatchDualWhereTheSoftnessIsAtItsBounds) {
  Model model = constrained_zoo(Integrator::euler);
  const auto bound = [](Softness& s) { s.solimp = {1e-4, 0.9999, 0.5, 0.5, 1}; };
  for (Joint& j : model.joints) bound(j.limit), bound(j.friction);
  for (Tendon& t : model.tendons) bound(t.limit), bound(t.friction);
  for (Equality& e : model.equalities) bound(e.softness);
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  costate::test::expect_transpose_matches_dual<double>(*system, test::random_arguments(model, rollout, 2),
                                                       1e-10);
}

// Around the model's own start, where its pin and its weld nearly hold. Around zero the pin is torn wide
// open. The derivative of one speed with respect to its time constant is then 150 times smaller than
// another's, and moves by 1e-12 in the transpose when the state moves by a rounding: no state for a gate of
// 1e-12. (Seeds from 3 on: no limit begins or ends within the differences.)
template <class Real>
Arguments<Real> near_the_start(const Model& model, const Rollout<Real>& rollout, unsigned seed) {
  Arguments<Real> at = test::random_arguments(model, rollout, seed, 0.3);
  const auto x = test::random_state_around(initial_state(model), model, seed, 0.3);
  at.x0.assign(x.begin(), x.end());
  return at;
}

template <class Real>
void contract(Integrator integrator) {
  const Model model = constrained_zoo(integrator);
  const auto system = make_system<Real>(model);
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.1)});
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout,
                             unsigned seed) { return near_the_start<Real>(model, rollout, seed + 2); },
               .objective = objective,
               .steps = 6,
               .hold = 5,
               .long_steps = 100,
               .stencil_step = 1e-4});
}

TEST(Constraints, MeetTheContract) { contract<double>(Integrator::euler); }
TEST(Constraints, MeetTheContractWithRk4) { contract<double>(Integrator::rk4); }

// Conjugate gradients end where Newton's method does: the same steps and the same gradients, of limits, dry
// friction and equalities.
TEST(Constraints, ConjugateGradientsGiveNewtonsAnswers) {
  for (const Integrator integrator : {Integrator::euler, Integrator::rk4}) {
    Model newton = constrained_zoo(integrator), cg = newton;
    cg.options.solver = SolverType::cg;
    const auto systems = {make_system<double>(newton), make_system<double>(cg)};
    for (unsigned seed = 1; seed <= 20; ++seed) {
      std::vector<Gradient<double>> found;
      for (const auto& system : systems) {
        Rollout<double> rollout(system, {.steps = 5, .hold = 5});
        const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                                  loss::final<double>(system->signature(), "v", {}, 0.1)});
        found.push_back(
            rollout.value_and_gradient(test::random_arguments(newton, rollout, seed, 0.5), *objective));
      }
      EXPECT_NEAR(found[0].value, found[1].value, 1e-10 * (1 + std::abs(found[0].value))) << seed;
      double scale = 1;
      for (double x : found[0].x0) scale = std::max(scale, std::abs(x));
      for (std::size_t i = 0; i < found[0].x0.size(); ++i)
        EXPECT_NEAR(found[0].x0[i], found[1].x0[i], 1e-10 * scale) << seed << " " << i;
    }
  }
}
// On their own they come near the minimum, if given the iterations that stiff rows take.
TEST(Constraints, ConjugateGradientsDescend) {
  Model model = constrained_zoo(Integrator::euler);
  model.options.solver = SolverType::cg;
  test::OneWorld w(model);
  w.constraints.iterations = 1000;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const std::vector<double> x = test::random_state(model, seed, 0.5),
                              u(static_cast<std::size_t>(model.nu()), 0.1);
    const double *q = x.data(), *v = q + model.nq;
    w.accelerate({q, v, v + model.nv, u.data(), nullptr});
    ASSERT_TRUE(w.c.in_play);
    const std::vector<double> minimum = w.c.a, &tau = w.d.tau;
    w.c.a = tau;
    solve_factored(w.tree.dofs, w.d.M.data(), w.d.inverse_D.data(), w.c.a.data());
    EXPECT_GT(test::relative_error(w.c.a, minimum), 1e-2) << seed;
    multiply_mass(w.tree, w.c.mass.data(), w.c.a.data(), w.c.Ma.data());
    locate_rows(w.constraints, w.c.a.data(), w.c);
    descend_by_conjugate_gradients<double>(w.tree, w.constraints, tau.data(), w.d.M.data(),
                                           w.d.inverse_D.data(), w.c);
    evaluate_rows(w.constraints, w.c.a.data(), w.c);
    cost_gradient(w.constraints, tau.data(), w.c);
    EXPECT_FALSE(far_from_minimum(tau.data(), 1e-10, w.c)) << seed;
    EXPECT_LT(test::relative_error(w.c.a, minimum), 1e-4) << seed;
  }
}

// With contact, from the states in which half a second of falling leaves a walker: cones of both kinds.
TEST(Constraints, ConjugateGradientsGiveNewtonsAnswersForContacts) {
  for (const std::string scene : {"ant", "humanoid"}) {
    for (const ConeType cone : {ConeType::pyramidal, ConeType::elliptic}) {
      Model newton = load(COSTATE_SCENES "/" + scene + ".xml");
      newton.options.cone = cone;
      newton.options.integrator = Integrator::euler;
      Model cg = newton;
      cg.options.solver = SolverType::cg;
      Rollout<double> fall(make_system<double>(newton), {.steps = 250});
      auto from = fall.arguments();
      from.x0 = initial_state(newton);
      const auto start = fall.simulate(from).final_state;
      std::vector<Gradient<double>> found;
      for (const Model& model : {newton, cg}) {
        const auto system = make_system<double>(model);
        Rollout<double> rollout(system, {.steps = 2, .hold = 2});
        auto at = rollout.arguments();
        at.x0 = start;
        for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.3 * std::sin(double(i) + 1);
        found.push_back(rollout.value_and_gradient(
            at, *loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                    loss::final<double>(system->signature(), "v", {}, 0.1)})));
      }
      EXPECT_NEAR(found[0].value, found[1].value, 1e-10 * std::abs(found[0].value)) << scene;
      double scale = 1;
      for (double x : found[0].x0) scale = std::max(scale, std::abs(x));
      for (std::size_t i = 0; i < found[0].x0.size(); ++i)
        EXPECT_NEAR(found[0].x0[i], found[1].x0[i], 1e-10 * scale) << scene << " " << i;
    }
  }
}
TEST(Constraints, CotangentsMatchDualWithConjugateGradients) {
  Model model = constrained_zoo(Integrator::euler);
  model.options.solver = SolverType::cg;
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u}) {
    costate::test::expect_transpose_matches_dual<double>(*system,
                                                         test::random_arguments(model, rollout, seed), 1e-12);
  }
}

// A pendulum that swings into its limit and out of it again.
TEST(Constraints, TheReportListsWhenALimitActs) {
  const Model m = test::limited_pendulum();
  const auto system = make_system<double>(m);
  Rollout<double> rollout(system, {.steps = 600});
  auto at = rollout.arguments();
  at.x0 = {1, 0};
  const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {}));
  ASSERT_GE(g.report.mode_switches.size(), 2u);  // in, and out
  EXPECT_GT(g.report.mode_switches[0], 100);
  EXPECT_LT(g.report.adjoint_residual, 1e-10);
  const auto end = rollout.simulate(at).final_state;
  EXPECT_GT(end[0], -0.25);
}

}  // namespace
}  // namespace costate::rigid
