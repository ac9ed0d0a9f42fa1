// Open-loop gaits: a hopper and a half cheetah learn to move forward. The controls are knots of 50 ms, found
// by Adam on the gradient through every contact, from eight weak random starts side by side, and by CMA-ES
// with as many simulations.
//
//   contact_gait [hopper|half_cheetah|half_cheetah_wave [NAME.html [docs/images/contact_NAME.svg]]]
//
// half_cheetah_wave has 30 numbers instead of 240: a Fourier series for each motor. There CMA-ES wins.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>

#include "costate/core/philox.h"
#include "costate/io/model/load_model.h"
#include "costate/system/program/program_objective.h"
#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

struct Animal {
  std::string scene, posture;      // what a bad posture costs, at each tenth of a second
  std::int64_t steps;              // of 5 ms
  int harmonics;                   // of a Fourier series for each motor; 0: every knot by itself
  double strength, noise;          // of the controls that 1 stands for; of the first guesses
  double distance, height, pitch;  // what counts as moving forward [m], and as not having fallen [m, rad]
};

const Animal kHopper{.scene = "hopper",
                     .posture = "(q[1] - 1.2)^2 + 0.5*q[2]^2",
                     .steps = 300,
                     .harmonics = 0,
                     .strength = 0.2,
                     .noise = 0.05,
                     .distance = 0.6,
                     .height = 0.8,
                     .pitch = 0.5};
const Animal kCheetah{.scene = "half_cheetah",
                      .posture = "0.6*q[2]^2",
                      .steps = 400,
                      .harmonics = 0,
                      .strength = 0.5,
                      .noise = 0.2,
                      .distance = 3,
                      .height = -0.45,
                      .pitch = 0.8};

// How much number i of a motor acts in knot k.
double basis(const Animal& animal, std::int64_t knots, std::int64_t k, int i) {
  if (animal.harmonics == 0) return i == k ? 1 : 0;
  const double stride = 8,
               phase = 2 * std::numbers::pi / stride * double(k % knots) * ((i + 1) / 2);  // 0.4 s
  return i % 2 == 1 ? std::sin(phase) : std::cos(phase);
}

// A point: for each motor its numbers. q: place, height and pitch of the trunk, then joints.
task::Task gait(const rigid::Model& model, const Animal& animal) {
  const std::int64_t hold = 10, knots = animal.steps / hold;
  const int motors = int(model.actuators.size()),
            each = animal.harmonics == 0 ? int(knots) : 1 + 2 * animal.harmonics;
  task::Task t{.n = motors * each, .dt = 0.005, .x0 = rigid::initial_state(model)};
  t.system = rigid::make_system<double>(model);
  t.rollout = {.steps = animal.steps, .hold = hold, .keep = 4, .active = {}};
  std::vector<std::int64_t> way;
  for (std::int64_t k = 20; k <= animal.steps; k += 20) way.push_back(k);
  const Signature& names = t.system->signature();
  t.loss = loss::sum<double>({loss::final_value<double>(names, "q", 0, -1),
                              loss::expression<double>(names, animal.posture, loss::at_steps(way))});
  // controls = shape * point, and its transpose.
  std::vector<double> shape;
  for (std::int64_t k = 0; k < knots; ++k) {
    for (int i = 0; i < each; ++i) shape.push_back(animal.strength * basis(animal, knots, k, i));
  }
  t.apply = [=](const double* point, double*, double* controls) {
    for (std::int64_t k = 0; k < knots; ++k) {
      for (int m = 0; m < motors; ++m) {
        double& u = controls[k * motors + m] = 0;
        for (int i = 0; i < each; ++i) u += shape[std::size_t(k * each + i)] * point[m * each + i];
      }
    }
  };
  t.transpose = [=](const double*, const double* controls_bar, double* gradient) {
    for (std::int64_t k = 0; k < knots; ++k) {
      for (int m = 0; m < motors; ++m) {
        for (int i = 0; i < each; ++i)
          gradient[m * each + i] += shape[std::size_t(k * each + i)] * controls_bar[k * motors + m];
      }
    }
  };
  return t;
}

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "hopper";
  if (name != "hopper" && name != "half_cheetah" && name != "half_cheetah_wave") {
    std::fprintf(stderr, "there are hopper, half_cheetah and half_cheetah_wave\n");
    return 2;
  }
  Animal animal = name == "hopper" ? kHopper : kCheetah;
  if (name == "half_cheetah_wave") animal.harmonics = 2;
  const task::Places places = task::places(argc - 1, argv + 1, "contact_" + name);
  const rigid::Model model = rigid::load(COSTATE_SCENES "/" + animal.scene + ".xml");
  const task::Task task = gait(model, animal);
  task::Batch batch(task, 8);
  const std::size_t n = std::size_t(task.n), size = task.x0.size();

  // 1. Eight weak random starts, 80 iterations each; CMA-ES with as many simulations.
  std::vector<double> starts;
  for (std::uint32_t k = 0; k < 8; ++k) {
    for (std::uint32_t i = 0; i < n; ++i) starts.push_back(animal.noise * normal<double>(5, k, 0, i));
  }
  const task::Found gradient =
      task::by_adam(batch.as_gradients(), task.n, starts, {.rate = 0.1, .iterations = 80, .limit = 1});
  const task::Median cma_es =
      task::median_of_cma_es(batch.as_values(), std::vector<double>(n, 0.0), 0.2, 0, gradient.simulations);

  // 2. How far it came.
  const auto still = batch.states(std::vector<double>(n, 0.0)), after = batch.states(gradient.x),
             other = batch.states(cma_es.run.x);
  const auto end = [&](const std::vector<double>& states) { return states.data() + states.size() - size; };
  const double *q = end(after), drift = end(still)[0];
  const bool good = q[0] > animal.distance && q[0] > 5 * std::abs(drift) && q[1] > animal.height &&
                    std::abs(q[2]) < animal.pitch;
  std::printf("%s: forward by %s %.1f m in %.1f s; without controls it drifts by %.2f m\n", name.c_str(),
              good ? "more than" : "less than", animal.distance, double(animal.steps) * task.dt, drift);
  task::report(gradient, cma_es);
  std::fprintf(stderr, "distance, height, pitch: gradient %.2f %.2f %.2f, CMA-ES %.2f %.2f %.2f\n", q[0],
               q[1], q[2], end(other)[0], end(other)[1], end(other)[2]);

  view::write_replay(places.page, {task::record(model, "found by the gradient", after, 0.02),
                                   task::record(model, "found by CMA-ES", other, 0.02)});
  if (!places.picture.empty()) {
    figure::Figure picture;
    figure::Panel& panel = picture.panel("time [s]", "distance [m]");
    const auto way = [&](const std::vector<double>& states) {
      std::vector<figure::Point> points;
      for (std::size_t i = 0; i * size < states.size(); ++i)
        points.push_back({0.02 * double(i), states[i * size]});
      return points;
    };
    panel.line(way(still), figure::kGrey, "no controls");
    panel.line(way(other), figure::kOrange, "CMA-ES");
    panel.line(way(after), figure::kBlue, "gradient");
    task::draw_curves(picture, "loss", gradient, cma_es.run);
    picture.write(places.picture);
  }
  return good ? 0 : 1;
}
