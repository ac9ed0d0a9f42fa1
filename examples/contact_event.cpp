// A ball is dropped from 50 m and bounces three times: where is it after 15 s, and what does that depend on?
// Impacts as events, exact at any time step.
#include <costate/costate.h>
#include <costate/io/model/mjcf.h>
#include <costate/rigid/compile/compile.h>

#include <cstdio>

using namespace costate;

const char* const kBall = R"(
  <mujoco>
    <option gravity="0 0 -9.8" integrator="RK4"/>
    <default><geom condim="1"/></default>
    <worldbody>
      <geom name="floor" type="plane" size="1 1 1"/>
      <body name="ball" pos="0 0 0.1">
        <joint name="z" type="slide" axis="0 0 1"/>
        <geom name="ball" type="sphere" size="0.1" mass="1"/>
      </body>
    </worldbody>
  </mujoco>)";

int main() {
  const rigid::Model model = rigid::compile(io::parse_mjcf(kBall));
  // [model]
  const auto system = rigid::make_system<double>(
      model, {.contact = rigid::ContactModel::event, .impact = {.restitution = 0.8, .rest_speed = 0.05}});
  // [/model]
  for (const double dt : {0.1, 0.01}) {
    Rollout<double> rollout(system,
                            {.steps = std::lround(15 / dt), .active = {"gravity", "geom/*/restitution"}});
    Arguments<double> at = rollout.arguments();
    at.parameters.set("dt", dt);
    at.parameters.set("geom/floor/restitution", 0.1);  // of two the larger counts: the ball's
    at.x0 = {50, 0};
    const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
    std::printf("dt = %-5g height %.8f m; by restitution %.6f, by gravity %.8f, by the start %.8f\n", dt,
                g.value, g.parameters["geom/ball/restitution"][0], -g.parameters["gravity"][2], g.x0[0]);
  }
  std::printf(
      "closed form height 8.49421701 m; by restitution 314.568840, by gravity -7.27702974, by the start "
      "1.59618217\n");
}
