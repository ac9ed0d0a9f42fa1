// A body of masses and springs learns to walk: a small network moves its muscles, and one gradient goes
// through network and physics.
//
//   build/bin/mass_spring_walker                        writes walker.html: before and after, side by side
//   build/bin/mass_spring_walker page.html curve.svg    writes it elsewhere, and draws the curve of learning
#include <costate/costate.h>
#include <costate/system/program/program_objective.h>
#include <costate/view/replay.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "examples/figure.h"

using namespace costate;

// [body]
// Squares of side 0.1 m, each a frame with two diagonals. A back of three squares stands on two legs; the
// frames of the legs are muscles.
struct Body {
  soft::MassSpringModel model = {
      .gravity = {0, -9.81}, .drag = 2, .planes = {{.normal = {0, 1}, .friction = 0.8}}, .dt = 2e-3};
  std::vector<double> x;  // where the masses stand

  Body() {
    for (int column : {0, 1, 2}) square(column, 1, false);
    for (int column : {0, 2}) square(column, 0, true);
  }

 private:
  static constexpr double kSide = 0.1;
  std::map<std::pair<int, int>, int> corner_;
  std::set<std::pair<int, int>> joined_;

  int corner(int i, int j) {
    const auto [at, is_new] = corner_.try_emplace({i, j}, int(corner_.size()));
    if (is_new) {
      model.masses.push_back(0.1);
      x.insert(x.end(), {kSide * i, kSide * j});
    }
    return at->second;
  }
  void spring(int a, int b, double length, bool muscle) {
    if (!joined_.insert(std::minmax(a, b)).second) return;
    model.springs.push_back({.a = a, .b = b, .rest_length = length, .stiffness = 300, .damping = 0.3});
    if (muscle) model.springs.back().muscle = model.muscles(), model.springs.back().strength = 0.2;
  }
  void square(int i, int j, bool muscle) {
    const int a = corner(i, j), b = corner(i + 1, j), c = corner(i + 1, j + 1), d = corner(i, j + 1);
    spring(a, b, kSide, muscle);
    spring(c, d, kSide, false);
    for (auto [from, to] : {std::pair(a, d), std::pair(b, c)}) spring(from, to, kSide, muscle);
    for (auto [from, to] : {std::pair(a, c), std::pair(b, d)})
      spring(from, to, kSide * std::sqrt(2.0), muscle);
  }
};
// [/body]

// [policy]
// It feels a rhythm, where each mass is from the centre, and how fast the centre moves. Lengths in
// decimetres, speeds in m/s.
learn::PolicyNetwork network_for(const Body& body) {
  learn::PolicyNetwork network{.waves = 4, .omega = 12, .hidden = 16, .seed = 4};
  const auto n = std::int64_t(body.x.size());  // state: n positions, n velocities; x and y in turn
  for (std::int64_t i = 0; i < n; ++i) {
    learn::Observation offset{{{i, 10.0}}};
    for (std::int64_t j = i % 2; j < n; j += 2) offset.terms.push_back({j, -20.0 / double(n)});
    network.observations.push_back(offset);
  }
  for (std::int64_t axis : {0, 1}) {
    learn::Observation speed;
    for (std::int64_t j = axis; j < n; j += 2) speed.terms.push_back({n + j, 2.0 / double(n)});
    network.observations.push_back(speed);
  }
  return network;
}
// [/policy]

io::Recording film(const std::string& title, const Body& body, const Trajectory<double>& run,
                   double interval) {
  io::Recording r;
  r.title = title;
  r.up = 'y';
  r.ground = -0.012F;  // the feet are drawn as spheres
  r.frames = std::int64_t(run.kept.size());
  r.frame_interval = interval;
  r.camera = {.eye = {0.75F, 0.6F, 2.9F}, .target = {0.75F, 0.15F, 0}};
  r.materials = {{.name = "mass", .color = 0x2d3142}};
  r.particles.radius = 0.012F;
  r.particles.material.assign(body.x.size() / 2, 0);
  for (const soft::Spring& s : body.model.springs) {
    const bool muscle = s.muscle >= 0;
    r.bodies.push_back(
        {.name = muscle ? "muscle" : "spring",
         .shape = {.kind = io::Shape::Kind::capsule, .size = {0.005F, float(0.43 * s.rest_length)}},
         .color = muscle ? 0xd1495bU : 0x8d99aeU,
         .poses = {}});
  }
  for (std::size_t f = 0; f < run.kept.size(); ++f) {
    const double* x = run.states.data() + f * 2 * body.x.size();
    for (std::size_t i = 0; i < body.x.size(); i += 2)
      r.particles.positions.insert(r.particles.positions.end(), {float(x[i]), float(x[i + 1]), 0});
    for (std::size_t s = 0; s < body.model.springs.size(); ++s) {
      // A capsule lies along z: turned about the axis (-dy, dx, 0) by a right angle it lies along the spring.
      const double *a = x + 2 * body.model.springs[s].a, *b = x + 2 * body.model.springs[s].b;
      const double dx = b[0] - a[0], dy = b[1] - a[1], half = std::sqrt(0.5) / std::hypot(dx, dy);
      r.bodies[s].poses.push_back({float(0.5 * (a[0] + b[0])), float(0.5 * (a[1] + b[1])), 0,
                                   float(std::sqrt(0.5)), float(-dy * half), float(dx * half), 0});
    }
  }
  return r;
}

