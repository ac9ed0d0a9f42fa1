// Scenes and recordings from the command line.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "costate/io/recording.h"
#include "tests/apps/run_tool.h"
#include "tests/io/scene/paddle.h"

namespace costate::app::test {
namespace {

using Json = nlohmann::json;

class SceneTool : public testing::Test {
 protected:
  SceneTool() { std::ofstream(path("paddle.toml")) << io::test::paddle_scene(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string scene() const { return path("paddle.toml") + " "; }
  Folder folder_;
};

TEST_F(SceneTool, RunWritesARecordingAndAPage) {
  const Outcome o = run_tool("run " + scene() + "--output " + path("out") + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_GT(Json::parse(o.out)["loss"].get<double>(), 0);
  EXPECT_EQ(io::read_recording(path("out.rec")).frames, 7);
  EXPECT_NE(read_file(path("out.html")).find("<canvas"), std::string::npos);
  EXPECT_NE(run_tool("run " + scene() + "--output " + path("out")).out.find("replay: "), std::string::npos);
}

TEST_F(SceneTool, GradAndCheckAgree) {
  const Outcome grad = run_tool("grad " + scene() + "--json");
  ASSERT_EQ(grad.code, 0) << grad.err;
  EXPECT_EQ(Json::parse(grad.out)["gradient"].size(), 15U);
  EXPECT_NE(run_tool("grad " + scene()).out.find("paddle.angle[2]"), std::string::npos);
  const Outcome check = run_tool("check " + scene() + "--steps 15");
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_NE(check.out.find("all checks passed"), std::string::npos);
  EXPECT_NE(run_tool("info " + scene()).out.find("moving collider"), std::string::npos);
}

TEST_F(SceneTool, OptimizeWritesBeforeAndAfterAndResumes) {
  const std::string out = "--output " + path("out") + " --json";
  const Outcome first = run_tool("optimize " + scene() + out + " --iterations 2");
  ASSERT_EQ(first.code, 0) << first.err;
  const Json a = Json::parse(first.out);
  EXPECT_LT(a["loss"].get<double>(), a["start_loss"].get<double>());
  EXPECT_EQ(io::read_recording(path("out.before.rec")).title, "before");
  EXPECT_EQ(io::read_recording(path("out.after.rec")).curves[0].y.size(), 3U);
  EXPECT_NE(read_file(path("out.html")).find("Learned: "), std::string::npos);

  const Outcome second = run_tool("optimize " + scene() + out + " --iterations 4 --resume");
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(Json::parse(second.out)["losses"].size(), 5U);
  EXPECT_EQ(Json::parse(second.out)["losses"][1], a["losses"][1]);

  const Outcome from = run_tool("run " + scene() + "--from " + path("out.state.json") + " --output " +
                                path("fine") + " --json");
  ASSERT_EQ(from.code, 0) << from.err;
  EXPECT_NEAR(Json::parse(from.out)["loss"].get<double>(), Json::parse(second.out)["loss"].get<double>(),
              1e-9);

  const Outcome view = run_tool("view " + path("out.before.rec") + " " + path("out.after.rec") +
                                " --output " + path("both.html"));
  EXPECT_EQ(view.code, 0) << view.err;
  EXPECT_NE(read_file(path("both.html")).find("\"before\""), std::string::npos);
}

TEST_F(SceneTool, SeveralRunsMayHaveTheSameOutput) {
  const std::string one = "'" COSTATE_TOOL "' optimize " + scene() + "--output " + path("shared") +
                          " --iterations 6 > /dev/null & ";
  const std::string script = one + "a=$!; " + one + "b=$!; " + one + "wait $! && wait $a && wait $b";
  EXPECT_EQ(std::system(script.c_str()), 0);
  EXPECT_EQ(Json::parse(read_file(path("shared.state.json")))["losses"].size(), 7U);
}

TEST_F(SceneTool, InterruptKeepsTheBestSoFar) {
  // Interrupted before it begins to work, it still finishes the iteration it is in.
  const std::string command =
      "optimize " + scene() + "--output " + path("out") + " --json --iterations 100000";
  const std::string script = "'" COSTATE_TOOL "' " + command + " > " + path("json") + " & tool=$!; " +
                             "while [ ! -e " + path("out.state.json") +
                             " ]; do sleep 0.05; done; kill -INT $tool; wait $tool";
  ASSERT_EQ(std::system(("bash -mc '" + script + "'").c_str()), 0);
  const Json json = Json::parse(read_file(path("json")));
  EXPECT_LT(json["report"]["iterations"].get<int>(), 100000);
  EXPECT_NE(json["report"]["reason"].get<std::string>().find("stopped"), std::string::npos);
  EXPECT_LE(json["loss"].get<double>(), json["start_loss"].get<double>());
}

TEST_F(SceneTool, MistakesEndWithTwo) {
  EXPECT_EQ(run_tool("run " + path("missing.toml")).code, 2);
  EXPECT_EQ(run_tool("view " + scene()).code, 2);
  const Outcome wrong = run_tool("run " + scene() + "--set domain.dx=-1");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "--set domain.dx=-1: dx must be greater than zero\n");  // not the line of the file
  const Outcome several = run_tool("run " + scene() + "--set 'domain.high=[0.5]' --set domain.dx=0.01");
  EXPECT_TRUE(several.err.starts_with("--set domain.high=[0.5]: ")) << several.err;
  const Outcome unknown = run_tool("run " + scene() + "--set run.duraton=1");
  EXPECT_TRUE(unknown.err.starts_with("--set run.duraton=1: unknown key 'duraton'")) << unknown.err;
}

TEST_F(SceneTool, AModelRunsAlone) {
  const std::string model = COSTATE_SCENES "/double_pendulum.xml ";
  const Outcome o = run_tool("run " + model + "--set run.duration=0.5 --output " + path("out") + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(Json::parse(o.out)["steps"], 100);
  EXPECT_GT(io::read_recording(path("out.rec")).bodies.size(), 1U);
  const Outcome wrong = run_tool("run " + model + "--set run.duraton=0.5 --output " + path("out"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("duration"), std::string::npos) << wrong.err;
}

TEST_F(SceneTool, RigidScenesAreGradedCheckedAndOptimised) {
  const std::string swing = COSTATE_SCENES "/swing_up.toml ";
  const Outcome grad = run_tool("grad " + swing + "--json");
  ASSERT_EQ(grad.code, 0) << grad.err;
  EXPECT_EQ(Json::parse(grad.out)["gradient"].size(), 40U);
  const Outcome check = run_tool("check " + swing);
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_NE(run_tool("info " + swing).out.find("push: 40 values, held"), std::string::npos);

  const std::string out = "--output " + path("out") + " --json";
  const Outcome first = run_tool("optimize " + swing + out + " --iterations 20");
  ASSERT_EQ(first.code, 0) << first.err;
  const Json a = Json::parse(first.out);
  EXPECT_LT(a["loss"].get<double>(), 0.1 * a["start_loss"].get<double>());
  EXPECT_EQ(io::read_recording(path("out.after.rec")).bodies.size(), 3U);
  const Outcome second = run_tool("optimize " + swing + out + " --iterations 25 --resume");
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(Json::parse(second.out)["losses"][20], a["losses"][20]);
}

TEST_F(SceneTool, RigidScenesArePlanned) {
  const std::string plan = std::string("plan ") + COSTATE_SCENES "/swing_up.toml --output " + path("out");
  const Outcome o = run_tool(plan + " --iterations 30 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = Json::parse(o.out);
  EXPECT_LT(json["loss"].get<double>(), 0.2 * json["start_loss"].get<double>());
  EXPECT_EQ(json["plan"].size(), 200U);
  std::ifstream table(path("out.plan.csv"));
  std::string head;
  std::getline(table, head);
  EXPECT_EQ(head, "step,ctrl");
  EXPECT_TRUE(std::filesystem::exists(path("out.html")));
  const Outcome wrong = run_tool(plan + " --method newton");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("use ilqr, ddp or collocation"), std::string::npos) << wrong.err;
}

TEST_F(SceneTool, ScenesAreIdentifiedFromRecordings) {
  const std::string scene = "identify " COSTATE_SCENES "/double_pendulum_identify.toml";
  const Outcome o = run_tool(scene + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json json = Json::parse(o.out);
  const double mass = json["variables"]["parameters.body/lower/mass"].get<double>(),
               deviation = json["standard_deviation"]["parameters.body/lower/mass"].get<double>();
  EXPECT_NEAR(mass, 0.62, 4 * deviation);
  EXPECT_LT(deviation, 0.002);
  EXPECT_NEAR(json["residual_rms"].get<double>(), 1, 0.1);
  EXPECT_NE(run_tool(scene).out.find("202 measurements; residuals: 0.9"), std::string::npos);
  const Outcome none = run_tool("identify " COSTATE_SCENES "/swing_up.toml");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("there are no measurements"), std::string::npos) << none.err;
}

// A loss that jumps: the derivative of every path is zero, and the path score knows better. Each method
// answers for the parameters that it can.
TEST_F(SceneTool, EstimatorsOfAChanceAreCompared) {
  const std::string compare = "estimators " COSTATE_SCENES "/double_well.toml --output " + path("out");
  const Outcome o = run_tool(compare + " --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json cells = Json::parse(o.out)["estimates"];
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0]["method"], "pathwise");
  EXPECT_EQ(cells[0]["gradient"][0], 0.0);
  EXPECT_EQ(cells[1]["method"], "girsanov");
  EXPECT_EQ(cells[1]["names"], Json::parse(R"(["double_well/a", "double_well/b"])"));
  EXPECT_NEAR(cells[1]["gradient"][0].get<double>(), -0.187, 4 * cells[1]["standard_error"][0].get<double>());
  EXPECT_FALSE(cells[2].contains("refused")) << cells[2];
  EXPECT_TRUE(std::filesystem::exists(path("out.estimators.html")));
  const Outcome again = run_tool(compare + " --resume --json");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["estimates"], cells);
  EXPECT_NE(run_tool(compare + " --parameters mass").out.find("girsanov refused"), std::string::npos);
  const std::string one = compare + " --parameters double_well/a --horizons 60 10 --exact ";
  const Outcome known = run_tool(one + "-0.0347 -0.187");
  EXPECT_NE(known.out.find("pathwise derivatives are of no use from 10 steps on"), std::string::npos)
      << known.out;
  EXPECT_NE(known.out.find("errors"), std::string::npos);
  EXPECT_NE(run_tool(one + "1").err.find("--exact has 1 numbers"), std::string::npos);
}

// The first Ctrl-C ends after the estimate that is under way: what is done is shown, and kept.
TEST_F(SceneTool, EstimatorsStopWhenTheyAreAsked) {
  std::string horizons;
  for (int k = 1; k <= 400; ++k) horizons += " " + std::to_string(k);
  const std::string compare =
      "estimators " COSTATE_SCENES
      "/double_well.toml --samples 20000 --methods girsanov --parameters double_well/a "
      "--output " +
      path("out") + " --horizons" + horizons;
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    const std::string line =
        "exec '" COSTATE_TOOL "' " + compare + " > '" + path("said") + "' 2> '" + path("err") + "'";
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  for (int wait = 0; wait < 20'000 && !std::filesystem::exists(path("out.estimators.json")); ++wait)
    usleep(1000);
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const std::size_t done = Json::parse(read_file(path("out.estimators.json"))).size();
  EXPECT_GE(done, 1U);
  EXPECT_LT(done, 400U);
  EXPECT_NE(read_file(path("err")).find("of 400 estimates; --resume goes on"), std::string::npos);
  EXPECT_NE(read_file(path("said")).find("double_well/a"), std::string::npos);
  const Outcome rest =
      run_tool("estimators " COSTATE_SCENES
               "/double_well.toml --samples 20000 --methods girsanov --parameters double_well/a "
               "--resume --json --output " +
               path("out") + " --horizons 1 2");
  ASSERT_EQ(rest.code, 0) << rest.err;
  EXPECT_GE(Json::parse(rest.out)["estimates"].size(), std::max<std::size_t>(done, 2));
}

// A quantity of packs of worlds, by the equilibrium's formula.
TEST_F(SceneTool, EstimatorsAnswerForAPressure) {
  const Outcome o = run_tool("estimators " COSTATE_SCENES
                             "/argon.toml --set run.steps=20 --samples 16 --methods reinforce --parameters "
                             "\"lennard_jones/*\" --json --output " +
                             path("out"));
  ASSERT_EQ(o.code, 0) << o.err;
  const Json cell = Json::parse(o.out)["estimates"][0];
  EXPECT_EQ(cell["names"].size(), 2U);
  EXPECT_TRUE(std::isfinite(cell["value"].get<double>()));
}

// Samples of a reference answer for the parameters of the file.
TEST_F(SceneTool, EstimatorsReweightSamplesOfAReference) {
  const std::string compare = "estimators " COSTATE_SCENES
                              "/double_well.toml --samples 512 --methods reweighting --every 10 --parameters "
                              "double_well/b --output " +
                              path("out");
  const Outcome o = run_tool(compare + " --json --reference double_well/b=0.2");
  ASSERT_EQ(o.code, 0) << o.err;
  const Json cell = Json::parse(o.out)["estimates"][0];
  EXPECT_EQ(cell["by"], "reweighting");
  EXPECT_LT(cell["gradient"][0].get<double>(), 0);
  EXPECT_EQ(run_tool(compare).code, 2);                                              // no reference
  EXPECT_EQ(run_tool(compare + " --resume --reference double_well/b=0.1").code, 2);  // another question
  EXPECT_NE(run_tool(compare + " --reference b").err.find("write NAME=VALUE"), std::string::npos);
}

// What was estimated with another seed or of another file is not taken for the answer.
TEST_F(SceneTool, EstimatorsResumeTheSameQuestionOnly) {
  const std::string compare = "estimators " COSTATE_SCENES
                              "/double_well.toml --samples 64 --methods pathwise --output " +
                              path("out");
  ASSERT_EQ(run_tool(compare).code, 0);
  EXPECT_EQ(run_tool(compare + " --resume").code, 0);
  for (const char* other : {" --seed 2", " --set molecules.kT=0.6", " --parameters kT"}) {
    const Outcome o = run_tool(compare + " --resume" + other);
    EXPECT_EQ(o.code, 2) << other;
    EXPECT_NE(o.err.find("another file, seed or parameters"), std::string::npos) << o.err;
  }
  std::ofstream(path("out.estimators.json")) << R"([{"a": 1}])";
  EXPECT_NE(run_tool(compare + " --resume").err.find("not a file of estimators"), std::string::npos);
  const Outcome none = run_tool(compare + " --parameters nothing");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("no parameter matches 'nothing'"), std::string::npos) << none.err;
}

TEST_F(SceneTool, ALineOfAtomsInABoxIsRecorded) {
  const std::string run =
      "run " COSTATE_SCENES "/double_well.toml --set molecules.box=[4] --output " + path("out");
  const Outcome o = run_tool(run);
  EXPECT_EQ(o.code, 0) << o.err;
  ASSERT_EQ(run_tool(run + " --trajectory " + path("out.xyz")).code, 0);
  std::ifstream frames(path("out.xyz"));
  std::string line;
  std::getline(frames, line);
  EXPECT_EQ(line, "1");
  for (const char* wrong : {"out.pdb", "out"}) {
    const Outcome refused = run_tool(run + " --trajectory " + path(wrong));
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find(".xyz, .extxyz or .dcd"), std::string::npos) << refused.err;
  }
  EXPECT_NE(run_tool("run " COSTATE_SCENES "/cable.toml --trajectory " + path("a.xyz")).err.find("of atoms"),
            std::string::npos);
}

// Before a run begins, not after it.
TEST_F(SceneTool, AWallThatLeaksIsSaidToBeforehand) {
  std::ofstream(path("cup.toml")) << R"(
[domain]
dimension = 2
high = [0.4, 0.3]
dx = 0.01
[run]
duration = 0.01
[[materials]]
name = "water"
kind = "liquid"
sound_speed = 6.0
[[colliders]]
name = "cup"
shape = {kind = "cup", radius = 0.1, height = 0.12, thickness = 0.03}
contact = "separate"
position = [0.2, 0.1]
[[fill]]
material = "water"
inside = "cup"
level = 0.08
)";
  const Outcome refused = run_tool("run " + path("cup.toml") + " --output " + path("out"));
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_NE(refused.err.find("make it 0.06 thick"), std::string::npos) << refused.err;
  const Outcome o =
      run_tool("run " + path("cup.toml") + " --set colliders.cup.leaks=allow --output " + path("out"));
  EXPECT_EQ(o.code, 0) << o.err;
  const std::string note =
      "the wall of 'cup' is 3 cells thick, and particles creep through one thinner than 6";
  EXPECT_NE(o.err.find(note), std::string::npos) << o.err;
  EXPECT_EQ(o.out.find(note), std::string::npos) << o.out;
}

TEST_F(SceneTool, ALossThatIsNotANumberIsSaidToBe) {
  const Outcome o =
      run_tool("run " COSTATE_SCENES "/double_well.toml --set loss[0].formula=0/0 --output " + path("out"));
  EXPECT_EQ(o.code, 3);
  EXPECT_NE(o.err.find("the part '0/0' of the loss is not finite"), std::string::npos) << o.err;
}

TEST_F(SceneTool, SetTakesListsOfLists) {
  const std::string run =
      "run " COSTATE_SCENES "/double_well.toml --output " + path("out") + " --set potentials[0].atoms=";
  EXPECT_EQ(run_tool(run + "[[0]]").code, 0);
  EXPECT_NE(run_tool(run + "[[0],[1]]").err.find("there is no atom 1"), std::string::npos);
  EXPECT_NE(run_tool(run + R"('[["a"],["b"]]')").err.find("there is no atom 'b'"), std::string::npos);
}

TEST_F(SceneTool, AFolderIsWhereTheFilesGo) {
  const std::string model = COSTATE_SCENES "/double_pendulum.xml --set run.duration=0.1 ";
  ASSERT_EQ(run_tool("run " + model + "--output " + path("made/")).code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("made/double_pendulum.rec")));
  ASSERT_EQ(run_tool("run " + model + "--output " + path("made")).code, 0);  // a folder by now
  EXPECT_FALSE(std::filesystem::exists(path("made.rec")));
}

TEST_F(SceneTool, AStateThatIsNotThereIsSaidToBe) {
  const std::string swing =
      "optimize " COSTATE_SCENES "/swing_up.toml --iterations 1 --output " + path("out");
  const Outcome fresh = run_tool(swing + " --resume");
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_NE(fresh.err.find("out.state.json to continue from"), std::string::npos) << fresh.err;
  EXPECT_EQ(run_tool(swing + " --resume").err, "");
  const Outcome missing = run_tool(swing + " --from " + path("missing.json"));
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("cannot be read"), std::string::npos) << missing.err;
}

