// Friction and restitution of a ball from noisy recordings of its bounces: twelve throws with spin, some so
// fast that the ball slips, places at 50 Hz with an error of 5 mm. The fit is L-BFGS on the gradient through
// rigid impacts; CMA-ES has as many simulations.
//
//   contact_identify [contact_identify.html [docs/images/contact_identify.svg]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "costate/core/philox.h"
#include "costate/io/model/load_model.h"
#include "costate/rigid/observer.h"
#include "costate/view/replay.h"
#include "examples/contact_task.h"

using namespace costate;

constexpr std::size_t kThrows = 12;
constexpr std::size_t kSize = 13;  // of a state: place, turn, velocities
constexpr double kNoise = 0.005;   // m
constexpr double kTruth[2] = {0.18, 0.72};
constexpr std::int64_t kSteps = 200, kEvery = 4;  // steps of 5 ms

// Throws forwards over the floor, with and against the spin: the states of all, one after another.
std::vector<double> throws(const rigid::Model& model) {
  std::vector<double> x0;
  for (int k = 0; k < int(kThrows); ++k) {
    std::vector<double> x = rigid::initial_state(model);
    x[0] = 0.0, x[1] = 0.0, x[2] = 0.3 + 0.03 * k;
    x[7] = 1.0 + 1.0 * (k % 4), x[8] = 0.2 * (k % 3 - 1), x[9] = 0.5 - 0.1 * (k % 5);
    x[10] = 5.0 * (k % 3 - 1), x[11] = -30 + 9.0 * (k % 7), x[12] = 0;
    x0.insert(x0.end(), x.begin(), x.end());
  }
  return x0;
}

// Places of the ball with errors, after the start: throw, frame, q.
std::vector<double> seen_of(const Trajectory<double>& truth) {
  std::vector<double> seen;
  for (std::size_t w = 0; w < kThrows; ++w) {
    for (std::size_t f = 1; f < truth.kept.size(); ++f) {
      for (std::size_t i = 0; i < 3; ++i)
        seen.push_back(truth.states[(f * kThrows + w) * kSize + i] +
                       kNoise * normal<double>(3, std::uint32_t(w), f, std::uint32_t(i)));
    }
  }
  return seen;
}

// Of three throws: what was seen, the paths of the first guess and of the fit; and how both searches went.
using PathOf = std::function<std::vector<double>(std::size_t)>;  // states of a throw
void draw(const std::string& file, const std::vector<double>& seen, const PathOf& guessed,
          const PathOf& fitted, const task::Found& gradient, const task::Found& cma_es) {
  const auto points = [](const std::vector<double>& states) {
    std::vector<figure::Point> r;
    for (std::size_t i = 0; i < states.size(); i += kSize) r.push_back({states[i], states[i + 2]});
    return r;
  };
  figure::Figure picture;
  figure::Panel& side = picture.panel("x [m]", "height [m]");
  const std::size_t frames = seen.size() / (3 * kThrows);
  for (const std::size_t w : {1U, 3U, 6U}) {
    std::vector<figure::Point> dots;
    for (std::size_t f = 0; f < frames; ++f) {
      const double* const p = seen.data() + (w * frames + f) * 3;
      dots.push_back({p[0], p[2]});
    }
    side.line(points(guessed(w)), figure::kGrey, w == 1 ? "first guess" : "");
    side.line(points(fitted(w)), figure::kBlue, w == 1 ? "fitted" : "");
    side.dots(dots, figure::kOrange, w == 1 ? "seen" : "", 2);
  }
  task::draw_curves(picture, "half sum of squares [m²]", gradient, cma_es);
  picture.write(file);
}

int main(int argc, char** argv) {
  const task::Places places = task::places(argc, argv, "contact_identify");
  const rigid::Model model = rigid::load(COSTATE_SCENES "/sphere_drop.xml");
  const auto system = rigid::make_system<double>(
      model, {.contact = rigid::ContactModel::event, .impact = {.restitution = 0, .rest_speed = 0.05}});
  Rollout<double> rollout(system, {.steps = kSteps,
                                   .worlds = kThrows,
                                   .keep = kEvery,
                                   .active = {"geom/ball/friction", "geom/ball/restitution"}});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", 0.005);
  // Of two geoms the larger number counts: the ball's.
  for (const char* name : {"floor", "slope"})
    at.parameters[std::string("geom/") + name + "/friction"][0] = 0.01;
  const auto set = [&](const double* x) {
    at.parameters["geom/ball/friction"][0] = x[0];
    at.parameters["geom/ball/restitution"][0] = x[1];
  };

  // 1. Twelve throws, and what was seen of them.
  at.x0 = throws(model);
  set(kTruth);
  const auto truth = rollout.simulate(at);
  const std::size_t frames = truth.kept.size();
  const std::vector<double> seen = seen_of(truth);
  const std::vector<std::int64_t> steps(truth.kept.begin() + 1, truth.kept.end());
  // Positions alone: nobody sees how a ball is turned.
  const rigid::Observer watch(model, system->signature(), {{"centre", "body/ball"}});
  const auto error = watch.objective(loss::track<double>(watch.signature(), "centre", steps, seen));

  // 2. The fit.
  const auto gradients = [&](const double* x, int, double* value, double* gradient) {
    set(x);
    const auto g = rollout.value_and_gradient(at, *error);
    *value = g.value;
    gradient[0] = g.parameters["geom/ball/friction"][0];
    gradient[1] = g.parameters["geom/ball/restitution"][0];
  };
  const auto values = [&](const double* x, int count, double* value) {
    for (int k = 0; k < count; ++k) {
      set(x + 2 * k);
      value[k] = rollout.value(at, *error);
    }
  };
  const optim::Bounds bounds{{0.02, 0.05}, {1.0, 0.95}};
  const std::vector<double> start = {0.3, 0.9};
  const task::Found gradient = task::by_lbfgs(gradients, start, 0.05, 60, bounds);
  const task::Median cma_es = task::median_of_cma_es(values, start, 0.2, 6, 60, bounds);

  // 3. Twelve throws with 50 places each determine both numbers to a few thousandths.
  const double off = std::max(std::abs(gradient.x[0] - kTruth[0]), std::abs(gradient.x[1] - kTruth[1]));
  const double left = std::sqrt(2 * gradient.value / double(seen.size()));
  std::printf("friction    found %.2f, true %.2f\n", gradient.x[0], kTruth[0]);
  std::printf("restitution found %.2f, true %.2f\n", gradient.x[1], kTruth[1]);
  std::printf("remaining error %.1f mm\n", 1000 * left);
  task::report(gradient, cma_es);
  std::fprintf(stderr, "friction, restitution: gradient %.4f %.4f, CMA-ES %.4f %.4f\n", gradient.x[0],
               gradient.x[1], cma_es.run.x[0], cma_es.run.x[1]);

  const auto path = [&](const double* x, std::size_t w) {
    set(x);
    const auto states = rollout.simulate(at).states;
    std::vector<double> of_one;
    for (std::size_t f = 0; f < frames; ++f) {
      const auto first = states.begin() + long((f * kThrows + w) * kSize);
      of_one.insert(of_one.end(), first, first + long(kSize));
    }
    return of_one;
  };
  view::write_replay(places.page, {task::record(model, "the first guess", path(start.data(), 3), 0.02),
                                   task::record(model, "fitted", path(gradient.x.data(), 3), 0.02)});
  if (!places.picture.empty()) {
    draw(
        places.picture, seen, [&](std::size_t w) { return path(start.data(), w); },
        [&](std::size_t w) { return path(gradient.x.data(), w); }, gradient, cma_es.run);
  }
  return off < 0.005 && left < 1.05 * kNoise ? 0 : 1;
}
