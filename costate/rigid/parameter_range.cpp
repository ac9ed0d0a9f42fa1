#include "costate/rigid/parameter_range.h"

#include <cmath>

#include "costate/core/text.h"
#include "costate/system/signature.h"

namespace costate::rigid {
namespace {

enum class Rule { positive, not_negative, increasing };
struct Range {
  const char* name;  // a glob
  Rule rule;
};
constexpr Range kRanges[] = {
    {"dt", Rule::positive},
    {"body/*/mass", Rule::not_negative},
    {"body/*/inertia", Rule::not_negative},
    {"joint/*/armature", Rule::not_negative},
    {"joint/*/range", Rule::increasing},
    {"joint/*/actuator_force_range", Rule::increasing},
    {"tendon/*/range", Rule::increasing},
    {"actuator/*/control_range", Rule::increasing},
    {"actuator/*/force_range", Rule::increasing},
    {"actuator/*/activation_range", Rule::increasing},
};

std::string fault(Rule rule, std::span<const double> values) {
  if (rule == Rule::increasing) {
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      if (values[i] > values[i + 1])
        return "ends before it begins: " + number(values[i]) + " to " + number(values[i + 1]);
    return {};
  }
  for (const double value : values) {
    if (rule == Rule::positive ? value <= 0 : value < 0)
      return "is " + number(value) + ", and must " +
             (rule == Rule::positive ? "be positive" : "not be negative");
  }
  return {};
}

}  // namespace

std::string parameter_fault(std::string_view name, std::span<const double> values) {
  for (const double value : values)
    if (std::isnan(value)) return "is nan, and must be a number";
  for (const Range& range : kRanges) {
    if (glob_match(range.name, name)) return fault(range.rule, values);
  }
  return {};
}

}  // namespace costate::rigid
