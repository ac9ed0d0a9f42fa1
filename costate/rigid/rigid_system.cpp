#include "costate/rigid/rigid_system.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "costate/ad/dual.h"
#include "costate/core/error.h"
#include "costate/core/names.h"
#include "costate/rigid/contact/contact_pairs.h"
#include "costate/rigid/contact/penalty_strain.h"
#include "costate/rigid/step/split_step.h"
#include "costate/system/findings.h"

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

  struct Scratch : WorkspaceWithFindings {
    explicit Scratch(const Stepper& s) : work(s), zones(static_cast<std::size_t>(s.constraints.rows)) {}
    Work<S> work;
    std::vector<S> zones;  // of the rows' force laws in step `zones_of`
    std::int64_t zones_of = -1;
    std::unique_ptr<Work<D>> dual;  // made on first use: twice the memory
    std::vector<Real> seen;         // parameters that work.p was prepared from
  };

 public:
  RigidSystem(const Model& model, const SystemOptions& options)
      : stepper_(make_stepper(model, options, signature_)) {
    for (std::size_t j = 0; j < model.joints.size(); ++j)
      joint_names_.push_back(name_of(model.joints[j].name, j));
    for (std::size_t g = 0; g < model.geoms.size(); ++g)
      geom_names_.push_back(name_of(model.geoms[g].name, g));
  }

  const Signature& signature() const override { return signature_; }
  int lanes() const override { return kLanes; }
  std::int64_t tape_size() const override { return stepper_.tape_size(); }
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true};
  }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(stepper_); }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& workspace) const override {
    Work<S>& w = prepared(in.p, workspace);
    step_prepared(in, y, tape, w);
  }

  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& workspace) const override {
    Work<S>& w = prepared(in.p, workspace);
    if (bar.p) load_p_bar(bar.p, w);
    step_vjp_prepared(in, tape, y_bar, bar, active, bar.p && wants_frames(stepper_.tree, active.parameters),
                      w);
    if (bar.p) store_p_bar(w, bar.p);
  }

  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& workspace) const override {
    Work<D>& w = dual_work(workspace);
    load_inputs(in, in_dot, w);
    take_plain_step(in, w, workspace);
    take_step(stepper_, w, false);
    store_all(static_cast<Scratch&>(workspace).work.y.data(), y, stepper_.states());
    for (int i = 0; i < stepper_.states(); ++i) store<S>(y_dot + i * kLanes, w.y[std::size_t(i)].d[0]);
  }

  // The transpose, carried on duals: its tangent is the second derivative.
  void step_hvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& workspace) const override {
    Work<D>& w = dual_work(workspace);
    load_inputs(in, in_dot, w);
    if (stepper_.hard()) take_plain_step(in, w, workspace);
    take_step(stepper_, w, true);
    load_dual(y_bar, y_bar_dot, w.y_bar.data(), stepper_.states());
    if (bar.u) load_dual(bar.u, bar_dot.u, w.u_bar.data(), stepper_.controls());
    if (bar.p) load_dual(bar.p, bar_dot.p, w.p_bar.data(), stepper_.tree.p.size);
    w.p_bar[whole_dt()] = D(S(0), S(0));
    Wanted wanted{nullptr, nullptr, false};
    if (bar.p) wanted = {&active, &stepper_.tree.p.field_of, wants_frames(stepper_.tree, active.parameters)};
    take_step_vjp(stepper_, w, wanted);
    w.p_bar[static_cast<std::size_t>(stepper_.tree.p.dt)] += w.p_bar[whole_dt()];
    store_dual(w.x_bar.data(), bar.x, bar_dot.x, stepper_.states());
    if (bar.u) store_dual(w.u_bar.data(), bar.u, bar_dot.u, stepper_.controls());
    if (bar.p) store_dual(w.p_bar.data(), bar.p, bar_dot.p, stepper_.tree.p.size);
  }

  // A quaternion without a direction, a body that nothing weighs.
  typename System<Real>::Fault fault(const Inputs<Real>& in, int lane) const override {
    const Tree& tree = stepper_.tree;
    for (std::size_t j = 0; j < tree.joints.size(); ++j) {
      const TreeJoint& joint = tree.joints[j];
      if (joint.type != JointType::free && joint.type != JointType::ball) continue;
      const int first = joint.type == JointType::free ? joint.q + 3 : joint.q;
      bool zero = true;
      for (int i = first; i < first + 4; ++i) zero &= in.x[i * kLanes + lane] == Real(0);
      if (!zero) continue;
      return {"the quaternion of joint \"" + joint_names_[j] + "\", q[" + std::to_string(first) + "] to q[" +
                  std::to_string(first + 3) + "], is zero",
              "no rotation is 1 0 0 0; rigid::initial_state(model) is where the model starts"};
    }
    for (const auto& unit : tree.p.units) {
      bool zero = true;
      for (int i = unit.at; i < unit.at + unit.length; ++i) zero &= in.p[i * kLanes + lane] == Real(0);
      if (zero)
        return {"the parameter " + signature_.fields(Role::parameter)[field_of(unit.at)].name +
                    " is zero, and a direction must not be",
                "give it a length"};
    }
    for (std::size_t d = 0; d < tree.dofs.size(); ++d) {
      if (inertia_behind(in, lane, static_cast<int>(d)) > 0) continue;
      const std::string& name = joint_names_[static_cast<std::size_t>(tree.dofs[d].joint)];
      return {"joint \"" + name + "\" moves nothing that has a mass",
              "give its body a mass, or the joint armature"};
    }
    return {};
  }

  // Unit vectors and the like are the same in all steps of a run.
  void advance(const Run<Real>& run, const Ring<Real>& states, Real* tape,
               Workspace& workspace) const override {
    Work<S>& w = prepared(run.p, workspace);
    if (w.split) {
      split_advance(stepper_, w, *w.split,
                    SplitRun<Real>{.first = run.first,
                                   .count = run.count,
                                   .u = run.u,
                                   .hold = run.hold,
                                   .states = states.base,
                                   .slots = states.slots,
                                   .start = states.start,
                                   .tape = tape});
      return;
    }
    const std::int64_t size = this->state_size();
    std::int64_t slot = states.start;
    for (std::int64_t j = 0; j < run.count; ++j) {
      const std::int64_t next = slot + 1 == states.slots ? 0 : slot + 1;
      step_prepared(inputs_of(run, run.first + j, states.base + slot * size), states.base + next * size,
                    tape ? tape + j * tape_size() * kLanes : nullptr, w);
      slot = next;
    }
  }

  void reverse(const Run<Real>& run, const Real* states, const Real* tape, const Ring<Real>& lambda,
               Real* u_bar, Real* p_bar, const Activity& active, Workspace& workspace) const override {
    Work<S>& w = prepared(run.p, workspace);
    const auto& wanted = active.parameters;
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) p_bar = nullptr;
    if (p_bar) load_p_bar(p_bar, w);
    const bool frames = p_bar && wants_frames(stepper_.tree, active.parameters);
    const std::int64_t size = this->state_size();
    std::int64_t slot = lambda.start;
    if (w.split && tape) {
      Wanted caller{nullptr, nullptr, false};
      if (p_bar) caller = {&active, &stepper_.tree.p.field_of, frames};
      split_reverse(stepper_, w, *w.split,
                    SplitRun<Real>{.first = run.first,
                                   .count = run.count,
                                   .u = run.u,
                                   .hold = run.hold,
                                   .states = const_cast<Real*>(states),  // only read
                                   .slots = lambda.slots,
                                   .start = lambda.start,
                                   .tape = const_cast<Real*>(tape),
                                   .lambda = lambda.base,
                                   .u_bar = u_bar},
                    caller);
      auto& report = workspace.diagnostics;
      report.mode_switches.insert(report.mode_switches.end(), w.split->switches.begin(),
                                  w.split->switches.end());
      report.adjoint_residual = std::max(report.adjoint_residual, w.split->residual);
      find_grazing(w.split->slowest_event, static_cast<Scratch&>(workspace));
      if (p_bar) store_p_bar(w, p_bar);
      find(run.first, static_cast<Scratch&>(workspace));
      return;
    }
    for (std::int64_t j = run.count - 1; j >= 0; --j) {
      const std::int64_t k = run.first + j, next = slot + 1 == lambda.slots ? 0 : slot + 1;
      step_vjp_prepared(
          inputs_of(run, k, states + j * size), tape ? tape + j * tape_size() * kLanes : nullptr,
          lambda.base + slot * size,
          {lambda.base + next * size, u_bar ? u_bar + (k / run.hold) * this->control_size() : nullptr, p_bar},
          active, frames, w);
      notice(k, static_cast<Scratch&>(workspace));
      find(k, static_cast<Scratch&>(workspace));
      slot = next;
    }
    if (p_bar) store_p_bar(w, p_bar);
  }

 private:
  Inputs<Real> inputs_of(const Run<Real>& run, std::int64_t k, const Real* x) const {
    return {x, run.u ? run.u + (k / run.hold) * this->control_size() : nullptr, run.p};
  }

  // For the report: the adjoint's residual, and steps in which a limit, dry friction or a contact changed its zone. Called from the last
  // step to the first.
  void notice(std::int64_t k, Scratch& scratch) const {
    ConstraintData<S>& c = scratch.work.c;
    if (stepper_.constraints.rows == 0) return;
    bool changed = false;
    for (std::size_t row = 0; row < scratch.zones.size(); ++row) {
      changed |= any(c.zone[row] != scratch.zones[row]);
      scratch.zones[row] = c.zone[row];
    }
    if (changed && scratch.zones_of == k + 1) scratch.diagnostics.mode_switches.push_back(k + 1);
    scratch.zones_of = k;
    if (!c.in_play) return;
    for (int l = 0; l < kLanes; ++l) {
      const double residual = std::sqrt(static_cast<double>(lane(c.residual2, l)));
      scratch.diagnostics.adjoint_residual = std::max(scratch.diagnostics.adjoint_residual, residual);
    }
  }

  static void find_grazing(const SlowestEvent& event, Scratch& scratch) {
    if (event.rate >= kGrazing) return;
    scratch.findings.add(
        {"grazing", -event.rate,
         "step " + std::to_string(event.step) +
             ": bodies graze, with a gap and a rate of the gap that vanish together: there is no derivative, "
             "and large numbers here mean nothing; move the start, or smooth",
         "grazing"});
  }
  // For the report: what step k, whose transpose was taken last, has to say in words.
  void find(std::int64_t k, Scratch& scratch) const {
    const Work<S>& w = scratch.work;
    const Constraints& cons = stepper_.constraints;
    if (stepper_.hard() && w.hard.contradicts && scratch.findings.weightier("hard", -double(k))) {
      scratch.findings.add({"hard", -double(k),
                            "from step " + std::to_string(k) +
                                " on there are steps in which no impulses obey the laws of hard contact "
                                "(bodies overlap and cannot part): they violate them as little as they can"});
    }
    if (cons.contact != ContactModel::penalty || cons.pairs.empty()) return;
    const PenaltyStrains strains =
        penalty_strains(stepper_.tree, cons, w.p.data(),
                        w.p[w.split ? whole_dt() : static_cast<std::size_t>(stepper_.tree.p.dt)], w.c);
    // The strain goes like dt^order.
    const auto add = [&](const char* topic, const PenaltyStrain& strain, double gate, int order,
                         const char* law, const char* remedy, const char* change) {
      if (strain.most <= gate || !scratch.findings.weightier(topic, strain.most)) return;
      const GeomPair& geoms = cons.pairs[static_cast<std::size_t>(strain.pair)].geoms;
      const double fine_dt = strain.dt / std::pow(strain.most, 1.0 / order);
      scratch.findings.add({topic, strain.most,
                            "contact of geoms \"" + geom_names_[static_cast<std::size_t>(geoms.first)] +
                                "\" and \"" + geom_names_[static_cast<std::size_t>(geoms.second)] +
                                "\" is too stiff for dt = " + brief(strain.dt) + ": " + law + " is " +
                                brief(strain.most) + ", and gradients explode above " + brief(gate) +
                                "; take dt <= " + brief(fine_dt) + ", or a " + remedy + " " +
                                brief(strain.most) + " times as " + change});
    };
    add("penalty stiffness", strains.stiffness, kMostStiffness, 2, "stiffness dt^2 / m", "contact/stiffness",
        "small");
    add("penalty friction", strains.friction, kMostFriction, 1, "mu f dt / (m slip_speed)",
        "contact/slip_speed", "large");
  }
  static std::string brief(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", x);
    return text;
  }

  std::size_t whole_dt() const { return static_cast<std::size_t>(stepper_.tree.p.whole_dt); }
  void load_p_bar(const Real* from, Work<S>& w) const {
    load_all(from, w.p_bar.data(), stepper_.tree.p.size);
    w.p_bar[whole_dt()] = S(0);
  }
  void store_p_bar(Work<S>& w, Real* to) const {
    w.p_bar[static_cast<std::size_t>(stepper_.tree.p.dt)] += w.p_bar[whole_dt()];
    store_all(w.p_bar.data(), to, stepper_.tree.p.size);
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
  // The step itself. Its new state, not that of the duals, is the one whose tangents they carry: products and sums are contracted otherwise
  // there, and the bits would differ. Hard contact also takes the case of every point from it.
  void take_plain_step(const Inputs<Real>& in, Work<D>& duals, Workspace& workspace) const {
    Work<S>& w = prepared(in.p, workspace);
    load_all(in.x, w.x.data(), stepper_.states());
    load_all(in.u, w.u.data(), stepper_.controls());
    take_step(stepper_, w, stepper_.hard());
    if (stepper_.hard())
      duals.hard.plain = {w.tape.data() + stepper_.tape_per_evaluation(), w.c.contact.shapes.data()};
  }
  void load_inputs(const Inputs<Real>& in, const Inputs<Real>& in_dot, Work<D>& w) const {
    load_dual(in.p, in_dot.p, w.p.data(), stepper_.tree.p.size);
    prepare_units(stepper_.tree.p, w.p.data());
    load_dual(in.x, in_dot.x, w.x.data(), stepper_.states());
    load_dual(in.u, in_dot.u, w.u.data(), stepper_.controls());
  }

  // Scratch with the parameters in it, unit vectors made unit. A rollout asks for the same ones run after run; split steps write to theirs.
  Work<S>& prepared(const Real* p, Workspace& workspace) const {
    auto& scratch = static_cast<Scratch&>(workspace);
    Work<S>& w = scratch.work;
    const auto count = static_cast<std::size_t>(stepper_.tree.p.size) * kLanes;
    if (!w.split && scratch.seen.size() == count &&
        std::memcmp(scratch.seen.data(), p, count * sizeof(Real)) == 0)
      return w;
    load_all(p, w.p.data(), stepper_.tree.p.size);
    prepare_units(stepper_.tree.p, w.p.data());
    scratch.seen.assign(p, p + count);
    return w;
  }

  void step_prepared(const Inputs<Real>& in, Real* y, Real* tape, Work<S>& w) const {
    load_all(in.x, w.x.data(), stepper_.states());
    load_all(in.u, w.u.data(), stepper_.controls());
    const bool in_place = tape && lies_as_packs(tape, w);
    if (in_place) w.tape.lie_at(reinterpret_cast<S*>(tape));
    take_step(stepper_, w, tape != nullptr);
    store_all(w.y.data(), y, stepper_.states());
    if (tape && !in_place) store_all(w.tape.data(), tape, stepper_.tape_size());
    w.tape.lie_here();
  }

  // A rollout's tape is laid out as packs: a step can write to it and its transpose read it without a copy. Split steps use theirs for
  // several parts.
  static bool lies_as_packs(const Real* tape, const Work<S>& w) {
    return !w.split && reinterpret_cast<std::uintptr_t>(tape) % alignof(S) == 0;
  }

  void step_vjp_prepared(const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                         const Cotangents<Real>& bar, const Activity& active, bool frames, Work<S>& w) const {
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
    Wanted wanted{nullptr, nullptr, false};
    if (bar.p) wanted = {&active, &stepper_.tree.p.field_of, frames};
    take_step_vjp(stepper_, w, wanted);
    w.tape.lie_here();
    store_all(w.x_bar.data(), bar.x, stepper_.states());
    if (bar.u) store_all(w.u_bar.data(), bar.u, stepper_.controls());
  }

  std::size_t field_of(int parameter) const {
    return static_cast<std::size_t>(stepper_.tree.p.field_of[static_cast<std::size_t>(parameter)]);
  }
  // Mass and inertia of everything that a dof moves, and its armature: zero if there is none at all.
  Real inertia_behind(const Inputs<Real>& in, int lane, int dof) const {
    const Tree& tree = stepper_.tree;
    const TreeDof& d = tree.dofs[static_cast<std::size_t>(dof)];
    Real sum = in.p[tree.joints[static_cast<std::size_t>(d.joint)].p.armature * kLanes + lane];
    for (std::size_t i = static_cast<std::size_t>(d.body); i < tree.bodies.size(); ++i) {
      int up = static_cast<int>(i);
      while (up > d.body) up = tree.bodies[static_cast<std::size_t>(up)].parent;
      if (up != d.body) continue;
      const BodyParameters& at = tree.bodies[i].p;
      sum += in.p[at.mass * kLanes + lane];
      for (int k = 0; k < 3; ++k) sum += in.p[(at.inertia + k) * kLanes + lane];
    }
    return sum;
  }

  Signature signature_;
  Stepper stepper_;
  std::vector<std::string> joint_names_, geom_names_;
};

}  // namespace

