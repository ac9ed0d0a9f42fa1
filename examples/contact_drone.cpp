// A drone rests on the ground and shall be 5 m up half a second later. While it rests its motion does not
// depend on its rotors: the derivative is zero, and an optimiser that follows it stays on the ground. The
// complementarity-aware gradient of hard contact shows the way off it.
//
//   contact_drone page.html     also writes a replay
#include <costate/costate.h>
#include <costate/io/model/mjcf.h>
#include <costate/io/rigid_picture.h>
#include <costate/optim/adam.h>
#include <costate/rigid/compile/compile.h>
#include <costate/rigid/observer.h>
#include <costate/view/replay.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace costate;

constexpr int kSteps = 500, kHold = 25, kIterations = 150;

const char* const kDrone = R"(
  <mujoco>
    <option timestep="0.001"/>
    <worldbody>
      <geom name="floor" type="plane" size="2 2 1"/>
      <body name="drone" pos="0 0 0.3">
        <joint name="z" type="slide" axis="0 0 1" ref="0.3"/>
        <geom name="drone" type="sphere" size="0.3" mass="0.1"/>
      </body>
    </worldbody>
    <actuator><motor name="lift" joint="z" ctrllimited="true" ctrlrange="-10 10"/></actuator>
  </mujoco>)";

struct Flight {
  std::vector<double> heights, losses;  // of the last flight; of the iterations
  double first_slope = 0;               // the gradient's size at the start
};

// [search]
Flight fly(const rigid::Model& model, bool aware) {
  const auto system =
      rigid::make_system<double>(model, {.contact = rigid::ContactModel::hard, .hard = {.aware = aware}});
  Rollout<double> rollout(system, {.steps = kSteps, .hold = kHold, .keep = 10, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.x0 = rigid::initial_state(model);
  const auto goal = loss::final<double>(system->signature(), "q", {5});

  Flight out;
  const auto miss = [&](const double* force, double* gradient) {
    at.controls.assign(force, force + at.controls.size());
    const auto g = rollout.value_and_gradient(at, *goal);
    std::copy(g.controls.begin(), g.controls.end(), gradient);
    if (out.losses.empty())
      for (const double slope : g.controls) out.first_slope = std::max(out.first_slope, std::abs(slope));
    out.losses.push_back(g.value);
    return g.value;
  };
  const std::size_t knots = at.controls.size();
  const auto result = optim::minimize(
      miss, std::vector<double>(knots, 0.0),
      optim::AdamOptions{.rate = 0.2,
                         .decay = 0.98,
                         .stopping = {.max_iterations = kIterations, .gradient_tolerance = 0},
                         .bounds = {std::vector<double>(knots, -10.0), std::vector<double>(knots, 10.0)}});
  at.controls = result.x;
  const auto run = rollout.simulate(at);
  for (std::size_t f = 0; f < run.kept.size(); ++f) out.heights.push_back(run.states[2 * f]);
  return out;
}
// [/search]

io::Recording film(const std::string& title, const rigid::Model& model, const Flight& flight) {
  const auto system = rigid::make_system<double>(model);
  const rigid::Observer watch(model, system->signature(), {{"drone", "body/drone"}});
  io::RigidPicture picture(model);
  for (const double z : flight.heights) picture.add_frame(watch.body_poses({z, 0.0}));
  io::Recording r = picture.finish();
  r.title = title;
  r.frame_interval = 0.01;
  r.curves.push_back({.name = "loss", .y = flight.losses});
  for (std::size_t i = 0; i < flight.losses.size(); ++i) r.curves[0].x.push_back(double(i));
  return r;
}

int main(int argc, char** argv) {
  const rigid::Model model = rigid::compile(io::parse_mjcf(kDrone));
  const Flight plain = fly(model, false), aware = fly(model, true);
  std::printf("at rest   largest slope: plain %.3f, aware %.3f\n", plain.first_slope, aware.first_slope);
  std::printf("at last   height: plain %.2f m, aware %.2f m; the goal is 5 m\n", plain.heights.back(),
              aware.heights.back());
  if (argc > 1)
    view::write_replay(argv[1], {film("plain gradient", model, plain), film("aware gradient", model, aware)},
                       {.title = "Leaving the ground"});
  const bool well =
      plain.first_slope < 1e-12 && plain.heights.back() < 0.301 && std::abs(aware.heights.back() - 5) < 0.01;
  return well ? 0 : 1;
}
