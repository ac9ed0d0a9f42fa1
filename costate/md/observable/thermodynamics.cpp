#include "costate/md/observable/thermodynamics.h"

#include "costate/core/error.h"
#include "costate/md/compile.h"
#include "costate/md/integrator/part.h"
#include "costate/system/losses/at_steps.h"

namespace costate::md {
namespace {

const std::vector<std::string> kNames = {"potential_energy", "kinetic_energy", "temperature", "pressure"};

// Terms with scratch of their own: a loss may be asked from several threads.
template <class S>
struct Evaluation {
  explicit Evaluation(const std::vector<std::unique_ptr<Term<S>>>& terms) {
    for (const auto& term : terms) scratch.push_back(term->make_scratch());
    forces = {&terms, &scratch};
  }
  std::vector<std::unique_ptr<TermScratch>> scratch;
  Forces<S> forces;
};

template <class Real, class S>
class Thermodynamics final : public loss::AtSteps<Real> {
  using T = Dual<S>;
  static constexpr int kLanes = lanes_of<S>;

 public:
  Thermodynamics(const Model& model, const Observe& what)
      : loss::AtSteps<Real>(what.steps.empty() ? std::vector<std::int64_t>{loss::kLast} : what.steps),
        what_(what),
        compiled_(compile(model)),
        terms_(make_terms<S>(compiled_)),
        tangents_(make_terms<T>(compiled_)) {
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
    add(x_bar, bar.x);
    add(p_bar, bar.p);
  }

 private:
  static void add(const std::vector<S>& from, Real* to) {
    for (std::size_t i = 0; to && i < from.size(); ++i)
      store<S>(to + i * kLanes, load<S>(to + i * kLanes) + from[i]);
  }

  // The quantity; with x_bar also adds q_bar times its derivatives.
  S evaluate(const typename Objective<Real>::At& at, const S& q_bar, S* x_bar, S* p_bar) const {
    const Layout& l = compiled_.layout;
    std::vector<S> x(std::size_t(l.states)), p(std::size_t(l.parameters));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = load<S>(at.in.x + i * kLanes);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = load<S>(at.in.p + i * kLanes);
    switch (what_.quantity) {
      case Quantity::potential_energy: {
        const Evaluation<S> e(terms_);
        if (x_bar) e.forces.energy_vjp(x.data() + l.x, p.data(), q_bar, x_bar + l.x, p_bar);
        return e.forces.energy(x.data() + l.x, p.data());
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
    // U and its gradient, with tangents along the scaling of positions and box.
    std::vector<T> xs(std::size_t(l.dof)), ps(std::size_t(l.parameters)), gx(xs.size(), T(S(0))),
        gp(ps.size(), T(S(0)));
    for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = T(x[std::size_t(l.x) + i], x[std::size_t(l.x) + i]);
    for (std::size_t i = 0; i < ps.size(); ++i) ps[i] = T(p[i]);
    for (std::size_t k = 0; k < std::size_t(l.dimensions); ++k) {
      T& edge = ps[std::size_t(l.box) + k];
      edge.d[0] = edge.v;
    }
    const Evaluation<T> e(tangents_);
    const S virial = e.forces.energy(xs.data(), ps.data()).d[0];
    const S inverse = S(1) / volume, kinetic = twice_kinetic(x, p, inverse * bar, x_bar, p_bar);
    const S value = (kinetic - virial) * inverse;
    if (!x_bar) return value;
    // virial = x.U_x + box.U_box: its derivative is U_x (U_box) and the tangent of the gradient.
    e.forces.energy_vjp(xs.data(), ps.data(), T(S(1)), gx.data(), gp.data());
    const S factor = -inverse * bar;
    for (int i = 0; i < l.dof; ++i)
      x_bar[l.x + i] += factor * (gx[std::size_t(i)].v + gx[std::size_t(i)].d[0]);
    for (int i = 0; i < l.parameters; ++i) p_bar[i] += factor * gp[std::size_t(i)].d[0];
    for (int k = 0; k < l.dimensions; ++k)
      p_bar[l.box + k] += factor * gp[std::size_t(l.box + k)].v - value * bar / p[std::size_t(l.box + k)];
    return value;
  }

  Observe what_;
  Compiled compiled_;
  std::vector<std::unique_ptr<Term<S>>> terms_;
  std::vector<std::unique_ptr<Term<T>>> tangents_;
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
