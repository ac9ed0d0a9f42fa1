// A shirt hangs in a wind that comes and goes. How stiff is its cloth, and where does the wind come from, how
// strong, how often and when? All six numbers from the motion of the shirt, by Gauss-Newton: six tangents per
// step, which share its solution and its factor.
//
//   soft_shirt          a small shirt, 90 steps
//   soft_shirt full     1390 vertices, 250 steps of 1/90 s
//
// The question is DiffCloth's (Li et al., ACM TOG 42, 2022).
#include <cmath>
#include <cstdio>
#include <cstring>

#include "costate/optim/levenberg_marquardt.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/tangents.h"

using namespace costate;

struct Task {
  int n;  // squares per fifth of the width
  std::int64_t steps;
  double distance;        // of contact, m
  std::int64_t keep = 5;  // steps between two looks at the shirt
};
constexpr double kDt = 1.0 / 90;

// [shirt]
soft::SoftModel shirt(const Task& task, double tolerance) {
  soft::SoftModel m{.materials = {{.name = "cloth",
                                   .law = "arap",
                                   .numbers = {{"E", 7.15e5}, {"nu", 0.3}},  // 550 N/m
                                   .density = 0.124,
                                   .bending = 0.01}},
                    .drag = 0.5,
                    .wind_drag = 0.05,
                    .wind_driven = true,
                    .contact = {.self = true, .distance = task.distance, .stiffness = 500},
                    .dt = kDt,
                    .tolerance = tolerance};
  soft::add_part(m, "shirt", soft::Cells::triangles, soft::shirt_mesh(4.3, task.n, 0.6), 0);
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

int main(int argc, char** argv) {
  const bool full = argc > 1 && std::strcmp(argv[1], "full") == 0;
  const Task task = full ? Task{4, 250, 0.02} : Task{1, 90, 0.05};
  // [fit]
  const double truth[kUnknowns] = {7.15e5, 5, 0.5, 5, 10, 0.5};
  const soft::SoftModel model = shirt(task, 1e-6);
  const auto system = soft::soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = task.steps, .keep = task.keep, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(model);
  const auto seen = rollout.simulate(arguments(at, truth));
  const std::size_t n = model.rest.size(), looks = std::size_t(task.steps / task.keep);

  // Unknowns in units of the first guess, so that all of them are of the size of one.
  const double guess[kUnknowns] = {3e5, 2, 1, 2, 9, 0};
  const double unit[kUnknowns] = {3e5, 2, 2, 2, 1, 1};
  const double weight = 1 / std::sqrt(double(looks * n) / 3);  // |r|^2: mean square of the distances
  int evaluations = 0;
  const auto evaluate = [&](const double* scaled, double* r, double* J) {
    double q[kUnknowns];
    for (int j = 0; j < kUnknowns; ++j) q[j] = unit[j] * scaled[j];
    std::vector<Arguments<double>> along;
    for (int j = 0; J && j < kUnknowns; ++j) along.push_back(direction(at, q, j));
    const auto run =
        tangents<double>(*system, {.steps = task.steps, .keep = task.keep}, arguments(at, q), along);
    for (std::size_t k = 0; k < looks; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        // A trajectory begins with the state at step 0.
        r[k * n + i] = weight * (run.states[2 * n * k + i] - seen.states[2 * n * (k + 1) + i]);
        for (std::size_t j = 0; J && j < kUnknowns; ++j)
          J[(k * n + i) * kUnknowns + j] = weight * unit[j] * run.rates[2 * n * (kUnknowns * k + j) + i];
      }
    ++evaluations;
  };
  std::vector<double> start(kUnknowns);
  for (int j = 0; j < kUnknowns; ++j) start[std::size_t(j)] = guess[j] / unit[j];
  const auto found = optim::minimize(
      optim::Residuals{int(looks * n), evaluate}, start,
      optim::LevenbergMarquardtOptions{.stopping = {.max_iterations = 25, .target = 1e-12},
                                       .bounds = {{0.1, -10, -10, -10, 1, -5}, {10, 10, 10, 10, 15, 5}}});
  // [/fit]
  std::printf("%d vertices, %d steps\n", model.vertices(), int(task.steps));
  bool good = true;
  for (int j = 0; j < kUnknowns; ++j) {
    const double q = unit[j] * found.x[std::size_t(j)];
    std::printf("%-9s  guess %8.3g   found %8.3g   truth %8.3g\n", kNames[j], guess[j], q, truth[j]);
    good = good && std::abs(q - truth[j]) < 0.01 * std::abs(truth[j]);
  }
  if (full) std::printf("%d evaluations, mean square distance %.1e\n", evaluations, 2 * found.value);
  return good ? 0 : 1;
}
