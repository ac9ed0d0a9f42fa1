// costate: differential equations in a file, solved, differentiated, checked and optimised from the command line.
// Guide: docs/command_line.md; the file format: docs/equations.md.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/io/run.h"

namespace costate::app {

io::Problem load(const Arguments& arguments) {
  std::vector<io::Setting> settings;
  for (const std::string& set : arguments.set) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos)
      throw Error({"a setting needs a value", "--set " + set, "write --set parameters.g=1.6"});
    settings.emplace_back(set.substr(0, equals), set.substr(equals + 1));
  }
  if (!arguments.method.empty()) settings.emplace_back("solve.method", arguments.method);
  if (arguments.keep_every > 0)
    settings.emplace_back("solve.keep_every", std::to_string(arguments.keep_every));
  return io::load_problem(arguments.file, settings);
}

namespace {

constexpr int kInput = 2, kNumerics = 3;

// Numerical failures are told with the file they belong to; mistakes in a file name it already.
int report(const Error& error, const std::string& file) {
  const std::string& where = error.message().where;
  const bool named = where.starts_with(file) || where.starts_with("--");
  fmt::print(stderr, "{}{}\n", named ? "" : file + ": ", error.what());
  return error.kind() == Error::Kind::numerics ? kNumerics : kInput;
}

int run(int argc, char** argv) {
  CLI::App app("Solve and differentiate the differential equations of a file.");
  app.set_version_flag("--version", std::string("costate ") + COSTATE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(
      "Exit codes: 0 all is well, 1 a check failed, 2 a mistake in the input, 3 the numerics failed.\n\n"
      "  costate grad examples/bouncing_ball.toml\n"
      "  costate COMMAND --help");
  Arguments a;

  const auto command = [&](const char* name, const char* description, const char* examples) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->footer(std::string("Examples:\n") + examples);
    sub->add_option("FILE", a.file, "problem file (docs/equations.md)")->required();
    sub->add_option("--set", a.set,
                    "change a value of the file: parameters.g=1.6, state.h=2, solve.t1=20 (repeatable)")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--method", a.method, "method of solution, instead of the file's");
    sub->add_flag("--json", a.json, "print one JSON object");
    return sub;
  };
  CLI::App* solve = command("solve", "Solve the equations and print the solution.",
                            "  costate solve ball.toml\n"
                            "  costate solve ball.toml --dense 100 --csv ball.csv\n"
                            "  costate solve ball.toml --set parameters.g=1.6 --method dop853");
  solve->add_option("--dense", a.dense, "give the solution at this many equally spaced times")
      ->check(CLI::Range(2, 10'000'000));
  solve->add_option("--csv", a.csv, "write the solution to this file");
  CLI::App* grad =
      command("grad", "Print the loss and its derivative by every state, parameter and end of time.",
              "  costate grad ball.toml\n"
              "  costate grad ball.toml --json\n"
              "  costate grad ball.toml --adjoint forward --set state.h=20");
  grad->add_option("--adjoint", a.adjoint, "discrete (default), interpolating, backsolve, forward, cvodes")
      ->check(CLI::IsMember(io::adjoint_names()));
  grad->add_option("--checkpoints", a.keep_every,
                   "keep every N-th state and recompute the others: less memory, same gradient")
      ->check(CLI::Range(1, 1'000'000));
  CLI::App* check = command("check", "Check the gradient: dot product, stencil, Taylor, other adjoints.",
                            "  costate check ball.toml\n"
                            "  costate check ball.toml --seed 7");
  check->add_option("--seed", a.seed, "of the random directions");
  CLI::App* info = command("info", "Print what was understood of the file.", "  costate info ball.toml\n  costate info scenes/humanoid.xml");
  CLI::App* optimize =
      command("optimize", "Change the variables of [optimize] or [fit] until the loss is smallest.",
              "  costate optimize projectile.toml\n"
              "  costate optimize projectile.toml --set state.vx=5 --json");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help, --version
    app.exit(error);
    return asked ? 0 : kInput;
  }
  try {
    if (*solve) return run_solve(a);
    if (*grad) return run_grad(a);
    if (*check) return run_check(a);
    if (*info) return run_info(a);
    if (*optimize) return run_optimize(a);
  } catch (const Error& error) {
    return report(error, a.file);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: not enough memory\n  keep fewer states: --checkpoints 100\n", a.file);
    return kNumerics;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: internal error: {}\n", a.file, error.what());
    return kNumerics;
  }
  return 0;
}

}  // namespace
}  // namespace costate::app

int main(int argc, char** argv) { return costate::app::run(argc, argv); }
