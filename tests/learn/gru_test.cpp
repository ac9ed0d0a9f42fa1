#include "costate/learn/gru.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/dual.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "tests/expect_error.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

std::vector<double> drawn(std::int64_t count, std::uint64_t seed) {
  std::vector<double> v(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = normal(seed, 0, 0, std::uint32_t(i));
  return v;
}
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// One sample at a time, as the formula says, with 1/(1 + e^-a).
template <class S>
std::vector<S> plain(int n, int m, const std::vector<S>& w, const S* x, const S* h) {
  using costate::exp, costate::tanh, std::exp, std::tanh;
  const auto sum = [&](std::size_t at, int columns, const S* v) {
    S s(0);
    for (int j = 0; j < columns; ++j) s = s + w[at + std::size_t(j)] * v[j];
    return s;
  };
  const auto logistic = [](const S& a) { return S(1) / (S(1) + exp(-a)); };
  const std::size_t u = std::size_t(3 * m * n), b = u + std::size_t(3 * m * m), d = b + std::size_t(3 * m);
  std::vector<S> y;
  for (int i = 0; i < m; ++i) {
    const auto row = [&](int gate) { return std::size_t(gate * m + i); };
    const auto W = [&](int gate) { return sum(row(gate) * std::size_t(n), n, x); };
    const auto U = [&](int gate) { return sum(u + row(gate) * std::size_t(m), m, h); };
    const S r = logistic(W(0) + U(0) + w[b + row(0)]), z = logistic(W(1) + U(1) + w[b + row(1)]);
    const S c = tanh(W(2) + w[b + row(2)] + r * (U(2) + w[d + std::size_t(i)]));
    y.push_back((S(1) - z) * c + z * h[i]);
  }
  return y;
}

TEST(Gru, IsItsFormulaForAnyNumberOfSamples) {
  const Gru<double> f(3, 5);
  const auto w = drawn(f.weights(), 1);
  for (const std::int64_t count : {1, 15, 16, 17, 300}) {
    const auto x = drawn(count * 3, 2), h = drawn(count * 5, 3);
    std::vector<double> y(std::size_t(count * 5));
    GruPass<double> pass;
    f.forward(w, count, x.data(), h.data(), y.data(), pass);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto expected = plain<double>(3, 5, w, x.data() + k * 3, h.data() + k * 5);
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(y[std::size_t(k) * 5 + i], expected[i], 4e-15);
    }
  }
}

// Several layers of time: the memory after one decision is the one before the next.
struct Sequence {
  static constexpr int kTimes = 4, kInputs = 3, kSize = 5;
  std::int64_t count;
  Gru<double> f{kInputs, kSize};
  std::vector<double> w = drawn(f.weights(), 1), x = drawn(kTimes * count * kInputs, 2),
                      h = drawn(count * kSize, 3), bar = drawn(count * kSize, 4);
  std::vector<GruPass<double>> passes = std::vector<GruPass<double>>(kTimes);

  std::vector<double> forward() {
    std::vector<double> now = h, next(h.size());
    for (int t = 0; t < kTimes; ++t, now = next)
      f.forward(w, count, x.data() + t * count * kInputs, now.data(), next.data(), passes[std::size_t(t)]);
    return now;
  }
  struct Bars {
    std::vector<double> w, x, h;
  };
  Bars backward() {
    Bars to{std::vector<double>(w.size()), std::vector<double>(x.size()), bar};
    std::vector<double> before(h.size());
    for (int t = kTimes - 1; t >= 0; --t, to.h = before)
      f.backward(w, to.h.data(), to.x.data() + t * count * kInputs, before.data(), to.w.data(),
                 passes[std::size_t(t)]);
    return to;
  }
  // The rate of the last memory along a direction, by dual numbers of the formula.
  std::vector<double> tangent(const std::vector<double>& w_dot, const std::vector<double>& x_dot,
                              const std::vector<double>& h_dot) const {
    using D = Dual<double>;
    const auto duals = [](const double* v, const double* v_dot, std::size_t n) {
      std::vector<D> all(n);
      for (std::size_t i = 0; i < n; ++i) all[i] = D(v[i]), all[i].d[0] = v_dot[i];
      return all;
    };
    const std::vector<D> weights = duals(w.data(), w_dot.data(), w.size());
    std::vector<double> to;
    for (std::size_t k = 0; k < std::size_t(count); ++k) {
      std::vector<D> now = duals(&h[k * kSize], &h_dot[k * kSize], kSize);
      for (std::size_t t = 0; t < kTimes; ++t) {
        const std::size_t at = (t * std::size_t(count) + k) * kInputs;
        now = plain<D>(kInputs, kSize, weights, duals(&x[at], &x_dot[at], kInputs).data(), now.data());
      }
      for (const D& y : now) to.push_back(y.d[0]);
    }
    return to;
  }
};

