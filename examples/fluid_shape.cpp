// The ellipse of least drag: a cylinder in a channel at Re 20 (the geometry of the benchmark 2D-1 of Schaefer
// and Turek) becomes an ellipse of the same area, by the derivative of its drag with respect to its two
// semi-axes. No mesh is made, and none is made again.
//
//   fluid_shape
#include <cmath>
#include <cstdio>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/optim/lbfgs.h"
#include "costate/system/rollout.h"

using namespace costate;

int main() {
  // [channel]
  // 1. A channel of 1.1 m x 0.41 m with 12 cells across the cylinder, and a body with two semi-axes.
  const std::int64_t nx = 132, ny = 49;
  const double height = 0.41, radius = 0.05;
  fluid::FlowOptions options{.cells = {nx, ny}, .width = {1.1 / nx, height / ny, 1}, .dt = 0.01};
  std::vector<double> inflow;
  for (std::int64_t j = 0; j < ny; ++j) {
    const double y = (double(j) + 0.5) * height / ny;
    inflow.push_back(4 * 0.3 * y * (height - y) / (height * height));
  }
  options.viscosity = 1e-3;
  options.sides[0] = {fluid::Side::Kind::velocity, {inflow, 0.0, 0.0}};
  options.sides[1] = {fluid::Side::Kind::outflow};
  options.sides[2] = options.sides[3] = fluid::wall();
  options.obstacles = {
      {.shape = fluid::Obstacle::Shape::ellipsoid, .center = {0.2, 0.2, 0}, .size = {radius, radius}}};
  const auto channel = fluid::flow<double>(options);

  // 2. The drag coefficient after three seconds: 2 F / (U^2 D) with U = 0.2 and D = 0.1.
  Rollout<double> rollout(channel, {.steps = 300, .active = {"body/size"}});
  const auto drag = loss::final_value<double>(channel->signature(), "body/force", 0, 2 / (0.2 * 0.2 * 0.1));
  Arguments<double> at = rollout.arguments();
  for (std::int64_t j = 0; j < ny; ++j)
    for (std::int64_t i = 0; i <= nx; ++i) at.x0[std::size_t(j * (nx + 1) + i)] = inflow[std::size_t(j)];
  // [/channel]

  // [descend]
  // 3. Semi-axes r s and r / s have the area of the circle: descend in s.
  int gradients = 0;
  const auto objective = [&](const double* s, double* gradient) {
    at.parameters.set("body/size", {radius * s[0], radius / s[0]});
    const auto g = rollout.value_and_gradient(at, *drag);
    const auto by_axes = g.parameters["body/size"];
    gradient[0] = radius * by_axes[0] - radius / (s[0] * s[0]) * by_axes[1];
    if (++gradients == 1) std::printf("circle    drag %.2f\n", g.value);
    return g.value;
  };
  const auto found = optim::minimize(
      objective, std::vector<double>{1.0},
      optim::LbfgsOptions{.first_step = 0.2, .stopping = {.max_iterations = 12}, .bounds = {{0.8}, {2.5}}});
  // [/descend]
  const double ratio = found.x[0] * found.x[0];
  std::printf("ellipse   drag %.2f, %.1f times as long as thick\n", found.value, ratio);
  std::printf("%s 15 gradients\n", gradients <= 15 ? "within" : "not within");
  return gradients <= 15 && ratio > 3 && ratio < 5 ? 0 : 1;
}
