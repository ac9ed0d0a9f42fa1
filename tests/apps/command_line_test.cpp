// The tool as its users meet it: exit codes, streams, JSON, tables, and the time to a first gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/apps/run_tool.h"
#include "tests/float_traps.h"

namespace costate::app::test {
namespace {

using Json = nlohmann::json;

std::string problem(const std::string& name) { return "'" COSTATE_PROBLEMS "/" + name + ".toml'"; }
std::string example(const std::string& name) { return "'" COSTATE_EXAMPLES "/" + name + ".toml'"; }

Json json_of(const std::string& arguments) {
  const Outcome outcome = run_tool(arguments + " --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return Json::parse(outcome.out);  // throws unless it is exactly one value
}

TEST(CommandLine, GradPrintsOneJsonObjectWithTheNamesOfTheFile) {
  const Json g = json_of("grad " + problem("bouncing_ball"));
  EXPECT_NEAR(g["loss"].get<double>(), 8.494217007606046, 1e-11);
  EXPECT_NEAR(g["gradient"]["parameters.e"].get<double>(), 314.56883995768527, 1e-9);
  EXPECT_NEAR(g["gradient"]["parameters.g"].get<double>(), -7.277029744509887, 1e-10);
  EXPECT_NEAR(g["gradient"]["start.h"].get<double>(), 1.5961821700760583, 1e-11);
  EXPECT_NEAR(g["gradient"]["t1"].get<double>(), -9.508652199492, 1e-9);
  EXPECT_NEAR(g["gradient"]["t0"].get<double>(), 9.508652199492, 1e-9);
  EXPECT_EQ(g["report"]["estimator"], "discrete adjoint of dopri5");
  EXPECT_EQ(g.size(), 3u);
  const Json r = json_of("run " + problem("bouncing_ball"));
  ASSERT_EQ(r["events"].size(), 3u);
  EXPECT_NEAR(r["events"][1]["t"].get<double>(), 8.30539534499922, 1e-12);
}

TEST(CommandLine, EveryAdjointCanBeChosen) {
  const double exact = json_of("grad " + problem("lorenz"))["gradient"]["parameters.rho"];
  for (const std::string adjoint : {"discrete", "forward", "interpolating", "backsolve"}) {
    const Json g = json_of("grad " + problem("lorenz") + " --adjoint " + adjoint);
    EXPECT_NEAR(g["gradient"]["parameters.rho"].get<double>(), exact, 1e-7) << adjoint;
  }
  const Outcome wrong = run_tool("grad " + problem("lorenz") + " --adjoint magic");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_NE(wrong.err.find("magic"), std::string::npos);
}

TEST(CommandLine, GradSaysHowFarItCanBeFollowed) {
  const auto radius = [](const std::string& t1) {
    const Json g = json_of("grad " + problem("lorenz") + " --trust --set run.t1=" + t1);
    return g["trust"]["along_gradient"].get<double>();
  };
  const double soon = radius("0.5"), late = radius("30");
  EXPECT_GT(soon, 4 * late);  // it is not linear for long
  EXPECT_GT(late, 0);
  EXPECT_NE(run_tool("grad " + problem("drag") + " --trust").out.find("\ntrust:    variables: "),
            std::string::npos);
}

TEST(CommandLine, CheckpointsChangeNoBitOfTheGradient) {
  const Json all = json_of("grad " + problem("lotka_volterra_final")),
             few = json_of("grad " + problem("lotka_volterra_final") + " --checkpoints 7");
  EXPECT_EQ(all["gradient"], few["gradient"]);
}

TEST(CommandLine, SetChangesValues) {
  const Json g = json_of("grad " + problem("drag") + " --set parameters.b=0 --set run.t1=2 --set start.v=5");
  EXPECT_NEAR(g["loss"].get<double>(), 5 * 2 - 9.8 * 2, 1e-10);
  EXPECT_NEAR(g["gradient"]["start.v"].get<double>(), 2, 1e-11);
}

TEST(CommandLine, SolveGivesTheSolutionAtTheTimesAskedFor) {
  const Json s = json_of("run " + problem("lorenz") + " --dense 5");
  EXPECT_EQ(s["columns"]["t"], Json({0.0, 0.25, 0.5, 0.75, 1.0}));
  EXPECT_NEAR(s["columns"]["x"][4].get<double>(), -6.450579147318907, 1e-10);
  EXPECT_NEAR(s["columns"]["y"].back().get<double>(), -8.895211478667793, 1e-10);
  EXPECT_NE(s["message"].get<std::string>().find("steps"), std::string::npos);
}

TEST(CommandLine, ControlsAreAmongTheInputsAndTheColumns) {
  const Json g = json_of("grad " + example("soft_landing") + " --set controls.thrust[1]=1");
  EXPECT_TRUE(g["gradient"].contains("controls.thrust[7]"));
  // dh/du_k = 2 (16 - 2k - 1), dv/du_k = 2; by the thrust at its own cost: 2 * 0.02 u_k.
  const double h = 100 - 160 + 0.5 * 256 * (2 - 1.62) - 26, v = -10 + 16 * (2 - 1.62) - 2;
  EXPECT_NEAR(g["gradient"]["controls.thrust[1]"].get<double>(), 2 * h * 26 + 2 * v * 2 + 2 * 0.02, 1e-6);
  EXPECT_FALSE(g["gradient"].contains("dt"));
  const Json s = json_of("run " + example("soft_landing") + " --set controls.thrust[1]=1 --dense 9");
  EXPECT_EQ(s["columns"]["thrust"], Json({2.0, 2.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0}));
  const Outcome table = run_tool("run " + example("soft_landing") + " --dense 3");
  EXPECT_NE(table.out.find("thrust"), std::string::npos);
}

TEST(CommandLine, AFixedStepHasADerivativeToo) {
  const std::string fixed = " --solver rk4 --set run.dt=0.01";
  const Json g = json_of("grad " + problem("lorenz") + fixed);
  EXPECT_NEAR(g["gradient"]["dt"].get<double>(), 100 * g["gradient"]["t1"].get<double>(), 1e-9);
  EXPECT_NE(run_tool("grad " + problem("lorenz") + fixed).out.find("\n  dt "), std::string::npos);
}

TEST(CommandLine, SolveWritesCsv) {
  const Folder folder;
  const std::string csv = (folder / "out.csv").string();
  const Outcome outcome = run_tool("run " + problem("lorenz") + " --dense 3 --csv '" + csv + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string text = read_file(csv);
  EXPECT_TRUE(text.starts_with("t,x,y,z\n0,1,0,0\n0.5,")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  const Outcome bad = run_tool("run " + problem("lorenz") + " --csv /nonexistent/x.csv");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("cannot be written"), std::string::npos);
}

TEST(CommandLine, CheckPassesAndSaysSo) {
  const Outcome text = run_tool("check " + problem("van_der_pol"));
  EXPECT_EQ(text.code, 0) << text.out;
  EXPECT_NE(text.out.find("all checks passed"), std::string::npos);
  const Json json = json_of("check " + problem("bouncing_ball"));
  EXPECT_TRUE(json["passed"]);
  EXPECT_EQ(json["checks"].size(), 6u);
  EXPECT_EQ(json["checks"][0]["name"], "dot product");
}

// A staircase has no derivative that differences would see.
TEST(CommandLine, AFailedCheckHasExitCodeOne) {
  const Folder folder;
  const auto check = [&](const std::string& loss) {
    const std::string file = (folder / "check.toml").string();
    std::ofstream(file) << "[start]\nx = 0.0\n[equations]\nx = 0\n[run]\nt1 = 1\n[[loss]]\nformula = \"" +
                               loss + "\"\n";
    return run_tool("check '" + file + "'");
  };
  const Outcome stairs = check("1e-7*floor(1e7*x)");
  EXPECT_EQ(stairs.code, 1) << stairs.out << stairs.err;
  EXPECT_NE(stairs.out.find("FAIL"), std::string::npos);
  EXPECT_NE(stairs.out.find("worst: start.x"), std::string::npos) << stairs.out;
  const Outcome kink = check("abs(x)");
  EXPECT_EQ(kink.code, 0) << kink.out << kink.err;
  EXPECT_NE(kink.out.find("kink at start.x, slopes -1 and 1"), std::string::npos) << kink.out;
}

TEST(CommandLine, InfoSaysWhatWasUnderstood) {
  const Outcome outcome = run_tool("info " + problem("bouncing_ball"));
  EXPECT_EQ(outcome.code, 0);
  for (const char* part : {"h' = v", "v' = -g", "parameter", "dopri5", "falling"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_NE(json_of("info " + problem("lorenz"))["facts"].dump().find("rho = 21"), std::string::npos);
}

TEST(CommandLine, DevicesAreListedAndChosen) {
  EXPECT_NE(run_tool("info --devices").out.find("cpu"), std::string::npos);
  EXPECT_EQ(json_of("info --devices")["devices"][0]["device"], "cpu");
  const Outcome none = run_tool("info");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("there is no file"), std::string::npos);
  const Outcome equations = run_tool("run " + problem("lorenz") + " --device cuda:0");
  EXPECT_EQ(equations.code, 2);
  EXPECT_NE(equations.err.find("equations are solved on the CPU"), std::string::npos);
}

TEST(CommandLine, OptimizeHitsTheTarget) {
  const Json o = json_of("optimize " + example("projectile"));
  EXPECT_TRUE(o["report"]["converged"]);
  const double vx = o["variables"]["start.vx"], vy = o["variables"]["start.vy"];
  char best[128];
  std::snprintf(best, sizeof best, " --set start.vx=%.17g --set start.vy=%.17g", vx, vy);
  const Json s = json_of("run " + example("projectile") + best);
  EXPECT_EQ(s["events"][0]["name"], "landing");
  EXPECT_NEAR(s["columns"]["x"].back().get<double>(), 30,
              0.2);  // a gentle landing is worth a few centimetres
  const Json g = json_of("grad " + example("projectile") + best);
  EXPECT_NEAR(g["loss"].get<double>(), o["loss"].get<double>(), 1e-10);
  EXPECT_NEAR(g["gradient"]["start.vx"].get<double>(), 0, 1e-7);
  EXPECT_NEAR(g["gradient"]["start.vy"].get<double>(), 0, 1e-7);
}

TEST(CommandLine, InfoSaysWhatATaskIs) {
  const std::string task = "info " COSTATE_SCENES "/cart_pole_train.toml";
  const Outcome outcome = run_tool(task);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* words :
       {"A cart learns to balance a pole", "200 decisions, ", "q[0], sin(q[1])", "1 - abs(q[1])",
        "shac: 40000 decisions in 32 worlds", "policy 32, 32", "costate train "})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  const std::string changed =
      json_of(task + " --set task.decisions=7 --set task.reward=v[0]")["facts"].dump();
  EXPECT_NE(changed.find("7 decisions"), std::string::npos) << changed;
  EXPECT_NE(changed.find("\"reward\",\"v[0]\""), std::string::npos) << changed;
}

TEST(CommandLine, FitFindsThePendulum) {
  const Json o = json_of("optimize " + example("pendulum_fit"));
  // The data were made with length 1.2, damping 0.15, angle 1 and noise of 0.01.
  EXPECT_NEAR(o["variables"]["parameters.length"].get<double>(), 1.2, 0.01);
  EXPECT_NEAR(o["variables"]["parameters.damping"].get<double>(), 0.15, 0.03);
  EXPECT_NEAR(o["variables"]["start.angle"].get<double>(), 1.0, 0.04);
  // Differences of SciPy's solve_ivp say the same.
  EXPECT_NEAR(o["standard_deviation"]["parameters.length"].get<double>(), 0.00243719, 1e-7);
  EXPECT_NEAR(o["standard_deviation"]["parameters.damping"].get<double>(), 0.00697819, 1e-7);
  EXPECT_NEAR(o["standard_deviation"]["start.angle"].get<double>(), 0.01075247, 1e-7);
}

TEST(CommandLine, EveryExampleIsUnderstoodAndDoesWhatItSays) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(COSTATE_EXAMPLES)) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const std::string file = "'" + entry.path().string() + "'";
    const Json run = json_of("run " + file);
    EXPECT_GT(run["columns"].size(), 1u) << file;
    if (run["terms"].empty()) continue;
    const Outcome check = run_tool("check " + file);
    EXPECT_EQ(check.code, 0) << file << "\n" << check.out << check.err;
  }
  EXPECT_GE(files, 6);
}

TEST(CommandLine, OutputThatCannotBeWrittenIsNoticed) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string command =
      COSTATE_TOOL " grad " COSTATE_EXAMPLES "/lorenz.toml --json > /dev/full 2> /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
}

