#include "costate/learn/dense_network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "tests/expect_error.h"

namespace costate::learn {
namespace {

using costate::test::expect_error;

template <class Real>
std::vector<Real> drawn(std::int64_t count, std::uint64_t seed) {
  std::vector<Real> v(count);
  for (std::int64_t i = 0; i < count; ++i) v[i] = Real(normal(seed, 0, 0, std::uint32_t(i)));
  return v;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// One sample at a time, as the formula says.
std::vector<double> plain(const DenseNetwork<double>& f, const std::vector<double>& w,
                          std::vector<double> h) {
  std::size_t at = 0;
  for (std::size_t l = 0; l + 1 < f.sizes().size(); ++l) {
    const int n = f.sizes()[l], m = f.sizes()[l + 1];
    std::vector<double> z(m);
    for (int i = 0; i < m; ++i) {
      z[i] = w[at + std::size_t(m * n + i)];
      for (int j = 0; j < n; ++j) z[i] += w[at + std::size_t(i * n + j)] * h[j];
      if (l + 2 < f.sizes().size()) z[i] = std::tanh(z[i]);
    }
    at += std::size_t(m * n + m);
    h = z;
  }
  return h;
}

TEST(DenseNetwork, IsItsFormulaForAnyNumberOfSamples) {
  const DenseNetwork<double> f({5, 13, 7, 3});
  const auto w = f.first_weights(1);
  for (const std::int64_t count : {1, 15, 16, 17, 300}) {
    const auto in = drawn<double>(count * 5, 2);
    std::vector<double> out(count * 3);
    NetworkPass<double> pass;
    f.forward(w, count, in.data(), out.data(), pass);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto expected = plain(f, w, {in.begin() + k * 5, in.begin() + k * 5 + 5});
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(out[k * 3 + i], expected[i], 1e-14);
    }
  }
}

TEST(DenseNetwork, TransposeMatchesDifferences) {
  const DenseNetwork<double> f({4, 9, 8, 2});
  const std::int64_t count = 290;  // more than one chunk
  const auto w = f.first_weights(1), in = drawn<double>(count * 4, 2), bar = drawn<double>(count * 2, 3),
             w_dot = drawn<double>(f.weights(), 4), in_dot = drawn<double>(count * 4, 5);
  const auto value = [&](double h) {
    std::vector<double> moved_w = w, moved_in = in, out(count * 2);
    for (std::size_t i = 0; i < w.size(); ++i) moved_w[i] += h * w_dot[i];
    for (std::size_t i = 0; i < in.size(); ++i) moved_in[i] += h * in_dot[i];
    NetworkPass<double> pass;
    f.forward(moved_w, count, moved_in.data(), out.data(), pass);
    return dot(out, bar);
  };
  NetworkPass<double> pass;
  std::vector<double> out(count * 2), in_bar(in.size()), w_bar(w.size(), 0.0);
  f.forward(w, count, in.data(), out.data(), pass);
  f.backward(w, bar.data(), in_bar.data(), w_bar.data(), pass);
  const double h = 1e-3;
  const double slope =
      (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) + (value(3 * h) - value(-3 * h))) /
      (60 * h);
  EXPECT_NEAR(dot(in_bar, in_dot) + dot(w_bar, w_dot), slope, 1e-9 * std::abs(slope));
}

TEST(DenseNetwork, SameBitsForAnyNumberOfThreads) {
  const DenseNetwork<float> f({6, 32, 32, 1});
  const std::int64_t count = 2000;
  const auto w = f.first_weights(7), in = drawn<float>(count * 6, 8), bar = drawn<float>(count, 9);
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    NetworkPass<float> pass;
    std::vector<float> out(count), w_bar(w.size(), 0.0f);
    f.forward(w, count, in.data(), out.data(), pass);
    f.backward(w, bar.data(), nullptr, w_bar.data(), pass);
    if (first.empty()) first = w_bar;
    EXPECT_EQ(w_bar, first) << threads;
  }
  set_thread_count(0);
}

TEST(DenseNetwork, AnEmptyLayerIsAnError) {
  expect_error([] { return DenseNetwork<double>({3, 0, 1}); }, "a layer of 0 numbers: it needs at least one");
  expect_error([] { return DenseNetwork<double>({3}); }, "inputs and outputs");
}

}  // namespace
}  // namespace costate::learn
