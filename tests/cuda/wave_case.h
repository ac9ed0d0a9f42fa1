// A bump in a medium whose speed differs from cell to cell, for the tests of the GPU backend, and what it
// should do: the formulas of grid/wave.h in plain loops over padded arrays, double precision, without the
// code under test.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace costate::test {

struct WaveCase {
  std::int64_t nx, ny;
  int steps;
  double dx = 0.9, dt = 0.4, damping = 0.05;

  std::vector<double> x0, speed;

  WaveCase(std::int64_t nx_, std::int64_t ny_, int steps_)
      : nx(nx_), ny(ny_), steps(steps_), x0(std::size_t(2 * nx_ * ny_)), speed(std::size_t(nx_ * ny_)) {
    for (std::int64_t j = 0; j < ny; ++j) {
      for (std::int64_t i = 0; i < nx; ++i) {
        const double a = double(i) - 0.4 * double(nx), b = double(j) - 0.6 * double(ny);
        x0[std::size_t(j * nx + i)] = std::exp(-0.02 * (a * a + b * b));
        x0[std::size_t(nx * ny + j * nx + i)] = 0.1 * std::sin(0.3 * double(i + 2 * j));
        speed[std::size_t(j * nx + i)] = 1 + 0.2 * std::sin(0.5 * double(i) - 0.2 * double(j));
      }
    }
  }
};

struct WaveResult {
  std::vector<double> x_end, x0_bar, speed_bar;
};

// The gradient is that of |x_end|^2 / 2.
inline WaveResult reference(const WaveCase& c) {
  const std::int64_t n = c.nx * c.ny;
  const auto laplacian = [&](const std::vector<double>& f, std::int64_t i, std::int64_t j) {
    const auto at = [&](std::int64_t a, std::int64_t b) {
      return a < 0 || b < 0 || a >= c.nx || b >= c.ny ? 0.0 : f[std::size_t(b * c.nx + a)];
    };
    return at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * at(i, j);
  };
  const double rate = c.dt / (c.dx * c.dx);
  std::vector<std::vector<double>> x{c.x0};
  for (int k = 0; k < c.steps; ++k) {
    const std::vector<double>& now = x.back();
    std::vector<double> next(now.size());
    for (std::int64_t cell = 0; cell < n; ++cell) {
      const double speed = c.speed[std::size_t(cell)];
      const double v = (1 - c.dt * c.damping) * now[std::size_t(n + cell)] +
                       rate * speed * speed * laplacian(now, cell % c.nx, cell / c.nx);
      next[std::size_t(n + cell)] = v;
      next[std::size_t(cell)] = now[std::size_t(cell)] + c.dt * v;
    }
    x.push_back(next);
  }
  std::vector<double> bar = x.back(), speed_bar(std::size_t(n), 0.0), w(std::size_t(n), 0.0),
                      flux(std::size_t(n), 0.0);
  for (int k = c.steps - 1; k >= 0; --k) {
    for (std::size_t cell = 0; cell < std::size_t(n); ++cell) {
      w[cell] = bar[std::size_t(n) + cell] + c.dt * bar[cell];
      flux[cell] = c.speed[cell] * c.speed[cell] * w[cell];
    }
    for (std::int64_t cell = 0; cell < n; ++cell) {
      const std::size_t s = std::size_t(cell);
      bar[s] += rate * laplacian(flux, cell % c.nx, cell / c.nx);
      bar[std::size_t(n) + s] = (1 - c.dt * c.damping) * w[s];
      speed_bar[s] += 2 * rate * c.speed[s] * laplacian(x[std::size_t(k)], cell % c.nx, cell / c.nx) * w[s];
    }
  }
  return {x.back(), bar, speed_bar};
}

}  // namespace costate::test
