// Spatial tendons: the numbers of MuJoCo from random states (tools/rigid_tendon_reference.py), closed forms,
// and gradients.
#include <gtest/gtest.h>

#include <numbers>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/derived_parameters.h"
#include "tests/rigid/models.h"
#include "tests/rigid/reference_rollout.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using test::Json;
using test::OneWorld;
using test::relative_error;
using test::vector_of;

struct TendonReference {
  std::string name;
  Model model;
  Json json;
  // MuJoCo finds the point of a ring to 1e-6 of an angle: the length is stationary there, the Jacobian is
  // not.
  double gate(double tight) const { return name == "rings" ? 1e-5 : tight; }
};

// chain: around spheres and cylinders, on one chain of bodies; rings: through them; web: over several trees.
const std::vector<TendonReference>& references() {
  static const auto all = [] {
    std::vector<TendonReference> r;
    for (const std::string name : {"chain", "rings", "web"}) {
      const std::string path = std::string(COSTATE_RIGID_TENDONS "/") + name;
      std::ifstream file(path + ".json");
      r.push_back({name, load(path + ".xml"), Json::parse(file)});
    }
    return r;
  }();
  return all;
}

TEST(SpatialTendon, LengthsAndJacobiansAreMuJoCos) {
  for (const TendonReference& ref : references()) {
    OneWorld w(ref.model);
    const auto nv = static_cast<std::size_t>(w.tree.nv);
    ASSERT_GE(ref.json.at("states").size(), 100u);
    for (const Json& s : ref.json.at("states")) {
      const auto q = vector_of(s.at("q")), length = vector_of(s.at("length")),
                 J = vector_of(s.at("jacobian"));
      kinematics(w.tree, w.p.data(), q.data(), w.d);
      tendon_lengths(w.tree, w.p.data(), q.data(), w.d);
      for (std::size_t t = 0; t < w.tree.tendons.size(); ++t) {
        const TreeTendon& tendon = w.tree.tendons[t];
        EXPECT_NEAR(w.d.tendon_length[t], length[t], 1e-12) << ref.name << " " << ref.model.tendons[t].name;
        std::vector<double> row(nv),
            expected(J.begin() + std::ptrdiff_t(t * nv), J.begin() + std::ptrdiff_t((t + 1) * nv));
        for (std::size_t k = 0; k < tendon.dof.size(); ++k)
          row[static_cast<std::size_t>(tendon.dof[k])] +=
              w.d.tendon_J[static_cast<std::size_t>(tendon.jacobian) + k];
        EXPECT_LT(relative_error(row, expected), ref.gate(1e-10))
            << ref.name << " " << ref.model.tendons[t].name;
      }
    }
  }
}

TEST(SpatialTendon, RestLengthsAndInverseWeightsAreMuJoCos) {
  for (const TendonReference& ref : references()) {
    std::vector<double> length, rest, weight;
    for (const Tendon& t : ref.model.tendons) {
      length.push_back(t.length);
      rest.insert(rest.end(), t.springlength.begin(), t.springlength.end());
      weight.push_back(t.invweight);
    }
    const Json& m = ref.json.at("model");
    EXPECT_LT(relative_error(length, vector_of(m.at("length"))), 1e-12) << ref.name;
    EXPECT_LT(relative_error(rest, vector_of(m.at("springlength"))), 1e-12) << ref.name;
    EXPECT_LT(relative_error(weight, vector_of(m.at("invweight"))), 1e-10) << ref.name;
  }
}

TEST(SpatialTendon, AccelerationsAreMuJoCos) {
  for (const TendonReference& ref : references()) {
    OneWorld w(ref.model);
    for (const Json& s : ref.json.at("states")) {
      const auto q = vector_of(s.at("q")), v = vector_of(s.at("v")), act = vector_of(s.at("act")),
                 u = vector_of(s.at("ctrl"));
      w.accelerate({q.data(), v.data(), act.data(), u.data(), nullptr});
      EXPECT_LT(relative_error(w.d.qacc, vector_of(s.at("qacc"))), ref.gate(1e-8)) << ref.name;
    }
  }
}

TEST(SpatialTendon, StepsAndRolloutsAreMuJoCosForEachIntegrator) {
  for (const TendonReference& ref : references()) {
    for (const auto& [name, integrator] : test::kIntegrators) {
      Model model = ref.model;
      model.options.integrator = integrator;
      test::expect_rollout(ref.name, model, {}, ref.json, std::string("step_") + name, 1, ref.gate(1e-10));
      test::expect_rollout(ref.name, model, {}, ref.json, std::string("rollout_") + name,
                           ref.json.at("steps"), ref.gate(1e-7));
    }
  }
}

