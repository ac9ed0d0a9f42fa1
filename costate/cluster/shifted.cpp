#include "costate/cluster/shifted.h"

namespace costate::cluster {
namespace {

// The same physics, whose world 0 is world `first` of the job: what a step draws its noise by.
template <class Real>
class ShiftedSystem final : public System<Real> {
 public:
  ShiftedSystem(std::shared_ptr<const System<Real>> of, std::shared_ptr<const std::int64_t> first)
      : of_(std::move(of)), first_(std::move(first)) {}

  const Signature& signature() const override { return of_->signature(); }
  int lanes() const override { return of_->lanes(); }
  std::unique_ptr<Workspace> make_workspace() const override { return of_->make_workspace(); }
  TapePlan tape(const Activity& active, const TapeBudget& budget) const override {
    return of_->tape(active, budget);
  }
  typename System<Real>::Capabilities capabilities() const override { return of_->capabilities(); }
  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override {
    of_->step(moved(at), in, y, tape, work);
  }
  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override {
    of_->step_jvp(moved(at), in, in_dot, y, y_dot, work);
  }
  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    of_->step_vjp(moved(at), in, tape, y_bar, bar, active, work);
  }
  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    of_->step_hvp(moved(at), in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, work);
  }
  void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x,
                 Workspace& work) const override {
    of_->step_back(moved(at), in, y, x, work);
  }
  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    of_->energy(in, value, work);
  }
  typename System<Real>::Fault fault(const Inputs<Real>& in, int lane) const override {
    return of_->fault(in, lane);
  }
  void begin_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override {
    of_->begin_run(p, p_bar, active, work);
  }
  void end_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override {
    of_->end_run(p, p_bar, active, work);
  }
  void advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>& tape,
               Workspace& work) const override {
    of_->advance(moved(run), states, tape, work);
  }
  void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
               const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
               Workspace& work) const override {
    of_->reverse(moved(run), states, tape, lambda, u_bar, p_bar, active, work);
  }

 private:
  template <class At>
  At moved(At at) const {
    at.world += *first_;
    return at;
  }
  std::shared_ptr<const System<Real>> of_;
  std::shared_ptr<const std::int64_t> first_;
};

// The same loss, of the worlds from `first` on.
template <class Real>
class ShiftedObjective final : public Objective<Real> {
 public:
  using At = typename Objective<Real>::At;
  ShiftedObjective(ObjectivePtr<Real> of, std::shared_ptr<const std::int64_t> first, std::int64_t worlds)
      : of_(std::move(of)), first_(std::move(first)), worlds_(worlds) {}
  void check(std::int64_t steps, std::int64_t) const override { of_->check(steps, worlds_); }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return of_->next(k, steps); }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return of_->previous(k, steps); }
  void value(const At& at, double* loss) const override { of_->value(moved(at), loss); }
  void vjp(const At& at, const Cotangents<Real>& bar) const override { of_->vjp(moved(at), bar); }
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    of_->hvp(moved(at), in_dot, bar_dot);
  }

 private:
  At moved(At at) const {
    at.world += *first_;
    at.worlds = worlds_;
    return at;
  }
  ObjectivePtr<Real> of_;
  std::shared_ptr<const std::int64_t> first_;
  std::int64_t worlds_;
};

}  // namespace

template <class Real>
std::shared_ptr<const System<Real>> shifted(std::shared_ptr<const System<Real>> system,
                                            std::shared_ptr<const std::int64_t> first) {
  return std::make_shared<ShiftedSystem<Real>>(std::move(system), std::move(first));
}
template <class Real>
ObjectivePtr<Real> shifted(ObjectivePtr<Real> objective, std::shared_ptr<const std::int64_t> first,
                           std::int64_t worlds) {
  return std::make_shared<ShiftedObjective<Real>>(std::move(objective), std::move(first), worlds);
}
template std::shared_ptr<const System<double>> shifted(std::shared_ptr<const System<double>>,
                                                       std::shared_ptr<const std::int64_t>);
template std::shared_ptr<const System<float>> shifted(std::shared_ptr<const System<float>>,
                                                      std::shared_ptr<const std::int64_t>);
template ObjectivePtr<double> shifted(ObjectivePtr<double>, std::shared_ptr<const std::int64_t>,
                                      std::int64_t);
template ObjectivePtr<float> shifted(ObjectivePtr<float>, std::shared_ptr<const std::int64_t>, std::int64_t);

std::string in_the_whole_job(std::string where, std::int64_t first) {
  const std::string word = "world ";
  const std::size_t at = where.rfind(word);
  if (at == std::string::npos) return where;
  const std::size_t begin = at + word.size(), end = where.find_first_not_of("0123456789", begin);
  const std::string digits = where.substr(begin, end - begin);
  if (digits.empty() || digits.size() > 18) return where;
  return where.replace(begin, digits.size(), std::to_string(std::stoll(digits) + first));
}

}  // namespace costate::cluster
