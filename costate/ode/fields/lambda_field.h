// Vector fields, costs, guards and jumps from one generic lambda.
//
//   auto lotka_volterra = ode::make_field<2, 4>([](auto t, auto x, auto p) {
//     return std::array{p[0] * x[0] - p[1] * x[0] * x[1], -p[2] * x[1] + p[3] * x[0] * x[1]};
//   });
//   auto cost = ode::make_function<2, 4>([](auto t, auto x, auto p) { return 0.5 * x[0] * x[0]; });
//   auto pendulum = ode::make_field<5, 2>(equations, mass);     mass: row-major; M x' = f, M may be singular
//
// t is a scalar S, x and p are Vec<S, NX> and Vec<S, NP>; the result is an array of S, or one S. The lambda
// is compiled for S = double and for dual numbers: tangents take one direction, transposes all 1 + NX + NP of
// them in strips, second derivatives dual numbers of dual numbers. That suits small systems, where nothing
// beats it; large ones belong in a Program.
// Tests: tests/ode/fields/lambda_field_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/error.h"
#include "costate/core/vec.h"
#include "costate/ode/fields/function.h"
#include "costate/ode/fields/vector_field.h"
#include "costate/ode/methods/rk_stages.h"

namespace costate::ode {

// Value and derivatives of f : (t, x, p) -> NOUT numbers.
template <class F, int NX, int NP>
class LambdaDerivatives {
  template <class S>
  using Result = decltype(std::declval<const F&>()(std::declval<S>(), std::declval<Vec<S, NX>>(),
                                                   std::declval<Vec<S, NP>>()));
  template <class R>
  static constexpr int size_of() {
    if constexpr (requires { std::tuple_size<R>::value; })
      return int(std::tuple_size<R>::value);
    else if constexpr (requires { R::size; })
      return R::size;
    else
      return 1;
  }
  template <class R>
  static COSTATE_INLINE const auto& element(const R& r, int i) {
    if constexpr (requires { r[0]; })
      return r[i];
    else
      return r;
  }

 public:
  static constexpr int kOutputs = size_of<Result<double>>();
  static constexpr int kInputs = 1 + NX + NP;
  static constexpr int kStrip = kInputs <= 2   ? kInputs
                                : kInputs <= 4 ? 4
                                               : 8;  // directions at a time: whole vectors

  explicit LambdaDerivatives(F f) : f_(std::move(f)) {}

  static int states() { return NX; }
  static int parameters() { return NP; }
  static std::size_t scratch_size() { return 0; }
  static bool has_second_order() { return true; }

  void value(double t, const double* x, const double* p, double* y, double* = nullptr) const {
    const auto r = f_(t, gather<double, NX>(x), gather<double, NP>(p));
    for (int i = 0; i < kOutputs; ++i) y[i] = element(r, i);
  }

  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* = nullptr) const {
    using D = Dual<double, 1>;
    const auto r = f_(moving(t, t_dot), moving<NX>(x, x_dot), moving<NP>(p, p_dot));
    static_assert(std::is_convertible_v<decltype(element(r, 0)), D>);
    for (int i = 0; i < kOutputs; ++i) y_dot[i] = D(element(r, i)).d[0];
  }

