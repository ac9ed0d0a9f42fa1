// Know your fabric: how stiff is a cloth, seen from how it hangs?
//
// A strip of cloth is clamped along one side and comes to rest under its weight. From where its vertices
// are, the bending stiffness is found again: one step of Integrator::still per evaluation, and its gradient.
//
//   build/bin/soft_drape
#include <cmath>
#include <cstdio>

// [model]
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/objective.h"
#include "costate/system/rollout.h"

using namespace costate;

soft::SoftModel strip(double bending) {
  soft::SoftModel model{.materials = {{.name = "cotton",
                                       .law = "stvk",
                                       .numbers = {{"E", 1e5}, {"nu", 0.3}},
                                       .density = 0.15,  // kg/m^2
                                       .thickness = 1e-3,
                                       .bending = bending}},
                        .integrator = soft::Integrator::still};
  soft::add_part(model, "strip", soft::Cells::triangles, soft::cloth_mesh({0.2, 0.05}, {16, 4}), 0);
  soft::Hold table{.name = "table"};  // the first two rows of vertices: a clamp
  for (int i = 0; i < model.vertices(); ++i)
    if (model.rest[std::size_t(3 * i)] < 0.013) table.vertices.push_back(i);
  model.holds = {table};
  return model;
}
// [/model]

int main() {
  // [find]
  const double truth = 2e-5;  // J
  const auto seen_system = soft::soft_bodies<double>(strip(truth));
  Rollout<double> seen(seen_system, {.steps = 1});
  auto at = seen.arguments();
  at.x0 = soft::soft_state(strip(truth));
  const std::vector<double> state = seen.forward(at).final_state;
  const std::vector<double> places(state.begin(), state.begin() + std::ptrdiff_t(state.size() / 2));

  const auto system = soft::soft_bodies<double>(strip(5e-5));  // a first guess
  Rollout<double> rollout(system, {.steps = 1, .active = {"material/cotton/bending"}});
  at = rollout.arguments();
  at.x0 = soft::soft_state(strip(5e-5));
  const auto loss = loss::final<double>(system->signature(), "x", places);
  // Gauss's secant on the logarithm of one number: the slope of the loss is zero where the shapes agree.
  double log_b = std::log(5e-5), before = 0, slope_before = 0;
  for (int k = 0; k < 12; ++k) {
    at.parameters["material/cotton/bending"][0] = std::exp(log_b);
    const auto g = rollout.value_and_gradient(at, *loss);
    const double slope = std::exp(log_b) * g.parameters["material/cotton/bending"][0];
    std::printf("bending %.4e J   loss %.3e\n", std::exp(log_b), g.value);
    if (g.value < 1e-16) break;
    const double step =
        k == 0 ? -0.2 * std::copysign(1.0, slope) : -slope * (log_b - before) / (slope - slope_before);
    before = log_b, slope_before = slope;
    log_b += std::max(-1.0, std::min(1.0, step));
  }
  // [/find]
  std::printf("found %.4f of the truth\n", std::exp(log_b) / truth);
  return std::abs(std::exp(log_b) / truth - 1) < 1e-3 ? 0 : 1;
}
