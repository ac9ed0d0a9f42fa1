// One entry point that checks everything about an elementary function: its error in ulp against quad
// precision, for float and double, that a pack gives the bits of the scalar in every lane, and that no
// argument in the domain raises an exception (the tests run with traps on).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "costate/core/functions.h"
#include "tests/core/quad.h"

namespace costate::test {

// Distance of got from the exact value in units of the last place of the exact value; denormals share one
// unit.
template <class T>
double ulp_error(T got, Quad exact) {
  using Limits = std::numeric_limits<T>;
  const T rounded = T(exact);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(got)) {
    // At the edge of the range rounding decides between the largest number and infinity.
    const bool at_edge = fabsq(exact) > Quad(Limits::max()) * (1 - 4 * Quad(Limits::epsilon()));
    return rounded == got || (at_edge && std::signbit(got) == std::signbit(rounded)) ? 0 : HUGE_VAL;
  }
  int exponent = 0;
  frexpq(exact, &exponent);
  if (exact == 0 || exponent < Limits::min_exponent) exponent = Limits::min_exponent;
  return double(fabsq(Quad(got) - exact) / ldexpq(1, exponent - Limits::digits));
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(a) && std::isnan(b));
}

// Where arguments are drawn from: uniformly in [low, high], or (log scale) with a uniform logarithm and
// either sign.
struct Range {
  double low, high;
  bool logarithmic = false;
  bool positive = false;
};
inline Range logarithmic(double low, double high) { return {low, high, true, false}; }
inline Range positive(double low, double high) { return {low, high, true, true}; }

template <class T>
class Arguments {
 public:
  explicit Arguments(Range range) : range_(range) {
    // A logarithmic range reaches as far as the format does, denormals included.
    using Limits = std::numeric_limits<T>;
    const double denormal = Limits::denorm_min(), largest = Limits::max();
    if (range.logarithmic) {
      low_ = std::log2(std::max(range.low, denormal));
      high_ = std::log2(std::min(range.high, largest));
    }
  }
  T next() {
    if (!range_.logarithmic) return T(range_.low + (range_.high - range_.low) * unit_(random_));
    const T magnitude =
        T(std::min(std::exp2(low_ + (high_ - low_) * unit_(random_)), double(std::numeric_limits<T>::max())));
    return !range_.positive && unit_(random_) < 0.5 ? -magnitude : magnitude;
  }

 private:
  Range range_;
  double low_ = 0, high_ = 0;
  std::mt19937_64 random_{20240607};
  std::uniform_real_distribution<double> unit_{0.0, 1.0};
};

// f: generic lambda of one scalar; exact: the same in quad precision.
template <class P, class F, class Exact>
void check_lanes(const char* name, const F& f, const Exact& exact, Range range, double max_ulp) {
  using T = value_t<P>;
  constexpr int n = lanes_of<P>;
  Arguments<T> arguments(range);
  double worst = 0;
  T worst_at = 0;
  for (int trial = 0; trial < 20000 / n; ++trial) {
    P x(T(0));
    for (int i = 0; i < n; ++i) x.set(i, arguments.next());
    const P y = f(x);
    for (int i = 0; i < n; ++i) {
      const T alone = f(T(x[i]));
      ASSERT_TRUE(same_bits(alone, T(y[i])))
          << name << "(" << x[i] << ") differs between one world and a pack";
      const double error = ulp_error(alone, exact(Quad(x[i])));
      if (error > worst) {
        worst = error;
        worst_at = x[i];
      }
    }
  }
  EXPECT_LE(worst, max_ulp) << name << " at " << worst_at << " (" << sizeof(T) << " bytes)";
  testing::Test::RecordProperty(std::string(name) + "_ulp", std::to_string(worst));
}

template <class F, class Exact>
void check_function(const char* name, const F& f, const Exact& exact, std::vector<Range> ranges,
                    double max_ulp = 2) {
  for (const Range& range : ranges) {
    SCOPED_TRACE(testing::Message() << "range " << range.low << " .. " << range.high);
    check_lanes<Pack<double, 8>>(name, f, exact, range, max_ulp);
    check_lanes<Pack<float, 4>>(name, f, exact, range, max_ulp);
  }
}

// The same for functions of two arguments.
template <class P, class F, class Exact>
void check_lanes(const char* name, const F& f, const Exact& exact, Range range_x, Range range_y,
                 double max_ulp) {
  using T = value_t<P>;
  constexpr int n = lanes_of<P>;
  Arguments<T> first(range_x), second(range_y);
  second.next();  // out of step with the first
  double worst = 0;
  T worst_x = 0, worst_y = 0;
  for (int trial = 0; trial < 20000 / n; ++trial) {
    P x(T(0)), y(T(0));
    for (int i = 0; i < n; ++i) {
      x.set(i, first.next());
      y.set(i, second.next());
    }
    const P z = f(x, y);
    for (int i = 0; i < n; ++i) {
      const T alone = f(T(x[i]), T(y[i]));
      ASSERT_TRUE(same_bits(alone, T(z[i]))) << name << "(" << x[i] << ", " << y[i] << ") differs in a pack";
      const double error = ulp_error(alone, exact(Quad(x[i]), Quad(y[i])));
      if (error > worst) {
        worst = error;
        worst_x = x[i];
        worst_y = y[i];
      }
    }
  }
  EXPECT_LE(worst, max_ulp) << name << " at " << worst_x << ", " << worst_y << " (" << sizeof(T) << " bytes)";
  testing::Test::RecordProperty(std::string(name) + "_ulp", std::to_string(worst));
}

template <class F, class Exact>
void check_function(const char* name, const F& f, const Exact& exact, Range x, Range y, double max_ulp = 2) {
  SCOPED_TRACE(testing::Message() << "x in " << x.low << " .. " << x.high << ", y in " << y.low << " .. "
                                  << y.high);
  check_lanes<Pack<double, 8>>(name, f, exact, x, y, max_ulp);
  check_lanes<Pack<float, 16>>(name, f, exact, x, y, max_ulp);
}

// f at zeros, infinities, NaN, denormals and the ends of the range equals what the C library's function says,
// the sign of a zero included; finite values may differ by 2 ulp. Also in the lane of a pack whose other
// lanes hold ordinary numbers.
template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> r = {T(0),        L::denorm_min(), L::denorm_min() * 1000,
                      L::min(),    L::epsilon(),    T(0.5),
                      T(1),        T(1.5),          T(2),
                      T(3),        T(20),           T(1e5),
                      T(16777215), T(1e30),         L::max() / 2,
                      L::max(),    L::infinity()};
  const std::size_t n = r.size();
  for (std::size_t i = 0; i < n; ++i) r.push_back(-r[i]);
  r.push_back(L::quiet_NaN());
  return r;
}
template <class T>
void expect_like_library(T got, T library, const testing::Message& what) {
  if (std::isnan(library)) {
    EXPECT_TRUE(std::isnan(got)) << what << " = " << got << ", expected NaN";
  } else {
    EXPECT_LE(ulp_error(got, Quad(library)), 2) << what << " = " << got << ", library " << library;
    EXPECT_EQ(std::signbit(got), std::signbit(library)) << what << " = " << got << ", library " << library;
  }
}

}  // namespace costate::test
