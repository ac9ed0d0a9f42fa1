// costate info on models of rigid bodies.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/apps/run_tool.h"

namespace costate::app::test {
namespace {

std::string scene(const std::string& name) { return "'" COSTATE_SCENES "/" + name + ".xml'"; }

TEST(ModelInfo, TreeMassesAndCountsAsJson) {
  const Outcome outcome = run_tool("info " + scene("humanoid") + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["model"], "humanoid");
  EXPECT_EQ(json["counts"]["nv"], 27);
  EXPECT_EQ(json["counts"]["actuators"], 21);
  EXPECT_NEAR(json["mass"].get<double>(), 41.488, 1e-3);
  EXPECT_EQ(json["bodies"][0]["name"], "torso");
  EXPECT_EQ(json["bodies"][0]["joints"][0]["type"], "free");
  EXPECT_EQ(json["bodies"].size(), json["counts"]["bodies"]);
  EXPECT_TRUE(json["warnings"].empty());
}

TEST(ModelInfo, TableNamesBodiesJointsAndActuators) {
  const Outcome outcome = run_tool("info " + scene("cart_pole"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* const text : {"cart-pole: 1.2 kg, 2 dofs, 1 actuator\n", "slide (slide)", "hinge (hinge)",
                                 "-2 to 2", "joint slide", "0.01 s, RK4", "keyframes 2"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << "\n" << outcome.out;
}

TEST(ModelInfo, AThrusterShowsItsForceAndTorque) {
  const Outcome outcome = run_tool("info " + scene("quadrotor"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  // Its own line says which way each rotor turns.
  std::map<std::string, std::string> lines;
  std::istringstream text(outcome.out);
  for (std::string line, name; std::getline(text, line);) {
    std::istringstream words(line);
    if (words >> name) lines.emplace(name, line);
  }
  for (const auto& [rotor, gear] : {std::pair<std::string, std::string>{"front_right", "0 0 1 0 0 0.015"},
                                    {"back_right", "0 0 1 0 0 -0.015"},
                                    {"back_left", "0 0 1 0 0 0.015"},
                                    {"front_left", "0 0 1 0 0 -0.015"}}) {
    const std::string& line = lines[rotor];
    EXPECT_NE(line.find("site " + rotor), std::string::npos) << rotor << ": " << outcome.out;
    EXPECT_NE(line.find(" " + gear), std::string::npos) << rotor << ": " << outcome.out;
  }
}

TEST(ModelInfo, EverySceneIsUnderstood) {
  for (const std::string name : {"pendulum", "double_pendulum", "cart_pole", "arm7", "quadrotor", "hopper",
                                 "walker", "half_cheetah", "ant", "humanoid", "quadruped", "swimmer",
                                 "cube_toss", "sphere_drop", "box_stack", "box_push", "billiards"}) {
    const Outcome outcome = run_tool("info " + scene(name));
    EXPECT_EQ(outcome.code, 0) << name << outcome.err;
    EXPECT_EQ(outcome.out.find("warning"), std::string::npos) << name;
  }
}

TEST(ModelInfo, AMistakeIsOneMessageWithFileAndLine) {
  const Outcome outcome = run_tool("info '" COSTATE_WRONG_MODELS "/unknown_attribute.xml'");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, COSTATE_WRONG_MODELS
            "/unknown_attribute.xml:5: <joint> has no attribute 'dampin'\n  did you mean 'damping'?\n");
}

}  // namespace
}  // namespace costate::app::test
