// costate: what a file describes (equations, particles, rigid bodies), simulated, differentiated, checked and optimised from the command
// line. Guide: docs/command_line.md; the file formats: docs/equations.md, docs/scenes.md, docs/models.md.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/io/run.h"
#include "scene.h"

namespace costate::app {

std::vector<io::Setting> settings_of(const Arguments& arguments) {
  std::vector<io::Setting> settings;
  for (const std::string& set : arguments.set) {
    const std::size_t equals = set.find('=');
    if (equals == std::string::npos)
      throw Error({"a setting needs a value", "--set " + set, "write --set parameters.g=1.6"});
    settings.emplace_back(set.substr(0, equals), set.substr(equals + 1));
  }
  return settings;
}

io::Problem load(const Arguments& arguments) {
  std::vector<io::Setting> settings = settings_of(arguments);
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

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Simulate, differentiate and optimise what a file describes: equations or a scene.");
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
    sub->add_option("FILE", a.file,
                    "problem file (docs/equations.md), scene (docs/scenes.md) or model (docs/models.md)")
        ->required();
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
  CLI::App* info = command("info", "Print what was understood of the file.",
                           "  costate info ball.toml\n  costate info scenes/humanoid.xml");
  CLI::App* optimize =
      command("optimize", "Change the variables of [optimize] or [fit] until the loss is smallest.",
              "  costate optimize projectile.toml\n"
              "  costate optimize projectile.toml --set state.vx=5 --json\n"
              "  costate optimize coffee.toml --output pour --resume");
  optimize->add_option("--output", a.output, "of a scene: prefix of the files that are written");
  optimize->add_option("--iterations", a.iterations, "of a scene: instead of the file's")
      ->check(CLI::Range(1, 1'000'000));
  optimize->add_flag("--resume", a.resume, "of a scene: continue from PREFIX.state.json");
  check->add_option("--steps", a.steps, "of a scene: check its first steps (default: 200)")
      ->check(CLI::Range(1, 10'000'000));
  CLI::App* run = command("run", "Run a scene or a model, and write its recording and replay.",
                          "  costate run coffee.toml\n"
                          "  costate run scenes/double_pendulum.xml --set run.duration=10\n"
                          "  costate run coffee.toml --set domain.dx=0.004 --output fine");
  run->add_option("--output", a.output, "prefix of the files that are written");
  for (CLI::App* sub : {run, grad, optimize})
    sub->add_option("--from", a.from, "of a scene: start from the best variables of a PREFIX.state.json");
  CLI::App* view = app.add_subcommand("view", "Make one HTML page of recordings, side by side.");
  view->footer("Examples:\n  costate view pour.before.rec pour.after.rec --output pour.html");
  view->add_option("FILE", a.files, "recordings (.rec)")->required();
  view->add_option("--output", a.output, "the page (default: the first recording's name)");
  view->add_option("--title", a.title, "of the page");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help, --version
    app.exit(error);
    return asked ? 0 : kInput;
  }
  if (*view) a.file = a.files[0];
  try {
    if (*view) return run_view(a);
    const bool model = io::is_model_file(a.file);
    if (*info && model) return run_model_info(a);
    const bool scene = model || io::is_scene(a.file);
    if (*run && !scene && std::filesystem::exists(a.file))
      throw Error({"this file has no table [domain] or [model]: it is not a scene", a.file,
                   "for equations, use costate solve"});
    if (*run) return run_scene(a);
    if (scene) {
      if (*solve) throw Error({"this is a scene, not equations", a.file, "use costate run"});
      if (*grad) return grad_scene(a);
      if (*check) return check_scene(a);
      if (*info) return info_scene(a);
      if (*optimize) return optimize_scene(a);
    }
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

}  // namespace costate::app
