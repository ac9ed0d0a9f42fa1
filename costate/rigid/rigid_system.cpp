#include "costate/rigid/rigid_system.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "costate/ad/dual.h"
#include "costate/rigid/contact/contact_pairs.h"
#include "costate/rigid/rigid_stepper.h"
#include "costate/rigid/step/split_step.h"
#include "costate/rigid/step/step_fault.h"
#include "costate/rigid/step/step_report.h"

namespace costate::rigid {
namespace {

// Scratch of a step, whole or in parts.
template <class S>
struct Work : StepWork<S> {
  explicit Work(const Stepper& stepper)
      : StepWork<S>(stepper), split(stepper.split ? std::make_unique<SplitWork<S>>(stepper) : nullptr) {}
  std::unique_ptr<SplitWork<S>> split;
};
template <class S>
void take_step(const Stepper& stepper, Work<S>& w, bool with_tape) {
  if (w.split)
    split_step(stepper, w, *w.split, with_tape);
  else
    rigid::step<S>(stepper, w, with_tape);
}
template <class S>
void take_step_vjp(const Stepper& stepper, Work<S>& w, const Wanted& wanted) {
  if (w.split)
    split_step_vjp(stepper, w, *w.split, wanted);
  else
    rigid::step_vjp<S>(stepper, w, wanted);
}

template <class Real>
class RigidSystem final : public System<Real> {
  using S = NativePack<Real>;
  using D = Dual<S>;
  static constexpr int kLanes = lanes_of<S>;

  struct Scratch : Workspace {
    Scratch(const Stepper& s, const ReportNames& names) : work(s), report(s, names) {}
    Work<S> work;
    StepReport<S> report;
    std::unique_ptr<Work<D>> dual;  // made on first use: twice the memory
    std::vector<Real> seen;         // parameters that work.p was prepared from
    // Of the run: its parameters, if work.p is prepared from them; where work.p_bar goes at its end; whether
    // frames are among the wanted ones.
    const Real* p = nullptr;
    Real* p_bar = nullptr;
    bool frames = false;
  };

 public:
  RigidSystem(const Model& model, const Stepper& stepper, const Signature& signature)
      : signature_(signature), stepper_(stepper) {
    for (std::size_t j = 0; j < model.joints.size(); ++j)
      names_.joints.push_back(name_of(model.joints[j].name, j));
    for (std::size_t t = 0; t < model.tendons.size(); ++t)
      names_.tendons.push_back(name_of(model.tendons[t].name, t));
    for (std::size_t g = 0; g < model.geoms.size(); ++g)
      names_.geoms.push_back(name_of(model.geoms[g].name, g));
  }

