// Where to put the walls: two streams enter a box on the left and leave on the right, and a third of the box
// may be fluid (example 4 of Borrvall and Petersson, Int. J. Numer. Meth. Fluids 41 (2003)). Which third
// wastes the least power? The resistance of every cell is found by gradients of a steady creeping flow.
//
//   fluid_pipes [cells per unit of length]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/optim/lbfgs.h"
#include "costate/system/rollout.h"

using namespace costate;

namespace {

// [porous]
// Solid is a porous medium that lets next to nothing through. rho = 1 is fluid; q makes what is between dear.
constexpr double kFluid = 2.5e-4, kSolid = 2.5e4;
double resistance(double rho, double q) { return kSolid + (kFluid - kSolid) * rho * (1 + q) / (rho + q); }
double resistance_slope(double rho, double q) {
  return (kFluid - kSolid) * (1 + q) * q / ((rho + q) * (rho + q));
}
// [/porous]

// [share]
// rho = 1 / (1 + exp(-z - shift)), with the shift for which the mean of rho is the share of fluid: an
// optimiser may choose any z.
struct Share {
  static constexpr double kShare = 1.0 / 3;
  std::vector<double> rho;

  explicit Share(const std::vector<double>& z) : rho(z.size()) {
    double low = -60 - *std::ranges::max_element(z), high = 60 - *std::ranges::min_element(z);
    for (int k = 0; k < 100; ++k) {
      const double shift = (low + high) / 2;
      double mean = 0;
      for (std::size_t i = 0; i < z.size(); ++i)
        mean += (rho[i] = 1 / (1 + std::exp(-z[i] - shift))) / double(z.size());
      (mean < kShare ? low : high) = shift;
    }
  }
  // The transpose: the shift moves with z so that the mean stays.
  void pull_back(const std::vector<double>& rho_bar, double* z_bar) const {
    double sum = 0, all = 0;
    for (std::size_t i = 0; i < rho.size(); ++i) {
      const double slope = rho[i] * (1 - rho[i]);
      sum += slope * rho_bar[i], all += slope;
    }
    for (std::size_t i = 0; i < rho.size(); ++i) z_bar[i] = rho[i] * (1 - rho[i]) * (rho_bar[i] - sum / all);
  }
};
// [/share]

}  // namespace

int main(int argc, char** argv) {
  // [box]
  // 1. A box of 1.5 x 1 with two openings of 1/6 on each side.
  const std::int64_t ny = argc > 1 ? std::max(12, std::atoi(argv[1])) : 48, nx = ny * 3 / 2;
  fluid::FlowOptions options{.cells = {nx, ny}, .width = {1.5 / double(nx), 1.0 / double(ny), 1}};
  std::vector<double> stream;
  for (std::int64_t j = 0; j < ny; ++j) {
    const double y = (double(j) + 0.5) / double(ny),
                 t = std::min(std::abs(y - 0.25), std::abs(y - 0.75)) * 12;
    stream.push_back(std::max(0.0, 1 - t * t));
  }
  options.viscosity = 1.0;
  options.scheme = fluid::Scheme::stokes;  // a step leads to the steady flow
  options.sides[0] = options.sides[1] = {fluid::Side::Kind::velocity, {stream, 0.0, 0.0}};
  options.sides[2] = options.sides[3] = fluid::wall();
  const auto box = fluid::flow<double>(options);
  Rollout<double> rollout(box, {.steps = 1, .active = {"resistance"}});
  auto at = rollout.arguments();
  // The power: half of what the medium takes, and what viscosity takes.
  std::vector<double> weights(at.x0.size(), 0.0);
  weights[std::size_t(box->signature().find(Role::state, "dissipation").offset)] = 1;
  weights[std::size_t(box->signature().find(Role::state, "resisted").offset)] = 0.5;
  const auto power = loss::cotangents<double>(box->signature(), {1}, {weights});
  // [/box]

  // [design]
  // 2. First with a small q, which is easy, then with a larger one, which decides between fluid and solid.
  std::vector<double> z(std::size_t(nx * ny), 0.0);
  double value = 0;
  int gradients = 0;
  for (const double q : {0.01, 0.1}) {
    const auto objective = [&](const double* x, double* gradient) {
      const Share share(std::vector<double>(x, x + nx * ny));
      std::vector<double> alpha, rho_bar;
      for (const double rho : share.rho) alpha.push_back(resistance(rho, q));
      at.parameters.set("resistance", alpha);
      const auto g = rollout.value_and_gradient(at, *power);
      for (std::size_t i = 0; i < alpha.size(); ++i)
        rho_bar.push_back(g.parameters["resistance"][i] * resistance_slope(share.rho[i], q));
      share.pull_back(rho_bar, gradient);
      ++gradients;
      return g.value;
    };
    const auto found = optim::minimize(
        objective, z,
        optim::LbfgsOptions{.first_step = 1.0, .stopping = {.max_iterations = 60, .value_tolerance = 1e-5}});
    z = found.x, value = found.value;
    if (argc > 1) std::printf("q = %.2f: power %.4f after %d gradients\n", q, value, gradients);
  }
  // [/design]

  // 3. The two streams become one, which is wider: the share of fluid in every twelfth of the box.
  const Share share(z);
  for (std::int64_t row = 11; row >= 0; --row) {
    for (std::int64_t column = 0; column < 12; ++column) {
      double sum = 0;
      int cells = 0;
      for (std::int64_t j = row * ny / 12; j < (row + 1) * ny / 12; ++j)
        for (std::int64_t i = column * nx / 12; i < (column + 1) * nx / 12; ++i, ++cells)
          sum += share.rho[std::size_t(j * nx + i)];
      std::printf("%4.1f", sum / cells);
    }
    std::printf("\n");
  }
  std::printf("power %.0f\n", value);
  return 0;
}
