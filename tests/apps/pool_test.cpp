// --pool and --device from the command line: who computes does not show in the numbers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/apps/run_tool.h"

namespace costate::app::test {
namespace {

using Json = nlohmann::json;

const std::string kScene = std::string(COSTATE_EXAMPLES) + "/projectile.toml ";
const std::string kGenerations = "optimize " + kScene + "--method cma_es --iterations 6 --json ";

TEST(PoolTool, EveryPoolFindsTheSameNumbers) {
  const Outcome alone = run_tool(kGenerations);
  ASSERT_EQ(alone.code, 0) << alone.err;
  for (const std::string pool : {"threads:2", "processes:1", "processes:3"}) {
    const Outcome o = run_tool(kGenerations + "--pool " + pool);
    ASSERT_EQ(o.code, 0) << o.err;
    const Json a = Json::parse(alone.out), b = Json::parse(o.out);
    EXPECT_EQ(a["variables"], b["variables"]) << pool;
    EXPECT_EQ(a["losses"], b["losses"]) << pool;
    EXPECT_NE(b["pool"].get<std::string>().find("workers, efficiency"), std::string::npos);
  }
}

// The run is killed, workers and all, once it has written its seventh generation.
TEST(PoolTool, ARunThatWasKilledGoesOn) {
  const std::string run = "optimize " + kScene + "--method cma_es --iterations 60 --json ";
  const Outcome whole = run_tool(run);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const Folder folder;
  const std::string prefix = (folder / "run").string(), state = prefix + ".state.json";
  const std::string pooled = run + "--pool processes:2 --output '" + prefix + "' --resume";
  std::ofstream(folder / "kill.sh") << "'" << COSTATE_TOOL << "' " << pooled << " & driver=$!\n"
                                    << "until grep -Eq '\"iteration\": ?([7-9]|[1-9][0-9])' '" << state
                                    << "'; do sleep 0.02; done\nkill -9 $driver\n";
  run_tool("'" + (folder / "kill.sh").string() + "'", "sh");
  ASSERT_TRUE(std::filesystem::exists(state));
  const Outcome resumed = run_tool(pooled);
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const Json a = Json::parse(whole.out), b = Json::parse(resumed.out);
  EXPECT_EQ(a["variables"], b["variables"]);
  EXPECT_EQ(a["losses"], b["losses"]);
}

const std::string kIdentify =
    "identify '" + std::string(COSTATE_SCENES) + "/double_pendulum_identify.toml' --iterations 2 --json ";

void expect_the_same_fit(const Outcome& alone, const Outcome& o, const std::string& who) {
  ASSERT_EQ(o.code, 0) << o.err;
  const Json a = Json::parse(alone.out), b = Json::parse(o.out);
  for (const char* key : {"variables", "standard_deviation", "correlation", "loss", "residual_rms"})
    EXPECT_EQ(a[key], b[key]) << who << ", " << key;
  EXPECT_NE(b["pool"].get<std::string>().find("workers, efficiency"), std::string::npos);
}

TEST(PoolTool, TheMeasurementsOfAFitAreDealtOut) {
  const Outcome alone = run_tool(kIdentify);
  ASSERT_EQ(alone.code, 0) << alone.err;
  for (const std::string pool : {"threads:2", "processes:1", "processes:3"})
    expect_the_same_fit(alone, run_tool(kIdentify + "--pool " + pool), pool);
}

TEST(PoolTool, AFitOfEquationsIsOneSolutionAndSaysSo) {
  const Outcome o =
      run_tool("identify " + std::string(COSTATE_EXAMPLES) + "/pendulum_fit.toml --pool processes:2");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.err.find("there is nothing to deal out"), std::string::npos) << o.err;
}

const std::string kPlate = "'" + std::string(COSTATE_SCENES) + "/plate.toml' ";
const std::string kPour = "'" + std::string(COSTATE_SCENES) + "/pour_2d.toml' --set run.duration=0.4 ";

void expect_the_same_gradient(const Outcome& alone, const Outcome& o, const std::string& who) {
  ASSERT_EQ(o.code, 0) << who << ": " << o.err;
  const Json a = Json::parse(alone.out), b = Json::parse(o.out);
  EXPECT_EQ(a["loss"], b["loss"]) << who;
  EXPECT_EQ(a["gradient"], b["gradient"]) << who;
}

TEST(DeviceTool, OneWorldOverRanksHasTheSameNumbers) {
  for (const std::string& scene : {kPlate, kPour}) {
    const Outcome alone = run_tool("grad " + scene + "--json");
    ASSERT_EQ(alone.code, 0) << alone.err;
    for (const std::string ranks : {"ranks:1", "ranks:2", "ranks:3"})
      expect_the_same_gradient(alone, run_tool("grad " + scene + "--json --device " + ranks), scene + ranks);
  }
}

TEST(DeviceTool, WhatCannotBeSplitIsNamed) {
  const Outcome pushed = run_tool("grad '" + std::string(COSTATE_SCENES) + "/barista.toml' --device ranks:2");
  EXPECT_EQ(pushed.code, 2);
  EXPECT_NE(pushed.err.find("the material pushes"), std::string::npos) << pushed.err;
  const Outcome rigid =
      run_tool("grad '" + std::string(COSTATE_SCENES) + "/arm_reach.toml' --device ranks:2");
  EXPECT_EQ(rigid.code, 2);
  EXPECT_NE(rigid.err.find("cannot be split over ranks"), std::string::npos) << rigid.err;
}

// Where this program was built with MPI.
Outcome run_ranks(int ranks, const std::string& arguments) {
  for (const char* name :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
    ::setenv(name, "1", 0);
  return run_tool("-n " + std::to_string(ranks) + " '" + COSTATE_TOOL + "' " + arguments, COSTATE_MPIRUN);
}

TEST(MpiTool, RanksHaveTheSameNumbers) {
  if (std::string(COSTATE_MPIRUN).empty()) GTEST_SKIP() << "there is no MPI";
  const Outcome alone = run_tool("grad " + kPour + "--json"), fit = run_tool(kIdentify);
  const Json generations = Json::parse(run_tool(kGenerations).out);
  for (const int ranks : {1, 2, 3, 4}) {
    const std::string who = std::to_string(ranks) + " ranks";
    if (ranks < 4)
      expect_the_same_gradient(alone, run_ranks(ranks, "grad " + kPour + "--json --device mpi"), who);
    expect_the_same_fit(fit, run_ranks(ranks, kIdentify + "--pool mpi"), who);
    const Outcome o = run_ranks(ranks, kGenerations + "--pool mpi");
    ASSERT_EQ(o.code, 0) << who << ": " << o.err;
    EXPECT_EQ(Json::parse(o.out)["losses"], generations["losses"]) << who;
  }
}

// The first rank cannot write its files; the others serve already. And the other way round.
TEST(MpiTool, ARankThatCannotGoOnEndsAll) {
  if (std::string(COSTATE_MPIRUN).empty()) GTEST_SKIP() << "there is no MPI";
  const Outcome first = run_ranks(3, kGenerations + "--pool mpi --output /nowhere/at/all");
  EXPECT_EQ(first.code, 2) << first.err;
  EXPECT_NE(first.err.find("the files cannot be written"), std::string::npos) << first.err;
  const Outcome other = run_ranks(1, kGenerations + "--pool mpi : -n 1 '" + COSTATE_TOOL + "' " +
                                         kGenerations + "--set start.nothing=1 --pool mpi");
  EXPECT_EQ(other.code, 2) << other.err;
  EXPECT_NE(other.err.find("nothing"), std::string::npos) << other.err;
}

TEST(MpiTool, RanksDoOneThingAtATime) {
  if (std::string(COSTATE_MPIRUN).empty()) GTEST_SKIP() << "there is no MPI";
  const Outcome o = run_ranks(2, "optimize " + kPour + "--method cma_es --device mpi --pool mpi");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("keep one of --pool and --device mpi"), std::string::npos) << o.err;
}

// The jug moves too fast for its water, which one of the ranks finds.
TEST(MpiTool, AnErrorIsSaidOnce) {
  if (std::string(COSTATE_MPIRUN).empty()) GTEST_SKIP() << "there is no MPI";
  const Outcome o = run_ranks(2, "grad " + kPour + "--device mpi --set run.duration=0.05");
  EXPECT_EQ(o.code, 3) << o.err;
  const std::size_t first = o.err.find("pour_2d.toml: ");
  EXPECT_NE(first, std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("pour_2d.toml: ", first + 1), std::string::npos) << o.err;
}

TEST(PoolTool, AGradientMethodHasNothingToDealOutAndSaysSo) {
  const Outcome o = run_tool("optimize " + kScene + "--iterations 3 --pool processes:2");
  EXPECT_EQ(o.code, 0);
  EXPECT_NE(o.err.find("one block: there is nothing to deal out"), std::string::npos) << o.err;
}

TEST(PoolTool, APoolThatThereIsNotIsAMistake) {
  for (const std::string pool : {"clouds:3", "processes:many", "threads:"}) {
    const Outcome o = run_tool(kGenerations + "--pool " + pool);
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(o.err.find("--pool " + pool + ": there is no such pool"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("processes:4"), std::string::npos);
  }
}

TEST(PoolTool, AWorkerWithoutADriverEnds) { EXPECT_EQ(run_tool("work < /dev/null").code, 2); }

}  // namespace
}  // namespace costate::app::test