// swing_up.toml has neither [contact] nor [parameters].
TEST_F(SceneTool, SetMakesTheTableItNeeds) {
  const std::string grad = "grad " COSTATE_SCENES "/swing_up.toml --json ";
  const Outcome plain = run_tool(grad), heavy = run_tool(grad + "--set parameters.body/pole/mass=0.3"),
                none = run_tool(grad + "--set contact.model=none");
  ASSERT_EQ(heavy.code, 0) << heavy.err;
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_NE(Json::parse(plain.out)["loss"], Json::parse(heavy.out)["loss"]);
  const Outcome wrong = run_tool(grad + "--set contakt.model=none");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("contakt"), std::string::npos) << wrong.err;
}

// From a folder that has no scenes.
TEST_F(SceneTool, ASceneThatComesWithTheProgramIsMeantByItsName) {
  const Outcome o = run_tool("info swing_up.toml");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(run_tool("info no_such.toml").code, 2);
  EXPECT_EQ(run_tool("info scenes/swing_up.toml").code, 0);  // as in a checkout
  EXPECT_EQ(run_tool("info examples/lorenz.toml").code, 0);
  const Outcome misspelt = run_tool("info swing_upp.toml");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_NE(misspelt.err.find("did you mean swing_up.toml, which comes with costate?"), std::string::npos)
      << misspelt.err;
}

