// MoleculeSystem: a model as a System. S is a pack (many small worlds in lanes) or a number (one large
// world).
//
// It also answers what likelihood-ratio estimators ask (likelihood.h): the score of a step, and the Boltzmann
// density that a thermostatted word samples.
//
//   tape   the forces that the letters of a step found, and its random numbers: with them the transpose
//          evaluates no force and draws no noise. Where nothing but potentials is differentiated, the places
//          where the forces were found instead: with them it does not go through the step again
#pragma once

#include <optional>

#include "costate/core/interrupt.h"
#include "costate/md/compile.h"
#include "costate/md/likelihood.h"
#include "costate/md/splitting.h"
#include "costate/system/scored_system.h"

namespace costate::md {

template <class Real, class S>
class MoleculeSystem final : public System<Real>, public ScoredSystem<Real>, public BoltzmannSystem<Real> {
  using Tangent = Dual<S>;
  static constexpr int kLanes = lanes_of<S>;

  // What a step of scalar T works on.
  template <class T>
  struct Side {
    Side(const Compiled& c, const std::vector<std::unique_ptr<Term<T>>>& terms)
        : walk(c.layout, c.word), p(c.layout.parameters), p_bar(c.layout.parameters), bar(c.layout.states) {
      for (const auto& term : terms) scratch.push_back(term->make_scratch());
      forces = {&terms, &scratch};
      if (!is_dual<T> && c.word.forces > 1 && c.layout.dof >= kLeastRemembered) {
        for (auto* list : {&last.x, &last.f_bar, &last.x_bar}) list->resize(std::size_t(c.layout.dof));
        last.p_bar.resize(std::size_t(c.layout.parameters));
        forces.last = &last;
      }
    }
    Walk<T> walk;
    Normals<T> normals;
    std::vector<T> p, p_bar, bar;
    std::vector<std::unique_ptr<TermScratch>> scratch;
    Forces<T> forces;
    typename Forces<T>::Product last;
  };
  struct Scratch : Workspace {
    explicit Scratch(const MoleculeSystem& s) : values(s.compiled_, s.terms_) {}
    Side<S> values;
    std::optional<Side<Tangent>> tangents;  // made when they are first asked for
    const Real* p = nullptr;                // of the run: they are in `values`
    Real* p_bar = nullptr;                  // of the run: `values` goes there at its end
    bool numbers = true;                    // of the run: beyond_forces
    bool places = false;                    // of the run: the tape has places
  };

 public:
  explicit MoleculeSystem(const Model& model)
      : compiled_(compile(model)),
        terms_(make_terms<S>(compiled_)),
        tangent_terms_(make_terms<Tangent>(compiled_)),
        splitting_(compiled_.layout, compiled_.word),
        tangent_splitting_(compiled_.layout, compiled_.word) {}

  const Signature& signature() const override { return compiled_.signature; }
  int lanes() const override { return kLanes; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true,
            .vjp = true,
            .second_order = true,
            .reversible = compiled_.word.invertible,
            .energy = compiled_.word.conserves};
  }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  TapePlan tape(const Activity&, const TapeBudget& budget) const override {
    const std::int64_t size =
        std::int64_t(compiled_.word.forces) * compiled_.layout.dof + compiled_.word.normals;
    return {budget.numbers >= size ? size : 0};
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    Side<S>& side = s.values;
    read(in.x, side.walk.state);
    if (in.p != s.p) use(in.p, side);
    side.walk.fresh = false;
    forward(at, side, tape, s.places);
    write(side.walk.state, y);
  }

