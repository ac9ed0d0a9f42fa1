// A shirt hangs in a wind that comes and goes. How stiff is its cloth, and where does the wind come from, how
// strong, how often and when? All six numbers from the motion of the shirt, by Gauss-Newton: six tangents per
// step, which share its solution and its factor. The first steps tell about what they are, all of
// them exactly.
//
//   soft_shirt          a small shirt, 90 steps
//   soft_shirt full     1390 vertices, 250 steps of 1/90 s
//
// The question is DiffCloth's (Li et al., ACM TOG 42, 2022).
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "costate/optim/levenberg_marquardt.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/tangents.h"

using namespace costate;

constexpr double kDt = 1.0 / 90;
constexpr std::int64_t kKeep = 5;  // steps between two looks at the shirt

// [shirt]
soft::SoftModel shirt(int n, double distance, double tolerance) {
  soft::SoftModel m{.materials = {{.name = "cloth",
                                   .law = "arap",
                                   .numbers = {{"E", 7.15e5}, {"nu", 0.3}},  // 550 N/m
                                   .density = 0.124,
                                   .bending = 0.01}},
                    .drag = 0.5,
                    .wind_drag = 0.05,
                    .wind_driven = true,
                    .contact = {.self = true, .distance = distance, .stiffness = 500},
                    .dt = kDt,
                    .tolerance = tolerance};
  soft::add_part(m, "shirt", soft::Cells::triangles, soft::shirt_mesh(4.3, n, 0.6), 0);
  soft::Hold line{.name = "line"};  // it hangs on its shoulders
  for (int i = 0; i < m.vertices(); ++i)
    if (m.rest[std::size_t(3 * i + 2)] > 6.019 && std::abs(m.rest[std::size_t(3 * i)]) > 0.8)
      line.vertices.push_back(i);
  m.holds = {line};
  return m;
}
// [/shirt]

// [wind]
// stiffness; wind w [m/s]; frequency [rad/s] and phase. The wind at time t is
// w (sin(frequency t + phase) + 1) / 2.
constexpr int kUnknowns = 6;
constexpr const char* kNames[kUnknowns] = {"E", "wind x", "wind y", "wind z", "frequency", "phase"};
constexpr double kUnit[kUnknowns] = {3e5, 2, 2, 2, 1, 1};  // with which all of them are of the size of one

Arguments<double> arguments(Arguments<double> at, const double* q) {
  at.parameters["material/cloth/E"][0] = q[0];
  for (std::size_t k = 0; k < at.controls.size() / 3; ++k)
    for (std::size_t d = 0; d < 3; ++d)
      at.controls[3 * k + d] = q[1 + d] * (std::sin(q[4] * kDt * double(k) + q[5]) + 1) / 2;
  return at;
}
// The derivative of those arguments with respect to unknown j.
Arguments<double> direction(const Arguments<double>& at, const double* q, int j) {
  Arguments<double> dot{{}, std::vector<double>(at.controls.size()), at.parameters.zeros()};
  if (j == 0) dot.parameters["material/cloth/E"][0] = 1;
  for (std::size_t k = 0; k < at.controls.size() / 3; ++k) {
    const double t = kDt * double(k), angle = q[4] * t + q[5];
    for (int d = 0; d < 3; ++d) {
      double& to = dot.controls[3 * k + std::size_t(d)];
      if (j == 1 + d) to = (std::sin(angle) + 1) / 2;
      if (j >= 4) to = q[1 + d] * std::cos(angle) / 2 * (j == 4 ? t : 1);
    }
  }
  return dot;
}
// [/wind]

