// A cart that keeps an estimate of its own mass while it moves, and notices when it is loaded.
//
//   control_twin [PAGE]        the page replays it, with what the twin believes as a shade, and its estimate
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

#include "costate/control/filter/twin.h"
#include "costate/system/program/program_objective.h"
#include "costate/system/program/program_system.h"
#include "costate/view/replay.h"

using namespace costate;

namespace {

// What happened, as a page: the cart, its load, and the twin's belief as a shade above.
class Replay {
 public:
  Replay() {
    film_.title = "A cart that knows its own mass";
    film_.frame_interval = 0.02;
    film_.camera = {.eye = {0, -3, 1.2F}, .target = {0, 0, 0.3F}};
    const auto box = [&](const char* name, std::vector<float> size, io::Color color, float opacity) {
      film_.bodies.push_back({.name = name,
                              .shape = {.kind = io::Shape::Kind::box, .size = std::move(size)},
                              .color = color,
                              .opacity = opacity,
                              .poses = {}});
    };
    box("cart", {0.2F, 0.12F, 0.08F}, 0x4f86c6, 1);
    box("load of 0.5 kg", {0.1F, 0.1F, 0.06F}, 0xd98b5f, 1);
    box("where the twin believes it to be", {0.2F, 0.12F, 0.08F}, 0x8a8a8a, 0.35F);
    film_.curves = {{.name = "mass [kg]", .x_name = "time [s]"},
                    {.name = "error bar [kg]", .x_name = "time [s]"}};
  }
  void frame(double t, double x, bool loaded, const control::Twin& twin) {
    const auto at = [](double along, float y, float z) { return io::Pose{float(along), y, z, 1, 0, 0, 0}; };
    film_.bodies[0].poses.push_back(at(x, 0, 0.08F));
    film_.bodies[1].poses.push_back(loaded ? at(x, 0, 0.22F) : at(-1, 0, 0.06F));
    film_.bodies[2].poses.push_back(at(twin.x()[0], 0, 0.42F));
    film_.curves[0].x.push_back(t), film_.curves[0].y.push_back(twin.values()[0]);
    film_.curves[1].x.push_back(t), film_.curves[1].y.push_back(twin.deviations()[0]);
    ++film_.frames;
  }
  void write(const char* path) const { view::write_replay(path, {film_}); }

 private:
  io::Recording film_;
};

}  // namespace

int main(int argc, char** argv) {
  Signature fields;
  fields.state("x", 1, "m").state("v", 1, "m/s").control("force", 1, "N").parameter("mass", 1.0, "kg");
  const auto cart = equations_system<double>(fields, "x_dot = v; v_dot = (force - 0.5*v)/mass", rk4(0.02));

  // [twin]
  // 1. What is measured, how noisy, what is not known, and how fast it may change.
  control::TwinProblem problem;
  problem.system = cart;
  problem.parameters = Parameters<double>(cart->signature());
  problem.measured = {loss::expression<double>(cart->signature(), "x")};
  problem.measurement_noise = {1e-6};  // 1 mm, squared
  problem.process_noise = {1e-10, 0, 0, 1e-8};
  problem.x0 = {0, 0}, problem.P0 = {1e-4, 0, 0, 1e-4};
  problem.tuned = {{.name = "mass", .deviation = 0.2, .drift = 0.02, .lower = 0.1, .upper = 10}};
  control::Twin twin(problem);
  // [/twin]

  // 2. The real cart, 50 times a second. After 4 s it is loaded with another half kilogram.
  Rollout<double> step(cart, {.steps = 1});
  Arguments<double> real = step.arguments();
  real.x0 = {0, 0};
  Replay replay;
  for (int k = 0; k < 350; ++k) {
    // [stream]
    const double force = 3 * std::sin(0.1 * k) + 2 * std::sin(0.31 * k);
    real.controls = {force};
    real.parameters.set("mass", k < 200 ? 1.0 : 1.5);
    real.x0 = step.simulate(real).final_state;
    const double measured = real.x0[0] + 1e-3 * normal<double>(1, 0, std::uint64_t(k), 0);
    twin.step({force}, {measured});
    // [/stream]
    replay.frame(0.02 * (k + 1), real.x0[0], k >= 200, twin);
    if (k == 199 || k == 349)
      std::printf("after %d s: %.1f kg, %s 0.1\n", (k + 1) / 50, twin.values()[0],
                  twin.deviations()[0] < 0.1 ? "known to better than" : "not known to");
  }
  if (argc > 1) replay.write(argv[1]);
  return std::fabs(twin.values()[0] - 1.5) < 0.1 ? 0 : 1;
}