TEST(Gru, TransposeIsThatOfDualNumbersThroughTime) {
  for (const std::int64_t count : {1, 16, 290}) {  // 290: more than one chunk
    Sequence s{.count = count};
    s.forward();
    const Sequence::Bars bars = s.backward();
    for (std::uint64_t seed = 10; seed < 30; ++seed) {
      const auto w_dot = drawn(std::int64_t(s.w.size()), seed),
                 x_dot = drawn(std::int64_t(s.x.size()), seed + 100),
                 h_dot = drawn(std::int64_t(s.h.size()), seed + 200);
      const std::vector<double> y_dot = s.tangent(w_dot, x_dot, h_dot);
      const double left = dot(y_dot, s.bar);
      const double right = dot(w_dot, bars.w) + dot(x_dot, bars.x) + dot(h_dot, bars.h);
      EXPECT_NEAR(left, right, 1e-13 * std::sqrt(dot(y_dot, y_dot) * dot(s.bar, s.bar)));
    }
  }
}

// Every number of the transpose alone.
TEST(Gru, EveryEntryOfTheTransposeIsThatOfDualNumbers) {
  Sequence s{.count = 2};
  s.forward();
  const Sequence::Bars bars = s.backward();
  const std::vector<double> none_w(s.w.size()), none_x(s.x.size()), none_h(s.h.size());
  const auto unit = [](std::size_t n, std::size_t i) {
    std::vector<double> e(n);
    e[i] = 1;
    return e;
  };
  for (std::size_t i = 0; i < s.w.size(); ++i)
    EXPECT_NEAR(dot(s.tangent(unit(s.w.size(), i), none_x, none_h), s.bar), bars.w[i], 1e-12) << i;
  for (std::size_t i = 0; i < s.x.size(); ++i)
    EXPECT_NEAR(dot(s.tangent(none_w, unit(s.x.size(), i), none_h), s.bar), bars.x[i], 1e-12) << i;
  for (std::size_t i = 0; i < s.h.size(); ++i)
    EXPECT_NEAR(dot(s.tangent(none_w, none_x, unit(s.h.size(), i)), s.bar), bars.h[i], 1e-12) << i;
}

TEST(Gru, BitsDoNotDependOnThreads) {
  const auto bits = [](int threads) {
    set_thread_count(threads);
    Sequence s{.count = 1500};
    std::vector<double> all = s.forward();
    const Sequence::Bars bars = s.backward();
    for (const auto* part : {&bars.w, &bars.x, &bars.h}) all.insert(all.end(), part->begin(), part->end());
    return all;
  };
  const auto one = bits(1);
  for (const int threads : {2, 3, 7}) EXPECT_EQ(bits(threads), one);
  set_thread_count(0);
}

TEST(Gru, FloatIsDoubleToItsPrecision) {
  Sequence s{.count = 40};
  const Gru<float> f(Sequence::kInputs, Sequence::kSize);
  const std::vector<float> w(s.w.begin(), s.w.end()), x(s.x.begin(), s.x.end()), h(s.h.begin(), s.h.end());
  std::vector<float> y(h.size());
  std::vector<double> exact(s.h.size());
  GruPass<float> pass;
  f.forward(w, 40, x.data(), h.data(), y.data(), pass);
  s.f.forward(s.w, 40, s.x.data(), s.h.data(), exact.data(), s.passes[0]);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], exact[i], 3e-6);
}

TEST(Gru, AMemoryOfNothingIsRefused) {
  expect_error([] { return Gru<double>(3, 0); }, "a memory of 0 numbers");
}

}  // namespace
}  // namespace costate::learn
