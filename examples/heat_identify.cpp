// A conductivity map from measurements: a plate is heated in one place and then in another, thermometers on
// it are read now and then, and the conductivity of every cell is found from the readings.
//
//   heat_identify
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "costate/grid/heat.h"
#include "costate/optim/lbfgs.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  // 1. The plate: 20 x 20 cells, insulated above and below, cold to the left and right, with four heaters.
  // [plate]
  constexpr std::int64_t n = 20, cells = n * n, steps = 320;
  const grid::HeatSide cold{grid::HeatSide::Kind::temperature, 0};
  const auto plate = grid::heat<double>({.nx = n,
                                         .ny = n,
                                         .conductivity = 0.9,
                                         .west = cold,
                                         .east = cold,
                                         .heaters = {4 * n + 4, 4 * n + 15, 15 * n + 4, 15 * n + 15}});
  Rollout<double> rollout(plate, {.steps = steps, .hold = steps / 4, .keep = 20, .active = {"conductivity"}});
  Arguments<double> at = rollout.arguments();
  for (std::size_t heater = 0; heater < 4; ++heater) at.controls[5 * heater] = 1;  // one after the other
  // [/plate]

  // 2. What was measured: the same plate, with a disc in it that conducts badly.
  Arguments<double> truth = at;
  const auto in_disc = [](std::int64_t cell) {
    return std::hypot(double(cell % n) - 11, double(cell / n) - 9) < 4.5;
  };
  for (std::int64_t c = 0; c < cells; ++c)
    if (in_disc(c)) truth.parameters["conductivity"][std::size_t(c)] = 0.4;
  const auto readings = rollout.simulate(truth);
  // [fit]
  const auto misfit = loss::track<double>(plate->signature(), "T", readings.kept, readings.states);

  // 3. Descend in all 400 conductivities: one backward pass gives every derivative.
  const auto objective = [&](const double* k, double* gradient) {
    at.parameters.set("conductivity", std::vector<double>(k, k + cells));
    const auto g = rollout.value_and_gradient(at, *misfit);
    std::ranges::copy(g.parameters["conductivity"], gradient);
    return g.value;
  };
  const std::vector<double> start(cells, 0.9), lowest(cells, 0.1), highest(cells, 1.2);
  const auto found = optim::minimize(
      objective, start,
      optim::LbfgsOptions{
          .first_step = 0.05, .stopping = {.max_iterations = 150}, .bounds = {lowest, highest}});
  // [/fit]
  double worst = 0;
  for (std::size_t c = 0; c < std::size_t(cells); ++c)
    worst = std::max(worst, std::abs(found.x[c] - truth.parameters["conductivity"][c]));
  for (std::int64_t j = n - 1; j >= 0; j -= 2) {
    for (std::int64_t i = 0; i < n; ++i) std::putchar(found.x[std::size_t(j * n + i)] < 0.65 ? '#' : '.');
    std::putchar('\n');
  }
  std::printf("all %lld conductivities are %s 0.1 of the truth\n", static_cast<long long>(cells),
              worst < 0.1 ? "within" : "not within");
  return worst < 0.1 ? 0 : 1;
}