  // y_bar' df for the directions of one strip. Directions are numbered in the order x, t, p.
  COSTATE_INLINE std::array<double, kStrip> vjp_strip(double t, const double* x, const double* p,
                                                      const double* y_bar, int first) const {
    using D = Dual<double, kStrip>;
    const auto r = f_(seeded<D>(t, NX, first), seeded<D, NX>(x, 0, first), seeded<D, NP>(p, 1 + NX, first));
    std::array<double, kStrip> sum{};
    for (int i = 0; i < kOutputs; ++i) {
      const D y(element(r, i));
      for (int m = 0; m < kStrip; ++m) sum[m] += y_bar[i] * y.d[m];
    }
    return sum;
  }

  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double* = nullptr) const {
    strips([&](int first) { scatter(vjp_strip(t, x, p, y_bar, first).data(), first, t_bar, x_bar, p_bar); },
           p_bar != nullptr);
  }

  // Rate of vjp's outputs: outer directions for the transpose, an inner one for the motion.
  void vjp_jvp(double t, const double* x, const double* p, const double* y_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* y_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double* = nullptr) const {
    using Inner = Dual<double, 1>;
    using D = Dual<Inner, kStrip>;
    const Inner t_moving = moving(t, t_dot);
    const Vec<Inner, NX> x_moving = moving<NX>(x, x_dot);
    const Vec<Inner, NP> p_moving = moving<NP>(p, p_dot);
    strips(
        [&](int first) {
          const auto r = f_(seeded<D>(t_moving, NX, first), seeded<D, NX>(x_moving.e, 0, first),
                            seeded<D, NP>(p_moving.e, 1 + NX, first));
          std::array<double, kStrip> sum{};
          for (int i = 0; i < kOutputs; ++i) {
            const D y(element(r, i));
            for (int m = 0; m < kStrip; ++m) {
              sum[m] += y_bar[i] * y.d[m].d[0] + (y_bar_dot ? y_bar_dot[i] * y.d[m].v : 0.0);
            }
          }
          scatter(sum.data(), first, t_bar_dot, x_bar_dot, p_bar_dot);
        },
        p_bar_dot != nullptr);
  }

  // d f / d x, row-major.
  void jacobian(double t, const double* x, const double* p, double* f_x) const {
    using D = Dual<double, kStrip>;
    strips(
        [&](int first) {
          const auto r =
              f_(seeded<D>(t, NX, first), seeded<D, NX>(x, 0, first), seeded<D, NP>(p, 1 + NX, first));
          for (int i = 0; i < kOutputs; ++i) {
            const D y(element(r, i));
            for (int m = 0; m < kStrip; ++m) {
              const int column = first + m;
              if (column < NX) f_x[i * NX + column] = y.d[m];
            }
          }
        },
        false);
  }

 private:
  template <class S, int N>
  static COSTATE_INLINE Vec<S, N> gather(const double* from) {
    Vec<S, N> r;
    for (int i = 0; i < N; ++i) r[i] = from[i];
    return r;
  }
  static COSTATE_INLINE Dual<double, 1> moving(double v, double dot) {
    Dual<double, 1> r(v);
    r.d[0] = dot;
    return r;
  }
  template <int N>
  static COSTATE_INLINE Vec<Dual<double, 1>, N> moving(const double* v, const double* dot) {
    Vec<Dual<double, 1>, N> r;
    for (int i = 0; i < N; ++i) r[i] = moving(v[i], dot ? dot[i] : 0.0);
    return r;
  }
  // Input number `index` of (x, t, p), as seen by the strip of directions that starts at `first`.
  template <class D, class S>
  static COSTATE_INLINE D seeded(const S& v, int index, int first) {
    D r(v);
    for (int m = 0; m < kStrip; ++m) r.d[m] = S(index == first + m ? 1.0 : 0.0);
    return r;
  }
  template <class D, int N, class S>
  static COSTATE_INLINE Vec<D, N> seeded(const S* v, int offset, int first) {
    Vec<D, N> r;
    for (int i = 0; i < N; ++i) r[i] = seeded<D>(v[i], offset + i, first);
    return r;
  }
  template <class Body>
  static COSTATE_INLINE void strips(const Body& body, bool parameters) {
    if constexpr (kStrip >= kInputs) {
      body(0);
    } else {
      const int inputs = parameters ? kInputs : 1 + NX;
      for (int first = 0; first < inputs; first += kStrip) body(first);
    }
  }
  static COSTATE_INLINE void scatter(const double* sum, int first, double* t_bar, double* x_bar,
                                     double* p_bar) {
    for (int m = 0; m < kStrip; ++m) {
      const int input = first + m;
      if (input < NX)
        x_bar[input] += sum[m];
      else if (input == NX)
        *t_bar += sum[m];
      else if (input < kInputs && p_bar)
        p_bar[input - 1 - NX] += sum[m];
    }
  }

  F f_;
};

