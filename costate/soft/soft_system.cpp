#include "costate/soft/soft_system.h"

#include <algorithm>
#include <optional>

#include "costate/core/error.h"
#include "costate/soft/elements/hinge_term.h"
#include "costate/soft/laws/law.h"
#include "costate/soft/step/carried_scratch.h"
#include "costate/soft/step/implicit_step.h"

namespace costate::soft {
namespace {

// tape   z of the step, and the forces on its carrier: with them the transpose starts from the solution
template <class Real>
class SoftSystem final : public System<Real> {
 public:
  explicit SoftSystem(const SoftModel& model) : compiled_(compile(model)), step_(compiled_) {}

  struct Scratch final : Workspace {
    explicit Scratch(const Compiled& c) : step(c) {}
    StepScratch step;
    std::vector<double> x, u, p, x_dot, u_dot, p_dot, y, x_bar, u_bar, p_bar;
    // What step.z and its factor are the solution of: many tangents of one step share them.
    std::vector<double> solved_x, solved_u, solved_p;
    std::int64_t solved_k = -1;
  };

  const Signature& signature() const override { return compiled_.signature; }
  std::unique_ptr<Workspace> make_workspace() const override {
    auto s = std::make_unique<Scratch>(compiled_);
    const Signature& sizes = compiled_.signature;
    for (auto* v : {&s->x, &s->x_dot, &s->y, &s->x_bar, &s->solved_x}) v->resize(std::size_t(sizes.states()));
    for (auto* v : {&s->u, &s->u_dot, &s->u_bar, &s->solved_u}) v->resize(std::size_t(sizes.controls()));
    for (auto* v : {&s->p, &s->p_dot, &s->p_bar, &s->solved_p}) v->resize(std::size_t(sizes.parameters()));
    return s;
  }
  typename System<Real>::Capabilities capabilities() const override {
    return {.energy = compiled_.model.integrator == Integrator::midpoint};
  }
  // In float the tape would round z, and a gradient with it would have other bits than one without.
  TapePlan tape(const Activity&, const TapeBudget& budget) const override {
    const std::int64_t size = 3LL * compiled_.n + compiled_.dofs();
    return {sizeof(Real) == 8 && budget.numbers >= size ? size : 0};
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const ImplicitStep::In given = read(at, in, s);
    s.solved_k = -1;
    step_.solve(given, s.step);
    step_.finish(given, s.step, s.y.data());
    std::copy(s.y.begin(), s.y.end(), y);
    if (tape) s.step.save(tape);
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const ImplicitStep::In given = read(at, in, s);
    solve_once(given, s);
    step_.finish(given, s.step, s.y.data());
    std::copy(s.y.begin(), s.y.end(), y);
    const ImplicitStep::In dot{at.k, copy(in_dot.x, s.x_dot), copy(in_dot.u, s.u_dot),
                               copy(in_dot.p, s.p_dot)};
    step_.jvp(given, dot, s.step, s.y.data());
    std::copy(s.y.begin(), s.y.end(), y_dot);
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    const ImplicitStep::In given = read(at, in, s);
    s.solved_k = -1;
    if (tape)
      s.step.restore(tape);
    else
      step_.solve(given, s.step);
    std::fill(s.u_bar.begin(), s.u_bar.end(), 0.0);
    std::fill(s.p_bar.begin(), s.p_bar.end(), 0.0);
    std::copy(y_bar, y_bar + s.y.size(), s.y.begin());
    const bool rest = bar.p && active.parameters.front();  // the first field
    {
      std::optional<LentDiagnostics> lent;
      if (s.step.carried) lent.emplace(work.diagnostics, s.step.carried->work->diagnostics);
      step_.vjp(given, s.y.data(), {s.x_bar.data(), s.u_bar.data(), s.p_bar.data(), rest}, s.step);
    }
    work.diagnostics.solved(s.step.adjoint_residual);
    std::copy(s.x_bar.begin(), s.x_bar.end(), bar.x);
    for (std::size_t k = 0; bar.u && k < s.u_bar.size(); ++k) bar.u[k] += Real(s.u_bar[k]);
    for (std::size_t k = 0; bar.p && k < s.p_bar.size(); ++k) bar.p[k] += Real(s.p_bar[k]);
  }

  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    if (!capabilities().energy) return System<Real>::energy(in, value, work);
    auto& s = static_cast<Scratch&>(work);
    std::fill(s.u.begin(), s.u.end(), 0.0);
    *value = Real(step_.energy({1, copy(in.x, s.x), s.u.data(), copy(in.p, s.p)}, s.step));
  }

 private:
  static const double* copy(const Real* from, std::vector<double>& to) {
    if (!from) return nullptr;
    std::copy(from, from + to.size(), to.begin());
    return to.data();
  }
  void solve_once(const ImplicitStep::In& given, Scratch& s) const {
    if (given.k == s.solved_k && s.x == s.solved_x && s.u == s.solved_u && s.p == s.solved_p) return;
    s.solved_k = -1;
    step_.solve(given, s.step);
    s.solved_k = given.k, s.solved_x = s.x, s.solved_u = s.u, s.solved_p = s.p;
  }
  static ImplicitStep::In read(const StepContext& at, const Inputs<Real>& in, Scratch& s) {
    return {at.k, copy(in.x, s.x), copy(in.u, s.u), copy(in.p, s.p)};
  }

  Compiled compiled_;
  ImplicitStep step_;
};

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> soft_bodies(const SoftModel& model) {
  return std::make_shared<SoftSystem<Real>>(model);
}
template std::shared_ptr<System<float>> soft_bodies<float>(const SoftModel&);
template std::shared_ptr<System<double>> soft_bodies<double>(const SoftModel&);

std::vector<double> soft_state(const SoftModel& model, const std::vector<double>& x,
                               const std::vector<double>& v) {
  for (const auto* given : {&x, &v})
    if (!given->empty() && given->size() != model.rest.size())
      throw Error("x and v have three numbers per vertex: " + std::to_string(model.rest.size()) + ", not " +
                  std::to_string(given->size()));
  std::vector<double> state = x.empty() ? model.rest : x;
  if (v.empty())
    state.resize(2 * model.rest.size(), 0.0);
  else
    state.insert(state.end(), v.begin(), v.end());
  if (model.integrator == Integrator::bdf2) {
    const std::vector<double> now = state;
    state.insert(state.end(), now.begin(), now.end());
  }
  for (const Part& part : model.parts)  // no creases yet
    if (creases(model, part)) state.resize(state.size() + hinges_of(part).size() / 4, 0.0);
  if (model.carrier) {
    const std::vector<double> carried = model.carrier->initial_state();
    state.insert(state.end(), carried.begin(), carried.end());
  }
  return state;
}

}  // namespace costate::soft
