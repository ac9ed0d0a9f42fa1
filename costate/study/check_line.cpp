#include "costate/study/check_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/philox.h"

namespace costate::study {
namespace {

constexpr std::size_t kMostFields = 8;  // that are measured one by one

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

}  // namespace

CheckPoint::CheckPoint(Study& study, std::vector<double> at) : z(std::move(at)), gradient(z.size()) {
  value = study.value_and_gradient(z, gradient.data());
  pattern = study.report().mode_switches;
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

Line::Line(Study& study, const CheckPoint& from, const CheckField& field, std::uint64_t seed)
    : study_(study), from_(from), name_(field.name), direction_(from.z.size()) {
  for (const std::size_t i : field.members) {
    // A variable alone is moved by its scale, so that a slope is its derivative.
    const double n = double(field.members.size());
    direction_[i] = n == 1 ? 1 : normal(seed, std::uint32_t(i), 0) / std::sqrt(n);
    slope_ += from.gradient[i] * direction_[i];
    norm_ += from.gradient[i] * from.gradient[i];
  }
  norm_ = std::sqrt(norm_ / double(field.members.size()));
}

std::vector<double> Line::moved(double h) const {
  std::vector<double> to = from_.z;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * direction_[i];
  return to;
}

double Line::value(double h) const {
  try {
    return study_.value(moved(h));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return std::numeric_limits<double>::quiet_NaN();
  }
}

double Line::difference(double h) const {
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

double Line::side(double h) const {
  return (-11 * from_.value + 18 * value(h) - 9 * value(2 * h) + 2 * value(3 * h)) / (6 * h);
}

bool Line::same_pattern(double h) const {
  if (from_.pattern.empty() && !study_.has_modes()) return true;
  try {
    return CheckPoint(study_, moved(h)).pattern == from_.pattern;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return false;
  }
}

double Line::comparable(double h, int shortenings) const {
  for (int k = 0; k < shortenings; ++k, h /= 4) {
    bool same = true;
    for (const int i : {3, -3, 1, -1, 2, -2}) same = same && same_pattern(i * h);
    if (same) return h;
  }
  return 0;
}

}  // namespace costate::study
