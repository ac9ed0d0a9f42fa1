// The same numbers as MuJoCo, from random states of the models in tests/rigid/reference
// (tools/rigid_reference.py).
#include <gtest/gtest.h>

#include "costate/rigid/step/step.h"
#include "tests/rigid/reference_rollout.h"

namespace costate::rigid {
namespace {

using test::Json;
using test::OneWorld;
using test::relative_error;
using test::vector_of;

class Parity : public ::testing::Test {
 protected:
  static const std::vector<test::Reference>& all() {
    static const auto r = test::references();
    return r;
  }
};

TEST_F(Parity, ReferencesArePresent) { EXPECT_GE(all().size(), 3u); }

TEST_F(Parity, MassMatrixBiasAndForcesAreMuJoCos) {
  for (const auto& ref : all()) {
    OneWorld w(ref.model);
    for (const Json& s : ref.json.at("states")) {
      const auto q = vector_of(s.at("q")), v = vector_of(s.at("v")), act = vector_of(s.at("act")),
                 u = vector_of(s.at("ctrl"));
      const StateIn<double> in{q.data(), v.data(), act.data(), u.data(), nullptr};
      smooth_forces(w.tree, w.p.data(), in, w.d);
      const std::vector<double> tau = w.d.tau;
      std::fill(w.d.tau.begin(), w.d.tau.end(), 0.0);
      const ForceInput<double> at{w.tree, w.p.data(), in};
      PassiveForces::forces(at, w.d);
      TendonForces::forces(at, w.d);
      const std::vector<double> passive = std::exchange(w.d.tau, tau);
      // Forces of sites, of gravity compensation and of a fluid act on bodies: they are in tau only.
      std::vector<double> smooth(v.size());
      const auto expected_bias = vector_of(s.at("bias")), expected_actuator = vector_of(s.at("actuator")),
                 expected_passive = vector_of(s.at("passive"));
      for (std::size_t i = 0; i < v.size(); ++i) {
        smooth[i] = expected_passive[i] + expected_actuator[i] - expected_bias[i];
      }
      if (!w.tree.gravcomp && !w.tree.fluid) {
        EXPECT_LT(relative_error(passive, expected_passive), 1e-10) << ref.name;
      }
      EXPECT_LT(relative_error(w.d.tau, smooth), 1e-10) << ref.name;
      if (!BodyForces::on_bodies(w.tree)) {
        EXPECT_LT(relative_error(w.d.bias, expected_bias), 1e-10) << ref.name;
        EXPECT_LT(relative_error(w.d.tau_act, expected_actuator), 1e-10) << ref.name;
      }
      crba(w.tree, w.p.data(), w.d);
      if (s.contains("mass")) {
        EXPECT_LT(relative_error(w.d.M, vector_of(s.at("mass"))), 1e-10) << ref.name;
      }
      factor(w.tree.dofs, w.d.M.data(), w.d.inverse_D.data());
      solve_factored(w.tree.dofs, w.d.M.data(), w.d.inverse_D.data(), w.d.tau.data());
      EXPECT_LT(relative_error(w.d.tau, vector_of(s.at("qacc_smooth"))), 1e-9) << ref.name;
    }
  }
}

TEST_F(Parity, InverseWeightsAndMeanInertiaAreMuJoCos) {
  for (const auto& ref : all()) {
    const Json& m = ref.json.at("model");
    std::vector<double> dofs, bodies, expected_bodies, tendons, expected_tendons;
    for (const Dof& d : ref.model.dofs) dofs.push_back(d.invweight);
    for (const Body& b : ref.model.bodies)
      bodies.insert(bodies.end(), b.invweight.begin(), b.invweight.end());
    for (const Json& b : m.at("bodies")) {
      const auto w = vector_of(b.at("invweight"));
      expected_bodies.insert(expected_bodies.end(), w.begin(), w.end());
    }
    for (const Tendon& t : ref.model.tendons) tendons.push_back(t.invweight);
    for (const Json& t : m.at("tendons")) expected_tendons.push_back(t.at("invweight"));
    EXPECT_LT(relative_error(dofs, vector_of(m.at("dof_invweight"))), 1e-10) << ref.name;
    EXPECT_LT(relative_error(bodies, expected_bodies), 1e-10) << ref.name;
    EXPECT_LT(relative_error(tendons, expected_tendons), 1e-10) << ref.name;
    EXPECT_NEAR(ref.model.mean_inertia / m.at("mean_inertia").get<double>(), 1, 1e-10) << ref.name;
  }
}

void expect_rollout(const test::Reference& ref, Integrator integrator, bool constraint,
                    const std::string& key, std::int64_t steps, double gate) {
  Model model = ref.model;
  model.options.integrator = integrator;
  model.options.constraint = constraint;
  test::expect_rollout(ref.name, model, {}, ref.json, key, steps, gate);
}

TEST_F(Parity, AStepWithoutConstraintsIsMuJoCosForEachIntegrator) {
  for (const auto& ref : all()) {
    for (const auto& [name, integrator] : test::kIntegrators)
      expect_rollout(ref, integrator, false, std::string("free_") + name, 1, 1e-10);
  }
}

TEST_F(Parity, ConstraintForcesAndAccelerationsAreMuJoCos) {
  for (const auto& ref : all()) {
    OneWorld w(ref.model);
    for (const Json& s : ref.json.at("states")) {
      const auto q = vector_of(s.at("q")), v = vector_of(s.at("v")), act = vector_of(s.at("act")),
                 u = vector_of(s.at("ctrl"));
      const StateIn<double> in{q.data(), v.data(), act.data(), u.data(), nullptr};
      w.accelerate(in);
      EXPECT_LT(relative_error(w.constraint_forces(), vector_of(s.at("constraint"))), 1e-8) << ref.name;
      EXPECT_LT(relative_error(w.d.qacc, vector_of(s.at("qacc"))), 1e-8) << ref.name;
    }
  }
}

TEST_F(Parity, AStepIsMuJoCosForEachIntegrator) {
  for (const auto& ref : all()) {
    for (const auto& [name, integrator] : test::kIntegrators)
      expect_rollout(ref, integrator, true, std::string("step_") + name, 1, 1e-9);
  }
}

TEST_F(Parity, RolloutsAreMuJoCosForEachIntegrator) {
  for (const auto& ref : all()) {
    for (const auto& [name, integrator] : test::kIntegrators)
      expect_rollout(ref, integrator, true, std::string("rollout_") + name, ref.json.at("steps"), 1e-9);
  }
}

}  // namespace
}  // namespace costate::rigid
