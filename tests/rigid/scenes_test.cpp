// The project's scenes as systems, with contact off: each meets the contract, and each column of its Jacobian
// the dual's.
#include <gtest/gtest.h>

#include <algorithm>

#include "costate/io/model/load_model.h"
#include "costate/rigid/rigid_system.h"
#include "tests/rigid/models.h"
#include "tests/system/contract.h"

namespace costate::rigid {
namespace {

class Scenes : public ::testing::TestWithParam<const char*> {};

TEST_P(Scenes, MeetsTheContract) {
  Model model = load(std::string(COSTATE_SCENES "/") + GetParam() + ".xml");
  model.options.contact = false;
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 4, .hold = 2});
  auto at = test::random_arguments(model, rollout, 7, 0.3);
  // Around the reference configuration, so that joints are inside their limits or past them for good.
  for (std::size_t i = 0; i < model.qpos0.size(); ++i) at.x0[i] = model.qpos0[i] + 0.05 * at.x0[i];
  for (const Joint& joint : model.joints) {
    if (joint.type != JointType::free && joint.type != JointType::ball) continue;
    double* q = at.x0.data() + joint.qpos + (joint.type == JointType::free ? 3 : 0);
    const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; ++k) q[k] /= norm;
  }
  for (std::size_t a = 0; a < model.actuators.size(); ++a) {  // inside the controls' ranges
    const Actuator& actuator = model.actuators[a];
    for (std::size_t k = a; actuator.control_limited && k < at.controls.size(); k += model.actuators.size()) {
      at.controls[k] = 0.5 * (actuator.control_range[0] + actuator.control_range[1]) +
                       0.4 * at.controls[k] * (actuator.control_range[1] - actuator.control_range[0]);
    }
  }
  // The checks move a number by its own size, or by 1 if it is 0: too far for a product of inertia of a small
  // body.
  for (const Field& field : system->signature().fields(Role::parameter)) {
    const auto values = at.parameters[field.name];
    if (field.name.ends_with("/inertia")) {
      for (std::size_t i = 3; i < 6; ++i) values[i] += 0.02 * std::min({values[0], values[1], values[2]});
    }
    if (field.name.ends_with("/com")) {
      for (double& x : values) x += 0.01;
    }
    if (field.name.ends_with("/armature")) values[0] += 0.003;
  }
  const auto objective = loss::sum<double>({loss::final<double>(system->signature(), "q", {}),
                                            loss::final<double>(system->signature(), "v", {}, 0.1)});
  // The humanoid's state has a switch of dry friction or a limit 3e-6 to 1e-5 away along the direction of the
  // Hessian's check.
  const bool corner_is_near = std::string(GetParam()) == "humanoid";
  costate::test::expect_contract(system, {.states = costate::test::starting_at(at),
                                          .objective = objective,
                                          .steps = 4,
                                          .hold = 2,
                                          .long_steps = 20,
                                          .stencil_step = 3e-5,
                                          .second_order_step = corner_is_near ? 1e-6 : 1e-3});
}

INSTANTIATE_TEST_SUITE_P(All, Scenes,
                         ::testing::Values("pendulum", "double_pendulum", "cart_pole", "arm7", "quadrotor",
                                           "hopper", "walker", "half_cheetah", "ant", "humanoid", "quadruped",
                                           "cube_toss", "sphere_drop", "box_stack", "box_push", "billiards"),
                         [](const auto& scene) { return std::string(scene.param); });

}  // namespace
}  // namespace costate::rigid
