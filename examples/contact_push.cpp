// An arm pushes a box to a pose: place and angle on the table, with one finger. 30 numbers, the targets of
// three servos over one and a half seconds, found by L-BFGS on the gradient through finger, box and table,
// and by CMA-ES with as many simulations.
//
//   contact_push [contact_push.html [docs/images/contact_push.svg]]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "costate/io/model/load_model.h"
#include "costate/rigid/observer.h"
#include "costate/system/program/program_objective.h"
#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

constexpr double kPose[3] = {0.55, 0.33, 0.5};       // x, y [m], angle [rad]
constexpr double kGate = 0.005, kAngleGate = 0.035;  // m, rad
constexpr int kJoints = 3, kKnots = 10;
constexpr std::int64_t kSteps = 300;

// A point: the angles of the joints at equal intervals, as differences from where they start (the first
// numbers of a state).
task::Task pushing(const rigid::Model& model, const std::vector<double>& start) {
  task::Task t{.n = kJoints * kKnots, .dt = 0.005, .x0 = start};
  t.system = rigid::make_system<double>(model);
  t.rollout = {.steps = kSteps, .hold = 5, .keep = 5, .active = {}};
  const rigid::Observer watch(model, t.system->signature(),
                              {{"box", "body/box"}, {"side", "body/box/xaxis"}});
  char text[300];
  std::snprintf(text, sizeof text,
                "0.5*((box[0] - %g)^2 + (box[1] - %g)^2) + 0.01*((side[0] - %.9g)^2 + (side[1] - %.9g)^2)",
                kPose[0], kPose[1], std::cos(kPose[2]), std::sin(kPose[2]));
  t.loss = watch.objective(loss::expression<double>(watch.signature(), text));
  constexpr int kRows = int(kSteps) / 5;
  // Between knots the target moves evenly.
  const auto weights = [](int row, int& first, double& second) {
    const double s = double(row + 1) / kRows * kKnots;  // knot 0 is the start itself
    first = std::min(int(s), kKnots - 1);
    second = s - first;
  };
  t.apply = [start, weights](const double* point, double*, double* controls) {
    for (int row = 0; row < kRows; ++row) {
      int k;
      double w;
      weights(row, k, w);
      for (int j = 0; j < kJoints; ++j)
        controls[row * kJoints + j] = start[std::size_t(j)] + w * point[k * kJoints + j] +
                                      (k > 0 ? (1 - w) * point[(k - 1) * kJoints + j] : 0);
    }
  };
  t.transpose = [weights](const double*, const double* controls_bar, double* gradient) {
    for (int row = 0; row < kRows; ++row) {
      int k;
      double w;
      weights(row, k, w);
      for (int j = 0; j < kJoints; ++j) {
        gradient[k * kJoints + j] += w * controls_bar[row * kJoints + j];
        if (k > 0) gradient[(k - 1) * kJoints + j] += (1 - w) * controls_bar[row * kJoints + j];
      }
    }
  };
  return t;
}

int main(int argc, char** argv) {
  const task::Places places = task::places(argc, argv, "contact_push");
  const rigid::Model model = rigid::load(COSTATE_SCENES "/box_push.xml");
  // The finger stands behind the box; the first guess sweeps the shoulder.
  const task::Task task = pushing(model, rigid::initial_state(model, "beside"));
  task::Batch one(task, 1), eight(task, 8);
  std::vector<double> start;
  for (int k = 1; k <= kKnots; ++k)
    for (double full : {0.36, -0.25, -0.11}) start.push_back(full * k / kKnots);

  // 1. L-BFGS until contacts that come and go stop it, then Adam with small steps; CMA-ES with as many
  //    simulations.
  const task::Found quick = task::by_lbfgs(one.as_gradients(), start, 0.03, 120);
  const task::Found slow =
      task::by_adam(one.as_gradients(), task.n, quick.x, {.rate = 0.002, .decay = 0.95, .iterations = 60});
  const task::Found gradient = task::joined(quick, slow);
  const task::Median cma_es = task::median_of_cma_es(eight.as_values(), start, 0.05, 0, gradient.simulations);

  // 2. Where the box lies: x, y, angle; and the finger.
  const rigid::Observer watch(model, task.system->signature(),
                              {{"finger", "site/finger"}, {"box", "body/box"}, {"side", "body/box/xaxis"}});
  const auto seen = [&](const std::vector<double>& states, std::size_t frame) {
    const auto first = states.begin() + long(frame * task.x0.size());
    const auto v = watch.values({first, first + long(task.x0.size())});
    return std::array<double, 5>{v[3], v[4], std::atan2(v[7], v[6]), v[0], v[1]};
  };
  const auto before = one.states(start), after = one.states(gradient.x), other = one.states(cma_es.run.x);
  const std::size_t last = after.size() / task.x0.size() - 1;
  const auto b = seen(before, last), g = seen(after, last), c = seen(other, last);
  const auto off = [](const auto& pose) { return std::hypot(pose[0] - kPose[0], pose[1] - kPose[1]); };
  const bool good = off(g) < kGate && std::abs(g[2] - kPose[2]) < kAngleGate;
  std::printf("the box %s\n",
              good ? "lies within 5 mm and 2 degrees of its pose" : "is not where it should be");
  task::report(gradient, cma_es);
  std::fprintf(stderr,
               "off by: first guess %.3f m %.3f rad, gradient %.4f m %.4f rad, CMA-ES %.4f m %.4f rad\n",
               off(b), b[2] - kPose[2], off(g), g[2] - kPose[2], off(c), c[2] - kPose[2]);

  const std::vector<rigid::Double3> mark = {{kPose[0], kPose[1], 0}};
  view::write_replay(places.page,
                     {task::record(model, "the first guess", before, 0.025, mark),
                      task::record(model, "found by the gradient", after, 0.025, mark)},
                     {.title = "Push a box to a pose"});
  if (!places.picture.empty()) {
    figure::Figure picture;
    figure::Panel& table = picture.panel("x [m]", "y [m]");
    // The outline of the box, of half lengths 0.08 and 0.06.
    const auto outline = [](double x, double y, double angle) {
      std::vector<figure::Point> points;
      for (const auto& [u, v] :
           {std::pair{0.08, 0.06}, {-0.08, 0.06}, {-0.08, -0.06}, {0.08, -0.06}, {0.08, 0.06}})
        points.push_back(
            {x + u * std::cos(angle) - v * std::sin(angle), y + u * std::sin(angle) + v * std::cos(angle)});
      return points;
    };
    std::vector<figure::Point> finger;
    for (std::size_t f = 0; f <= last; ++f) {
      const auto s = seen(after, f);
      finger.push_back({s[3], s[4]});
      if (f % 15 == 0) table.line(outline(s[0], s[1], s[2]), figure::kBlue, f == 0 ? "box" : "", 1);
    }
    table.line(finger, figure::kOrange, "finger");
    table.line(outline(kPose[0], kPose[1], kPose[2]), figure::kGreen, "pose wanted", 3, true);
    task::draw_curves(picture, "loss", gradient, cma_es.run);
    picture.write(places.picture);
  }
  return good ? 0 : 1;
}
