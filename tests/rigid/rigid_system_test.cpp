#include "costate/rigid/rigid_system.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"
#include "tests/rigid/models.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

template <class Real>
void one_step_matches_dual(Integrator integrator, double gate) {
  const Model model = test::zoo(integrator);
  const auto system = make_system<Real>(model, {.applied_forces = true});
  Rollout<Real> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u, 3u}) {
    costate::test::expect_transpose_matches_dual<Real>(*system, test::random_arguments(model, rollout, seed),
                                                       gate);
  }
}

TEST(RigidSystem, EveryParametersCotangentMatchesDualUnderEuler) {
  one_step_matches_dual<double>(Integrator::euler, 1e-12);
}
TEST(RigidSystem, EveryParametersCotangentMatchesDualUnderImplicitfast) {
  one_step_matches_dual<double>(Integrator::implicitfast, 1e-12);
}
TEST(RigidSystem, EveryParametersCotangentMatchesDualUnderRk4) {
  one_step_matches_dual<double>(Integrator::rk4, 1e-12);
}

// Stiff servos, some at the limit of their joint, and a tendon over two branches, for which the mass matrix
// has no place.
TEST(RigidSystem, AGrippersCotangentsMatchDualUnderImplicitfast) {
  const Model model = load(std::string(COSTATE_RIGID_REFERENCE) + "/gripper.xml");
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1});
  for (unsigned seed : {1u, 2u, 3u, 4u}) {
    costate::test::expect_transpose_matches_dual<double>(*system,
                                                         test::random_arguments(model, rollout, seed), 1e-12);
  }
}

template <class Real>
void contract(Integrator integrator) {
  const Model model = test::zoo(integrator);
  const auto system = make_system<Real>(model, {.applied_forces = true});
  const auto objective = loss::sum<Real>({loss::final<Real>(system->signature(), "q", {}),
                                          loss::final<Real>(system->signature(), "v", {}, 0.1),
                                          loss::effort<Real>(system->signature())});
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout,
                             unsigned seed) { return test::random_arguments(model, rollout, seed + 4); },
               .objective = objective,
               .steps = 20,
               .hold = 5,
               .long_steps = 100,
               .stencil_step = 3e-4});
}

TEST(RigidSystem, MeetsTheContractWithEuler) { contract<double>(Integrator::euler); }
TEST(RigidSystem, MeetsTheContractWithImplicitfast) { contract<double>(Integrator::implicitfast); }
TEST(RigidSystem, MeetsTheContractWithRk4) { contract<double>(Integrator::rk4); }
TEST(RigidSystem, MeetsTheContractInFloat) { contract<float>(Integrator::euler); }

TEST(RigidSystem, RefusesWhatItDoesNotSimulate) {
  const auto refuses = [](const char* what, const char* advice, auto change) {
    Model model = test::zoo(Integrator::euler);
    change(model);
    expect_error([&] { return make_system<double>(model); }, what, advice);
  };
  refuses("the integrator `implicit` is not supported", "use implicitfast, Euler or RK4",
          [](Model& m) { m.options.integrator = Integrator::implicit; });
  refuses("joint \"wrist\": gravity compensation as a part of its limited actuator force is not simulated",
          "", [](Model& m) { m.joints[2].actuator_gravcomp = m.joints[2].actuator_force_limited = true; });
  refuses("tendon \"cord\": armature of tendons is not simulated", "",
          [](Model& m) { m.tendons[0].armature = 1; });
  refuses("actuator \"jet\": jointinparent is simulated for slide and hinge joints only", "",
          [](Model& m) { m.actuators.back().transmission = TransmissionType::joint_in_parent; });
}