  // The force at the end of a step is handed on to the next.
  void advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>& tape,
               Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    Side<S>& side = s.values;
    const std::int64_t size = this->state_size();
    std::int64_t slot = states.start;
    read(states.base + slot * size, side.walk.state);
    if (run.p != s.p) use(run.p, side);
    side.walk.fresh = false;
    for (std::int64_t j = 0; j < run.count; ++j) {
      slot = states.next(slot);
      forward(run.context(run.first + j), side, tape.at(j), s.places);
      write(side.walk.state, states.base + slot * size);
      stop_if_interrupted();
    }
  }

  // The cotangent stays where the next step needs it.
  void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
               const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
               Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    Side<S>& side = s.values;
    if (!p_bar || p_bar != s.p_bar)
      return System<Real>::reverse(run, states, tape, lambda, u_bar, p_bar, active, work);
    const std::int64_t size = this->state_size();
    std::int64_t slot = lambda.start;
    read(lambda.base + slot * size, side.bar);
    for (std::int64_t j = run.count - 1; j >= 0; --j) {
      read(states + j * size, side.walk.state);
      backward(run.context(run.first + j), side, tape.at(j), s.numbers, s.places);
      slot = lambda.next(slot);
      stop_if_interrupted();
    }
    write(side.bar, lambda.base + slot * size);
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override {
    Side<Tangent>& side = tangents(work);
    read(in.x, in_dot.x, side.walk.state);
    read(in.p, in_dot.p, side.p);
    tangent_splitting_.prepare(side.forces, side.p.data(), side.walk);
    side.walk.fresh = false;
    side.normals.fill(at, side.walk.normals);
    tangent_splitting_.step(side.forces, side.p.data(), side.walk);
    write(side.walk.state, y, y_dot);
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    Side<S>& side = s.values;
    const bool held_back = bar.p && bar.p == s.p_bar;
    read(in.x, side.walk.state);
    if (in.p != s.p) use(in.p, side);
    read(y_bar, side.bar);
    if (!held_back) read(bar.p, side.p_bar);
    if (!held_back) ask_for_box(side, asks_for_box(active));
    backward(at, side, tape, held_back ? s.numbers : beyond_forces(active), s.places);
    write(side.bar, bar.x);
    if (!held_back) write(side.p_bar, bar.p);
    if (!held_back) ask_for_box(side, true);
  }

  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity&, Workspace& work) const override {
    Side<Tangent>& side = tangents(work);
    read(in.x, in_dot.x, side.walk.state);
    read(in.p, in_dot.p, side.p);
    tangent_splitting_.prepare(side.forces, side.p.data(), side.walk);
    read(y_bar, y_bar_dot, side.bar);
    read(bar.p, bar_dot.p, side.p_bar);
    side.normals.fill(at, side.walk.normals);
    tangent_splitting_.retrace(side.forces, side.p.data(), side.walk, false);
    tangent_splitting_.step_vjp(side.walk, side.bar.data(), side.p_bar.data());
    write(side.bar, bar.x, bar_dot.x);
    write(side.p_bar, bar.p, bar_dot.p);
  }

  void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x,
                 Workspace& work) const override {
    if (!compiled_.word.invertible) return System<Real>::step_back(at, in, y, x, work);
    Side<S>& side = static_cast<Scratch&>(work).values;
    read(y, side.walk.state);
    if (in.p != static_cast<Scratch&>(work).p) use(in.p, side);
    side.normals.fill(at, side.walk.normals);
    splitting_.step_back(side.forces, side.p.data(), side.walk);
    write(side.walk.state, x);
  }

  // Kinetic and potential; with a barostat also that of the piston and pressure times volume.
  void energy(const Inputs<Real>& in, Real* value, Workspace& work) const override {
    if (!compiled_.word.conserves) return System<Real>::energy(in, value, work);
    Side<S>& side = static_cast<Scratch&>(work).values;
    const Layout& at = compiled_.layout;
    read(in.x, side.walk.state);
    if (in.p != static_cast<Scratch&>(work).p) use(in.p, side);
    const S* p = splitting_.find_box(side.p.data(), side.walk, side.walk.state.data());
    S sum = side.forces.energy(side.walk.state.data(), p);
    if (at.strain >= 0) {
      const S rate = side.walk.state[at.piston];
      S pressed = p[at.pressure];
      for (int k = 0; k < at.dimensions; ++k) pressed = pressed * p[at.box + k];
      sum += pressed + S(Real(0.5)) * p[at.piston_mass] * rate * rate;
    }
    for (int i = 0; i < at.dof; ++i) {
      const S v = side.walk.state[at.v + i];
      sum += S(Real(0.5)) * side.p[at.mass + i / at.dimensions] * v * v;
    }
    for (int l = 0; l < kLanes; ++l) value[l] = lane(sum, l);
  }

  void add_score(const StepContext& at, const Inputs<Real>& in, Real* score, Workspace& work) const override {
    Side<S>& side = static_cast<Scratch&>(work).values;
    const Layout& l = compiled_.layout;
    read(in.x, side.walk.state);
    use(in.p, side);
    side.normals.fill(at, side.walk.normals);
    std::vector<S>&f_bar = side.walk.work, &sum = side.p_bar;
    noise_covector(likelihood_of(compiled_.word),
                   Part<S>{l, side.forces, side.p.data(), S(0), side.walk.normals.data(), nullptr, nullptr},
                   side.walk.state.data(), f_bar.data());
    read(score, sum);
    read(nullptr, side.bar);  // what the positions receive is not asked for
    side.forces.evaluate_vjp(side.walk.state.data() + l.x, side.p.data(), f_bar.data(), side.bar.data() + l.x,
                             sum.data());
    write(sum, score);
  }
  std::string no_score(std::string_view parameter) const override {
    if (parameter.empty())
      return likelihood_of(compiled_.word) == Likelihood::none
                 ? "steps of this integrator have no score: only those of E, R and ABOBA have"
                 : "";
    return of_the_force(parameter) ? "" : "it changes the noise or the time of a step, not the force alone";
  }

  void boltzmann(const Inputs<Real>& in, Real* energy, Real* slope, Workspace& work) const override {
    Side<S>& side = static_cast<Scratch&>(work).values;
    read(in.x, side.walk.state);
    use(in.p, side);
    read(slope, side.p_bar);
    read(nullptr, side.bar);
    const S* x = side.walk.state.data() + compiled_.layout.x;
    const S u = side.forces.energy(x, side.p.data());
    side.forces.energy_vjp(x, side.p.data(), S(1), side.bar.data() + compiled_.layout.x, side.p_bar.data());
    write(side.p_bar, slope);
    for (int l = 0; l < kLanes; ++l) energy[l] = lane(u, l);
  }
  std::string no_density(std::string_view parameter) const override {
    if (parameter.empty())
      return compiled_.layout.kT < 0 ? "this integrator has no temperature: it samples no equilibrium"
             : compiled_.layout.strain >= 0
                 ? "the box is a state of this integrator: only densities in a fixed box are known"
                 : "";
    return of_the_force(parameter) || parameter == "kT"
               ? ""
               : "the equilibrium of positions does not depend on it";
  }

  // Runs read the parameters once, and write their cotangents once.
  void begin_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    use(p, s.values);
    if (p_bar) read(p_bar, s.values.p_bar);
    s.p = p, s.p_bar = p_bar, s.numbers = beyond_forces(active);
    s.places = compiled_.word.places_suffice && !s.numbers;
    ask_for_box(s.values, asks_for_box(active));
  }
  void end_run(const Real*, Real*, const Activity&, Workspace& work) const override {
    auto& s = static_cast<Scratch&>(work);
    write(s.values.p_bar, s.p_bar);
    s.p = s.p_bar = nullptr;
    s.places = false;
    ask_for_box(s.values, true);
  }

 private:
  // Potentials come first among the parameters.
  bool of_the_force(std::string_view parameter) const {
    return parameter == "box" ||
           compiled_.signature.find(Role::parameter, parameter).offset < compiled_.layout.mass;
  }

  void use(const Real* p, Side<S>& side) const {
    read(p, side.p);
    side.last.known = false;
    splitting_.prepare(side.forces, side.p.data(), side.walk);
  }
  // Whether a parameter is asked for that is not one of the forces.
  bool beyond_forces(const Activity& active) const {
    const auto& fields = compiled_.signature.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      if (active.parameters[f] && !of_the_force(fields[f].name)) return true;
    return false;
  }

  Side<Tangent>& tangents(Workspace& work) const {
    auto& s = static_cast<Scratch&>(work);
    if (!s.tangents) s.tangents.emplace(compiled_, tangent_terms_);
    return *s.tangents;
  }
  // Whether the box is asked for, or takes part as a state.
  bool asks_for_box(const Activity& active) const {
    const auto& fields = compiled_.signature.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      if (active.parameters[f] && fields[f].name == "box") return true;
    return compiled_.layout.strain >= 0;
  }
  static void ask_for_box(Side<S>& side, bool asked) {
    for (const auto& scratch : side.scratch)
      if (scratch) scratch->box_asked = asked;
  }

  // Not inlined: single steps and runs are the same machine code, so the same bits.
  [[gnu::noinline]] void forward(const StepContext& at, Side<S>& side, Real* tape, bool places) const {
    side.normals.fill(at, side.walk.normals);
    splitting_.step(side.forces, side.p.data(), side.walk, tape && places);
    if (tape && places) {
      write(side.walk.places, tape);
    } else if (tape) {
      write(side.walk.forces, tape);
      write(side.walk.normals, tape + side.walk.forces.size() * kLanes);
    }
  }
  [[gnu::noinline]] void backward(const StepContext& at, Side<S>& side, const Real* tape, bool numbers,
                                  bool places) const {
    if (tape && places) {
      read(tape, side.walk.places);
      return splitting_.step_vjp_from_places(side.walk, side.bar.data(), side.p_bar.data());
    }
    if (tape) {
      read(tape, side.walk.forces);
      read(tape + side.walk.forces.size() * kLanes, side.walk.normals);
    } else {
      side.normals.fill(at, side.walk.normals);
    }
    splitting_.retrace(side.forces, side.p.data(), side.walk, tape != nullptr);
    splitting_.step_vjp(side.walk, side.bar.data(), side.p_bar.data(), numbers);
  }

  // A null pointer reads as zero, and is not written to: tangents that are zero, cotangents that nobody
  // wants.
  static void read(const Real* from, std::vector<S>& to) {
    each_coordinate<S>(int(to.size()),
                       [&](int i) { to[std::size_t(i)] = from ? load<S>(from + i * kLanes) : S(0); });
  }
  static void read(const Real* value, const Real* tangent, std::vector<Tangent>& to) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] =
          Tangent(value ? load<S>(value + i * kLanes) : S(0), tangent ? load<S>(tangent + i * kLanes) : S(0));
  }
  static void write(const std::vector<S>& from, Real* to) {
    if (to)
      each_coordinate<S>(int(from.size()), [&](int i) { store<S>(to + i * kLanes, from[std::size_t(i)]); });
  }
  static void write(const std::vector<Tangent>& from, Real* value, Real* tangent) {
    for (std::size_t i = 0; value && i < from.size(); ++i) {
      store<S>(value + i * kLanes, from[i].v);
      store<S>(tangent + i * kLanes, from[i].d[0]);
    }
  }

  Compiled compiled_;
  std::vector<std::unique_ptr<Term<S>>> terms_;
  std::vector<std::unique_ptr<Term<Tangent>>> tangent_terms_;
  Splitting<S> splitting_;
  Splitting<Tangent> tangent_splitting_;
};

}  // namespace costate::md
