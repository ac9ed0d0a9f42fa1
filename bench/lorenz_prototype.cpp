// The Lorenz ensemble written out by hand, as far as a person would go: the yardstick for the general engine.
//
//   x' = sigma (y - x),   y' = x (rho - z) - y,   z' = x y - beta z
//   sigma = 10, beta = 8/3, x(0) = (1, 1, 1)
//
// 16384 worlds with rho from 20 to 28, RK4 with dt = 0.01, 1000 steps; worlds lie side by side in SIMD lanes.
// The gradient of x_end^2 with respect to x(0) and rho keeps every state of a block of worlds (in L2) and
// repeats the stages backwards: with s_i the stage states, k_i = f(s_i) and l the cotangent of the new state,
//
//   k4b = dt/6 l,  g_i = f_x(s_i)' k_ib,  k3b = dt/3 l + dt g4,  k2b = dt/3 l + dt/2 g3,
//   k1b = dt/6 l + dt/2 g2
//   l <- l + g1 + g2 + g3 + g4,   rho_b += sum of f_rho(s_i)' k_ib
#include <cmath>
#include <cstddef>
#include <vector>

#include "bench/measure.h"
#include "costate/core/pack.h"
#include "costate/core/parallel.h"

namespace costate::bench {
namespace {

constexpr int kWorlds = 16384;
constexpr int kSteps = 1000;
constexpr int kUnroll = 2;  // packs in flight: one alone waits for its own multiply-adds
constexpr double kForwardFlops = 68;
constexpr double kGradientFlops = kForwardFlops + 144;

template <class P>
struct Point {
  P x, y, z;
};

template <class P>
struct Lorenz {
  using T = value_t<P>;
  static constexpr T dt = T(0.01), sigma = T(10), beta = T(8.0 / 3.0);
  P rho;

  COSTATE_INLINE Point<P> rate(const Point<P>& s) const {
    return {sigma * (s.y - s.x), s.x * (rho - s.z) - s.y, s.x * s.y - beta * s.z};
  }
  COSTATE_INLINE Point<P> rate_vjp(const Point<P>& s, const Point<P>& k_bar, P& rho_bar) const {
    rho_bar += s.x * k_bar.y;
    return {(rho - s.z) * k_bar.y + s.y * k_bar.z - sigma * k_bar.x,
            sigma * k_bar.x - k_bar.y + s.x * k_bar.z, -(s.x * k_bar.y) - beta * k_bar.z};
  }

  // a + h b
  static COSTATE_INLINE Point<P> along(const Point<P>& a, T h, const Point<P>& b) {
    return {a.x + h * b.x, a.y + h * b.y, a.z + h * b.z};
  }
  // g l + h b
  static COSTATE_INLINE Point<P> mix(T g, const Point<P>& l, T h, const Point<P>& b) {
    return {g * l.x + h * b.x, g * l.y + h * b.y, g * l.z + h * b.z};
  }

  COSTATE_INLINE Point<P> step(const Point<P>& s) const {
    const Point<P> k1 = rate(s);
    const Point<P> k2 = rate(along(s, dt / 2, k1));
    const Point<P> k3 = rate(along(s, dt / 2, k2));
    const Point<P> k4 = rate(along(s, dt, k3));
    return {s.x + (dt / 6) * (k1.x + T(2) * (k2.x + k3.x) + k4.x),
            s.y + (dt / 6) * (k1.y + T(2) * (k2.y + k3.y) + k4.y),
            s.z + (dt / 6) * (k1.z + T(2) * (k2.z + k3.z) + k4.z)};
  }
  COSTATE_INLINE Point<P> step_vjp(const Point<P>& s, const Point<P>& l, P& rho_bar) const {
    const Point<P> s2 = along(s, dt / 2, rate(s));
    const Point<P> s3 = along(s, dt / 2, rate(s2));
    const Point<P> s4 = along(s, dt, rate(s3));
    constexpr T c = dt / 6;
    const Point<P> g4 = rate_vjp(s4, {c * l.x, c * l.y, c * l.z}, rho_bar);
    const Point<P> g3 = rate_vjp(s3, mix(2 * c, l, dt, g4), rho_bar);
    const Point<P> g2 = rate_vjp(s2, mix(2 * c, l, dt / 2, g3), rho_bar);
    const Point<P> g1 = rate_vjp(s, mix(c, l, dt / 2, g2), rho_bar);
    return {l.x + g1.x + g2.x + g3.x + g4.x, l.y + g1.y + g2.y + g3.y + g4.y,
            l.z + g1.z + g2.z + g3.z + g4.z};
  }
};

template <class P>
struct Ensemble {
  using T = value_t<P>;
  static constexpr int kPacks = kWorlds / P::lanes;
  std::vector<P> rho = std::vector<P>(kPacks), x_end = rho, rho_bar = rho;
  std::vector<Point<P>> x0_bar = std::vector<Point<P>>(kPacks);

