// A cylinder that calms its wake: at Re 100 vortices leave it in turn and shake it (the geometry of the
// benchmark 2D-2 of Schaefer and Turek). It turns so that the lift goes away. How it must turn is found over
// two periods of the vortices ahead by gradients; one period of that is done, and then it looks ahead again.
//
//   fluid_wake
#include <cmath>
#include <cstdio>
#include <vector>

#include "costate/fluid/flow.h"
#include "costate/optim/lbfgs.h"
#include "costate/system/rollout.h"

using namespace costate;

namespace {

constexpr std::int64_t kNx = 176, kNy = 33, kPeriod = 84, kHold = 6, kAhead = 2 * kPeriod;
constexpr double kHeight = 0.41, kCoefficient = 2 / (1.0 * 1.0 * 0.1);

// The mean of the drag coefficient and the root mean square of the lift coefficient over some steps.
struct Forces {
  double drag = 0, lift = 0;
  std::int64_t steps = 0;
  void add(double x, double y) { drag += kCoefficient * x, lift += std::pow(kCoefficient * y, 2), ++steps; }
  double mean_drag() const { return drag / double(steps); }
  double rms_lift() const { return std::sqrt(lift / double(steps)); }
};

}  // namespace

int main() {
  // [channel]
  // 1. A channel of 2.2 m x 0.41 m, and a cylinder whose spin is a control.
  fluid::FlowOptions options{.cells = {kNx, kNy}, .width = {2.2 / kNx, kHeight / kNy, 1}, .dt = 0.004};
  std::vector<double> inflow;
  for (std::int64_t j = 0; j < kNy; ++j) {
    const double y = (double(j) + 0.5) * kHeight / kNy;
    inflow.push_back(4 * 1.5 * y * (kHeight - y) / (kHeight * kHeight));
  }
  options.viscosity = 1e-3;
  options.sides[0] = {fluid::Side::Kind::velocity, {inflow, 0.0, 0.0}};
  options.sides[1] = {fluid::Side::Kind::outflow};
  options.sides[2] = options.sides[3] = fluid::wall();
  options.obstacles = {{.center = {0.2, 0.2, 0}, .size = {0.05}, .driven = true}};
  const auto channel = fluid::flow<double>(options);
  const auto force = channel->signature().find(Role::state, "body/force").offset;

  // 2. Until the vortices have come: eight seconds without turning.
  Rollout<double> before(channel, {.steps = 2000, .hold = 2000, .active = {}});
  auto start = before.arguments();
  for (std::int64_t j = 0; j < kNy; ++j)
    for (std::int64_t i = 0; i <= kNx; ++i) start.x0[std::size_t(j * (kNx + 1) + i)] = inflow[std::size_t(j)];
  std::vector<double> state = before.simulate(start).final_state;
  // [/channel]

  // [control]
  // 3. Half the squared lift coefficient over the steps ahead, as a function of the spin at every knot.
  Rollout<double> rollout(channel, {.steps = kAhead, .hold = kHold, .keep = 1, .active = {}});
  const std::int64_t knots = kAhead / kHold;
  auto at = rollout.arguments();
  std::vector<std::int64_t> steps;
  for (std::int64_t k = 1; k <= kAhead; ++k) steps.push_back(k);
  const auto objective = [&](const double* spin, double* gradient) {
    for (std::int64_t k = 0; k < knots; ++k) at.controls[std::size_t(3 * k + 2)] = spin[k];
    const auto trajectory = rollout.forward(at);
    double sum = 0;
    std::vector<std::vector<double>> bars(steps.size(), std::vector<double>(at.x0.size(), 0.0));
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const double lift = kCoefficient * trajectory.states[(k + 1) * at.x0.size() + std::size_t(force + 1)];
      bars[k][std::size_t(force + 1)] = kCoefficient * lift;
      sum += lift * lift / 2;
    }
    const auto g = rollout.backward(*loss::cotangents<double>(channel->signature(), steps, bars));
    for (std::int64_t k = 0; k < knots; ++k) {
      gradient[k] = g.controls[std::size_t(3 * k + 2)] + 1e-3 * spin[k];
      sum += 1e-3 * spin[k] * spin[k] / 2;
    }
    return sum;
  };
  // [/control]

  // 4. Look ahead, turn for one period, look ahead again: twelve periods, of which the last ten count.
  std::vector<double> spin(std::size_t(knots), 0.0);
  const std::vector<double> lowest(spin.size(), -30), highest(spin.size(), 30);  // [rad/s]
  Forces without, with;
  for (int period = -2; period < 12; ++period) {
    at.x0 = state;
    if (period >= 0)
      spin = optim::minimize(
                 objective, spin,
                 optim::LbfgsOptions{
                     .first_step = 1, .stopping = {.max_iterations = 4}, .bounds = {lowest, highest}})
                 .x;
    for (std::int64_t k = 0; k < knots; ++k) at.controls[std::size_t(3 * k + 2)] = spin[std::size_t(k)];
    const auto trajectory = rollout.simulate(at);
    for (std::int64_t k = 1; k <= kPeriod && period != 0 && period != 1; ++k) {
      const double* x = trajectory.states.data() + std::size_t(k) * state.size() + force;
      (period < 0 ? without : with).add(x[0], x[1]);
    }
    const double* end = trajectory.states.data() + std::size_t(kPeriod) * state.size();
    state.assign(end, end + state.size());
    for (std::int64_t k = 0; k + kPeriod / kHold < knots; ++k)
      spin[std::size_t(k)] = spin[std::size_t(k + kPeriod / kHold)];
  }
  const double left = with.rms_lift() / without.rms_lift();
  std::printf("still     drag %.2f, lift %.2f rms\n", without.mean_drag(), without.rms_lift());
  std::printf("turning   drag %.2f, lift down by %s 90 %%\n", with.mean_drag(),
              left < 0.1 ? "more than" : "less than");
  return left < 0.1 ? 0 : 1;
}
