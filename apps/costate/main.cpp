// costate: what a file describes (equations, particles, rigid bodies), simulated, differentiated, checked and
// optimised from the command line. Guide: docs/command_line.md; the files: docs/studies.md, docs/models.md.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "commands.h"
#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/study/equations.h"
#include "pooled.h"
#include "progress_bar.h"
#include "train.h"

namespace costate::app {

std::vector<std::string> tell_notes(const study::Study& study, const std::vector<std::string>& before) {
  std::vector<std::string> told = before;
  for (const auto& [what, value] : study.facts()) {
    if (what != "note" || std::find(told.begin(), told.end(), value) != told.end()) continue;
    fmt::print(stderr, "note: {}\n", value);
    told.push_back(value);
  }
  return told;
}

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

// Where a study says how its variables are changed: [fit], or [optimize].
std::string table_of_variables(const std::string& file) {
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);)
    if (const std::size_t first = line.find_first_not_of(" \t");
        first != std::string::npos && line.compare(first, 5, "[fit]") == 0)
      return "fit";
  return "optimize";
}

std::vector<io::Setting> all_settings_of(const Arguments& arguments) {
  std::vector<io::Setting> settings = settings_of(arguments);
  const auto also = [&](const std::string& key, const std::string& value) {
    settings.emplace_back(key, value);
  };
  if (!arguments.solver.empty()) also("run.solver", arguments.solver);
  if (!arguments.method.empty()) also(table_of_variables(arguments.file) + ".method", arguments.method);
  if (arguments.checkpoints > 0) also("run.checkpoints", std::to_string(arguments.checkpoints));
  if (!arguments.device.empty()) also("run.device", arguments.device);
  if (arguments.iterations > 0)
    also(table_of_variables(arguments.file) + ".iterations", std::to_string(arguments.iterations));
  return settings;
}

std::unique_ptr<study::Study> open_study(const Arguments& arguments, bool for_check) {
  io::Opening opening{.from = arguments.from, .for_check = for_check};
  if (for_check) opening.most_steps = arguments.steps;
  opening.settings = all_settings_of(arguments);
  auto study = io::load_study(arguments.file, opening);
  follow_if_split(*study);
  serve_if_pooled(*study, arguments);
  return study;
}

std::string output_prefix(const Arguments& arguments) {
  const std::string stem = std::filesystem::path(arguments.file).stem().string();
  if (arguments.output.empty()) return stem;
  // A folder: the files in it are called after the study.
  std::error_code trouble;
  if (!arguments.output.ends_with('/') && !std::filesystem::is_directory(arguments.output, trouble))
    return arguments.output;
  std::filesystem::create_directories(arguments.output, trouble);
  if (trouble)
    throw Error({"the folder cannot be made: " + trouble.message(), "--output " + arguments.output, ""});
  return (std::filesystem::path(arguments.output) / stem).string();
}

void expect_writable(const std::string& path, const std::string& option) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::app))
    throw Error({"the file cannot be written", option + " " + path,
                 "does the folder exist, and may you write there? choose another with " + option});
  if (!there) std::filesystem::remove(path, ignored);
}

void expect_writable_prefix(const std::string& prefix) {
  try {
    expect_writable(prefix + "." + std::to_string(getpid()) + ".new", "--output");
  } catch (const Error&) {
    throw Error({"the files cannot be written", "--output " + prefix,
                 "does the folder exist, and may you write there? choose another with --output"});
  }
}

namespace {

constexpr int kInput = 2, kNumerics = 3;

// Numerical failures are told with the file they belong to; mistakes in a file name it already.
int report(const Error& error, const Arguments& arguments) {
  const std::string& file = arguments.file;
  const int code = error.kind() == Error::Kind::numerics ? kNumerics : kInput;
  if (leaves_words_to_the_first(error, arguments.pool, arguments.device)) return code;
  const std::string& where = error.message().where;
  const bool named = where.starts_with(file) || where.starts_with("--");
  fmt::print(stderr, "{}{}\n", named ? "" : file + ": ", error.what());
  return code;
}

// What to say of a first word that is no command; nothing where it is one, or an option.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  const std::string word = argv[1];
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  return fmt::format("there is no command '{}'\n  {}", word, io::suggestion(word, names));
}