  Ensemble() {
    for (int world = 0; world < kWorlds; ++world)
      rho[std::size_t(world / P::lanes)].set(world % P::lanes, T(20 + 8 * double(world) / (kWorlds - 1)));
  }

  void forward() {
    parallel_for(kPacks, kUnroll, [this](std::int64_t begin, std::int64_t) {
      Point<P> s[kUnroll];
      for (Point<P>& start : s) start = {P(1), P(1), P(1)};
      const P* r = &rho[std::size_t(begin)];
      for (int k = 0; k < kSteps; ++k)
        for (int u = 0; u < kUnroll; ++u) s[u] = Lorenz<P>{r[u]}.step(s[u]);
      for (int u = 0; u < kUnroll; ++u) x_end[std::size_t(begin + u)] = s[u].x;
    });
  }

  void gradient() {
    parallel_for(kPacks, kUnroll, [this](std::int64_t begin, std::int64_t) {
      thread_local std::vector<Point<P>> states(std::size_t(kSteps) * kUnroll);
      Point<P> s[kUnroll], l[kUnroll];
      P bar[kUnroll];
      const P* r = &rho[std::size_t(begin)];
      for (Point<P>& start : s) start = {P(1), P(1), P(1)};
      Point<P>* tape = states.data();
      for (int k = 0; k < kSteps; ++k)
        for (int u = 0; u < kUnroll; ++u) {
          tape[k * kUnroll + u] = s[u];
          s[u] = Lorenz<P>{r[u]}.step(s[u]);
        }
      for (int u = 0; u < kUnroll; ++u) {
        l[u] = {T(2) * s[u].x, P(0), P(0)};
        bar[u] = P(0);
      }
      for (int k = kSteps - 1; k >= 0; --k)
        for (int u = 0; u < kUnroll; ++u)
          l[u] = Lorenz<P>{r[u]}.step_vjp(tape[k * kUnroll + u], l[u], bar[u]);
      for (int u = 0; u < kUnroll; ++u) {
        const auto b = std::size_t(begin + u);
        x_end[b] = s[u].x;
        x0_bar[b] = l[u];
        rho_bar[b] = bar[u];
      }
    });
  }
};

// d(x_end^2)/d(rho) of the first world, where the motion is not chaotic, against a central difference in
// double.
template <class T>
bool gradient_is_right(T got) {
  const auto loss = [](double rho) {
    Point<double> s{1, 1, 1};
    for (int k = 0; k < kSteps; ++k) s = Lorenz<double>{rho}.step(s);
    return s.x * s.x;
  };
  const double h = 1e-5, expected = (loss(20 + h) - loss(20 - h)) / (2 * h);
  return std::abs(double(got) - expected) < (sizeof(T) == 8 ? 1e-6 : 1e-2) * std::abs(expected);
}

template <class T>
void lorenz_forward(benchmark::State& state) {
  Ensemble<NativePack<T>> ensemble;
  for (auto _ : state) ensemble.forward();
  report(state, {.items = double(kWorlds) * kSteps, .flops = kForwardFlops * kWorlds * kSteps});
}

template <class T>
void lorenz_gradient(benchmark::State& state) {
  Ensemble<NativePack<T>> ensemble;
  for (auto _ : state) ensemble.gradient();
  if (!gradient_is_right(ensemble.rho_bar[0][0])) state.SkipWithError("the gradient is wrong");
  report(state, {.items = double(kWorlds) * kSteps, .flops = kGradientFlops * kWorlds * kSteps});
}

BENCHMARK(lorenz_forward<float>)
    ->Name("lorenz_ensemble/float/prototype_forward")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(lorenz_gradient<float>)
    ->Name("lorenz_ensemble/float/prototype_gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(lorenz_forward<double>)
    ->Name("lorenz_ensemble/double/prototype_forward")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(lorenz_gradient<double>)
    ->Name("lorenz_ensemble/double/prototype_gradient")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace costate::bench
