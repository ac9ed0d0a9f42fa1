// Ranges: what is wrong with the numbers of a run's parameters, by the ranges that its Signature gives them.
// A run, a planner and a scene ask before anything is computed; a step does not look.
// Tests: tests/system/ranges_test.cpp; of each physics the contract, and tests/python/test_ranges.py.
#pragma once

#include <span>
#include <string>

#include "costate/core/error.h"
#include "costate/system/parameters.h"

namespace costate {

// What is wrong with the numbers of a field (one world's, or those of several one after the other):
// "'body/pole/mass' is -1, and must not be negative". Empty: nothing.
template <class Real>
std::string fault(const Field& field, std::span<const Real> values);
// The same of all parameters of a System.
template <class Real>
std::string fault(const Signature& signature, const Parameters<Real>& parameters);
// The parameter that is not a number, if there is one: "'gravity[2]' is nan".
template <class Real>
std::string not_a_number(const Parameters<Real>& parameters);

// A number outside of its range: a mistake in the input, except where an optimiser tried it.
class OutOfRange : public Error {
  using Error::Error;
};
// Throws an OutOfRange, unless an AcrossRanges lives.
template <class Real>
void check_ranges(const Signature& signature, const Parameters<Real>& parameters);

// While one lives, runs that its thread starts may use any numbers: a difference about the end of a range
// needs those on the other side.
class AcrossRanges {
 public:
  AcrossRanges();
  ~AcrossRanges();
  AcrossRanges(const AcrossRanges&) = delete;
  AcrossRanges& operator=(const AcrossRanges&) = delete;
};

}  // namespace costate