  const Stepper& stepper() const { return stepper_; }
  const Signature& signature() const override { return signature_; }
  int lanes() const override { return kLanes; }
  TapePlan tape(const Activity&, const TapeBudget&) const override { return {.size = stepper_.tape_size()}; }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true};
  }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Scratch>(stepper_, names_);
  }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& workspace) const override {
    Work<S>& w = prepared(in.p, static_cast<Scratch&>(workspace));
    load_all(in.x, w.x.data(), stepper_.states());
    load_all(in.u, w.u.data(), stepper_.controls());
    const bool in_place = tape && lies_as_packs(tape, w);
    if (in_place) w.tape.lie_at(reinterpret_cast<S*>(tape));
    take_step(stepper_, w, tape != nullptr);
    store_all(w.y.data(), y, stepper_.states());
    if (tape && !in_place) store_all(w.tape.data(), tape, stepper_.tape_size());
    w.tape.lie_here();
  }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& workspace) const override {
    auto& s = static_cast<Scratch&>(workspace);
    Work<S>& w = prepared(in.p, s);
    load_all(in.x, w.x.data(), stepper_.states());
    load_all(in.u, w.u.data(), stepper_.controls());
    load_all(y_bar, w.y_bar.data(), stepper_.states());
    if (tape && lies_as_packs(tape, w)) {
      w.tape.lie_at(const_cast<S*>(reinterpret_cast<const S*>(tape)));  // only read
    } else if (tape) {
      load_all(tape, w.tape.data(), stepper_.tape_size());
    } else {
      take_step(stepper_, w, true);
    }
    if (bar.u) load_all(bar.u, w.u_bar.data(), stepper_.controls());
    const HeldBack held(*this, bar.p, active, s);
    s.report.begin(at.k, w.split.get());
    take_step_vjp(stepper_, w, held.wanted);
    w.tape.lie_here();
    store_all(w.x_bar.data(), bar.x, stepper_.states());
    if (bar.u) store_all(w.u_bar.data(), bar.u, stepper_.controls());
    s.report.take(at.k, w, w.split.get(), s.diagnostics);
  }

  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& workspace) const override {
    Work<D>& w = dual_work(workspace);
    load_inputs(in, in_dot, w);
    take_plain_step(in, w, workspace);
    take_step(stepper_, w, false);
    store_all(static_cast<Scratch&>(workspace).work.y.data(), y, stepper_.states());
    for (int i = 0; i < stepper_.states(); ++i) store<S>(y_dot + i * kLanes, w.y[i].d[0]);
  }

  // The transpose, carried on duals: its tangent is the second derivative.
  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& workspace) const override {
    Work<D>& w = dual_work(workspace);
    load_inputs(in, in_dot, w);
    if (stepper_.hard() || stepper_.split) take_plain_step(in, w, workspace);
    take_step(stepper_, w, true);
    load_dual(y_bar, y_bar_dot, w.y_bar.data(), stepper_.states());
    if (bar.u) load_dual(bar.u, bar_dot.u, w.u_bar.data(), stepper_.controls());
    if (bar.p) load_dual(bar.p, bar_dot.p, w.p_bar.data(), stepper_.tree.p.size);
    w.p_bar[whole_dt()] = D(S(0), S(0));
    Wanted wanted{nullptr, nullptr, false};
    if (bar.p) wanted = {&active, &stepper_.tree.p.field_of, wants_frames(stepper_.tree, active.parameters)};
    take_step_vjp(stepper_, w, wanted);
    w.p_bar[stepper_.tree.p.dt] += w.p_bar[whole_dt()];
    store_dual(w.x_bar.data(), bar.x, bar_dot.x, stepper_.states());
    if (bar.u) store_dual(w.u_bar.data(), bar.u, bar_dot.u, stepper_.controls());
    if (bar.p) store_dual(w.p_bar.data(), bar.p, bar_dot.p, stepper_.tree.p.size);
    if (w.split && !w.split->switches.empty()) static_cast<Scratch&>(workspace).diagnostics.switched(at.k);
  }

  typename System<Real>::Fault fault(const Inputs<Real>& in, int lane) const override {
    return step_fault(stepper_, signature_, names_.joints, in, lane, kLanes);
  }

  // Unit vectors and the like are the same in all steps of a run; cotangents of parameters stay in packs.
  void begin_run(const Real* p, Real* p_bar, const Activity& active, Workspace& workspace) const override {
    auto& s = static_cast<Scratch&>(workspace);
    prepared(p, s);
    s.p = s.work.split ? nullptr : p;
    s.p_bar = p_bar;
    if (!p_bar) return;
    s.frames = wants_frames(stepper_.tree, active.parameters);
    load_p_bar(p_bar, s.work);
  }
  void end_run(const Real*, Real*, const Activity&, Workspace& workspace) const override {
    auto& s = static_cast<Scratch&>(workspace);
    if (s.p_bar) store_p_bar(s.work, s.p_bar);
    s.p = s.p_bar = nullptr;
  }

  // Worlds whose steps are cut go through a run each at its own pace.
  void advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>& tape,
               Workspace& workspace) const override {
    auto& s = static_cast<Scratch&>(workspace);
    if (!s.work.split) return System<Real>::advance(run, states, tape, workspace);
    Work<S>& w = prepared(run.p, s);
    split_advance(stepper_, w, *w.split,
                  SplitRun<Real>{.first = run.first,
                                 .count = run.count,
                                 .u = run.u,
                                 .hold = run.hold,
                                 .states = states.base,
                                 .slots = states.slots,
                                 .start = states.start,
                                 .tape = tape.base});
  }

  void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
               const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
               Workspace& workspace) const override {
    auto& s = static_cast<Scratch&>(workspace);
    if (!s.work.split || !tape.base)
      return System<Real>::reverse(run, states, tape, lambda, u_bar, p_bar, active, workspace);
    Work<S>& w = prepared(run.p, s);
    const HeldBack held(*this, p_bar, active, s);
    s.report.begin(run.first + run.count - 1, w.split.get());
    split_reverse(stepper_, w, *w.split,
                  SplitRun<Real>{.first = run.first,
                                 .count = run.count,
                                 .u = run.u,
                                 .hold = run.hold,
                                 .states = const_cast<Real*>(states),  // only read
                                 .slots = lambda.slots,
                                 .start = lambda.start,
                                 .tape = const_cast<Real*>(tape.base),
                                 .lambda = lambda.base,
                                 .u_bar = u_bar},
                  held.wanted);
    s.report.take_cuts(run.first, w, *w.split, s.diagnostics);
  }

 private:
  // Where the transposes of a call add cotangents of parameters: to those in packs that a run holds back, or
  // to packs that are loaded before and stored after it.
  struct HeldBack {
    HeldBack(const RigidSystem& system, Real* p_bar, const Activity& active, Scratch& scratch)
        : rigid(system), s(scratch), alone(p_bar && p_bar != s.p_bar ? p_bar : nullptr) {
      if (!p_bar) return;
      const Stepper& stepper = rigid.stepper_;
      wanted = {&active, &stepper.tree.p.field_of,
                alone ? wants_frames(stepper.tree, active.parameters) : s.frames};
      if (alone) rigid.load_p_bar(alone, s.work);
    }
    ~HeldBack() {
      if (wanted.active) rigid.fold_whole_dt(s.work);
      if (alone) rigid.store_p_bar(s.work, alone);
    }
    HeldBack(const HeldBack&) = delete;
    HeldBack& operator=(const HeldBack&) = delete;
    const RigidSystem& rigid;
    Scratch& s;
    Real* const alone;
    Wanted wanted{nullptr, nullptr, false};
  };

  std::size_t whole_dt() const { return stepper_.tree.p.whole_dt; }
  void load_p_bar(const Real* from, Work<S>& w) const {
    load_all(from, w.p_bar.data(), stepper_.tree.p.size);
    w.p_bar[whole_dt()] = S(0);
  }
  void store_p_bar(const Work<S>& w, Real* to) const { store_all(w.p_bar.data(), to, stepper_.tree.p.size); }
  void fold_whole_dt(Work<S>& w) const {
    w.p_bar[stepper_.tree.p.dt] += w.p_bar[whole_dt()];
    w.p_bar[whole_dt()] = S(0);
  }

  static void load_all(const Real* from, S* to, int n) {
    for (int i = 0; i < n; ++i) to[i] = load<S>(from + i * kLanes);
  }
  static void store_all(const S* from, Real* to, int n) {
    for (int i = 0; i < n; ++i) store<S>(to + i * kLanes, from[i]);
  }
  static void load_dual(const Real* value, const Real* tangent, D* to, int n) {
    for (int i = 0; i < n; ++i) {
      to[i] = D(load<S>(value + i * kLanes), tangent ? load<S>(tangent + i * kLanes) : S(0));
    }
  }

  static void store_dual(const D* from, Real* value, Real* tangent, int n) {
    for (int i = 0; i < n; ++i) {
      store<S>(value + i * kLanes, from[i].v);
      store<S>(tangent + i * kLanes, from[i].d[0]);
    }
  }
  Work<D>& dual_work(Workspace& workspace) const {
    auto& scratch = static_cast<Scratch&>(workspace);
    if (!scratch.dual) scratch.dual = std::make_unique<Work<D>>(stepper_);
    return *scratch.dual;
  }
  // The step itself. Its new state, not that of the duals, is the one whose tangents they carry: products and
  // sums are contracted otherwise there, and the bits would differ. Hard contact also takes the case of every
  // point from it, and steps that are cut their parts.
  void take_plain_step(const Inputs<Real>& in, Work<D>& duals, Workspace& workspace) const {
    Work<S>& w = prepared(in.p, static_cast<Scratch&>(workspace));
    load_all(in.x, w.x.data(), stepper_.states());
    load_all(in.u, w.u.data(), stepper_.controls());
    take_step(stepper_, w, stepper_.hard());
    if (stepper_.hard())
      duals.hard.plain = {w.tape.data() + stepper_.tape_per_evaluation(), w.c.contact.shapes.data()};
    if (w.split) duals.split->plain = w.split->record.data();
  }
  void load_inputs(const Inputs<Real>& in, const Inputs<Real>& in_dot, Work<D>& w) const {
    load_dual(in.p, in_dot.p, w.p.data(), stepper_.tree.p.size);
    prepare_units(stepper_.tree.p, w.p.data());
    load_dual(in.x, in_dot.x, w.x.data(), stepper_.states());
    load_dual(in.u, in_dot.u, w.u.data(), stepper_.controls());
  }

  // Scratch with the parameters in it, unit vectors made unit. A rollout asks for the same ones run after
  // run; split steps write to theirs.
  Work<S>& prepared(const Real* p, Scratch& scratch) const {
    Work<S>& w = scratch.work;
    if (p == scratch.p) return w;
    const auto count = static_cast<std::size_t>(stepper_.tree.p.size) * kLanes;
    if (!w.split && scratch.seen.size() == count &&
        std::memcmp(scratch.seen.data(), p, count * sizeof(Real)) == 0)
      return w;
    load_all(p, w.p.data(), stepper_.tree.p.size);
    prepare_units(stepper_.tree.p, w.p.data());
    scratch.seen.assign(p, p + count);
    return w;
  }

  // A rollout's tape is laid out as packs: a step can write to it and its transpose read it without a copy.
  // Split steps use theirs for several parts.
  static bool lies_as_packs(const Real* tape, const Work<S>& w) {
    return !w.split && reinterpret_cast<std::uintptr_t>(tape) % alignof(S) == 0;
  }

  Signature signature_;
  Stepper stepper_;
  ReportNames names_;
};

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> make_system(const Model& model, const SystemOptions& options) {
  Signature signature;
  const Stepper stepper = make_stepper(model, options, signature);
  return make_system<Real>(model, stepper, signature);
}
template <class Real>
std::shared_ptr<System<Real>> make_system(const Model& model, const Stepper& stepper,
                                          const Signature& signature) {
  return std::make_shared<RigidSystem<Real>>(model, stepper, signature);
}
template <class Real>
const std::type_info& rigid_system_type() {
  return typeid(RigidSystem<Real>);
}
template <class Real>
const Stepper& stepper_of(const System<Real>& system) {
  return static_cast<const RigidSystem<Real>&>(system).stepper();
}
#define COSTATE_INSTANTIATE(Real)                                                               \
  template const std::type_info& rigid_system_type<Real>();                                     \
  template const Stepper& stepper_of(const System<Real>&);                                      \
  template std::shared_ptr<System<Real>> make_system<Real>(const Model&, const SystemOptions&); \
  template std::shared_ptr<System<Real>> make_system<Real>(const Model&, const Stepper&, const Signature&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::rigid
