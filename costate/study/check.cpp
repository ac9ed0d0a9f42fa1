#include "costate/study/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "costate/core/philox.h"
#include "costate/core/text.h"

namespace costate::study {
namespace {

constexpr std::size_t kDirections = 3;  // at least
constexpr std::size_t kMostFields = 8;  // that are measured one by one
constexpr double kTaylorGate = 0.1;
constexpr double kOffKinks[] = {1e-3, 3e-3, 1e-2};  // ways to step off a kink, in units of the scales
constexpr std::int64_t kTimedSteps = 10;

using check::Line;
using check::Result;

// Where a gradient was taken, and what it came to.
struct Point {
  Point(Study& study, std::vector<double> at) : z(std::move(at)), gradient(z.size()) {
    value = study.value_and_gradient(z, gradient.data());
    pattern = study.report().mode_switches;
  }
  std::vector<double> z, gradient;
  double value = 0;
  std::vector<std::int64_t> pattern;  // steps in which contacts change
};

// Variables that are moved together: those of one name, as "jug.angle" is of "jug.angle[3]".
struct CheckField {
  std::string name;
  std::vector<std::size_t> members;
};

// Of equal names one field.
std::vector<CheckField> grouped(const std::vector<Variable>& variables, char end_of_name) {
  std::vector<CheckField> fields;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string name = variables[i].name.substr(0, variables[i].name.find(end_of_name));
    const auto same =
        std::find_if(fields.begin(), fields.end(), [&](const CheckField& f) { return f.name == name; });
    CheckField& field = same != fields.end() ? *same : fields.emplace_back(CheckField{name, {}});
    field.members.push_back(i);
  }
  return fields;
}

std::vector<CheckField> check_fields(const std::vector<Variable>& variables) {
  CheckField all{"all variables", std::vector<std::size_t>(variables.size())};
  std::iota(all.members.begin(), all.members.end(), std::size_t{0});
  std::vector<CheckField> fields = grouped(variables, '[');
  if (fields.size() > kMostFields) fields = grouped(variables, '.');
  if (fields.size() == 1) return fields;
  fields.insert(fields.begin(), std::move(all));
  return fields;
}

// A random direction of length one (in the mean) over the members of the field. The point must outlive it.
Line line_of(Study& study, const Point& from, const CheckField& field, const CheckOptions& options,
             std::uint64_t seed) {
  std::vector<double> direction(from.z.size());
  double slope = 0, norm = 0;
  const double n = double(field.members.size());
  for (const std::size_t i : field.members) {
    // A variable alone is moved by its scale, so that a slope is its derivative.
    direction[i] = n == 1 ? 1 : normal(seed, std::uint32_t(i), 0) / std::sqrt(n);
    slope += from.gradient[i] * direction[i];
    norm += from.gradient[i] * from.gradient[i];
  }
  const auto moved = [direction, &from](double h) {
    std::vector<double> to = from.z;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * direction[i];
    return to;
  };
  // Differences, slopes of each side and remainders ask for the same losses.
  auto loss = [&study, &options, moved, name = field.name,
               known = std::map<double, double>()](double h) mutable {
    const auto found = known.find(h);
    if (found != known.end()) return found->second;
    if (options.progress) options.progress("differences along " + name);
    return known[h] = study.value(moved(h));
  };
  Line line{field.name, from.value, slope, std::sqrt(norm / n), loss};
  if (!from.pattern.empty() || study.has_modes())
    line.same = [&study, &from, moved](double h) { return Point(study, moved(h)).pattern == from.pattern; };
  return line;
}

// Stencil and Taylor at one point.
struct Measured {
  check::StencilOutcome stencil;
  Result taylor;
  bool passed() const { return stencil.result.passed() && taylor.passed(); }
};

Measured measure(Study& study, const Point& at, const CheckOptions& options) {
  const std::vector<CheckField> fields = check_fields(study.variables());
  std::vector<Line> lines;
  for (std::size_t d = 0; d < std::max(kDirections, fields.size()); ++d)
    lines.push_back(line_of(study, at, fields[d % fields.size()], options, options.seed + d));
  const Stencil how = study.stencil();
  const std::string over = study.steps() > 0 ? ", " + std::to_string(study.steps()) + " steps" : "";
  Measured m{check::compare_stencil(lines, how, over),
             {.name = "Taylor", .detail = "not measured: a kink", .skipped = true}};
  if (m.stencil.kink) return m;
  m.taylor = check::compare_taylor(lines.front(), how, kTaylorGate);
  if (!m.taylor.passed()) m.stencil.kink = check::kink_of(lines.front(), how);
  return m;
}

// A point off the kink at which the gradient was taken, and what is measured there.
Measured step_off(Study& study, const Point& start, const Measured& at_start, const CheckOptions& options) {
  for (const double distance : kOffKinks) {
    std::vector<double> z = start.z;
    for (std::size_t i = 0; i < z.size(); ++i) z[i] += distance * normal(options.seed, std::uint32_t(i), 1);
    if (options.progress) options.progress("a gradient off the kink");
    Measured there = measure(study, Point(study, z), options);
    if (!there.passed()) continue;
    const std::string where =
        ", " + number(distance, 2) + " of the scales off the start: " + at_start.stencil.kink->to_text();
    there.stencil.result.detail += where;
    there.taylor.detail += ", off the kink";
    return there;
  }
  return at_start;
}

}  // namespace

std::vector<Result> check_gradient(Study& study, const CheckOptions& options) {
  study.choose(study.inputs(true));
  const std::vector<double> z = study.start();
  if (options.progress) options.progress("forward against reverse");
  std::vector<Result> results = {study.dot_product(options.seed)};
  results[0].name = "dot product";
  if (results[0].detail.empty()) {
    results[0].detail = "forward against reverse, random directions";
    if (study.steps() > 0) results[0].detail += ", " + std::to_string(study.steps()) + " steps";
  }
  if (z.empty() || !study.has_loss()) {
    const std::string why = "the file has no [optimize], or no loss";
    results.push_back({.name = "stencil", .detail = why, .skipped = true});
    results.push_back({.name = "Taylor", .detail = why, .skipped = true});
    return results;
  }
  if (options.progress) options.progress("the gradient");
  const Point start(study, z);
  Measured measured = measure(study, start, options);
  if (!measured.passed() && measured.stencil.kink) measured = step_off(study, start, measured, options);
  results.push_back(measured.stencil.result);
  results.push_back(measured.taylor);
  if (options.progress) options.progress("other ways to the gradient");
  for (Result& r : study.comparisons()) results.push_back(std::move(r));
  return results;
}

std::int64_t steps_in_time(double seconds, std::int64_t most,
                           const std::function<std::unique_ptr<Study>(std::int64_t steps)>& open) {
  const auto study = open(std::min(most, kTimedSteps));
  if (most <= kTimedSteps || study->steps() < kTimedSteps) return most;
  study->choose(study->inputs(true));
  const std::vector<double> z = study->start();
  if (z.empty() || !study->has_loss()) return most;
  std::vector<double> gradient(z.size());
  double fastest = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 2; ++k) {  // the first one warms up
    const auto begun = std::chrono::steady_clock::now();
    study->value_and_gradient(z, gradient.data());
    fastest =
        std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  const double possible = double(kTimedSteps) * seconds / (kGradientsPerCheck * fastest);
  return std::clamp<std::int64_t>(std::int64_t(std::min(possible, double(most))), kTimedSteps, most);
}

}  // namespace costate::study
