// --pool from the command line: who computes does not show in the numbers.
#include <gtest/gtest.h>

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
