// A cloth is thrown so that it comes to lie centred on a ball: which velocity must it leave the hand with?
// Then the same throw, seen once, tells the friction of the ball.
//
//   soft_throw docs/images/soft_throw.svg     also draws the picture
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/optim/lbfgs.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/rollout.h"
#include "examples/figure.h"

using namespace costate;

constexpr double kSide = 0.5, kBall = 0.6, kRadius = 0.15;  // m; where the ball lies, its radius
constexpr std::int64_t kSteps = 70;
constexpr std::size_t kCells = 10;  // along a side

// [scene]
soft::SoftModel scene() {
  soft::SoftModel m{.materials = {{.name = "cloth",
                                   .law = "stvk",
                                   .numbers = {{"E", 2e4}, {"nu", 0.3}},
                                   .density = 0.2,
                                   .bending = 5e-5}},
                    .drag = 0.3,
                    .obstacles = {{.name = "ball",
                                   .shape = soft::Obstacle::Shape::ball,
                                   .place = {kBall, 0, kRadius},
                                   .radius = kRadius,
                                   .friction = 0.5},
                                  {.name = "floor", .friction = 0.5}},
                    .contact = {.self = true, .distance = 0.01, .stiffness = 200, .friction = 0.3},
                    .dt = 0.01,
                    .tolerance = 1e-7};
  soft::add_part(m, "cloth", soft::Cells::triangles,
                 soft::cloth_mesh({kSide, kSide}, {int(kCells), int(kCells)}), 0,
                 {-kSide / 2, -kSide / 2 + 0.03, 0.45});
  return m;
}
// [/scene]

// The cloth on its way, from the side: its row in the middle.
void draw(const char* path, const soft::SoftModel& model, const Trajectory<double>& run) {
  figure::Figure picture;
  figure::Panel& panel = picture.panel("x [m]", "z [m]");
  std::vector<figure::Point> ball;
  for (int k = 0; k <= 60; ++k) {
    const double a = std::acos(-1.0) * k / 30;
    ball.push_back({kBall + kRadius * std::cos(a), kRadius + kRadius * std::sin(a)});
  }
  panel.line(ball, figure::kOrange, "ball");
  for (std::size_t f = 0; f < run.kept.size(); ++f) {
    std::vector<figure::Point> row;
    for (std::size_t i = 0; i <= kCells; ++i) {
      const double* x = run.states.data() + f * 2 * model.rest.size() + 3 * ((kCells + 1) * (kCells / 2) + i);
      row.push_back({x[0], x[2]});
    }
    const bool last = f + 1 == run.kept.size();
    panel.line(row, last ? figure::kBlue : figure::kGrey, last ? "after 0.7 s" : f == 0 ? "on its way" : "");
  }
  picture.write(path);
}

int main(int argc, char** argv) {
  const soft::SoftModel model = scene();
  const auto system = soft::soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = kSteps, .keep = 14, .active = {"obstacle/ball/friction"}});
  const std::size_t n3 = model.rest.size();
  Arguments<double> at = rollout.arguments();
  // [throw]
  const auto leave = [&](const double* v) {  // all of the cloth leaves the hand with one velocity
    std::vector<double> speeds(n3);
    for (std::size_t i = 0; i < n3; ++i) speeds[i] = v[i % 3];
    at.x0 = soft::soft_state(model, {}, speeds);
  };
  // How far the middle of the cloth is from the axis of the ball in the end, squared.
  const auto offset = loss::lambda<double>(system->signature(), [&](auto x, auto, auto) {
    auto a = 0 * x[0] - kBall, b = 0 * x[0];
    for (std::size_t i = 0; i < n3; i += 3)
      a = a + x[i] * (3.0 / double(n3)), b = b + x[i + 1] * (3.0 / double(n3));
    return a * a + b * b;
  });
  double first = -1;
  const auto miss = [&](const double* v, double* gradient) {
    leave(v);
    const auto g = rollout.value_and_gradient(at, *offset);
    std::fill(gradient, gradient + 3, 0.0);
    for (std::size_t i = 0; i < n3; ++i) gradient[i % 3] += g.x0[n3 + i];
    if (first < 0) first = g.value;
    return g.value;
  };
  const std::vector<double> guess = {1.0, 0.0, 1.0};
  const auto thrown = optim::minimize(
      miss, guess,
      optim::LbfgsOptions{.first_step = 0.3, .stopping = {.max_iterations = 12, .target = 1e-5}});
  // [/throw]
  const auto percent = [](double square) { return 100 * std::sqrt(square) / kSide; };
  std::printf("it misses the ball by %.0f %% of its side, then by less than 1 %%\n", percent(first));
  const bool hit = percent(thrown.value) < 1;

  // [friction]
  leave(thrown.x.data());
  const auto run = rollout.simulate(at);
  const auto same = loss::final<double>(
      system->signature(), "x",
      std::vector<double>(run.final_state.begin(), run.final_state.begin() + std::ptrdiff_t(n3)));
  const auto differs = [&](const double* friction, double* gradient) {
    at.parameters["obstacle/ball/friction"][0] = *friction;
    const auto g = rollout.value_and_gradient(at, *same);
    *gradient = g.parameters["obstacle/ball/friction"][0];
    return g.value;
  };
  const auto found = optim::minimize(
      differs, {0.3},
      optim::LbfgsOptions{
          .first_step = 0.1, .stopping = {.max_iterations = 12, .target = 1e-5}, .bounds = {{0.01}, {2}}});
  // [/friction]
  std::printf("friction from the shape in the end: %.2f (it was 0.50)\n", found.x[0]);
  if (argc > 1) draw(argv[1], model, run);
  return hit && std::abs(found.x[0] - 0.5) < 0.015 ? 0 : 1;
}