// A file that is not here, but comes with the program, is meant by its name: costate run coffee.toml, and as
// in a checkout costate run scenes/coffee.toml.
std::string existing(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code trouble;
  const std::string folder = fs::path(file).parent_path(), name = fs::path(file).filename();
  const bool ours = folder.empty() || folder == "scenes" || folder == "examples";
  if (name.empty() || !ours || fs::exists(file, trouble)) return file;
  const char* given = std::getenv("COSTATE_SHARE");  // set where the program is a part of Python
  const fs::path beside = fs::read_symlink("/proc/self/exe", trouble).parent_path() / "../share/costate";
  const fs::path share = given ? fs::path(given) : beside;
  std::vector<std::string> names;
  for (const char* part : {"scenes", "examples"}) {
    if (const fs::path there = share / part / name; fs::is_regular_file(there, trouble))
      return there.lexically_normal().string();
    for (const auto& entry : fs::directory_iterator(share / part, trouble))
      if (const fs::path kind = entry.path().extension();
          kind == ".toml" || kind == ".xml" || kind == ".urdf")
        names.push_back(entry.path().filename());
  }
  const std::string near = nearest_name(name, names);
  if (const fs::path kind = fs::path(name).extension(); near.empty() || kind == ".rec") return file;
  throw Error({"there is no such file", file, "did you mean " + near + ", which comes with costate?"});
}

// A command of the command line and what it does.
struct Command {
  CLI::App* parser;
  int (*run)(const Arguments&);
};

