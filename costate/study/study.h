// Study: one question about one physics, as a function of its variables. It stands between a file and a
// gradient:
//
//   scene.toml --sections--> Study { physics, inputs, loss, variables }
//     --> Rollout or ode::solve --> gradient and report
//
//   z (variables, each divided by its scale) -> inputs of the physics -> loss                 variables.h
//
// Running, differentiating, checking (check.h) and optimising (optimise.h) are written against it, and so are
// the command line and Python. Whatever a Rollout simulates is a RolloutStudy (rollout_study.h); differential
// equations, with events and adaptive steps, are an EquationStudy (equation_study.h).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/control/identify/robust.h"
#include "costate/io/recording.h"
#include "costate/study/variables.h"
#include "costate/system/check/checks.h"
#include "costate/system/gradient_report.h"

namespace costate::study {

// How the variables are changed: [optimize], or [fit] where there are measurements.
struct Optimize {
  std::vector<Variable> variables = {};
  std::string method = "lbfgs";  // lbfgs, adam, gradient_descent, cma_es; of a fit: levenberg_marquardt
  int iterations = 200;
  std::optional<double> rate =
      {};                   // in units of the scales: first step (lbfgs), step (adam, gradient_descent),
                            // first width (cma_es); none: the method's own
  double decay = 1;         // of the rate, per iteration
  double tolerance = 1e-8;  // of the gradient
  double target = -std::numeric_limits<double>::infinity();  // a loss that is good enough
  bool automatic_window = false;  // gradients are cut off where the adjoint has grown too much (window.h)
  double gradient_limit = 0;      // > 0: longer gradients are scaled down to this length
  // Of a fit (fit.h):
  control::Robust robust = control::Robust::none;
  bool sigma_given = false;  // of the measurements; without, how exact they are is read off the residuals
  double robust_width = 2;   // in standard deviations of a measurement
  bool laplace = false;      // error bars of the whole Hessian too, not of J'J alone
  std::int64_t segment = 0;  // > 0: begin with pieces of so many steps ...
  double gap = 0.1;          // ... between which a state may jump by about this much
};

using NamedNumbers = std::vector<std::pair<std::string, double>>;
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// What a run came to.
struct Run {
  double loss = 0;
  NamedNumbers terms;       // every part of the loss, weighted
  NamedNumbers fractions;   // of the points inside the region of each in_region, at its last time
  io::Recording recording;  // no frames: the physics has no picture
  // Equations: their solution.
  std::vector<std::string> columns;  // "t", the states, the controls
  std::vector<std::vector<double>> rows;
  struct Event {
    std::string name;
    double t;
    std::vector<double> before, after;  // states
  };
  std::vector<Event> events;
  std::string message;             // how it ended, in words
  std::vector<std::string> notes;  // what a careful user should know
  std::string trajectory;          // the file that was asked for
};

struct RunOptions {
  int dense = 0;  // > 0: rows at so many equally spaced times instead of at the steps
  // The frames also as a file of this ending (".xyz"), where the physics has one: Run::trajectory.
  std::string trajectory = {};
  // Told now and then: steps done, of how many. May be empty.
  std::function<void(std::int64_t done, std::int64_t steps)> progress = {};
};

using check::Stencil;  // steps in units of the scales

class Study {
 public:
  virtual ~Study() = default;

  std::string file, title;

  // What the file wants to be changed; none where it has neither [optimize] nor [fit].
  const Optimize* optimize() const { return optimize_ ? &*optimize_ : nullptr; }
  // What the functions below are functions of: those of optimize(), unless others were chosen.
  const std::vector<Variable>& variables() const { return variables_; }
  void choose(std::vector<Variable> variables);
  // z where the file starts.
  std::vector<double> start() const { return start_of(variables_); }
  // Every number that a gradient is printed for: the variables, or where there are few inputs, all of them.
  // `scaled`: with scales to compare them by.
  virtual std::vector<Variable> inputs(bool scaled) const {
    (void)scaled;
    return variables_;
  }
  // The variables started where a state file of optimise() is best, each of the same name; the rest of the
  // study may be another. Error if that is not a state file, or has not one of the variables.
  void start_from(const std::string& state_file);

  virtual std::int64_t steps() const = 0;  // 0: chosen on the way
  virtual bool has_picture() const { return false; }
  virtual bool has_loss() const = 0;
  // What was understood of the file, as rows of a table; and in one line what is simulated.
  virtual NamedTexts facts() const = 0;
  virtual std::string headline() const = 0;
  // Equal for two studies whose optimisations can continue each other.
  virtual std::string identity() const = 0;
  // Words for what separates two sets of variables; empty: none.
  virtual std::string difference(const std::vector<double>&, const std::vector<double>&) const { return ""; }

  virtual double value(const std::vector<double>& z) = 0;
  virtual double value_and_gradient(const std::vector<double>& z, double* gradient) = 0;
  const GradientReport& report() const { return report_; }  // of the latest gradient
  // Derivatives of the latest gradient with respect to what is never a variable: the ends of time.
  struct Derivative {
    std::string name;
    double value, derivative;
  };
  virtual std::vector<Derivative> further_derivatives() const { return {}; }
  // Another way to the gradient; Error where there is none of that name.
  virtual void use_adjoint(const std::string& name);

  virtual Run run(const std::vector<double>& z, const RunOptions& options = {}) = 0;

  // Of a fit: residuals, and where `jacobian` is not null their derivatives, row-major.
  virtual int residuals() const { return 0; }
  virtual void residuals(const std::vector<double>& z, double* residual, double* jacobian);
  // Of a fit: sum_k weight_k d2 residual_k / dz2, row-major, by Hessian-vector products. Error where the
  // physics or a variable has no second derivatives.
  virtual void curvature(const std::vector<double>& z, const std::vector<double>& weights, double* hessian);

  // <J v, w> against <v, J' w> of the physics, over everything it depends on.
  virtual check::Result dot_product(std::uint64_t seed) = 0;
  virtual Stencil stencil() const = 0;
  // Whether the report of a gradient tells in which steps contacts change.
  virtual bool has_modes() const { return true; }
  // The gradient against other ways to it.
  virtual std::vector<check::Result> comparisons() { return {}; }

 protected:
  void set_optimize(std::optional<Optimize> optimize);
  // Throws where the loss or its gradient is not finite.
  void require_finite(double value, const double* gradient) const;

  GradientReport report_;

 private:
  std::optional<Optimize> optimize_;
  std::vector<Variable> variables_;
};

}  // namespace costate::study
