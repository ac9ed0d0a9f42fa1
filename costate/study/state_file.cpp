#include "costate/study/state_file.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "costate/core/error.h"

namespace costate::study {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

// visit(name, number or numbers) for what a state remembers; `lengths(name, numbers, count)` for what it must
// measure.
template <class State, class Visit>
void visit_common(State& s, const Visit& visit) {
  visit("iteration", s.iteration);
  visit("evaluations", s.evaluations);
  visit("value", s.value);
  visit("x", s.x);
  visit("gradient", s.gradient);
  visit("best_value", s.best_value);
  visit("best_x", s.best_x);
}
template <class S, class Visit>
void visit_state(S& s, const Visit& visit) {
  using State = std::remove_const_t<S>;
  visit_common(s, visit);
  if constexpr (std::is_same_v<State, optim::AdamState>) {
    visit("m", s.m);
    visit("v", s.v);
  } else if constexpr (std::is_same_v<State, optim::GradientDescentState>) {
    visit("velocity", s.velocity);
  } else if constexpr (std::is_same_v<State, optim::LbfgsState>) {
    visit("s", s.s);
    visit("y", s.y);
  } else if constexpr (std::is_same_v<State, optim::CmaEsState>) {
    visit("sigma", s.sigma);
    visit("sigma_path", s.sigma_path);
    visit("covariance_path", s.covariance_path);
    visit("covariance", s.covariance);
    visit("recent", s.recent);
  } else {
    visit("damping", s.damping);
    visit("growth", s.growth);
    visit("first_value", s.first_value);
    visit("scale", s.scale);
  }
}

bool has_length(const std::vector<double>& v, std::size_t n) { return v.size() == n; }
bool fits(const optim::AdamState& s, std::size_t n) { return has_length(s.m, n) && has_length(s.v, n); }
bool fits(const optim::GradientDescentState& s, std::size_t n) {
  return s.velocity.empty() || has_length(s.velocity, n);
}
bool fits(const optim::CmaEsState& s, std::size_t n) {
  return has_length(s.sigma_path, n) && has_length(s.covariance_path, n) && has_length(s.covariance, n * n);
}
bool fits(const optim::LbfgsState& s, std::size_t n) {
  const auto right = [&](const std::vector<double>& v) { return has_length(v, n); };
  return s.s.size() == s.y.size() && std::all_of(s.s.begin(), s.s.end(), right) &&
         std::all_of(s.y.begin(), s.y.end(), right);
}
bool fits(const optim::LevenbergMarquardtState& s, std::size_t n) { return has_length(s.scale, n); }

[[noreturn]] void refuse(const std::string& path, const std::string& advice) {
  throw Error({"this is not the state of an optimisation", path, advice});
}

// Null where the file is not JSON.
Json parsed(const std::string& path) {
  std::error_code trouble;
  const std::uintmax_t size = std::filesystem::file_size(path, trouble);
  if (trouble || size > kMostBytes) return {};
  std::ifstream file(path, std::ios::binary);
  return Json::parse(file, nullptr, false);
}

}  // namespace

void write_state(const std::string& path, const std::string& identity, const std::vector<Variable>& variables,
                 const optim::AnyState& state, const std::vector<double>& losses) {
  Json json = {{"scene", identity}, {"best", Json::object()}, {"losses", losses}};
  const std::vector<double>& best = optim::common(state).best_x;
  for (std::size_t i = 0; i < best.size(); ++i)
    json["best"][variables[i].name] = best[i] * variables[i].scale;
  std::visit([&](const auto& s) { visit_state(s, [&](const char* name, const auto& v) { json[name] = v; }); },
             state);
  // Written beside and renamed, so that a crash leaves the old state or the new one. The name is this
  // process's own: several runs may have the same output.
  const std::string fresh = path + "." + std::to_string(getpid()) + ".new";
  std::ofstream file(fresh, std::ios::binary);
  file << json.dump(1) << "\n";
  file.close();
  std::error_code trouble;
  if (file) std::filesystem::rename(fresh, path, trouble);
  if (!file || trouble)
    throw Error({"the state cannot be written", path, "is there room, and does its folder exist?"});
}

bool read_state(const std::string& path, const std::string& identity, std::size_t n, optim::AnyState& state,
                std::vector<double>& losses) {
  std::error_code trouble;
  if (!std::filesystem::is_regular_file(path, trouble)) return false;
  const char* const advice = "remove it, or leave --resume out";
  const Json json = parsed(path);
  if (!json.is_object() || !json.contains("scene") || !json["scene"].is_string()) refuse(path, advice);
  if (json["scene"].get<std::string>() != identity)
    throw Error({"this state belongs to another scene or other settings", path, advice});
  bool right = false;
  try {
    json.at("losses").get_to(losses);
    right = std::visit(
        [&](auto& s) {
          visit_state(s, [&](const char* name, auto& v) { json.at(name).get_to(v); });
          return has_length(s.x, n) && has_length(s.gradient, n) && has_length(s.best_x, n) && fits(s, n);
        },
        state);
  } catch (const Json::exception&) {
    right = false;
  }
  if (!right) refuse(path, advice);
  return true;
}

int start_from_state(const std::string& path, std::vector<Variable>& variables) {
  const char* const advice = "give a file that costate optimize has written";
  std::error_code trouble;
  if (!std::filesystem::is_regular_file(path, trouble))
    throw Error({"the state cannot be read", path, advice});
  const Json json = parsed(path);
  if (!json.is_object() || !json.contains("best") || !json["best"].is_object()) refuse(path, advice);
  const Json& best = json["best"];
  int found = 0;
  for (Variable& v : variables) {
    if (!best.contains(v.name)) continue;
    if (!best[v.name].is_number() || !std::isfinite(best[v.name].get<double>())) refuse(path, advice);
    v.start = std::clamp(best[v.name].get<double>(), v.lower, v.upper);
    ++found;
  }
  return found;
}

}  // namespace costate::study
