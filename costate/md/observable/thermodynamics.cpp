#include "costate/md/observable/thermodynamics.h"

#include "costate/core/error.h"
#include "costate/md/observable/evaluation.h"
#include "costate/md/observable/finite.h"
#include "costate/system/losses/at_steps.h"

namespace costate::md {
namespace {

const std::vector<std::string> kNames = {"potential_energy", "kinetic_energy", "temperature", "pressure"};

template <class Real, class S>
class Thermodynamics final : public loss::AtSteps<Real> {
  static constexpr int kLanes = lanes_of<S>;

 public:
  Thermodynamics(const Model& model, const Observe& what)
      : loss::AtSteps<Real>(what.steps.empty() ? std::vector<std::int64_t>{loss::kLast} : what.steps),
        what_(what),
        compiled_(compile(model)),
        terms_(make_terms<S>(compiled_)) {
    require_finite({&what_.weight, 1}, "weight");
    if (what_.target) require_finite({&*what_.target, 1}, "target");
    const bool kinetic = what.quantity != Quantity::potential_energy;
    if (kinetic && (compiled_.layout.v < 0 || compiled_.layout.log_speed >= 0))
      throw Error({kNames[std::size_t(what.quantity)] + " needs velocities", "md::observe",
                   "this integrator has none: choose one with A and B"});
    if (what.quantity == Quantity::pressure && compiled_.layout.box < 0)
      throw Error({"pressure needs a box", "md::observe", "give the model a box"});
  }

  void check(std::int64_t steps, std::int64_t) const override { this->check_steps(steps); }

  void value(const typename Objective<Real>::At& at, double* loss) const override {
    const S q = evaluate(at, S(0), nullptr, nullptr);
    for (int l = 0; l < kLanes; ++l) {
      const double value = double(lane(q, l));
      loss[l] += what_.target ? 0.5 * what_.weight * (value - *what_.target) * (value - *what_.target)
                              : what_.weight * value;
    }
  }
  void vjp(const typename Objective<Real>::At& at, const Cotangents<Real>& bar) const override {
    const Layout& l = compiled_.layout;
    std::vector<S> x_bar(std::size_t(l.states), S(0)), p_bar(std::size_t(l.parameters), S(0));
    S q_bar(Real(what_.weight));
    if (what_.target) {
      const S q = evaluate(at, S(0), nullptr, nullptr);
      q_bar = S(Real(what_.weight)) * (q - S(Real(*what_.target)));
    }
    evaluate(at, q_bar, x_bar.data(), p_bar.data());
    add_lanes_to(x_bar, bar.x);
    add_lanes_to(p_bar, bar.p);
  }

 private:
  // The quantity; with x_bar also adds q_bar times its derivatives.
  S evaluate(const typename Objective<Real>::At& at, const S& q_bar, S* x_bar, S* p_bar) const {
    return evaluate_at<S, Real>(at, compiled_.layout, x_bar, p_bar,
                                [&](const std::vector<S>& x, const std::vector<S>& p) {
                                  return quantity(x, p, q_bar, x_bar, p_bar);
                                });
  }

  S quantity(const std::vector<S>& x, const std::vector<S>& p, const S& q_bar, S* x_bar, S* p_bar) const {
    const Layout& l = compiled_.layout;
    switch (what_.quantity) {
      case Quantity::potential_energy: {
        const auto e = evaluations_.take();
        if (x_bar) e->forces.energy_vjp(x.data() + l.x, p.data(), q_bar, x_bar + l.x, p_bar);
        return e->forces.energy(x.data() + l.x, p.data());
      }
      case Quantity::kinetic_energy:
        return twice_kinetic(x, p, S(Real(0.5)) * q_bar, x_bar, p_bar) * S(Real(0.5));
      case Quantity::temperature: {
        const S per(Real(1.0 / l.freedom));
        return per * twice_kinetic(x, p, per * q_bar, x_bar, p_bar);
      }
      default:
        return pressure(x, p, q_bar, x_bar, p_bar);
    }
  }

  S twice_kinetic(const std::vector<S>& x, const std::vector<S>& p, const S& bar, S* x_bar, S* p_bar) const {
    const Layout& l = compiled_.layout;
    S sum(0);
    for (int i = 0; i < l.dof; ++i) {
      const S v = x[std::size_t(l.v + i)], m = p[std::size_t(l.mass + i / l.dimensions)];
      sum += m * v * v;
      if (!x_bar) continue;
      x_bar[l.v + i] += S(2) * m * v * bar;
      p_bar[l.mass + i / l.dimensions] += v * v * bar;
    }
    return sum;
  }

  S pressure(const std::vector<S>& x, const std::vector<S>& p, const S& bar, S* x_bar, S* p_bar) const {
    const Layout& l = compiled_.layout;
    S volume(Real(l.dimensions));  // times the number of dimensions
    for (int k = 0; k < l.dimensions; ++k) volume = volume * p[std::size_t(l.box + k)];
    const auto e = evaluations_.take();
    const S virial = e->forces.virial(x.data() + l.x, p.data());
    const S inverse = S(1) / volume, kinetic = twice_kinetic(x, p, inverse * bar, x_bar, p_bar);
    const S value = (kinetic - virial) * inverse;
    if (!x_bar) return value;
    e->forces.virial_vjp(x.data() + l.x, p.data(), S(-inverse * bar), x_bar + l.x, p_bar);
    for (int k = 0; k < l.dimensions; ++k) p_bar[l.box + k] -= value * bar / p[std::size_t(l.box + k)];
    return value;
  }

  Observe what_;
  Compiled compiled_;
  std::vector<std::unique_ptr<Term<S>>> terms_;
  Evaluations<S> evaluations_{terms_};
};

}  // namespace

Quantity quantity_by_name(const std::string& name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return Quantity(i);
  throw Error({"there is no quantity '" + name + "' of molecules", {}, meant(name, kNames)});
}

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const Observe& what) {
  if (model.atoms() > kMostInLanes) return std::make_shared<Thermodynamics<Real, Real>>(model, what);
  return std::make_shared<Thermodynamics<Real, NativePack<Real>>>(model, what);
}
template ObjectivePtr<float> observe(const Model&, const Observe&);
template ObjectivePtr<double> observe(const Model&, const Observe&);

}  // namespace costate::md