std::vector<double> initial_state(const Model& model) {
  std::vector<double> x = model.qpos0;
  const std::size_t rest = std::size_t(model.nv) + std::size_t(model.na);
  x.insert(x.end(), rest, 0.0);
  return x;
}

std::vector<double> initial_state(const Model& model, const std::string& keyframe) {
  std::vector<std::string> names;
  for (const Keyframe& k : model.keyframes) {
    if (k.name != keyframe) {
      names.push_back(k.name);
      continue;
    }
    std::vector<double> x = k.qpos;
    x.insert(x.end(), k.qvel.begin(), k.qvel.end());
    x.insert(x.end(), k.act.begin(), k.act.end());
    return x;
  }
  const std::string nearest = nearest_name(keyframe, names);
  throw Error({"the model has no keyframe '" + keyframe + "'", "rigid::initial_state",
               names.empty()     ? "it has none at all"
               : nearest.empty() ? "it has '" + names.front() + "'"
                                 : "did you mean '" + nearest + "'?"});
}

template <class Real>
std::shared_ptr<System<Real>> make_system(const Model& model, const SystemOptions& options) {
  return std::make_shared<RigidSystem<Real>>(model, options);
}
template std::shared_ptr<System<float>> make_system<float>(const Model&, const SystemOptions&);
template std::shared_ptr<System<double>> make_system<double>(const Model&, const SystemOptions&);

}  // namespace costate::rigid