TEST(CommandLine, HelpAndVersionEndWell) {
  EXPECT_EQ(run_tool("--version").out, "costate " COSTATE_VERSION "\n");
  for (const std::string command : {"", "run", "grad", "check", "info", "optimize"}) {
    const Outcome outcome = run_tool(command + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_NE(outcome.out.find("costate " + (command.empty() ? std::string("grad") : command)),
              std::string::npos)
        << command;
  }
}

TEST(CommandLine, AWordThatIsNoCommandIsNamed) {
  EXPECT_EQ(run_tool("chek x.toml").err, "there is no command 'chek'\n  did you mean 'check'?\n");
  EXPECT_NE(run_tool("bogus").err.find("there is: run, grad"), std::string::npos);
}

TEST(CommandLine, FilesMayComeThroughAPipe) {
  const Folder folder;
  const std::string command = "cat " + example("bouncing_ball") +
                              " | " COSTATE_TOOL " grad /dev/stdin --json > '" + (folder / "out").string() +
                              "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_NEAR(Json::parse(read_file(folder / "out"))["loss"].get<double>(), 8.494217007606046, 1e-9);
}

TEST(CommandLine, AFormulaWithoutQuotesIsAdvisedToHaveSome) {
  const Folder folder;
  const std::string file = (folder / "bare.toml").string();
  for (const std::string line : {"x = -x", "x = sin(t)"}) {
    std::ofstream(file) << "[start]\nx = 1\n[equations]\n" + line + "\n[run]\nt1 = 1\n";
    const Outcome o = run_tool("run '" + file + "'");
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(o.err.find(":4:"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("stand in quotes"), std::string::npos) << o.err;
  }
  std::ofstream(file) << "[run]\nt1 = 1.0 s\n";
  EXPECT_NE(run_tool("run '" + file + "'").err.find("units are not written"), std::string::npos);
}

TEST(CommandLine, WithoutWordsItSaysWhichThereAre) {
  const std::string said = run_tool("").err;
  EXPECT_NE(said.find("grad"), std::string::npos) << said;
  EXPECT_NE(said.find("costate run pour_2d.toml"), std::string::npos) << said;
}

TEST(CommandLine, AModelAloneIsNoQuestion) {
  const Outcome o = run_tool("grad '" COSTATE_SCENES "/cart_pole.xml'");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("a model alone asks for no gradient\n  write a study"), std::string::npos) << o.err;
}

TEST(CommandLine, WrongUseIsExitCodeTwoAndNothingOnStdout) {
  for (const std::string arguments :
       {"", "fly", "grad", "grad missing.toml", "grad /", "grad x.toml --wrong", "grad missing.toml --json",
        "run x.toml --dense 1", "grad x.toml --checkpoints 0"}) {
    const Outcome outcome = run_tool(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_NE(outcome.err, "") << arguments;
  }
}

}  // namespace
}  // namespace costate::app::test
