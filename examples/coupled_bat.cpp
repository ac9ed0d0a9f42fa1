// A paddle on a motor bats a block of jelly into the distance: the torques are found by the gradient through
// both, and what the jelly does to the paddle on the way is part of it.
#include <cmath>
#include <cstdio>

#include "costate/coupled/articulated.h"
#include "costate/io/model/mjcf.h"
#include "costate/mpm/system.h"
#include "costate/optim/lbfgs.h"
#include "costate/rigid/compile/compile.h"
#include "costate/system/rollout.h"

using namespace costate;

// [model]
const char* const kPaddle = R"(
<mujoco model="paddle">
  <worldbody>
    <body name="paddle" pos="0.6 0.35 0.35">
      <joint name="hinge" axis="0 0 1" range="-80 20" damping="0.2" armature="0.01"/>
      <geom type="box" pos="-0.2 0 0" size="0.2 0.04 0.12" mass="1.5"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
</mujoco>)";
// [/model]

int main() {
  // [scene]
  // Jelly of four kilograms falls onto the blade.
  mpm::Model world;
  world.nodes = {40, 26, 15};
  world.dx = 0.05;
  world.dt = 2e-3;
  world.materials = {
      {.name = "jelly", .kind = mpm::MaterialKind::neo_hookean, .density = 500, .E = 2e4, .nu = 0.3}};
  fill(world, mpm::Shape::box(0.1, 0.1, 0.1), {0.37, 0.55, 0.35}, 0.025, 0);
  mpm::Collider blade{.name = "blade", .shape = mpm::Shape::box(0.2, 0.06, 0.12)};
  blade.position = {-0.2, 0, 0};  // in the frame of its body
  world.mechanism = coupled::articulated(
      {.model = rigid::compile(io::parse_mjcf(kPaddle)), .shapes = {{.collider = blade, .body = "paddle"}}});
  const auto system =
      mpm::system<double>(world);  // states: the particles', then q and v of the paddle; control: ctrl
  // [/scene]

  // [optimise]
  // How far the middle of the jelly is from its goal after 0.6 s. The loss is decided between the way forward
  // and the way back.
  Rollout<double> rollout(system, {.steps = 300, .hold = 30, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(world);
  const auto count = std::size_t(mpm::particle_count(world));
  const double goal[] = {1.4, 0.5, 0.35};
  const auto value = [&](const double* torques, double* gradient) {
    at.controls.assign(torques, torques + at.controls.size());
    const std::vector<double> end = rollout.forward(at).final_state;
    std::vector<double> cotangent(end.size(), 0.0);
    double half_square = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      double error = -goal[a];
      for (std::size_t i = 0; i < count; ++i) error += end[3 * i + a] / double(count);
      for (std::size_t i = 0; i < count; ++i) cotangent[3 * i + a] = error / double(count);
      half_square += 0.5 * error * error;
    }
    const auto g = rollout.backward(*loss::cotangents<double>(system->signature(), {300}, {cotangent}));
    std::copy(g.controls.begin(), g.controls.end(), gradient);
    return half_square;
  };
  const std::vector<double> start(at.controls.size(), -12.0);  // N m, each held for 60 ms
  const optim::Bounds bounds{std::vector<double>(start.size(), -60.0),
                             std::vector<double>(start.size(), 20.0)};
  std::vector<double> gradient(start.size());
  const double first = std::sqrt(2 * value(start.data(), gradient.data()));
  const auto result = optim::minimize(
      value, start,
      {.first_step = 3, .stopping = {.max_iterations = 20, .target = 0.5 * 0.01 * 0.01}, .bounds = bounds});
  const double best = std::sqrt(2 * result.value);
  // [/optimise]
  std::printf("%zu particles: at first the jelly misses its goal by %.0f cm, after learning by %.1f cm\n",
              count, 100 * first, 100 * best);
  return first > 0.3 && best < 0.05 ? 0 : 1;
}
