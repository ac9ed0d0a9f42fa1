// Ranges: which numbers the parameters of a System may have: a mass is positive, a range ends after it
// begins. A run, a planner and a scene refuse other numbers before anything is computed; a step does not
// look. The ranges of a System travel with the pointer that its factory hands out:
//
//   auto system = std::make_shared<Rod>(...);
//   return with_ranges(system, Ranges(system->signature()).limit("length", kPositive));
//
// Equations of a user's own have none: any number may be meant.
// Tests: tests/system/ranges_test.cpp; of each physics the contract, and tests/python/test_ranges.py.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costate/core/error.h"
#include "costate/system/parameters.h"
#include "costate/system/system.h"

namespace costate {

struct ParameterRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool open = true;          // low itself is outside; high always is
  bool pairs = false;        // the numbers are pairs, and none ends before it begins
  std::int64_t numbers = 0;  // of the field, from its first on; 0: all

  // What is not a number is outside.
  bool holds(double value) const {
    return (open ? std::isgreater(value, low) : std::isgreaterequal(value, low)) && std::isless(value, high);
  }
};
inline constexpr ParameterRange kPositive = {.low = 0}, kNotNegative = {.low = 0, .open = false},
                                kIncreasing = {.pairs = true};

class Ranges {
 public:
  Ranges() = default;
  explicit Ranges(const Signature& signature) : signature_(&signature) {}

  // Of the parameter of that name, which must be there, or of those that match a pattern. The signature must
  // still live.
  Ranges& limit(std::string_view name, const ParameterRange& range);
  // By position in signature.fields(Role::parameter).
  Ranges& limit(std::size_t field, const ParameterRange& range);

  struct One {
    std::size_t field;
    ParameterRange range;
  };
  const std::vector<One>& list() const { return list_; }

 private:
  const Signature* signature_ = nullptr;
  std::vector<One> list_;
};

// What is wrong with the numbers of a field (one world's, or those of several one after the other):
// "'body/pole/mass' is -1, and must not be negative". Empty: nothing.
template <class Real>
std::string fault(const ParameterRange& range, const Field& field, std::span<const Real> values);
// The same of all parameters.
template <class Real>
std::string fault(const Ranges& ranges, const Parameters<Real>& parameters);

// A number outside of its range: a mistake in the input, except where an optimiser tried it.
class OutOfRange : public Error {
  using Error::Error;
};
// Throws an OutOfRange, unless an AcrossRanges lives.
template <class Real>
void check_ranges(const Ranges& ranges, const Parameters<Real>& parameters);

// While one lives, runs that its thread starts may use any numbers: a difference about the end of a range
// needs those on the other side.
class AcrossRanges {
 public:
  AcrossRanges();
  ~AcrossRanges();
  AcrossRanges(const AcrossRanges&) = delete;
  AcrossRanges& operator=(const AcrossRanges&) = delete;
};

// --- ranges of a System -----------------------------------------------------------------------------------

// What owns a System that has ranges.
struct WithRanges {
  Ranges ranges;
  std::shared_ptr<const void> system;
  void operator()(const void*) { system.reset(); }
};

template <class T>
std::shared_ptr<T> with_ranges(const std::shared_ptr<T>& system, Ranges ranges) {
  return std::shared_ptr<T>(system.get(), WithRanges{std::move(ranges), system});
}

template <class Real>
Ranges ranges_of(const std::shared_ptr<const System<Real>>& system) {
  const WithRanges* found = std::get_deleter<WithRanges>(system);
  return found ? found->ranges : Ranges();
}

}  // namespace costate
