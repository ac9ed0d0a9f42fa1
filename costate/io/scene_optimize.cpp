#include "costate/io/scene_optimize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "costate/core/error.h"
#include "costate/optim/adam.h"
#include "costate/optim/cma_es.h"
#include "costate/optim/gradient_descent.h"
#include "costate/optim/lbfgs.h"

namespace costate::io {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uintmax_t kMostStateBytes = std::uintmax_t{64} << 20;

// What makes two runs the same run: another file or another setting is another run.
std::string identity_of(const SceneFunction& scene) {
  std::string text = scene.optimize()->method + " " + scene.identity();
  for (const SceneVariable& v : scene.variables())
    text += " " + v.name + "=" + std::to_string(v.start) + "/" + std::to_string(v.scale);
  return text;
}

Json to_json(const optim::DescentState& s) {
  return {{"iteration", s.iteration}, {"evaluations", s.evaluations}, {"value", s.value},  {"x", s.x},
          {"gradient", s.gradient},   {"best_value", s.best_value},   {"best_x", s.best_x}};
}
void from_json(const Json& j, optim::DescentState& s) {
  j.at("iteration").get_to(s.iteration);
  j.at("evaluations").get_to(s.evaluations);
  j.at("value").get_to(s.value);
  j.at("x").get_to(s.x);
  j.at("gradient").get_to(s.gradient);
  j.at("best_value").get_to(s.best_value);
  j.at("best_x").get_to(s.best_x);
}

// The memory of each method beyond what all share.
void memory_to_json(const optim::AdamState& s, Json& j) { j["m"] = s.m, j["v"] = s.v; }
void memory_from_json(const Json& j, optim::AdamState& s) { j.at("m").get_to(s.m), j.at("v").get_to(s.v); }
void memory_to_json(const optim::GradientDescentState& s, Json& j) { j["velocity"] = s.velocity; }
void memory_from_json(const Json& j, optim::GradientDescentState& s) { j.at("velocity").get_to(s.velocity); }
void memory_to_json(const optim::LbfgsState& s, Json& j) { j["s"] = s.s, j["y"] = s.y; }
void memory_from_json(const Json& j, optim::LbfgsState& s) { j.at("s").get_to(s.s), j.at("y").get_to(s.y); }
void memory_to_json(const optim::CmaEsState& s, Json& j) {
  j.update({{"sigma", s.sigma},
            {"sigma_path", s.sigma_path},
            {"covariance_path", s.covariance_path},
            {"covariance", s.covariance},
            {"recent", s.recent}});
}
void memory_from_json(const Json& j, optim::CmaEsState& s) {
  j.at("sigma").get_to(s.sigma);
  j.at("sigma_path").get_to(s.sigma_path);
  j.at("covariance_path").get_to(s.covariance_path);
  j.at("covariance").get_to(s.covariance);
  j.at("recent").get_to(s.recent);
}

void check_length(const std::vector<double>& v, std::size_t n) {
  if (v.size() != n) throw Error("");  // caught below: the message is the same for every flaw
}
void check_memory(const optim::AdamState& s, std::size_t n) { check_length(s.m, n), check_length(s.v, n); }
void check_memory(const optim::GradientDescentState& s, std::size_t n) {
  if (!s.velocity.empty()) check_length(s.velocity, n);
}
void check_memory(const optim::CmaEsState& s, std::size_t n) {
  check_length(s.sigma_path, n), check_length(s.covariance_path, n), check_length(s.covariance, n * n);
}
void check_memory(const optim::LbfgsState& s, std::size_t n) {
  if (s.s.size() != s.y.size()) throw Error("");
  for (const auto& v : s.s) check_length(v, n);
  for (const auto& v : s.y) check_length(v, n);
}

// Written beside and renamed, so that a crash leaves the old state or the new one.
void write_state(const std::string& path, const Json& json) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary);
  file << json.dump(1) << "\n";
  file.close();
  std::error_code trouble;
  if (file) std::filesystem::rename(fresh, path, trouble);
  if (!file || trouble)
    throw Error({"the state cannot be written", path, "is there room, and does its folder exist?"});
}