TEST_F(SceneTool, MistakesInARigidSceneAreToldWithTheirPlace) {
  std::ofstream(path("wrong.toml")) << "[model]\nfile = \"" COSTATE_SCENES
                                       "/cart_pole.xml\"\n[[loss]]\nkind = \"position\"\nof = \"site/top\"\n";
  const Outcome o = run_tool("run " + path("wrong.toml"));
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err.find(path("wrong.toml") + ":5:6: the model has no site 'top'"), 0U) << o.err;
  EXPECT_NE(o.err.find("did you mean 'tip'?"), std::string::npos);
}

TEST_F(SceneTool, WhatCannotBeWrittenIsSaidBeforeTheWork) {
  const std::string scenes = COSTATE_SCENES "/";
  for (const std::string& command :
       {"run " + scene(), "optimize " + scene(), "plan " + scenes + "swing_up.toml ",
        "identify " + scenes + "double_pendulum_identify.toml ", "train " + scenes + "cart_pole_train.toml ",
        "estimators " + scenes + "double_well.toml "}) {
    for (const std::string place : {"/proc/x", "/nonexistent/folder/x"}) {
      const Outcome o = run_tool(command + "--output " + place);
      EXPECT_EQ(o.code, 2) << command;
      EXPECT_EQ(o.out, "") << command;
      EXPECT_NE(o.err.find("--output " + place), std::string::npos) << command << o.err;
      EXPECT_NE(o.err.find("the files cannot be written"), std::string::npos) << command << o.err;
    }
  }
}

}  // namespace
}  // namespace costate::app::test