// [fit]
// |r|^2 is the mean square distance of the shirt to `places`, where it was seen, vertices at each look.
optim::Result fit(const soft::SoftModel& model, const std::vector<double>& places, std::size_t looks,
                  const std::vector<double>& guess, const optim::Stopping& stopping) {
  const auto system = soft::soft_bodies<double>(model);
  const std::int64_t steps = kKeep * std::int64_t(looks);
  Arguments<double> at = Rollout<double>(system, {.steps = steps, .active = {}}).arguments();
  at.x0 = soft::soft_state(model);
  const std::size_t n = model.rest.size();
  const double weight = 1 / std::sqrt(double(looks * n) / 3);
  const auto evaluate = [&](const double* scaled, double* r, double* J) {
    double q[kUnknowns];
    for (int j = 0; j < kUnknowns; ++j) q[j] = kUnit[j] * scaled[j];
    std::vector<Arguments<double>> along;
    for (int j = 0; J && j < kUnknowns; ++j) along.push_back(direction(at, q, j));
    const auto run = tangents<double>(*system, {.steps = steps, .keep = kKeep}, arguments(at, q), along);
    for (std::size_t k = 0; k < looks; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        r[k * n + i] = weight * (run.states[2 * n * k + i] - places[n * k + i]);
        for (std::size_t j = 0; J && j < kUnknowns; ++j)
          J[(k * n + i) * kUnknowns + j] = weight * kUnit[j] * run.rates[2 * n * (kUnknowns * k + j) + i];
      }
  };
  return optim::minimize(
      optim::Residuals{int(looks * n), evaluate}, guess,
      optim::LevenbergMarquardtOptions{.stopping = stopping,
                                       .bounds = {{0.1, -10, -10, -10, 1, -5}, {10, 10, 10, 10, 15, 5}}});
}
// [/fit]

int main(int argc, char** argv) {
  const bool full = argc > 1 && std::strcmp(argv[1], "full") == 0;
  const double truth[kUnknowns] = {7.15e5, 5, 0.5, 5, 10, 0.5}, guess[kUnknowns] = {3e5, 2, 1, 2, 9, 0};
  const std::int64_t steps = full ? 250 : 90;
  const soft::SoftModel model = full ? shirt(4, 0.02, 1e-6) : shirt(1, 0.05, 1e-6);
  Rollout<double> rollout(soft::soft_bodies<double>(model), {.steps = steps, .keep = kKeep, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(model);
  const auto trajectory = rollout.simulate(arguments(at, truth));
  const std::size_t n = model.rest.size(), looks = std::size_t(steps / kKeep);
  std::vector<double> places;
  for (std::size_t k = 1; k <= looks; ++k)  // a trajectory begins with the state at step 0
    places.insert(places.end(), trajectory.states.begin() + std::ptrdiff_t(2 * n * k),
                  trajectory.states.begin() + std::ptrdiff_t(2 * n * k + n));
  std::printf("%d vertices, %d steps\n", model.vertices(), int(steps));

  // [search]
  // The first third of a second tells about what they are: the shirt does not touch itself yet, and no guess
  // of a frequency is a period late. From there the whole motion is near.
  const auto clock = std::chrono::steady_clock::now();
  std::vector<double> found;
  for (int j = 0; j < kUnknowns; ++j) found.push_back(guess[j] / kUnit[j]);
  for (const std::size_t look : {std::size_t(6), looks}) {
    const double good = look == looks && full ? 1e-7 : 1e-12;  // m^2
    const auto result = fit(model, places, look, found, {.max_iterations = 25, .target = 0.5 * good});
    found = result.x;
    if (full)
      std::printf("%3d steps: %2ld evaluations, mean square distance %.1e m^2, %.0f s\n",
                  int(kKeep * std::int64_t(look)), result.evaluations, 2 * result.value,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - clock).count());
  }
  // [/search]
  bool good = true;
  for (int j = 0; j < kUnknowns; ++j) {
    const double q = kUnit[j] * found[std::size_t(j)];
    std::printf("%-9s  guess %8.3g   found %8.3g   truth %8.3g\n", kNames[j], guess[j], q, truth[j]);
    good = good && std::abs(q - truth[j]) < 0.01 * std::abs(truth[j]);
  }
  return good ? 0 : 1;
}