// The table of all commands and their options.
std::vector<Command> add_commands(CLI::App& app, Arguments& a) {
  const auto command = [&](const char* name, const char* description, const char* examples) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->footer(std::string("Examples:\n") + examples);
    sub->add_option("FILE", a.file, "study (docs/studies.md) or model of rigid bodies (docs/models.md)")
        ->required();
    sub->add_option("--set", a.set,
                    "change a value of the file: parameters.g=1.6, start.h=2, run.t1=20, "
                    "materials.milk.viscosity=0.1 (repeatable)")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--solver", a.solver, "of equations, instead of the file's");
    sub->add_option(
        "--device", a.device,
        "where it runs: cpu, cuda:0, ... (costate info --devices lists them); one large world over "
        "ranks:2 or, under mpirun, mpi");
    sub->add_flag("--json", a.json, "print one JSON object");
    return sub;
  };
  CLI::App* run =
      command("run", "Simulate; write a recording and its replay, or print the solution of equations.",
              "  costate run coffee.toml\n"
              "  costate run bouncing_ball.toml --dense 100 --csv ball.csv\n"
              "  costate run double_pendulum.xml --set run.duration=10");
  run->add_option("--dense", a.dense, "of equations: the solution at this many equally spaced times")
      ->check(CLI::Range(2, 10'000'000));
  run->add_option("--csv", a.csv, "of equations: write the solution to this file");
  run->add_option("--trajectory", a.trajectory,
                  "of molecules: write the frames to this file too (.xyz, .extxyz, .dcd)");
  CLI::App* grad = command("grad", "Print the loss and its derivative with respect to every input.",
                           "  costate grad bouncing_ball.toml\n"
                           "  costate grad bouncing_ball.toml --json\n"
                           "  costate grad bouncing_ball.toml --adjoint forward --set start.h=20");
  grad->add_option("--adjoint", a.adjoint,
                   "of equations: discrete (default), interpolating, backsolve, forward, cvodes")
      ->check(CLI::IsMember(study::adjoint_names()));
  grad->add_flag("--trust", a.trust,
                 "measure over how large a change of the variables the gradient predicts the loss");
  grad->add_option("--seed", a.seed, "of the random directions of --trust");
  grad->add_option("--checkpoints", a.checkpoints,
                   "keep every N-th state and recompute the others: less memory, same gradient")
      ->check(CLI::Range(1, 1'000'000));
  CLI::App* check = command("check", "Check the gradient: dot product, stencil, Taylor, other adjoints.",
                            "  costate check bouncing_ball.toml\n"
                            "  costate check coffee.toml --budget 120 --seed 7");
  check->add_option("--seed", a.seed, "of the random directions");
  check
      ->add_option("--steps", a.steps,
                   "check this many of the first steps (default: 200, or what --budget has time for; "
                   "equations: all)")
      ->check(CLI::Range(1, 10'000'000));
  check->add_option("--budget", a.budget, "seconds, about, that the check may take (default: 20)")
      ->check(CLI::PositiveNumber);
  CLI::App* info = command("info", "Print what was understood of the file.",
                           "  costate info bouncing_ball.toml\n  costate info humanoid.xml\n"
                           "  costate info --devices");
  info->get_option("FILE")->required(false);
  info->add_flag("--devices", a.devices, "list where rollouts can run");
  CLI::App* optimize =
      command("optimize", "Change the variables of [optimize] or [fit] until the loss is smallest.",
              "  costate optimize projectile.toml\n"
              "  costate optimize projectile.toml --set start.vx=5 --method adam --json\n"
              "  costate optimize coffee.toml --output pour --resume\n"
              "  costate optimize coffee.toml --method cma_es --pool processes:4");
  optimize->add_option("--method", a.method, "of optimisation, instead of the file's");
  CLI::App* identify =
      command("identify", "Find the variables of [fit] from measurements, with error bars.",
              "  costate identify double_pendulum_identify.toml\n"
              "  costate identify double_pendulum_identify.toml --set fit.robust=huber --json\n"
              "  costate identify double_pendulum_identify.toml --pool processes:4");
  CLI::App* plan = command("plan", "Plan the controls of every step until the loss is smallest.",
                           "  costate plan swing_up.toml\n"
                           "  costate plan swing_up.toml --method ddp --output swing\n"
                           "  costate plan swing_up.toml --method collocation");
  plan->add_option("--method", a.method,
                   "ilqr (default), ddp: with second derivatives, collocation: one nonlinear program");
  plan->add_option("--iterations", a.iterations, "at most (default: the file's, or 200)")
      ->check(CLI::Range(1, 1'000'000));
  CLI::App* train = command("train", "Learn the policy of [task]; write it, its learning curve and a replay.",
                            "  costate train hopper_train.toml\n"
                            "  costate train hopper_train.toml --set train.seed=2 --output second --resume");
  train->add_flag("--resume", a.resume, "continue from PREFIX.train.json");
  CLI::App* estimators = command(
      "estimators", "Estimate the gradient of an average in several ways; a table and a page of plots.",
      "  costate estimators double_well.toml\n"
      "  costate estimators double_well.toml --methods pathwise girsanov --horizons 10 100 1000");
  estimators->add_option(
      "--methods", a.methods,
      "pathwise, forward, girsanov, reinforce, reweighting, implicit, differences, continuous, first_order, "
      "zeroth_order, mixed_order, automatic");
  estimators->add_option("--horizons", a.horizons, "numbers of steps (default: the file's)")
      ->check(CLI::Range(1, 10'000'000));
  estimators->add_option("--samples", a.samples, "numbers of samples (default: 4096)")
      ->check(CLI::Range(2, 100'000'000));
  estimators->add_option("--parameters", a.parameters,
                         "with respect to which (default: all that a method has an answer for)");
  estimators->add_option("--exact", a.exact,
                         "the derivative where it is known, one per horizon, of the one parameter");
  estimators->add_option("--reference", a.reference,
                         "of reweighting: the parameters that its samples are drawn at, NAME=VALUE");
  estimators
      ->add_option("--every", a.every,
                   "of reinforce and reweighting: also sample every so many steps of the second half")
      ->check(CLI::Range(1, 10'000'000));
  estimators->add_option("--seed", a.seed, "of the noise");
  estimators->add_flag("--resume", a.resume, "keep what PREFIX.estimators.json has already");
  for (CLI::App* sub : {optimize, identify}) {
    sub->add_option("--iterations", a.iterations, "instead of the file's")->check(CLI::Range(1, 1'000'000));
    sub->add_flag("--resume", a.resume, "continue from PREFIX.state.json");
    sub->add_option(
        "--pool", a.pool,
        "who computes a generation of cma_es, or the measurements of a fit: threads:2, processes:4 "
        "or, under mpirun, mpi");
  }
  for (CLI::App* sub : {run, optimize, identify, plan, train, estimators})
    sub->add_option("--output", a.output, "prefix of the files that are written");
  for (CLI::App* sub : {run, grad, optimize, identify, plan})
    sub->add_option("--from", a.from, "start from the best variables of a PREFIX.state.json");
  CLI::App* view = app.add_subcommand("view", "Make one HTML page of recordings, side by side.");
  view->footer(
      "Examples:\n  costate view pour.before.rec pour.after.rec --output pour.html\n"
      "  costate view pour.after.rec --png pour.png --time 1.2");
  view->add_option("FILE", a.files, "recordings (.rec)")->required();
  view->add_option("--output", a.output, "the page (default: the first recording's name)");
  view->add_option("--title", a.title, "of the page");
  view->add_option("--png", a.png, "a picture instead of a page (drawn by Chromium)");
  view->add_option("--time", a.time, "of the picture (default: the end)")->check(CLI::NonNegativeNumber);
  view->add_option("--mp4", a.mp4, "a film instead of a page (drawn by Chromium, packed by ffmpeg)");
  return {{view, run_view},         {run, run_run},
          {grad, run_grad},         {check, run_check},
          {info, run_info},         {optimize, run_optimize},
          {identify, run_identify}, {plan, run_plan},
          {train, run_train},       {estimators, run_estimators}};
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Simulate, differentiate and optimise what a file describes: equations or a scene.",
               "costate");
  app.set_version_flag("--version", std::string("costate ") + COSTATE_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(
      "Exit codes: 0 all is well, 1 a check failed, 2 a mistake in the input, 3 the numerics failed.\n\n"
      "  costate grad bouncing_ball.toml\n"
      "  costate run pour_2d.toml\n"
      "  costate COMMAND --help\n\n"
      "Files that are not in this folder are looked for among those that come with costate.");
  Arguments a;
  const std::vector<Command> commands = add_commands(app, a);
  CLI::App* work = app.add_subcommand("work", "Compute for a driver: what --pool processes starts.");

  if (const std::string wrong = unknown_command(app, argc, argv); !wrong.empty()) {
    fmt::print(stderr, "{}\n", wrong);
    return kInput;
  }
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kInput;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;  // --help, --version
    app.exit(error);
    return asked ? 0 : kInput;
  }
  if (*work) return run_work();
  watch_progress();
  try {
    a.file = a.files.empty() ? existing(a.file) : a.files[0];  // only `view` has several
    for (const Command& command : commands)
      if (*command.parser) return command.run(a);
  } catch (const Error& error) {
    return report(error, a);
  } catch (const std::bad_alloc&) {
    return report(
        Error({"not enough memory", "", "keep fewer states: --checkpoints 100"}, Error::Kind::numerics), a);
  } catch (const std::system_error& error) {  // of what is printed, where no file is meant
    fmt::print(stderr, "costate: the output cannot be written: {}\n", error.code().message());
    return kInput;
  } catch (const std::exception& error) {
    return report(Error({std::string("internal error: ") + error.what(), "", ""}, Error::Kind::numerics), a);
  }
  return 0;
}

}  // namespace costate::app
