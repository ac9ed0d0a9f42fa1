// check_differences of a rollout: its start, controls and active parameters as numbers in units of their
// scales.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/system/check_differences.h"

namespace costate::check {
namespace {

constexpr std::size_t kMostFields = 8;  // that are measured one by one

template <class Real>
class RolloutSubject final : public Subject {
 public:
  RolloutSubject(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective)
      : rollout_(rollout), at_(at), objective_(objective) {
    const Signature& s = rollout.system().signature();
    add_states(s);
    add_controls(s);
    add_parameters(s);
    MovedTogether all{"all inputs", std::vector<std::size_t>(scale_.size())};
    std::iota(all.members.begin(), all.members.end(), std::size_t{0});
    fields.insert(fields.begin(), std::move(all));
  }
  std::size_t size() const { return scale_.size(); }

  double value(const std::vector<double>& z) override { return rollout_.value(moved(z), objective_); }
  double value_and_gradient(const std::vector<double>& z, double* gradient,
                            std::vector<std::int64_t>& pattern) override {
    const Gradient<Real> g = rollout_.value_and_gradient(moved(z), objective_);
    std::size_t i = 0;
    for_each_number(g, [&](const Real& number) {
      gradient[i] = double(number) * scale_[i];
      ++i;
    });
    pattern = g.report.mode_switches;
    return g.value;
  }

 private:
  // f(number) for all that may be moved: x0, controls, active parameters.
  template <class A, class F>
  void for_each_number(A& a, const F& f) const {
    for (auto& number : a.x0) f(number);
    for (auto& number : a.controls) f(number);
    const auto active = rollout_.system().signature().match(Role::parameter, rollout_.options().active);
    for (std::size_t k = 0; k < active.size(); ++k) {
      if (!active[k]) continue;
      for (auto& number : a.parameters.values(k)) f(number);
    }
  }
  Arguments<Real> moved(const std::vector<double>& z) const {
    Arguments<Real> to = at_;
    std::size_t i = 0;
    for_each_number(to, [&](Real& number) {
      number = static_cast<Real>(double(number) + z[i] * scale_[i]);
      ++i;
    });
    return to;
  }

  MovedTogether& field(const std::string& name) {
    for (MovedTogether& known : fields)
      if (known.name == name) return known;
    return fields.emplace_back(MovedTogether{name, {}});
  }
  void add(const std::string& name, double scale) {
    field(name).members.push_back(scale_.size());
    scale_.push_back(scale);
  }
  void add_states(const Signature& s) {
    const auto& states = s.fields(Role::state);
    for (std::size_t i = 0; i < at_.x0.size(); ++i) {
      const std::int64_t index = std::int64_t(i) % s.states();
      std::size_t f = 0;
      while (f + 1 < states.size() && index >= states[f + 1].offset) ++f;
      add("the start of " + states[f].name, std::max(1.0, std::abs(double(at_.x0[i]))));
    }
  }
  void add_controls(const Signature&) {
    for (const Real u : at_.controls) add("controls", std::max(1.0, std::abs(double(u))));
  }
  // Many parameters are taken together by the first part of their names: "geom".
  void add_parameters(const Signature& s) {
    const auto& parameters = s.fields(Role::parameter);
    const auto active = s.match(Role::parameter, rollout_.options().active);
    const bool many = std::size_t(std::count(active.begin(), active.end(), true)) > kMostFields;
    for (std::size_t f = 0; f < active.size(); ++f) {
      if (!active[f]) continue;
      const std::string& name = parameters[f].name;
      for (const Real p : at_.parameters.values(f))
        add(many ? name.substr(0, name.find('/')) : name, p != 0 ? std::abs(double(p)) : 1.0);
    }
  }

  Rollout<Real>& rollout_;
  const Arguments<Real>& at_;
  const Objective<Real>& objective_;
  std::vector<double> scale_;
};

}  // namespace

template <class Real>
std::vector<Result> check_differences(Rollout<Real>& rollout, const Arguments<Real>& at,
                                      const Objective<Real>& objective, const Options& options) {
  RolloutSubject<Real> subject(rollout, at, objective);
  constexpr bool kDouble = sizeof(Real) == 8;
  subject.stencil = {options.step, kDouble ? 1e-9 : 1e-2, kDouble ? 1e-14 : 1e-6};
  subject.detail = ", " + std::to_string(rollout.options().steps) + " steps";
  return check_differences(subject, std::vector<double>(subject.size(), 0.0), options.seed);
}

template std::vector<Result> check_differences(Rollout<float>&, const Arguments<float>&,
                                               const Objective<float>&, const Options&);
template std::vector<Result> check_differences(Rollout<double>&, const Arguments<double>&,
                                               const Objective<double>&, const Options&);

}  // namespace costate::check