// A rope over a fixed cylinder, straight down on both sides: half the circumference touches.
TEST(SpatialTendon, ARopeOverAPulleyHasItsClosedForm) {
  const Model model =
      compile(io::parse_mjcf("<mujoco><worldbody><geom name='wheel' type='cylinder' size='0.3 1' euler='90 0 "
                             "0' contype='0' conaffinity='0'/>"
                             "<site name='top' pos='0 0 2'/><body pos='-0.3 0 -1'><joint name='a' "
                             "type='slide' axis='0 0 1'/><geom size='.1'/><site name='l'/></body>"
                             "<body pos='0.3 0 -2'><joint name='b' type='slide' axis='0 0 1'/><geom "
                             "size='.1'/><site name='r'/></body></worldbody>"
                             "<tendon><spatial name='rope'><site site='l'/><geom geom='wheel' "
                             "sidesite='top'/><site site='r'/></spatial></tendon></mujoco>"));
  EXPECT_NEAR(model.tendons[0].length, 3 + 0.3 * std::numbers::pi, 1e-14);
  OneWorld w(model);
  const double q[2] = {0.25, -0.5};
  kinematics(w.tree, w.p.data(), q, w.d);
  tendon_lengths(w.tree, w.p.data(), q, w.d);
  EXPECT_NEAR(w.d.tendon_length[0], 3.25 + 0.3 * std::numbers::pi, 1e-14);
  EXPECT_NEAR(w.d.tendon_J[0], -1, 1e-14);
  EXPECT_NEAR(w.d.tendon_J[1], -1, 1e-14);
}

// Gradients -------------------------------------------------------------------------------------------------

Arguments<double> arguments_at(const Rollout<double>& rollout, const Json& s) {
  auto at = rollout.arguments();
  at.x0 = test::state_of(s);
  const auto u = vector_of(s.at("ctrl"));
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = u[i % u.size()];
  return at;
}

void cotangents_match_dual(Integrator integrator) {
  for (const TendonReference& ref : references()) {
    Model model = ref.model;
    model.options.integrator = integrator;
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 1});
    for (std::size_t i = 0; i < 12; ++i) {
      costate::test::expect_transpose_matches_dual<double>(
          *system, arguments_at(rollout, ref.json.at("states").at(i)), 1e-12);
    }
  }
}
TEST(SpatialTendon, EveryParametersCotangentMatchesDualUnderEuler) {
  cotangents_match_dual(Integrator::euler);
}
TEST(SpatialTendon, EveryParametersCotangentMatchesDualUnderImplicitfast) {
  cotangents_match_dual(Integrator::implicitfast);
}
TEST(SpatialTendon, EveryParametersCotangentMatchesDualUnderRk4) { cotangents_match_dual(Integrator::rk4); }

// A file without springlength: the spring is at rest where the model starts, and pulls back on both sides.
TEST(FixedTendon, ASpringHasItsSlopeAtRestToo) {
  const Model model = compile(io::parse_mjcf(
      "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><body><joint name='x' type='slide' "
      "axis='1 0 0'/><geom size='.1' mass='2'/></body></worldbody><tendon><fixed name='t' stiffness='30'>"
      "<joint joint='x' coef='1'/></fixed></tendon></mujoco>"));
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  const auto at = rollout.arguments();  // at rest: x = 0, v = 0
  const auto speed = loss::final_value<double>(system->signature(), "v", 0, 1);
  EXPECT_NEAR(rollout.value_and_gradient(at, *speed).x0[0], -0.01 * 30 / 2, 1e-15);
  EXPECT_LT(check::dot_product(rollout, at).error, 1e-13);
  EXPECT_LT(check::stencil(rollout, at, *speed).error, 1e-9);
}

// Where no tendon takes another way during the rollout. The references' states are such that none does
// nearby.
TEST(SpatialTendon, GradientsOfRolloutsMatchTheStencilAndTheirTranspose) {
  for (const TendonReference& ref : references()) {
    Model model = ref.model;
    model.options.integrator = Integrator::euler;
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 4, .hold = 4});
    const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                              loss::final<double>(system->signature(), "v", {}, 0.1)});
    for (std::size_t i = 0; i < 6; ++i) {
      const auto at = arguments_at(rollout, ref.json.at("states").at(i));
      EXPECT_LT(check::dot_product(rollout, at).error, 1e-13) << ref.name << " " << i;
      EXPECT_LT(check::stencil(rollout, at, *objective, {.step = 1e-6}).error, 1e-8) << ref.name << " " << i;
    }
  }
}

