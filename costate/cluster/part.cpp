#include "costate/cluster/part.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "costate/cluster/bytes.h"

namespace costate::cluster {
namespace {

using Optional = std::optional<double>;

Optional larger(const Optional& a, const Optional& b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

template <class T>
void unite(std::vector<T>& a, const std::vector<T>& b) {
  for (const T& item : b)
    if (std::find(a.begin(), a.end(), item) == a.end()) a.push_back(item);
}
void unite_sorted(std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  a = std::move(both);
}

// "exact" promises most; what is biased promises least.
int doubt(const std::string& label) {
  if (label == "exact") return 0;
  if (label.starts_with("exact")) return 1;
  return label.starts_with("biased") ? 3 : 2;
}

void merge(GradientReport& a, const GradientReport& b) {
  if (doubt(b.label) > doubt(a.label)) a.label = b.label;
  a.steps = std::max(a.steps, b.steps);
  a.worlds += b.worlds;
  a.advances += b.advances;
  a.memory_bytes = std::max(a.memory_bytes, b.memory_bytes);
  a.memory_bytes_per_world = std::max(a.memory_bytes_per_world, b.memory_bytes_per_world);
  if (a.sampled_steps == b.sampled_steps && a.adjoint_norm.size() == b.adjoint_norm.size()) {
    for (std::size_t i = 0; i < a.adjoint_norm.size(); ++i)
      a.adjoint_norm[i] = std::hypot(a.adjoint_norm[i], b.adjoint_norm[i]);
  } else {  // blocks that took steps of their own: there are no norms of all of them together
    a.sampled_steps.clear(), a.adjoint_norm.clear();
  }
  unite_sorted(a.mode_switches, b.mode_switches);
  unite_sorted(a.masked_worlds, b.masked_worlds);
  a.adjoint_residual = std::max(a.adjoint_residual, b.adjoint_residual);
  a.growth_per_time = larger(a.growth_per_time, b.growth_per_time);
  a.reconstruction_error = larger(a.reconstruction_error, b.reconstruction_error);
  a.energy_drift = larger(a.energy_drift, b.energy_drift);
  a.spot_check = larger(a.spot_check, b.spot_check);
  a.gradient_by_time_step = larger(a.gradient_by_time_step, b.gradient_by_time_step);
  a.loss_by_time_step = larger(a.loss_by_time_step, b.loss_by_time_step);
  unite(a.advice, b.advice);
}

void write(Writer& to, const Optional& value) {
  to.integer(value.has_value());
  if (value) to.number(*value);
}
void read(Reader& from, Optional& value) {
  value = std::nullopt;
  if (from.integer() != 0) value = from.number();
}

void write(Writer& to, const GradientReport& r) {
  to.text(r.estimator).text(r.label).text(r.schedule);
  to.integer(r.steps).integer(r.worlds).integer(r.advances);
  to.integer(r.memory_bytes).integer(r.memory_bytes_per_world);
  to.integers(r.sampled_steps).numbers(r.adjoint_norm);
  to.integers(r.mode_switches).integers(r.masked_worlds).number(r.adjoint_residual);
  for (const Optional& value : {r.growth_per_time, r.reconstruction_error, r.energy_drift, r.spot_check,
                                r.gradient_by_time_step, r.loss_by_time_step})
    write(to, value);
  to.integer(std::int64_t(r.advice.size()));
  for (const std::string& line : r.advice) to.text(line);
}
void read(Reader& from, GradientReport& r) {
  r.estimator = from.text(), r.label = from.text(), r.schedule = from.text();
  r.steps = from.integer(), r.worlds = from.integer(), r.advances = from.integer();
  r.memory_bytes = from.integer(), r.memory_bytes_per_world = from.integer();
  r.sampled_steps = from.integers(), r.adjoint_norm = from.numbers();
  r.mode_switches = from.integers(), r.masked_worlds = from.integers(), r.adjoint_residual = from.number();
  for (Optional* value : {&r.growth_per_time, &r.reconstruction_error, &r.energy_drift, &r.spot_check,
                          &r.gradient_by_time_step, &r.loss_by_time_step})
    read(from, *value);
  for (std::int64_t lines = from.integer(); lines > 0; --lines) r.advice.push_back(from.text());
}

}  // namespace

void keep_findings(GradientReport& report) {
  for (const double epsilon :
       {double(std::numeric_limits<float>::epsilon()), std::numeric_limits<double>::epsilon()}) {
    GradientReport again = report;
    again.advice.clear();
    again.conclude(epsilon);
    std::erase_if(report.advice, [&](const std::string& line) {
      return std::find(again.advice.begin(), again.advice.end(), line) != again.advice.end();
    });
  }
}

Part sum(Part lower, const Part& upper) {
  if (lower.failure) return lower;
  if (upper.failure) return upper;
  if (lower.sums.size() != upper.sums.size())
    throw Error({"two blocks of one job have gradients of " + std::to_string(lower.sums.size()) + " and " +
                     std::to_string(upper.sums.size()) + " numbers",
                 "", "return as many numbers for every block"});
  lower.value += upper.value;
  for (std::size_t i = 0; i < lower.sums.size(); ++i) lower.sums[i] += upper.sums[i];
  merge(lower.report, upper.report);
  return lower;
}

std::string to_bytes(const Part& part) {
  Writer to;
  to.number(part.value).numbers(part.sums);
  write(to, part.report);
  to.integer(part.failure.has_value());
  if (!part.failure) return to.bytes();
  return to.bytes() + to_bytes(Error(part.failure->message, part.failure->kind));
}

Part part_of(std::string_view bytes) {
  Reader from(bytes);
  Part part;
  part.value = from.number(), part.sums = from.numbers();
  read(from, part.report);
  if (from.integer() != 0) {
    const Error failure = error_of(from);
    part.failure = {failure.message(), failure.kind()};
  }
  from.end();
  return part;
}

}  // namespace costate::cluster