template <class State>
bool read_state(const std::string& path, const std::string& identity, std::size_t n, State& state,
                std::vector<double>& losses) {
  std::error_code trouble;
  if (!std::filesystem::is_regular_file(path, trouble)) return false;
  bool same = false;
  try {
    if (std::filesystem::file_size(path) > kMostStateBytes) throw Error("");
    std::ifstream file(path, std::ios::binary);
    const Json json = Json::parse(file);
    same = json.at("scene").get<std::string>() == identity;
    if (same) {
      from_json(json, state);
      memory_from_json(json, state);
      json.at("losses").get_to(losses);
      check_length(state.x, n);
      check_length(state.gradient, n);
      check_length(state.best_x, n);
      check_memory(state, n);
    }
  } catch (const std::exception&) {
    throw Error({"this is not the state of an optimisation", path, "remove it, or leave --resume out"});
  }
  if (!same)
    throw Error(
        {"this state belongs to another scene or other settings", path, "remove it, or leave --resume out"});
  return true;
}

// In the variables' own units.
Json named_values(const std::vector<SceneVariable>& variables, const std::vector<double>& x) {
  Json json = Json::object();
  for (std::size_t i = 0; i < x.size(); ++i) json[variables[i].name] = x[i] * variables[i].scale;
  return json;
}

// Function: an optim::Objective, or for methods without gradients a function of x alone.
template <class State, class Function, class Minimize>
SceneOptimum run(const std::vector<double>& start, const SceneFunction& scene,
                 const SceneOptimizeOptions& options, const Function& function, const Minimize& minimize) {
  const SceneOptimize& o = *scene.optimize();
  SceneOptimum optimum;
  optimum.start = start;
  State state;
  const std::string identity = identity_of(scene);
  if (options.resume && !options.state_file.empty())
    read_state(options.state_file, identity, start.size(), state, optimum.losses);
  const int first = state.iteration;
  const auto began = std::chrono::steady_clock::now();

  // The start's own loss is known to nobody but the objective.
  const Function watched = [&](const double* x, auto... gradient) {
    const double value = function(x, gradient...);
    if (optimum.losses.empty()) optimum.losses.push_back(value);
    return value;
  };
  const optim::Callback callback = [&](const optim::Progress& p) {
    optimum.losses.push_back(p.value);
    if (!options.state_file.empty()) {
      Json json = {
          {"scene", identity}, {"best", named_values(o.variables, state.best_x)}, {"losses", optimum.losses}};
      json.update(to_json(state));
      memory_to_json(state, json);
      write_state(options.state_file, json);
    }
    if (!options.progress) return true;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const double each =
        seconds / (p.iteration - first + (first == 0 ? 1 : 0));  // the start was evaluated too
    return options.progress({.iteration = p.iteration,
                             .iterations = o.iterations,
                             .value = p.value,
                             .best = state.best_value,
                             .gradient_norm = p.gradient_norm,
                             .seconds = seconds,
                             .seconds_left = each * (o.iterations - p.iteration)});
  };
  const optim::Result result = minimize(watched, state, callback);
  optimum.best = result.x;
  optimum.best_value = result.value;
  optimum.start_value = optimum.losses.empty() ? result.value : optimum.losses.front();
  optimum.iterations = result.iterations;
  optimum.evaluations = result.evaluations;
  optimum.reason = result.reason;
  return optimum;
}

}  // namespace