// Without limits and dry friction, whose switches are not the tendons'.
template <class Real>
void contract(const std::string& name) {
  for (const TendonReference& ref : references()) {
    if (ref.name != name) continue;
    Model model = ref.model;
    model.options.limit = model.options.frictionloss = false;
    const auto system = make_system<Real>(model);
    Rollout<double> start(make_system<double>(model), {.steps = 5, .hold = 5});
    const auto from = arguments_at(start, ref.json.at("states").at(4));
    Rollout<Real> rollout(system, {.steps = 5, .hold = 5});
    auto at = rollout.arguments();
    at.x0.assign(from.x0.begin(), from.x0.end());
    at.controls.assign(from.controls.begin(), from.controls.end());
    const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                            loss::final<Real>(system->signature(), "v", {}, 0.1)});
    costate::test::expect_contract(system, {.states = costate::test::starting_at(at),
                                            .objective = objective,
                                            .name = name,
                                            .steps = 5,
                                            .hold = 5,
                                            .long_steps = 100,
                                            .stencil_gate = 1e-8,
                                            .stencil_step = 1e-6,
                                            .taylor_step = 1e-5,
                                            .second_order_step = 1e-6});
  }
}
TEST(SpatialTendon, MeetsTheContractOnAChain) { contract<double>("chain"); }
TEST(SpatialTendon, MeetsTheContractThroughRings) { contract<double>("rings"); }
TEST(SpatialTendon, MeetsTheContractOverSeveralTrees) { contract<double>("web"); }

// Worlds in one pack may wrap and not wrap, and each is as if alone.
TEST(SpatialTendon, WorldsInLanesTakeTheirOwnWays) {
  const TendonReference& ref = references().front();
  Model model = ref.model;
  const auto system = make_system<double>(model);
  constexpr std::size_t kWorlds = 24;
  Rollout<double> many(system, {.steps = 5, .worlds = kWorlds, .hold = 5}),
      one(system, {.steps = 5, .hold = 5});
  auto at = many.arguments();
  at.x0.clear();
  at.controls.clear();
  for (std::size_t w = 0; w < kWorlds; ++w) {
    const auto alone = arguments_at(one, ref.json.at("states").at(w));
    at.x0.insert(at.x0.end(), alone.x0.begin(), alone.x0.end());
    at.controls.insert(at.controls.end(), alone.controls.begin(), alone.controls.end());
  }
  const auto objective = loss::final<double>(system->signature(), "q", {});
  const auto together = many.value_and_gradient(at, *objective);
  for (std::size_t w = 0; w < kWorlds; ++w) {
    const auto alone = one.value_and_gradient(arguments_at(one, ref.json.at("states").at(w)), *objective);
    for (std::size_t i = 0; i < alone.x0.size(); ++i)
      EXPECT_EQ(alone.x0[i], together.x0[w * alone.x0.size() + i]) << w;
  }
}

// A moved site, a thicker ball: the inverse weights follow.
TEST(SpatialTendon, InverseWeightsAreChainedToSitesAndRadii) {
  const Model& model = references().front().model;
  const Parameters<double> p(make_system<double>(model)->signature());
  Parameters<double> bar = p.zeros();
  bar.set("tendon/extensor/invweight", 1.0);
  chain_inverse_weights(model, p, bar);
  for (const std::string what : {"geom/elbow_ball/size", "site/lower_low/pos", "geom/elbow_ball/pos"}) {
    const auto weight = [&](double by) {
      Parameters<double> moved = p;
      moved[what][0] += by;
      return with_inverse_weights(model, moved)["tendon/extensor/invweight"][0];
    };
    const double h = 1e-5, expected = (weight(h) - weight(-h)) / (2 * h);
    EXPECT_GT(std::abs(expected), 1e-3) << what;
    EXPECT_NEAR(bar[what][0], expected, 1e-7 * std::abs(expected) + 1e-8) << what;
  }
}

TEST(SpatialTendon, WhatItCannotDoIsRefusedWithItsLine) {
  const auto complaint = [](const std::string& tendon) -> std::string {
    try {
      make_system<double>(
          compile(io::parse_mjcf("<mujoco><worldbody><body><joint/><geom name='box' type='box' size='.1 .1 "
                                 ".1'/><geom name='g' size='.1'/><site name='s'/><site name='t' "
                                 "pos='0 1 0'/></body></worldbody>\n<tendon>" +
                                 tendon + "</tendon></mujoco>")));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto refused = [&](const std::string& tendon, const std::string& why) {
    EXPECT_NE(complaint(tendon).find(why), std::string::npos) << complaint(tendon);
  };
  EXPECT_EQ(complaint("<spatial><site site='s'/><site site='t'/></spatial>"), "");
  refused("<spatial><site site='s'/><geom geom='box'/><site site='t'/></spatial>",
          "spheres and cylinders only");
  refused("<spatial><site site='s'/><geom geom='box'/><site site='t'/></spatial>", ":2");
  refused("<spatial><site site='s'/><geom geom='g'/></spatial>", "between two sites");
  refused("<spatial><site site='s'/><pulley divisor='0'/><site site='t'/></spatial>", "must be positive");
  refused("<spatial name='a' armature='1'><site site='s'/><site site='t'/></spatial>", "armature");
}

}  // namespace
}  // namespace costate::rigid
