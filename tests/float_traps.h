// Floating-point traps: an invalid operation or a division by zero ends the test with SIGFPE, so that no
// kernel makes a NaN that a later select would hide. A test that means to produce one says so with
// AllowFloatExceptions.
//
// Under g++ only: clang computes both sides of a select ahead of the choice, also where the code divides
// only on one of them, so a trap there would accuse operations that the code does not ask for.
#pragma once
#include <cfenv>

namespace costate::test {

inline void enable_float_traps() {
#if defined(__GLIBC__) && !defined(__clang__)
  feenableexcept(FE_INVALID | FE_DIVBYZERO);
#endif
}

class AllowFloatExceptions {
 public:
  AllowFloatExceptions() { std::feholdexcept(&saved_); }
  ~AllowFloatExceptions() { std::fesetenv(&saved_); }
  AllowFloatExceptions(const AllowFloatExceptions&) = delete;
  AllowFloatExceptions& operator=(const AllowFloatExceptions&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace costate::test
