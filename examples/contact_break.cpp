// A break shot: the cue ball strikes a rack of six so that the ball at its far corner is at a mark 0.9 s
// later, after some ten rigid impacts. Three numbers, found by the gradient through the impacts, and by
// CMA-ES with as many simulations.
//
//   contact_break [contact_break.html [docs/images/contact_break.svg]]
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "costate/io/model/load_model.h"
#include "costate/system/program/program_objective.h"
#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

constexpr double kTarget[2] = {0.75, 0.33}, kGate = 0.005;  // m
constexpr double kFar[2] = {0.404183, 0.06015};             // where the last ball of the rack lies

// A point: the cue ball's velocity [m/s] and its place across the table [0.1 m].
task::Task breaking(const rigid::Model& model) {
  task::Task t{.n = 3, .dt = 0.002, .x0 = rigid::initial_state(model)};
  t.system = rigid::make_system<double>(
      model, {.contact = rigid::ContactModel::event, .impact = {.restitution = 0.95, .rest_speed = 0.01}});
  t.rollout = {.steps = 450, .keep = 5, .active = {}};
  char text[200];
  std::snprintf(text, sizeof text, "0.5*((q[12] - %.9g)^2 + (q[13] - %.9g)^2)", kTarget[0] - kFar[0],
                kTarget[1] - kFar[1]);
  t.loss = loss::expression<double>(t.system->signature(), text);
  t.apply = [](const double* point, double* x0, double*) {
    x0[14] = point[0], x0[15] = point[1], x0[1] = 0.1 * point[2];
  };
  t.transpose = [](const double* x0_bar, const double*, double* gradient) {
    gradient[0] = x0_bar[14], gradient[1] = x0_bar[15], gradient[2] = 0.1 * x0_bar[1];
  };
  return t;
}

int main(int argc, char** argv) {
  const task::Places places = task::places(argc, argv, "contact_break");
  const rigid::Model model = rigid::load(COSTATE_SCENES "/billiards.xml");
  const task::Task task = breaking(model);
  task::Batch one(task, 1), eight(task, 8);

  // 1. Rigid impacts are exact at any time step, and so are their gradients.
  task::Task fine = task;
  fine.dt /= 4, fine.rollout.steps *= 4, fine.rollout.keep *= 4;
  task::Batch finer(fine, 1);
  const double probe[3] = {3.0, 0.02, 0.05};
  double value[2], slope[2][3], change = 0;
  one.gradients(probe, 1, &value[0], slope[0]);
  finer.gradients(probe, 1, &value[1], slope[1]);
  for (int i = 0; i < 3; ++i) change = std::max(change, std::abs(slope[0][i] / slope[1][i] - 1));
  std::printf("a quarter of the time step changes the gradient %s\n",
              change < 1e-6 ? "by less than 1e-6" : "");

  // 2. Which balls strike which is decided by the start: L-BFGS from eight of them, CMA-ES from their middle
  //    with as many simulations.
  const optim::Bounds bounds{{1, -0.5, -1}, {6, 0.5, 1}};
  task::Found gradient;
  for (int k = 0; k < 8; ++k) {
    const auto found = task::by_lbfgs(
        one.as_gradients(), {k & 4 ? 3.5 : 2, k & 2 ? 0.05 : -0.05, k & 1 ? 0.1 : -0.1}, 0.02, 75, bounds);
    gradient = k == 0 ? found : task::joined(gradient, found);
  }
  const task::Median cma_es =
      task::median_of_cma_es(eight.as_values(), {2.75, 0, 0}, 0.3, 8, gradient.simulations, bounds);

  // 3. Where the ball is.
  const auto miss = [](const std::vector<double>& states) {
    const double* q = states.data() + states.size() - 28;
    return std::hypot(q[12] + kFar[0] - kTarget[0], q[13] + kFar[1] - kTarget[1]);
  };
  const auto after = one.states(gradient.x), other = one.states(cma_es.run.x);
  const bool good = miss(after) < kGate && change < 1e-6;
  std::printf("the last ball of the rack %s\n",
              miss(after) < kGate ? "is within 5 mm of the mark" : "misses the mark");
  task::report(gradient, cma_es);
  std::fprintf(stderr, "distance from the mark: gradient %.2g m, CMA-ES %.2g m\n", miss(after), miss(other));

  view::write_replay(
      places.page,
      {task::record(model, "found by the gradient", after, 0.01, {{kTarget[0], kTarget[1], 0}}),
       task::record(model, "found by CMA-ES", other, 0.01, {{kTarget[0], kTarget[1], 0}})},
      {.title = "A break shot"});
  if (!places.picture.empty()) {
    figure::Figure picture;
    figure::Panel& table = picture.panel("x [m]", "y [m]").y_range(-0.45, 0.45);
    for (int ball = 0; ball < 7; ++ball) {
      std::vector<figure::Point> way;
      const rigid::Double3& home = model.bodies[std::size_t(ball) + 1].pos;
      for (std::size_t i = 0; i < after.size(); i += 28)
        way.push_back(
            {home[0] + after[i + 2 * std::size_t(ball)], home[1] + after[i + 2 * std::size_t(ball) + 1]});
      const char* const colour = ball == 0 ? figure::kOrange : ball == 6 ? figure::kBlue : figure::kGrey;
      table.line(way, colour, ball == 0 ? "cue ball" : ball == 6 ? "last ball" : "");
      table.dots({way.front()}, colour, "", 4);
    }
    table.dots({{kTarget[0], kTarget[1]}}, figure::kGreen, "mark", 5);
    task::draw_curves(picture, "loss", gradient, cma_es.run);
    picture.write(places.picture);
  }
  return good ? 0 : 1;
}
