#include "costate/md/observable/atom_energies.h"

#include "costate/core/error.h"
#include "costate/md/observable/evaluation.h"
#include "costate/md/observable/finite.h"
#include "costate/system/losses/at_steps.h"

namespace costate::md {
namespace {

[[noreturn]] void refuse(std::string what, std::string advice) {
  throw Error({std::move(what), "md::observe", std::move(advice)});
}

template <class S>
void require_parts(const Compiled& compiled, const std::vector<std::unique_ptr<Term<S>>>& terms) {
  for (std::size_t t = 0; t < terms.size(); ++t)
    if (const std::string why = terms[t]->no_energies(); !why.empty())
      refuse("atoms have no parts of the energy of " + compiled.potentials[t].kind->name + ": " + why,
             "observe the potential energy of all");
}

template <class Real, class S>
class AtomEnergies final : public loss::AtSteps<Real> {
  static constexpr int kLanes = lanes_of<S>;

 public:
  AtomEnergies(const Model& model, const ObserveEnergies& what)
      : loss::AtSteps<Real>(what.steps.empty() ? std::vector<std::int64_t>{loss::kLast} : what.steps),
        compiled_(compile(model)),
        terms_(make_terms<S>(compiled_)),
        weights_(what.weights),
        target_(what.target) {
    const auto atoms = model.masses.size();
    require_parts(compiled_, terms_);
    if (weights_.empty()) weights_ = {1};
    if (weights_.size() == 1) weights_.assign(atoms, weights_[0]);
    const auto check = [&](const std::vector<double>& list, const char* name) {
      if (list.size() != atoms)
        refuse("there are " + std::to_string(list.size()) + " " + name + " of " + std::to_string(atoms) +
                   " atoms",
               "give one per atom");
    };
    check(weights_, "weights");
    if (!target_.empty()) check(target_, "targets");
    require_finite(weights_, "weight"), require_finite(target_, "target");
  }

  void check(std::int64_t steps, std::int64_t) const override { this->check_steps(steps); }

  void value(const typename Objective<Real>::At& at, double* loss) const override {
    evaluate_at<S, Real>(at, compiled_.layout, nullptr, nullptr, [&](const auto& x, const auto& p) {
      const std::vector<S> e = energies(*evaluations_.take(), x, p);
      for (int l = 0; l < kLanes; ++l)
        for (std::size_t i = 0; i < e.size(); ++i) {
          const double value = double(lane(e[i], l)), off = target_.empty() ? 0 : value - target_[i];
          loss[l] += weights_[i] * (target_.empty() ? value : 0.5 * off * off);
        }
      return S(0);
    });
  }
  void vjp(const typename Objective<Real>::At& at, const Cotangents<Real>& bar) const override {
    const Layout& l = compiled_.layout;
    std::vector<S> x_bar(std::size_t(l.states), S(0)), p_bar(std::size_t(l.parameters), S(0));
    evaluate_at<S, Real>(at, l, x_bar.data(), p_bar.data(), [&](const auto& x, const auto& p) {
      const auto potentials = evaluations_.take();
      std::vector<S> e_bar(weights_.size());
      for (std::size_t i = 0; i < e_bar.size(); ++i) e_bar[i] = S(Real(weights_[i]));
      if (!target_.empty()) {
        const std::vector<S> e = energies(*potentials, x, p);
        for (std::size_t i = 0; i < e.size(); ++i) e_bar[i] = e_bar[i] * (e[i] - S(Real(target_[i])));
      }
      potentials->forces.energies_vjp(x.data() + l.x, p.data(), e_bar.data(), x_bar.data() + l.x,
                                      p_bar.data());
      return S(0);
    });
    add_lanes_to(x_bar, bar.x);
    add_lanes_to(p_bar, bar.p);
  }

 private:
  std::vector<S> energies(const Evaluation<S>& potentials, const std::vector<S>& x,
                          const std::vector<S>& p) const {
    std::vector<S> e(weights_.size(), S(0));
    potentials.forces.energies(x.data() + compiled_.layout.x, p.data(), e.data());
    return e;
  }

  Compiled compiled_;
  std::vector<std::unique_ptr<Term<S>>> terms_;
  Evaluations<S> evaluations_{terms_};
  std::vector<double> weights_, target_;
};

}  // namespace

std::vector<double> atom_energies(const Model& model, const std::vector<double>& x) {
  const Compiled compiled = compile(model);
  const auto terms = make_terms<double>(compiled);
  require_parts(compiled, terms);
  if (int(x.size()) != compiled.layout.dof)
    refuse("there are " + std::to_string(x.size()) + " coordinates of " + std::to_string(model.atoms()) +
               " atoms",
           "give atoms x dimensions numbers");
  std::vector<double> p, e(model.masses.size(), 0.0);
  for (const Field& field : compiled.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  Evaluation<double>(terms).forces.energies(x.data(), p.data(), e.data());
  return e;
}

template <class Real>
ObjectivePtr<Real> observe(const Model& model, const ObserveEnergies& what) {
  if (model.atoms() > kMostInLanes) return std::make_shared<AtomEnergies<Real, Real>>(model, what);
  return std::make_shared<AtomEnergies<Real, NativePack<Real>>>(model, what);
}
template ObjectivePtr<float> observe(const Model&, const ObserveEnergies&);
template ObjectivePtr<double> observe(const Model&, const ObserveEnergies&);

}  // namespace costate::md
