// An arm folds a towel: it holds one edge, lifts it over and lays it on the opposite one. Which way must its
// joints go so that the upper half comes to lie on the lower one, which nothing holds?
//
//   coupled_towel docs/images/coupled_towel.svg     also draws the picture
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/coupled/carrier.h"
#include "costate/io/model/mjcf.h"
#include "costate/optim/lbfgs.h"
#include "costate/rigid/compile/compile.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/rollout.h"
#include "examples/figure.h"

using namespace costate;

constexpr double kSide = 0.3, kShoulder = 0.4, kLink = 0.25;  // m
constexpr int kCells = 8;                                     // along a side
constexpr std::int64_t kSteps = 60;
constexpr std::size_t kJoints = 3, kKnots = 5;  // of the way, between its ends

// [arm]
constexpr const char* kArm =
    R"(<mujoco><compiler angle="radian"/><option integrator="implicitfast"/><worldbody>
  <body name="upper" pos="0 0 0.4" gravcomp="1"><joint name="shoulder" axis="0 1 0" damping="0.5"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.02" mass="0.5"/>
    <body name="fore" pos="0 0 -0.25" gravcomp="1"><joint name="elbow" axis="0 1 0" damping="0.2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.015" mass="0.3"/>
      <body name="hand" pos="0 0 -0.25" gravcomp="1">
        <joint name="wrist" axis="0 1 0" damping="0.02" armature="1e-3"/>
        <geom type="capsule" fromto="0 -0.15 0 0 0.15 0" size="0.003" mass="0.05"/>
  </body></body></body></worldbody>
  <actuator>
    <position joint="shoulder" kp="40"/><position joint="elbow" kp="20"/><position joint="wrist" kp="2"/>
  </actuator></mujoco>)";
// [/arm]

// Joints that take the hand to (x, z), level.
std::array<double, kJoints> reach(double x, double z) {
  const double r = std::hypot(x, kShoulder - z), bend = std::acos(r / (2 * kLink)),
               towards = std::atan2(-x, kShoulder - z);
  return {towards + bend, -2 * bend, bend - towards};
}

// [scene]
soft::SoftModel scene(const rigid::Model& arm, const std::vector<double>& start) {
  soft::SoftModel m{.materials = {{.name = "towel",
                                   .law = "stvk",
                                   .numbers = {{"E", 1e4}, {"nu", 0.3}},
                                   .density = 0.3,
                                   .bending = 2e-5}},
                    .drag = 0.3,
                    .obstacles = {{.name = "table", .friction = 0.4}},
                    .contact = {.self = true, .distance = 0.006, .stiffness = 200, .friction = 0.4},
                    .dt = 0.01,
                    .tolerance = 1e-7};
  soft::add_part(m, "towel", soft::Cells::triangles, soft::cloth_mesh({kSide, kSide}, {kCells, kCells}), 0,
                 {-kSide / 2, -kSide / 2, 0.004});
  soft::Hold edge{.name = "edge", .body = "hand"};
  for (int j = 0; j <= kCells; ++j) edge.vertices.push_back((kCells + 1) * j + kCells);
  m.holds = {edge};
  m.carrier = coupled::carrier({.model = arm, .initial_state = start});
  return m;
}
// [/scene]

// The row in the middle, from the side.
void draw(const char* path, const std::vector<const Trajectory<double>*>& runs) {
  figure::Figure picture;
  for (const Trajectory<double>* run : runs) {
    figure::Panel& panel = picture.panel("x [m]", run == runs[0] ? "z [m], first" : "z [m], learned");
    const std::size_t size = run->states.size() / run->kept.size();
    for (std::size_t f = 0; f < run->kept.size(); ++f) {
      std::vector<figure::Point> row;
      for (std::size_t i = 0; i <= kCells; ++i) {
        const double* x = run->states.data() + f * size + 3 * ((kCells + 1) * (kCells / 2) + i);
        row.push_back({x[0], x[2]});
      }
      const bool last = f + 1 == run->kept.size();
      panel.line(row, last ? figure::kBlue : figure::kGrey,
                 last     ? "after 0.6 s"
                 : f == 0 ? "on its way"
                          : "");
    }
  }
  picture.write(path);
}

