// A seven-joint arm learns to reach: a network of 32 units turns joint angles, velocities and the place of a
// target into torques, and is trained by one gradient through network and physics.
//
//   build/bin/rigid_arm_policy              writes arm_policy.html: before and after, side by side
//   build/bin/rigid_arm_policy page.html    writes it elsewhere
#include <costate/costate.h>
#include <costate/io/model/load_model.h>
#include <costate/io/rigid_picture.h>
#include <costate/rigid/observer.h>
#include <costate/rigid/rigid_system.h>
#include <costate/system/program/program_objective.h>
#include <costate/view/replay.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/core/philox.h"

using namespace costate;

constexpr int kJoints = 7, kHidden = 32, kSteps = 100, kWorlds = 64, kIterations = 600;
constexpr double kStep = 0.01;

// [model]
// The arm of scenes/arm7.xml, its weight held up, its motors driven by -1 to 1 (a quarter of their range);
// and a target that stays where it is put: three slides without a force on them. So the target is part of the
// state, and the network can see it.
rigid::Model arm_and_target() {
  rigid::Spec spec = rigid::load_spec(COSTATE_SCENES "/arm7.xml");
  spec.keyframes.clear();
  spec.world.body("goal")
      .slide("goal_x", {1, 0, 0})
      .slide("goal_y", {0, 1, 0})
      .slide("goal_z", {0, 0, 1})
      .sphere("goal", {0, 0, 0}, 0.03)
      .site("goal");
  spec.geom("goal").contype = spec.geom("goal").conaffinity = 0;
  rigid::Model model = rigid::compile(spec);
  for (rigid::Body& body : model.bodies) body.gravcomp = 1;
  for (rigid::Actuator& motor : model.actuators) {
    motor.gear[0] = 0.25 * motor.control_range[1];
    motor.control_range = {-1, 1};
  }
  model.options.timestep = kStep;
  return model;
}
// [/model]

// Ready to reach, with a target somewhere in front; one world after the other.
std::vector<double> starts(const rigid::Model& model, std::uint64_t seed) {
  const std::vector<double> ready = {0, 0.5, 0, 1.2, 0, 0.6, 0};
  const std::vector<double> low = {0.25, -0.35, 0.35}, high = {0.6, 0.35, 0.8};
  std::vector<double> x0;
  for (std::uint32_t world = 0; world < kWorlds; ++world) {
    std::vector<double> x = rigid::initial_state(model);
    std::copy(ready.begin(), ready.end(), x.begin());
    for (std::uint32_t axis = 0; axis < 3; ++axis)
      x[kJoints + axis] = low[axis] + (high[axis] - low[axis]) * uniform<double>(seed, world, axis);
    x0.insert(x0.end(), x.begin(), x.end());
  }
  return x0;
}

// Of the tool from the target at the end, in every world.
std::vector<double> distances(const rigid::Observer& watch, const std::vector<double>& states) {
  const std::size_t width = states.size() / kWorlds;
  std::vector<double> d;
  for (std::size_t w = 0; w < kWorlds; ++w) {
    const auto first = states.begin() + std::ptrdiff_t(w * width);
    const std::vector<double> z = watch.values({first, first + std::ptrdiff_t(width)});
    d.push_back(std::hypot(z[0] - z[3], z[1] - z[4], z[2] - z[5]));
  }
  std::sort(d.begin(), d.end());
  return d;
}

io::Recording film(const std::string& title, const rigid::Model& model, const rigid::Observer& watch,
                   const Trajectory<double>& run, double interval) {
  io::RigidPicture picture(model);
  const std::size_t width = run.final_state.size();
  for (std::size_t f = 0; f < run.kept.size(); ++f) {
    const auto first = run.states.begin() + std::ptrdiff_t(f * width);
    picture.add_frame(watch.body_poses({first, first + std::ptrdiff_t(width)}));
  }
  io::Recording r = picture.finish();
  r.title = title;
  r.frame_interval = interval;
  return r;
}

io::Recording with_curve(io::Recording film, const std::vector<double>& losses) {
  film.curves.push_back({.name = "loss", .y = losses});
  for (std::size_t i = 0; i < losses.size(); ++i) film.curves[0].x.push_back(double(i));
  return film;
}

