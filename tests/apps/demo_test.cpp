// bin/costate_demo has what the demo needs, and says so where it lacks something (apps/demo).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/apps/run_tool.h"

namespace costate::app::test {
namespace {

using Json = nlohmann::json;

TEST(Demo, LearnsToPourWithTheBitsOfTheWholeTool) {
  const Folder folder;
  const auto optimize = [&](const std::string& name, const std::string& tool) {
    const std::string prefix = (folder / name).string();
    const Outcome o = run_tool("optimize " COSTATE_SCENES "/coffee.toml --iterations 1 --json --output " +
                                   prefix + " --set domain.dx=0.015",
                               tool);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_NE(read_file(prefix + ".html").find("<canvas"), std::string::npos);
    return o.code == 0 ? Json::parse(o.out)["losses"] : Json();
  };
  const Json losses = optimize("demo", COSTATE_DEMO);
  EXPECT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses, optimize("whole", COSTATE_TOOL));
}

TEST(Demo, SaysWhatToBuildWhereItLacksSomething) {
  const Outcome o = run_tool("run " COSTATE_SCENES "/double_pendulum.xml", COSTATE_DEMO);
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("build everything with ./dev build"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace costate::app::test