int main(int argc, char** argv) {
  const rigid::Model arm = rigid::compile(io::parse_mjcf(kArm));
  const auto first = reach(kSide / 2, 0.004), last = reach(-kSide / 2, 0.014);
  std::vector<double> start(first.begin(), first.end());
  start.resize(2 * kJoints, 0.0);
  const soft::SoftModel model = scene(arm, start);
  const auto system = soft::soft_bodies<double>(model);
  Rollout<double> rollout(system, {.steps = kSteps, .keep = 10, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(model);

  // [fold]
  // Servos go from knot to knot, the first and the last of which are given.
  const auto way = [&](std::int64_t k, std::size_t& knot) {
    const double s = double(k + 1) / double(kSteps) * double(kKnots + 1);
    knot = std::min(std::size_t(s), kKnots);
    return s - double(knot);
  };
  const auto knot_of = [&](const double* knots, std::size_t knot, std::size_t joint) {
    return knot == 0 ? first[joint] : knot == kKnots + 1 ? last[joint] : knots[kJoints * (knot - 1) + joint];
  };
  // The half beyond the middle comes to lie on its mirror image; the other half stays where it is.
  const auto spread = loss::lambda<double>(system->signature(), [&](auto x, auto, auto) {
    auto sum = 0 * x[0];
    for (std::size_t i = 0; i < model.rest.size(); i += 3) {
      const bool over = model.rest[i] > 1e-9;
      const auto a = x[i] - (over ? -1 : 1) * model.rest[i], b = x[i + 1] - model.rest[i + 1],
                 c = x[i + 2] - (over ? 0.012 : 0.004);
      sum = sum + (a * a + b * b + c * c) * (3.0 / double(model.rest.size()));
    }
    return sum;
  });
  const auto miss = [&](const double* knots, double* gradient) {
    std::size_t knot = 0;
    for (std::int64_t k = 0; k < kSteps; ++k) {
      const double s = way(k, knot);
      for (std::size_t j = 0; j < kJoints; ++j)
        at.controls[kJoints * std::size_t(k) + j] =
            (1 - s) * knot_of(knots, knot, j) + s * knot_of(knots, std::min(knot + 1, kKnots + 1), j);
    }
    const auto g = rollout.value_and_gradient(at, *spread);
    std::fill(gradient, gradient + kJoints * kKnots, 0.0);
    for (std::int64_t k = 0; k < kSteps; ++k) {
      const double s = way(k, knot);
      for (std::size_t j = 0; j < kJoints; ++j) {
        const double bar = g.controls[kJoints * std::size_t(k) + j];
        if (knot > 0) gradient[kJoints * (knot - 1) + j] += (1 - s) * bar;
        if (knot < kKnots) gradient[kJoints * knot + j] += s * bar;
      }
    }
    return g.value;
  };
  std::vector<double> guess;
  for (std::size_t knot = 1; knot <= kKnots; ++knot) {  // flat over: it drags the towel along
    const double s = double(knot) / double(kKnots + 1);
    for (const double angle : reach(kSide * (0.5 - s), 0.01 + 0.03 * std::sin(std::acos(-1.0) * s)))
      guess.push_back(angle);
  }
  std::vector<double> unused(guess.size());
  const double before = miss(guess.data(), unused.data());
  const auto first_run = rollout.simulate(at);
  const auto found = optim::minimize(
      miss, guess,
      optim::LbfgsOptions{.first_step = 0.1, .stopping = {.max_iterations = 25, .target = 9e-6}});
  // [/fold]
  miss(found.x.data(), unused.data());
  const auto run = rollout.simulate(at);
  std::printf("off by %.0f mm at first, by %.0f mm after %d gradients\n", 1e3 * std::sqrt(before),
              1e3 * std::sqrt(found.value), int(found.evaluations));
  if (argc > 1) draw(argv[1], {&first_run, &run});
  return found.value < before / 4 ? 0 : 1;
}
