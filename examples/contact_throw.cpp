// Throw a cube so that it comes to rest at a place on the floor, after tumbling and sliding: the six numbers
// with which it leaves the hand, found by the gradient through the contacts, and by CMA-ES with as many
// simulations.
//
//   contact_throw [contact_throw.html [docs/images/contact_throw.svg]]
#include <cmath>
#include <cstdio>

#include "costate/io/model/load_model.h"
#include "costate/system/program/program_objective.h"
#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

constexpr double kTarget[2] = {1.0, 0.4}, kGate = 0.01;  // m

// [task]
// A point: velocity [m/s], spin [10/s].
task::Task throwing(const rigid::Model& model) {
  task::Task t{.n = 6, .dt = 0.005, .x0 = rigid::initial_state(model, "hand")};
  // The cube rattles while it slides: a gradient through every small impact would carry no signal
  // (docs/contact.md).
  t.system = rigid::make_system<double>(model, {.onset = rigid::Onset::none});
  t.rollout = {.steps = 240, .keep = 4, .active = {}};
  t.loss = loss::expression<double>(t.system->signature(),
                                    "0.5*((q[0] - 1.0)^2 + (q[1] - 0.4)^2) + 0.01*(v[0]^2 + v[1]^2 + v[2]^2 "
                                    "+ 0.01*(v[3]^2 + v[4]^2 + v[5]^2))");
  t.apply = [](const double* point, double* x0, double*) {
    for (int i = 0; i < 6; ++i) x0[7 + i] = point[i] * (i < 3 ? 1 : 10);
  };
  t.transpose = [](const double* x0_bar, const double*, double* gradient) {
    for (int i = 0; i < 6; ++i) gradient[i] = x0_bar[7 + i] * (i < 3 ? 1 : 10);
  };
  return t;
}
// [/task]

int main(int argc, char** argv) {
  const task::Places places = task::places(argc, argv, "contact_throw");
  rigid::Model model = rigid::load(COSTATE_SCENES "/cube_toss.xml");
  model.options.integrator = rigid::Integrator::euler;
  const task::Task task = throwing(model);
  task::Batch one(task, 1), eight(task, 8);

  // 1. A first throw that falls short; then L-BFGS, and CMA-ES with as many simulations.
  const std::vector<double> start = {0.8, 0.0, 1.0, 0.0, 0.4, 0.0};
  const task::Found gradient = task::by_lbfgs(one.as_gradients(), start, 0.1, 300);
  const task::Median cma_es = task::median_of_cma_es(eight.as_values(), start, 0.3, 8, 300);

  // 2. Where the cube lies.
  const auto miss = [](const std::vector<double>& states) {
    const double* x = states.data() + states.size() - 13;
    return std::hypot(x[0] - kTarget[0], x[1] - kTarget[1]);
  };
  const auto before = one.states(start), after = one.states(gradient.x), other = one.states(cma_es.run.x);
  const double ours = miss(after);
  std::printf("a throw that misses by %.2f m now %s\n", miss(before),
              ours < kGate ? "ends within 1 cm of its target" : "misses");
  task::report(gradient, cma_es);
  std::fprintf(stderr, "distance from the target: gradient %.2g m, CMA-ES %.2g m\n", ours, miss(other));

  view::write_replay(
      places.page,
      {task::record(model, "the first throw", before, 0.02, {{kTarget[0], kTarget[1], 0.0}}),
       task::record(model, "found by the gradient", after, 0.02, {{kTarget[0], kTarget[1], 0.0}})},
      {.title = "Throw a cube to a place"});
  if (!places.picture.empty()) {
    figure::Figure picture;
    figure::Panel& side = picture.panel("x [m]", "height [m]");
    const auto path = [](const std::vector<double>& states) {
      std::vector<figure::Point> points;
      for (std::size_t i = 0; i < states.size(); i += 13) points.push_back({states[i], states[i + 2]});
      return points;
    };
    side.line(path(before), figure::kGrey, "first throw");
    side.line(path(other), figure::kOrange, "CMA-ES");
    side.line(path(after), figure::kBlue, "gradient");
    side.dots({{kTarget[0], 0.05}}, figure::kGreen, "target", 5);
    task::draw_curves(picture, "loss", gradient, cma_es.run);
    picture.write(places.picture);
  }
  return ours < kGate ? 0 : 1;
}
