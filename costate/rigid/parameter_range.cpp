#include "costate/rigid/parameter_range.h"

#include <utility>

namespace costate::rigid {
namespace {

// By the last part of a name. Any damping is allowed: an unstable joint is a model, too.
constexpr std::pair<std::string_view, ParameterRange> kRanges[] = {
    {"dt", kPositive},
    {"mass", kNotNegative},
    {"inertia", {.low = 0, .open = false, .numbers = 3}},  // products of inertia have any sign
    {"armature", kNotNegative},
    {"range", kIncreasing},
    {"actuator_force_range", kIncreasing},
    {"control_range", kIncreasing},
    {"force_range", kIncreasing},
    {"activation_range", kIncreasing},
    {"length_range", kIncreasing},
};

}  // namespace

void limit_parameters(Signature& signature) {
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::string_view name = fields[f].name;
    const std::size_t slash = name.rfind('/');
    const std::string_view last = slash == std::string_view::npos ? name : name.substr(slash + 1);
    for (const auto& [of, range] : kRanges)
      if (of == last) signature.limit(f, range);
  }
}

}  // namespace costate::rigid
