#include "costate/system/ranges.h"

#include <algorithm>
#include <cmath>

#include "costate/core/text.h"

namespace costate {
namespace {

thread_local int across = 0;

std::string wanted(const ParameterRange& range) {
  if (range.low == 0 && std::isinf(range.high)) return range.open ? "be positive" : "not be negative";
  std::string text;
  if (std::isfinite(range.low)) text = (range.open ? "above " : "at least ") + number(range.low);
  if (std::isfinite(range.high)) text += (text.empty() ? "below " : " and below ") + number(range.high);
  return "be " + text;
}

// The first number that is not in the range, counted over all worlds; or how many there are.
template <class Real>
std::size_t first_outside(const ParameterRange& range, std::size_t size, std::span<const Real> values) {
  const std::size_t count = range.numbers > 0 ? std::min(std::size_t(range.numbers), size) : size;
  for (std::size_t world = 0; world < values.size(); world += size) {
    const Real* numbers = values.data() + world;
    if (range.pairs) {
      for (std::size_t i = 0; i + 1 < count; i += 2)
        if (std::isgreater(numbers[i], numbers[i + 1])) return world + i;
      continue;
    }
    bool inside = true;  // without a way out of the loop: fields may have a number per cell
    for (std::size_t i = 0; i < count; ++i) inside &= range.holds(double(numbers[i]));
    for (std::size_t i = 0; !inside && i < count; ++i)
      if (!range.holds(double(numbers[i]))) return world + i;
  }
  return values.size();
}

// One number may stand for the whole field.
std::size_t row_of(const Field& field, std::size_t values) {
  return values == 1 ? 1 : std::size_t(field.size);
}
std::string world_of(std::size_t row, std::size_t values, std::size_t at) {
  return values > row ? " in world " + std::to_string(at / row) : std::string();
}
// "[1]' is -1 in world 3", of number `at` of all worlds.
std::string place(const Field& field, std::size_t values, std::size_t at, double value) {
  const std::size_t row = row_of(field, values);
  return (row > 1 ? "[" + std::to_string(at % row) + "]' is " : "' is ") + number(value) +
         world_of(row, values, at);
}

// What is wrong by one of the ranges of the field.
template <class Real>
std::string fault(const ParameterRange& range, const Field& field, std::span<const Real> values) {
  const std::size_t row = row_of(field, values.size());
  const std::size_t at = first_outside(range, row, values);
  if (at == values.size()) return {};
  if (range.pairs)
    return "'" + field.name + "' ends before it begins" + world_of(row, values.size(), at) + ": " +
           number(double(values[at])) + " to " + number(double(values[at + 1]));
  return "'" + field.name + place(field, values.size(), at, double(values[at])) + ", and must " +
         (std::isnan(values[at]) ? "be a number" : wanted(range));
}

}  // namespace

AcrossRanges::AcrossRanges() { ++across; }
AcrossRanges::~AcrossRanges() { --across; }

template <class Real>
std::string fault(const Field& field, std::span<const Real> values) {
  if (values.empty()) return {};
  for (const ParameterRange& range : field.ranges) {
    std::string found = fault(range, field, values);
    if (!found.empty()) return found;
  }
  return {};
}

template <class Real>
std::string fault(const Signature& signature, const Parameters<Real>& parameters) {
  for (const std::size_t f : signature.limited()) {
    std::string found = fault(signature.fields(Role::parameter)[f], parameters.values(f));
    if (!found.empty()) return found;
  }
  return {};
}

template <class Real>
std::string not_a_number(const Parameters<Real>& parameters) {
  const auto& fields = parameters.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::span<const Real> values = parameters.values(f);
    const auto at = std::ranges::find_if(values, [](Real value) { return std::isnan(value); });
    if (at != values.end())
      return "'" + fields[f].name +
             place(fields[f], values.size(), std::size_t(at - values.begin()), double(*at));
  }
  return {};
}

template <class Real>
void check_ranges(const Signature& signature, const Parameters<Real>& parameters) {
  if (across > 0) return;
  const std::string found = fault(signature, parameters);
  if (!found.empty())
    throw OutOfRange(
        {"the parameter " + found, {}, "change it; an optimiser stays inside by bounds: lower, upper"});
}

#define COSTATE_INSTANTIATE(Real)                                        \
  template std::string fault(const Field&, std::span<const Real>);       \
  template std::string fault(const Signature&, const Parameters<Real>&); \
  template std::string not_a_number(const Parameters<Real>&);            \
  template void check_ranges(const Signature&, const Parameters<Real>&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate
