// What the examples of contact tasks share: a gradient method and CMA-ES with the same number of simulations,
// and how the result is shown.
//
// A task is a function of n numbers, a point, that simulates. Many points run side by side in the lanes of a
// rollout. A value costs one simulation, a gradient three: it is measured to cost up to 2.9 (docs/contact.md,
// Speed).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "costate/io/recording.h"
#include "costate/optim/cma_es.h"
#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"
#include "examples/figure.h"

namespace task {

constexpr double kGradientCost = 3;  // in simulations

using costate::optim::ValuesOfPoints;
using GradientsOfPoints =
    std::function<void(const double* points, int count, double* values, double* gradients)>;

// What is simulated, and what a point means in it.
struct Task {
  int n = 0;  // numbers of a point
  std::shared_ptr<costate::System<double>> system = {};
  costate::RolloutOptions rollout = {};
  double dt = 0;
  costate::ObjectivePtr<double> loss = {};
  std::vector<double> x0 = {};
  // Writes what a point changes in the start and in the control knots of its world; takes the gradient by
  // these back to the point's.
  std::function<void(const double* point, double* x0, double* controls)> apply = {};
  std::function<void(const double* x0_bar, const double* controls_bar, double* gradient)> transpose = {};
};

// `count` points at a time, or fewer.
class Batch {
 public:
  Batch(const Task& task, int count);
  void gradients(const double* points, int count, double* values, double* gradients);
  std::vector<double> states(const std::vector<double>& point);  // every rollout.keep-th

  GradientsOfPoints as_gradients();
  ValuesOfPoints as_values();

 private:
  void set(const double* points, int count);
  Task task_;
  costate::Rollout<double> rollout_;
  costate::Arguments<double> at_;
};

struct Found {
  std::vector<double> x;
  double value = 0;
  double simulations = 0;
  std::vector<figure::Point> curve = {};  // simulations spent, best value so far
};

struct Adam {
  double rate = 0.1, decay = 0.98;
  int iterations = 50;
  // Longer gradients are scaled down to this length: after many impacts some are huge and mean little.
  double limit = 1e300;
};
// Adam from several starts at once, each for itself (starts: one point after the other); the best point of
// all.
Found by_adam(const GradientsOfPoints& gradients, int n, const std::vector<double>& starts,
              const Adam& options);
// L-BFGS from one start, until `simulations` are spent.
Found by_lbfgs(const GradientsOfPoints& gradients, const std::vector<double>& start, double first_step,
               double simulations, const costate::optim::Bounds& bounds = {});
// One search after another: the better point, all simulations.
Found joined(const Found& first, const Found& second);
Found by_cma_es(const ValuesOfPoints& values, const std::vector<double>& start, double sigma, int population,
                double simulations, const costate::optim::Bounds& bounds = {}, std::uint64_t seed = 1);

// The median run of CMA-ES over three seeds, and the best and worst values: its result is a random number.
struct Median {
  Found run;
  double best = 0, worst = 0;
};
Median median_of_cma_es(const ValuesOfPoints& values, const std::vector<double>& start, double sigma,
                        int population, double simulations, const costate::optim::Bounds& bounds = {});

// "300 simulations: gradient 1e-9, CMA-ES 3e-5 (three seeds: 2e-5 to 4e-4)" on standard error: digits that
// differ between machines.
void report(const Found& gradient, const Median& cma_es);

// The panel "simulations, loss" of both.
void draw_curves(figure::Figure& picture, const std::string& loss, const Found& gradient,
                 const Found& cma_es);

// States of one world, one after the other, as a recording.
costate::io::Recording record(const costate::rigid::Model& model, const std::string& title,
                              const std::vector<double>& states, double interval,
                              const std::vector<costate::rigid::Double3>& marks = {});

// Arguments of an example: the page (default NAME.html), and where its picture goes (default: nowhere).
struct Places {
  std::string page, picture;
};
Places places(int argc, char** argv, const std::string& name);

}  // namespace task