TEST(RigidSystem, WorldsInLanesMayDifferInEveryParameter) {
  const Model model = test::zoo(Integrator::euler);
  const auto system = make_system<double>(model);
  Rollout<double> many(system, {.steps = 10, .worlds = 11, .hold = 10}),
      one(system, {.steps = 10, .hold = 10});
  auto at = test::random_arguments(model, many, 3);
  std::vector<double> masses;
  for (int w = 0; w < 11; ++w) masses.push_back(0.7 + 0.1 * w);
  at.parameters.set("body/arm/mass", masses);
  const auto together = many.simulate(at).final_state;
  for (std::size_t w = 0; w < 11; ++w) {
    auto alone = at;
    alone.parameters = one.arguments().parameters;
    alone.parameters.set("body/arm/mass", masses[w]);
    const auto end = one.simulate(alone).final_state;
    for (std::size_t i = 0; i < end.size(); ++i) EXPECT_EQ(end[i], together[w * end.size() + i]);
  }
}

TEST(RigidSystem, StartsFromItsReferenceOrAKeyframe) {
  Model model = test::zoo(Integrator::euler);
  const auto joined = [](const std::vector<double>& q, const std::vector<double>& v,
                         const std::vector<double>& act) {
    std::vector<double> x = q;
    x.insert(x.end(), v.begin(), v.end());
    x.insert(x.end(), act.begin(), act.end());
    return x;
  };
  const std::size_t nv = std::size_t(model.nv), na = std::size_t(model.na);
  ASSERT_GT(na, 0u);
  EXPECT_EQ(initial_state(model), joined(model.qpos0, std::vector<double>(nv), std::vector<double>(na)));
  Keyframe bent{.name = "bent", .time = 0, .qpos = model.qpos0, .qvel = {}, .act = {}, .ctrl = {}};
  for (std::size_t i = 0; i < bent.qpos.size(); ++i) bent.qpos[i] += 0.01 * double(i + 1);
  for (std::size_t i = 0; i < nv; ++i) bent.qvel.push_back(0.5 + double(i));
  for (std::size_t i = 0; i < na; ++i) bent.act.push_back(0.25 - double(i));
  model.keyframes.push_back(bent);
  EXPECT_EQ(initial_state(model, "bent"), joined(bent.qpos, bent.qvel, bent.act));
  EXPECT_EQ(std::int64_t(initial_state(model, "bent").size()),
            make_system<double>(model)->signature().states());
  expect_error([&] { return initial_state(model, "bend"); }, "the model has no keyframe 'bend'",
               "did you mean 'bent'?");
}

TEST(RigidSystem, AStepThatCannotBeIsExplained) {
  const Model model = test::zoo(Integrator::euler);
  Rollout<double> rollout(make_system<double>(model), {.steps = 3, .worlds = 10});
  Arguments<double> at = rollout.arguments();
  const std::vector<double> x = test::random_state(model, 1);
  at.x0.clear();
  for (int world = 0; world < 10; ++world) at.x0.insert(at.x0.end(), x.begin(), x.end());
  const auto complaint = [&](const Arguments<double>& a) -> std::string {
    const costate::test::AllowFloatExceptions allow;
    try {
      rollout.simulate(a);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(at), "");
  Arguments<double> lost = at;
  for (std::size_t i = 3; i < 7; ++i) lost.x0[9 * x.size() + i] = 0;
  const std::string text = complaint(lost);
  EXPECT_NE(text.find("the quaternion of joint \"float\", q[3] to q[6], is zero"), std::string::npos) << text;
  EXPECT_NE(text.find("world 9"), std::string::npos) << text;
  EXPECT_NE(text.find("initial_state"), std::string::npos) << text;
  Arguments<double> turned = at;
  turned.parameters.set("joint/pitch/axis", {0, 0, 0});
  EXPECT_NE(complaint(turned).find("joint/pitch/axis is zero"), std::string::npos) << complaint(turned);
  Arguments<double> weightless = at;
  for (const char* body : {"cart", "pole", "tip"}) {
    weightless.parameters.set(std::string("body/") + body + "/mass", 0.0);
    weightless.parameters.set(std::string("body/") + body + "/inertia", 0.0);
  }
  weightless.parameters.set("joint/rail/armature", 0.0);
  weightless.parameters.set("joint/rail/damping", 0.0);  // implicit: it would hold the joint
  EXPECT_NE(complaint(weightless).find("joint \"rail\" moves nothing"), std::string::npos)
      << "[" << complaint(weightless) << "]";
}

}  // namespace
}  // namespace costate::rigid