template <class F, int NX, int NP>
class LambdaField final : public FunctionOf<VectorField, LambdaDerivatives<F, NX, NP>> {
  using FunctionOf<VectorField, LambdaDerivatives<F, NX, NP>>::f_;

 public:
  explicit LambdaField(F f, std::vector<double> mass = {})
      : FunctionOf<VectorField, LambdaDerivatives<F, NX, NP>>(LambdaDerivatives<F, NX, NP>(std::move(f))),
        mass_(std::move(mass)) {
    if (!mass_.empty() && mass_.size() != std::size_t(NX) * NX) {
      throw Error({"the mass matrix has " + std::to_string(mass_.size()) + " values for " +
                       std::to_string(NX) + " states",
                   "ode::make_field", "give all rows, one after the other, or none for the identity"});
    }
  }
  void jacobian(double t, const double* x, const double* p, double* f_x, double*) const override {
    f_.jacobian(t, x, p, f_x);
  }
  const std::vector<double>& mass() const override { return mass_; }
  void rk_stages(const RkStages& s, int first, int last, int loaded) const override {
    ode::rk_stages<NX>(s, first, last, loaded, NX,
                       [&](double t, const double* X, double* k) { f_.value(t, X, s.p, k); });
  }
  void rk_stages_vjp(const RkStages& s, int count, const double* weights, const double* y_bar,
                     const RkCotangents& bar) const override {
    using Derivatives = LambdaDerivatives<F, NX, NP>;
    if constexpr (Derivatives::kStrip >= Derivatives::kInputs) {
      // One strip holds every direction: sums over the stages stay in one vector.
      std::array<double, Derivatives::kStrip> total{};
      ode::rk_stages_vjp<NX>(s, count, weights, y_bar, bar, NX,
                             [&](double t, const double* X, const double* K, double* t_bar, double* X_bar) {
                               const auto sum = f_.vjp_strip(t, X, s.p, K, 0);
                               for (std::size_t m = 0; m < sum.size(); ++m) total[m] += sum[m];
                               for (int i = 0; i < NX; ++i) X_bar[i] = sum[i];
                               *t_bar = sum[NX];
                             });
      for (int i = 0; bar.p && i < NP; ++i) bar.p[i] += total[1 + NX + i];
    } else {
      ode::rk_stages_vjp<NX>(s, count, weights, y_bar, bar, NX,
                             [&](double t, const double* X, const double* K, double* t_bar, double* X_bar) {
                               f_.vjp(t, X, s.p, K, t_bar, X_bar, bar.p);
                             });
    }
  }

 private:
  std::vector<double> mass_;
  static_assert(LambdaDerivatives<F, NX, NP>::kOutputs == NX, "a vector field gives one rate per state");
};

template <class F, int NX, int NP>
class LambdaFunction final : public FunctionOf<Function, LambdaDerivatives<F, NX, NP>> {
 public:
  explicit LambdaFunction(F f)
      : FunctionOf<Function, LambdaDerivatives<F, NX, NP>>(LambdaDerivatives<F, NX, NP>(std::move(f))) {}
  int outputs() const override { return LambdaDerivatives<F, NX, NP>::kOutputs; }
};

template <int NX, int NP, class F>
LambdaField<F, NX, NP> make_field(F f, std::vector<double> mass = {}) {
  return LambdaField<F, NX, NP>(std::move(f), std::move(mass));
}
template <int NX, int NP, class F>
std::shared_ptr<const Function> make_function(F f) {
  return std::make_shared<LambdaFunction<F, NX, NP>>(std::move(f));
}

}  // namespace costate::ode
