// RolloutStudy: a study of anything that a Rollout simulates.
//
//   z (variables, each divided by its scale)
//     -> inputs: state at the start, parameters, points of paths                with_values (variables.h)
//     -> control of every step: paths, and poses and velocities of colliders    arguments
//     -> T steps of the physics                                                 Rollout
//     -> loss = terms + prices on the paths
//
// and back along the same way: what is linear in the points of a path has the same weights as its transpose.
// A collider's pose in step k is the one at its beginning, t = k dt.
// Tests: tests/io/scene/particles_study_test.cpp, bodies_test.cpp.
#pragma once

#include <memory>

#include "costate/study/losses/term.h"
#include "costate/study/motion.h"
#include "costate/study/picture.h"
#include "costate/study/quantities.h"
#include "costate/study/study.h"
#include "costate/system/rollout.h"

namespace costate::study {

// A system in the precision that a study turns out to have.
struct AnySystem {
  std::function<std::shared_ptr<const System<float>>()> in_float;
  std::function<std::shared_ptr<const System<double>>()> in_double;

  template <class Real>
  std::shared_ptr<const System<Real>> make() const {
    if constexpr (sizeof(Real) == 4)
      return in_float();
    else
      return in_double();
  }
};
// make(Real())
template <class Make>
AnySystem any_system(const Make& make) {
  return {[make] { return make(float()); }, [make] { return make(double()); }};
}

// A path that is one control of the physics.
struct Drive {
  std::size_t path, control;
};

// One measurement: a term whose value should be a number.
struct Datum {
  Term term;  // at one step
  double measured = 0, sigma = 1;
  std::size_t series = 0;  // data of one table of the file belong together
};

// What a planned motion must meet (plan.h). Numbers of the state, NaN where nothing is asked; empty: nothing.
struct Planning {
  std::string method = "ilqr";
  int iterations = 200;
  std::vector<double> end;           // of the last state
  std::vector<double> lower, upper;  // of every state after the first
};

// Everything that a section of a file says about such a study.
struct Setup {
  std::string file, title;
  AnySystem system;
  Signature signature;
  double dt = 0.01;
  std::int64_t steps = 1;
  double duration = 1;          // over which paths extend ...
  std::int64_t path_steps = 1;  // ... in steps
  bool double_precision = true;
  Checkpoints checkpoints = store_all();
  std::string device = "cpu";  // of every rollout of the study

  Inputs inputs;
  std::vector<double> rest_controls;  // in every step, where no path is; empty: zero
  std::vector<Drive> drives;
  std::vector<Motion> motions;
  std::vector<std::string> parameters_given;  // fields whose values are not the physics' own

  std::shared_ptr<Quantities> quantities;
  std::vector<Term> terms;
  std::vector<PathPrice> prices;
  std::vector<Datum> data;  // of [fit]
  std::optional<Optimize> optimize;
  Planning planning;

  std::shared_ptr<Picture> picture;
  double frames_per_second = 30;
  io::Camera camera = {};
  std::vector<std::array<double, 3>> marks;  // points that something should reach, to be shown

  Stencil stencil;
  bool reports_modes = false;  // whether a report tells in which steps contacts change: rigid bodies do
  NamedTexts facts;
  std::vector<std::string> notes;  // what a careful user should know; in every run and report
  std::string headline, identity;
};

// Cut off after so many steps, its terms moved to the new end where they lay beyond it.
void shorten(Setup& setup, std::int64_t steps);
// Offset of each parameter field in Inputs::p, and the defaults of all.
std::vector<double> default_parameters(const Signature& signature);

template <class Real>
class RolloutStudy final : public Study {
 public:
  explicit RolloutStudy(Setup setup);
  ~RolloutStudy() override;

  const Setup& setup() const { return setup_; }
  Rollout<Real>& rollout();
  Arguments<Real> arguments(const std::vector<double>& z);
  const ObjectivePtr<Real>& objective() const { return loss_; }  // without the prices on paths
  // What a datum measures, as a term of step k.
  ObjectivePtr<Real> measured(const Datum& datum, std::int64_t k) const {
    return bound(datum.term, datum.term.objective, {k});
  }

  std::int64_t steps() const override { return setup_.steps; }
  std::vector<Variable> inputs(bool scaled) const override;
  bool has_loss() const override { return !setup_.terms.empty() || !setup_.prices.empty(); }
  bool has_picture() const override { return setup_.picture != nullptr; }
  NamedTexts facts() const override { return setup_.facts; }
  std::string headline() const override { return setup_.headline; }
  std::string identity() const override { return setup_.identity; }
  std::string difference(const std::vector<double>& before, const std::vector<double>& after) const override;

  double value(const std::vector<double>& z) override;
  double value_and_gradient(const std::vector<double>& z, double* gradient) override;
  Run run(const std::vector<double>& z, const RunOptions& options = {}) override;
  int residuals() const override { return int(setup_.data.size()); }
  void residuals(const std::vector<double>& z, double* residual, double* jacobian) override;
  void curvature(const std::vector<double>& z, const std::vector<double>& weights, double* hessian) override;
  check::Result dot_product(std::uint64_t seed) override;
  Stencil stencil() const override { return setup_.stencil; }
  bool has_modes() const override { return setup_.reports_modes; }

 private:
  Inputs inputs_at(const std::vector<double>& z) const { return with_values(setup_.inputs, variables(), z); }
  Arguments<Real> arguments_of(const Inputs& inputs);
  // The cotangent of the arguments as one of the inputs.
  Inputs pull_back_arguments(const Inputs& inputs, const Gradient<Real>& gradient) const;
  ObjectivePtr<Real> bound(const Term& term, const AnyObjective& objective,
                           const std::vector<std::int64_t>& steps) const;
  ObjectivePtr<Real> loss_of(const std::vector<Term>& terms) const;
  // Gradients of all data, as worlds of one rollout. False where noise would make these worlds differ.
  bool gradients_of_data(const Inputs& inputs, const Arguments<Real>& at, const std::vector<double>& values,
                         double* jacobian);
  double prices_of(const Inputs& inputs) const;
  // Of [optimize] gradient_window = "auto": from the whole gradient where the file starts, once.
  void choose_window();
  void add_note(const std::string& note);
  void note_blind_steps();

  class Ledger;
  Setup setup_;
  std::shared_ptr<const System<Real>> system_;
  ObjectivePtr<Real> loss_;
  std::vector<std::string> active_;  // parameters of the rollout
  std::unique_ptr<Rollout<Real>> rollout_;
  bool window_is_due_ = false;
};

extern template class RolloutStudy<float>;
extern template class RolloutStudy<double>;

// In the precision of the setup.
std::unique_ptr<Study> rollout_study(Setup setup);

}  // namespace costate::study