int main(int argc, char** argv) {
  constexpr int kIterations = 150;
  // [train]
  const Body body;
  const auto plant = soft::make_system<double>(body.model);
  const auto walker = learn::closed_loop<double>(plant, network_for(body));
  const std::vector<std::string> weights = {"policy/w1", "policy/b1", "policy/w2", "policy/b2"};
  // Eight worlds side by side in SIMD lanes, on floors from slippery to rough: one network for all of them.
  Rollout<double> rollout(walker, {.steps = 1000, .worlds = 8, .active = weights});
  Arguments<double> at = rollout.arguments();
  std::copy(body.x.begin(), body.x.end(), at.x0.begin());
  at.parameters.set("plane/friction", {0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05, 1.15});
  // How far the centre came, on average over the worlds; the sign makes walking right a descent.
  const auto distance = loss::lambda<double>(walker->signature(), [&](auto x, auto, auto) {
    auto sum = 0 * x[0];
    for (std::size_t i = 0; i < body.x.size(); i += 2) sum = sum - (x[i] - body.x[i]);
    return sum / (8 * 0.5 * double(body.x.size()));
  });
  std::vector<double> first, curve;
  for (const auto& name : weights)
    first.insert(first.end(), at.parameters[name].begin(), at.parameters[name].end());
  const auto set_weights = [&](const double* w) {
    for (const auto& name : weights) {
      for (double& number : at.parameters[name]) number = *w++;
    }
  };
  const auto walk = [&](const double* w, double* gradient) {
    set_weights(w);
    const auto g = rollout.value_and_gradient(at, *distance);
    for (const auto& name : weights) {
      for (double number : g.parameters[name]) *gradient++ = number;
    }
    curve.push_back(-g.value);
    return g.value;
  };
  const auto result = optim::minimize(
      walk, first, optim::AdamOptions{.rate = 0.01, .stopping = {.max_iterations = kIterations}});
  // [/train]
  const bool learned = -result.value > 0.6;
  std::printf("%zu masses, %zu springs, %d muscles, %zu weights\n", body.model.masses.size(),
              body.model.springs.size(), body.model.muscles(), first.size());
  std::printf("after %d iterations it walks %s\n", kIterations,
              learned ? "more than twice its length to the right in 2 s" : "nowhere");
  std::fprintf(stderr, "%.2f m before, %.2f m after\n", curve.front(), -result.value);
  // [watch]
  Rollout<double> watch(walker, {.steps = 1000, .keep = 8});
  Arguments<double> one = watch.arguments();
  one.x0 = at.x0;
  const auto before = watch.simulate(one);
  set_weights(result.x.data());
  for (const auto& name : weights)
    one.parameters.set(name, {at.parameters[name].begin(), at.parameters[name].end()});
  const auto after = watch.simulate(one);
  io::Recording last = film("after", body, after, 8 * body.model.dt);
  last.curves.push_back({.name = "distance [m]", .y = curve});
  for (std::size_t i = 0; i < curve.size(); ++i) last.curves[0].x.push_back(double(i));
  const std::string page = argc > 1 ? argv[1] : "walker.html";
  view::write_replay(page, {film("before", body, before, 8 * body.model.dt), last},
                     {.title = "Learning to walk"});
  // [/watch]
  if (argc > 2) {
    figure::Figure picture;
    std::vector<figure::Point> points;
    for (std::size_t i = 0; i < curve.size(); ++i) points.push_back({double(i), curve[i]});
    picture.panel("iteration", "distance in 2 s [m]").line(points, figure::kBlue);
    picture.write(argv[2]);
  }
  return learned ? 0 : 1;
}