int main(int argc, char** argv) {
  // [train]
  const rigid::Model model = arm_and_target();
  const auto plant = rigid::make_system<double>(model);
  learn::PolicyNetwork network{.hidden = kHidden, .seed = 1};
  for (int i = 0; i < kJoints + 3; ++i) network.observations.push_back({{{i, i < kJoints ? 1.0 : 3.0}}});
  for (int i = 0; i < kJoints; ++i) network.observations.push_back({{{model.nq + i, 0.3}}});
  const auto arm = learn::closed_loop<double>(plant, network);
  const std::vector<std::string> weights = {"policy/w1", "policy/b1", "policy/w2", "policy/b2"};

  Rollout<double> rollout(arm, {.steps = kSteps, .worlds = kWorlds, .active = weights});
  const rigid::Observer watch(
      model, arm->signature(),
      {{"tool", "site/tool"}, {"goal", "site/goal"}, {"speed", "site/tool/velocity"}});
  // Near the target over the second half of a second, and slow.
  const auto loss = watch.objective(
      loss::expression<double>(watch.signature(),
                               "((tool[0] - goal[0])^2 + (tool[1] - goal[1])^2 + (tool[2] - goal[2])^2"
                               " + 0.003*(speed[0]^2 + speed[1]^2 + speed[2]^2))/320",
                               loss::at_steps({60, 70, 80, 90, 100})));
  Arguments<double> at = rollout.arguments();
  at.x0 = starts(model, 1);
  std::vector<double> first, curve;
  for (const auto& name : weights)
    first.insert(first.end(), at.parameters[name].begin(), at.parameters[name].end());
  const auto set_weights = [&](const double* w) {
    for (const auto& name : weights) {
      for (double& number : at.parameters[name]) number = *w++;
    }
  };
  const auto reach = [&](const double* w, double* gradient) {
    set_weights(w);
    const auto g = rollout.value_and_gradient(at, *loss);
    for (const auto& name : weights) {
      for (double number : g.parameters[name]) *gradient++ = number;
    }
    curve.push_back(g.value);
    return g.value;
  };
  // Weak at first: a network that thrashes about has little to learn from.
  for (std::size_t i = first.size() - (kHidden + 1) * kJoints; i < first.size(); ++i) first[i] *= 0.1;
  const auto result = optim::minimize(
      reach, first,
      optim::AdamOptions{.rate = 0.006, .decay = 0.998, .stopping = {.max_iterations = kIterations}});
  // [/train]

  // [test]
  // Targets that it has not seen.
  at.x0 = starts(model, 2);
  set_weights(first.data());
  const std::vector<double> before = distances(watch, rollout.simulate(at).final_state);
  set_weights(result.x.data());
  const std::vector<double> after = distances(watch, rollout.simulate(at).final_state);
  // [/test]
  const bool learned = after[kWorlds / 2] < 0.03 && after[kWorlds * 9 / 10] < 0.06;
  std::printf(
      "%zu weights; after %d iterations the hand %s\n", first.size(), kIterations,
      learned ? "is within 3 cm of half of 64 new targets, and within 6 cm of nine tenths" : "misses");
  std::fprintf(stderr,
               "loss %.4g -> %.4g; median distance %.1f cm -> %.1f cm, nine tenths %.1f cm -> %.1f cm\n",
               curve.front(), result.value, 100 * before[kWorlds / 2], 100 * after[kWorlds / 2],
               100 * before[kWorlds * 9 / 10], 100 * after[kWorlds * 9 / 10]);

  // One of the new targets, before and after.
  constexpr int kKeep = 2;
  Rollout<double> one(arm, {.steps = 2 * kSteps, .keep = kKeep});
  const std::size_t width = at.x0.size() / kWorlds;
  const auto look = [&](const std::string& title, const std::vector<double>& w) {
    set_weights(w.data());
    Arguments<double> a = one.arguments();
    a.x0.assign(at.x0.begin(), at.x0.begin() + std::ptrdiff_t(width));
    a.parameters = at.parameters;
    return film(title, model, watch, one.simulate(a), kKeep * kStep);
  };
  view::write_replay(argc > 1 ? argv[1] : "arm_policy.html",
                     {look("before", first), with_curve(look("after", result.x), curve)},
                     {.title = "Learning to reach"});
  return learned ? 0 : 1;
}