void start_from(const std::string& state_file, const std::string& scene,
                std::optional<SceneOptimize>& optimize) {
  if (!optimize) throw Error({"there are no variables: the file has no [optimize]", scene, ""});
  int found = 0;
  try {
    if (std::filesystem::file_size(state_file) > kMostStateBytes) throw Error("");
    std::ifstream file(state_file, std::ios::binary);
    const Json best = Json::parse(file).at("best");
    for (SceneVariable& v : optimize->variables) {
      if (!best.contains(v.name)) continue;
      const double value = best.at(v.name).get<double>();
      if (!std::isfinite(value)) throw Error("");
      v.start = std::clamp(value, v.lower, v.upper);
      ++found;
    }
  } catch (const std::exception&) {
    throw Error({"this is not the state of an optimisation", state_file,
                 "give a file that costate optimize has written"});
  }
  if (found == 0) throw Error({"this state has not one variable of the scene", state_file, ""});
}

SceneOptimum optimize(SceneFunction& problem, const SceneOptimizeOptions& options) {
  const SceneFunction& scene = problem;
  if (!problem.optimize())
    throw Error({"there is nothing to optimise: the file has no [optimize]", problem.file(),
                 "add [optimize] with variables = [{name = \"...\", scale = 1}]"});
  const SceneOptimize& o = *problem.optimize();
  const std::vector<double> start = problem.start();
  const std::size_t n = start.size();
  // A motion under which the simulation breaks down counts as one whose loss is not finite: the optimisers step back from it. The
  // file's own motion must work.
  bool first = true;
  const optim::Objective objective = [&](const double* x, double* gradient) {
    double value = std::numeric_limits<double>::quiet_NaN();
    try {
      value = problem.value_and_gradient(std::vector<double>(x, x + n), gradient);
    } catch (const Error& error) {
      if (first) throw;
      std::fill_n(gradient, n, value);
    }
    first = false;
    double length = 0;
    for (std::size_t i = 0; i < n; ++i) length += gradient[i] * gradient[i];
    length = std::sqrt(length);
    if (o.gradient_limit > 0 && length > o.gradient_limit)
      for (std::size_t i = 0; i < n; ++i) gradient[i] *= o.gradient_limit / length;
    return value;
  };
  optim::Bounds bounds;
  for (const SceneVariable& v : o.variables) {
    bounds.lower.push_back(v.lower / v.scale);
    bounds.upper.push_back(v.upper / v.scale);
  }
  const optim::Stopping stopping{.max_iterations = o.iterations, .target = o.target};
  if (o.method == "adam")
    return run<optim::AdamState>(start, scene, options, objective,
                                 [&](const auto& f, auto& state, const auto& callback) {
                                   return optim::minimize(f, start,
                                                          optim::AdamOptions{.rate = o.rate,
                                                                             .decay = o.decay,
                                                                             .stopping = stopping,
                                                                             .bounds = bounds,
                                                                             .callback = callback},
                                                          &state);
                                 });
  if (o.method == "cma_es") {
    const double first_value = problem.value(start);
    const std::function<double(const double*)> value = [&](const double* x) {
      try {
        return problem.value(std::vector<double>(x, x + n));
      } catch (const Error&) {
        return std::numeric_limits<double>::infinity();
      }
    };
    SceneOptimum optimum = run<optim::CmaEsState>(
        start, scene, options, value, [&](const auto& f, auto& state, const auto& callback) {
          return optim::minimize(
              f, start,
              optim::CmaEsOptions{
                  .sigma = o.rate, .stopping = stopping, .bounds = bounds, .callback = callback},
              &state);
        });
    optimum.start_value = optimum.losses.front() = first_value;  // CMA-ES itself does not look there
    return optimum;
  }
  if (o.method == "gradient_descent")
    return run<optim::GradientDescentState>(
        start, scene, options, objective, [&](const auto& f, auto& state, const auto& callback) {
          return optim::minimize(
              f, start,
              optim::GradientDescentOptions{
                  .rate = o.rate, .stopping = stopping, .bounds = bounds, .callback = callback},
              &state);
        });
  return run<optim::LbfgsState>(
      start, scene, options, objective, [&](const auto& f, auto& state, const auto& callback) {
        return optim::minimize(
            f, start,
            optim::LbfgsOptions{
                .first_step = o.rate, .stopping = stopping, .bounds = bounds, .callback = callback},
            &state);
      });
}

}  // namespace costate::io
