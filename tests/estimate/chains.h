// Exact answers for one particle with Euler-Maruyama steps: the density is carried on a grid, step by step.
//
//   p_(k+1)(y) = int p_k(x) N(y; x - dt U'(x), 2 kT dt) dx
//
// so there is no error of the time step to allow for.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

namespace costate::estimate::test {

struct Chain {
  double a = 1, b = 0, kT = 0.5, dt = 0.05, start = -1;
  double low = -3.6, high = 3.6;
  int points = 721;

  double spacing() const { return (high - low) / (points - 1); }
  double place(int i) const { return low + spacing() * i; }
  double mean_step(double x) const { return x - dt * (4 * a * x * (x * x - 1) + b); }
  double density(double y, double from) const {
    const double variance = 2 * kT * dt, d = y - mean_step(from);
    return std::exp(-d * d / (2 * variance)) / std::sqrt(2 * M_PI * variance);
  }
  // The density after each step, from k = 1 to `steps`: seen(k, p).
  void walk(int steps, const std::function<void(int, const std::vector<double>&)>& seen) const {
    std::vector<double> p(std::size_t(points), 0.0), next(p.size()), kernel(p.size() * p.size());
    for (int i = 0; i < points; ++i) p[std::size_t(i)] = density(place(i), start);
    for (std::size_t i = 0; i < p.size(); ++i)
      for (std::size_t j = 0; j < p.size(); ++j)
        kernel[i * p.size() + j] =
            density(place(int(i)), place(int(j))) * spacing() * (j == 0 || j + 1 == p.size() ? 0.5 : 1.0);
    for (int k = 1; k <= steps; ++k) {
      seen(k, p);
      for (std::size_t i = 0; i < p.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < p.size(); ++j) sum += kernel[i * p.size() + j] * p[j];
        next[i] = sum;
      }
      p.swap(next);
    }
  }
  double integral(const std::vector<double>& p, const std::function<double(double)>& f) const {
    double sum = 0;
    for (int i = 0; i < points; ++i)
      sum += f(place(i)) * p[std::size_t(i)] * spacing() * (i == 0 || i + 1 == points ? 0.5 : 1.0);
    return sum;
  }
};

// Central difference of an exact answer with respect to a.
template <class F>
double slope_in_a(Chain chain, const F& answer, double h = 1e-4) {
  Chain up = chain, down = chain;
  up.a += h, down.a -= h;
  return (answer(up) - answer(down)) / (2 * h);
}

}  // namespace costate::estimate::test
