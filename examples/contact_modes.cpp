// A block of 1 kg on the ground, pushed sideways by F for one step: it sticks below mu N = 1 N and slides
// above. Hard contact says so exactly, and so does its derivative with respect to F.
//
//   contact_modes docs/images/hard_solver.svg     also draws the picture
#include <costate/costate.h>
#include <costate/io/model/mjcf.h>
#include <costate/rigid/compile/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/figure.h"

using namespace costate;

// It stands on four corners, which share its weight in infinitely many ways.
const char* const kBlock = R"(
  <mujoco>
    <option gravity="0 0 -1" timestep="0.1" cone="elliptic"/>
    <worldbody>
      <geom name="floor" type="plane" size="9 9 1" friction="1"/>
      <body name="block" pos="0 0 0.1">
        <freejoint/>
        <geom name="block" type="box" size="0.5 0.5 0.1" mass="1" friction="0.1"/>
      </body>
    </worldbody>
  </mujoco>)";

struct Push {
  double velocity, slope;  // v [m/s] after one step of 0.1 s, dv/dF [s/kg]
};
std::vector<Push> push(const std::vector<double>& forces) {
  const rigid::Model model = rigid::compile(io::parse_mjcf(kBlock));
  const auto system =
      rigid::make_system<double>(model, {.applied_forces = true, .contact = rigid::ContactModel::hard});
  const Field& v = system->signature().find(Role::state, "v");
  Rollout<double> rollout(system, {.steps = 1, .worlds = std::int64_t(forces.size()), .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = rigid::initial_state(model);
  const std::size_t controls = at.controls.size();
  at.controls.assign(forces.size() * controls, 0.0);
  for (std::size_t i = 0; i < forces.size(); ++i) at.controls[i * controls] = forces[i];
  const std::size_t states = at.x0.size();
  std::vector<double> direction(forces.size() * states, 0.0);
  for (std::size_t i = 0; i < forces.size(); ++i) direction[i * states + std::size_t(v.offset)] = 1;
  const auto g =
      rollout.value_and_gradient(at, *loss::cotangents<double>(system->signature(), {1}, {direction}));
  const std::vector<double> end = rollout.simulate(at).final_state;
  std::vector<Push> out;
  for (std::size_t i = 0; i < forces.size(); ++i)
    out.push_back({end[i * states + std::size_t(v.offset)], g.controls[i * controls]});
  return out;
}

int main(int argc, char** argv) {
  std::vector<double> forces;
  for (int i = 0; i < 80; ++i) forces.push_back(0.5 + 0.0125 * (i + 0.5));
  const auto pushes = push(forces);
  double worst_velocity = 0, worst_slope = 0;
  for (std::size_t i = 0; i < forces.size(); ++i) {
    const double slides = forces[i] > 1 ? 0.1 : 0.0;
    worst_velocity = std::max(worst_velocity, std::abs(pushes[i].velocity - slides * (forces[i] - 1)));
    worst_slope = std::max(worst_slope, std::abs(pushes[i].slope - slides));
  }
  std::printf("hard contact, %zu pushes from 0.5 to 1.5 N\n", forces.size());
  std::printf("velocity: within %s of (F - 1)+ h / m\n", worst_velocity < 1e-9 ? "1e-9" : "MORE THAN 1e-9");
  std::printf("slope:    within %s of 0 or h / m\n", worst_slope < 1e-8 ? "1e-8" : "MORE THAN 1e-8");
  if (argc >= 2) {
    figure::Figure picture;
    figure::Panel& velocity = picture.panel("push F [N]", "velocity [m/s]");
    figure::Panel& slope = picture.panel("push F [N]", "dv/dF [s/kg]");
    std::vector<figure::Point> v, s;
    for (std::size_t i = 0; i < forces.size(); i += 2) {
      v.push_back({forces[i], pushes[i].velocity});
      s.push_back({forces[i], pushes[i].slope});
    }
    velocity.line({{0.5, 0}, {1, 0}, {1.5, 0.05}}, figure::kGrey, "Coulomb's law");
    velocity.dots(v, figure::kBlue, "simulated");
    slope.line({{0.5, 0}, {1, 0}}, figure::kGrey, "Coulomb's law");
    slope.line({{1, 0.1}, {1.5, 0.1}}, figure::kGrey);
    slope.dots(s, figure::kBlue, "adjoint");
    picture.write(argv[1]);
  }
  return worst_velocity < 1e-9 && worst_slope < 1e-8 ? 0 : 1;
}
