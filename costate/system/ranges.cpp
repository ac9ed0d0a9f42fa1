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

}  // namespace

Ranges& Ranges::limit(std::size_t field, const ParameterRange& range) {
  list_.push_back({field, range});
  return *this;
}

Ranges& Ranges::limit(std::string_view name, const ParameterRange& range) {
  const auto& fields = signature_->fields(Role::parameter);
  if (name.find_first_of("*?") == std::string_view::npos)
    return limit(std::size_t(&signature_->find(Role::parameter, name) - fields.data()), range);
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (glob_match(name, fields[f].name)) limit(f, range);
  return *this;
}

AcrossRanges::AcrossRanges() { ++across; }
AcrossRanges::~AcrossRanges() { --across; }

template <class Real>
std::string fault(const ParameterRange& range, const Field& field, std::span<const Real> values) {
  if (values.empty()) return {};
  // One number may stand for the whole field.
  const std::size_t row = values.size() == 1 ? 1 : std::size_t(field.size);
  const std::size_t at = first_outside(range, row, values);
  if (at == values.size()) return {};
  const std::string world = values.size() > row ? " in world " + std::to_string(at / row) : std::string();
  if (range.pairs)
    return "'" + field.name + "' ends before it begins" + world + ": " + number(double(values[at])) + " to " +
           number(double(values[at + 1]));
  const std::string index = row > 1 ? "[" + std::to_string(at % row) + "]" : std::string();
  return "'" + field.name + index + "' is " + number(double(values[at])) + world + ", and must " +
         (std::isnan(values[at]) ? "be a number" : wanted(range));
}

template <class Real>
std::string fault(const Ranges& ranges, const Parameters<Real>& parameters) {
  const auto& fields = parameters.signature().fields(Role::parameter);
  for (const Ranges::One& one : ranges.list()) {
    std::string found = fault(one.range, fields[one.field], parameters.values(one.field));
    if (!found.empty()) return found;
  }
  return {};
}

template <class Real>
void check_ranges(const Ranges& ranges, const Parameters<Real>& parameters) {
  if (across > 0) return;
  const std::string found = fault(ranges, parameters);
  if (!found.empty())
    throw OutOfRange(
        {"the parameter " + found, {}, "change it; an optimiser stays inside by bounds: lower, upper"});
}

#define COSTATE_INSTANTIATE(Real)                                                         \
  template std::string fault(const ParameterRange&, const Field&, std::span<const Real>); \
  template std::string fault(const Ranges&, const Parameters<Real>&);                     \
  template void check_ranges(const Ranges&, const Parameters<Real>&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate
