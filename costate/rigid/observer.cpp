#include "costate/rigid/observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "costate/ad/dual.h"
#include "costate/core/error.h"
#include "costate/core/pack.h"
#include "costate/rigid/observe/look.h"
#include "costate/rigid/observe/resolve.h"
#include "costate/rigid/step/step.h"

namespace costate::rigid {
namespace {

template <class S>
std::vector<S> prepared(const Tree& tree, const value_t<S>* from, int stride) {
  std::vector<S> p(tree.p.prepared_size);
  for (int i = 0; i < tree.p.size; ++i) p[i] = load<S>(from + i * stride);
  prepare_units(tree.p, p.data());
  return p;
}

std::vector<double> defaults_of(const Signature& signature) {
  std::vector<double> p;
  for (const Field& f : signature.fields(Role::parameter)) {
    for (std::int64_t i = 0; i < f.size; ++i)
      p.push_back(f.defaults[f.defaults.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
  }
  return p;
}

}  // namespace

struct Observer::Plan : ObserverPlan {};

namespace {

template <class Real>
class ObservedObjective final : public Objective<Real> {
  using S = NativePack<Real>;
  using D = Dual<S>;
  static constexpr int kLanes = lanes_of<S>;
  using At = typename Objective<Real>::At;

 public:
  ObservedObjective(std::shared_ptr<const ObserverPlan> plan, ObjectivePtr<Real> of)
      : plan_(std::move(plan)), of_(std::move(of)) {}

  void check(std::int64_t steps, std::int64_t worlds) const override { of_->check(steps, worlds); }
  std::int64_t next(std::int64_t k, std::int64_t steps) const override { return of_->next(k, steps); }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override { return of_->previous(k, steps); }

  void value(const At& at, double* loss) const override {
    const auto s = looks_.take(*plan_);
    look(at, {}, *s);
    At inner = at;
    inner.in.x = reinterpret_cast<const Real*>(s->z.data());
    of_->value(inner, loss);
    looks_.give_back(s);
  }

  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    const auto s = looks_.take(*plan_);
    look(at, {}, *s);
    At inner = at;
    inner.in.x = reinterpret_cast<const Real*>(s->z.data());
    std::fill(s->z_bar.begin(), s->z_bar.end(), S(0));
    of_->vjp(inner, {reinterpret_cast<Real*>(s->z_bar.data()), bar.u, bar.p});
    s->observe_vjp(bar.p != nullptr);
    add_cotangents(at, *s, bar, [](const S& number) { return number; });
    looks_.give_back(s);
  }

  // The transpose, carried on duals: its tangent is the second derivative.
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override {
    const auto s = duals_.take(*plan_);
    look(at, in_dot, *s);
    const std::size_t n = s->z.size();
    std::vector<S> z(n), z_dot(n), z_bar(n, S(0)), z_bar_dot(n, S(0));
    for (std::size_t i = 0; i < n; ++i) z[i] = s->z[i].v, z_dot[i] = s->z[i].d[0];
    const auto numbers = [](std::vector<S>& packs) { return reinterpret_cast<Real*>(packs.data()); };
    At inner = at;
    inner.in.x = numbers(z);
    of_->vjp(inner, {numbers(z_bar), nullptr, nullptr});
    of_->hvp(inner, {numbers(z_dot), in_dot.u, in_dot.p}, {numbers(z_bar_dot), bar_dot.u, bar_dot.p});
    for (std::size_t i = 0; i < n; ++i) s->z_bar[i] = D(z_bar[i], z_bar_dot[i]);
    s->observe_vjp(bar_dot.p != nullptr);
    add_cotangents(at, *s, bar_dot, [](const D& number) { return number.d[0]; });
    duals_.give_back(s);
  }

 private:
  // An objective is shared by the threads of a rollout: each takes scratch of its own.
  template <class T>
  class Looks {
   public:
    std::shared_ptr<Look<T>> take(const ObserverPlan& plan) {
      const std::lock_guard lock(mutex_);
      if (free_.empty()) return std::make_shared<Look<T>>(plan);
      auto s = std::move(free_.back());
      free_.pop_back();
      return s;
    }
    void give_back(const std::shared_ptr<Look<T>>& s) {
      const std::lock_guard lock(mutex_);
      free_.push_back(s);
    }

   private:
    std::mutex mutex_;
    std::vector<std::shared_ptr<Look<T>>> free_;
  };

  static void load_number(const Real* from, const Real*, S& to) { to = load<S>(from); }
  static void load_number(const Real* from, const Real* rate, D& to) {
    to = D(load<S>(from), rate ? load<S>(rate) : S(0));
  }

  // What the inner objective sees in the place of the state, in s.z.
  template <class T>
  void look(const At& at, const Inputs<Real>& in_dot, Look<T>& s) const {
    if (at.lanes != kLanes) throw Error("an observer belongs to the system of its own model and precision");
    if (plan_->needs_controls && !at.in.u && !s.u.empty())
      throw Error({"a force is asked for at the end of the rollout, where there is no control",
                   "step " + std::to_string(at.k),
                   "ask at earlier steps: loss.track, or an expression with its steps"});
    const auto load_all = [](const Real* from, const Real* rate, std::vector<T>& to, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i)
        load_number(from + i * kLanes, rate ? rate + i * kLanes : nullptr, to[i]);
    };
    load_all(at.in.x, in_dot.x, s.x, s.x.size());
    load_all(at.in.p, in_dot.p, s.p, std::size_t(plan_->tree.p.size));
    if (plan_->needs_controls && at.in.u) load_all(at.in.u, in_dot.u, s.u, s.u.size());
    prepare_units(plan_->tree.p, s.p.data());
    s.observe();
  }

  // Adds part(cotangent), a pack, of everything that is wanted.
  template <class T, class Part>
  void add_cotangents(const At& at, const Look<T>& s, const Cotangents<Real>& bar, const Part& part) const {
    const auto add_all = [&](Real* to, const std::vector<T>& from, std::size_t n) {
      for (std::size_t i = 0; to && i < n; ++i)
        store<S>(to + i * kLanes, load<S>(to + i * kLanes) + part(from[i]));
    };
    add_all(bar.x, s.x_bar, s.x_bar.size());
    add_all(at.in.u && plan_->needs_controls ? bar.u : nullptr, s.u_bar, s.u_bar.size());
    add_all(bar.p, s.p_bar, std::size_t(plan_->tree.p.size));
  }

  std::shared_ptr<const ObserverPlan> plan_;
  ObjectivePtr<Real> of_;
  mutable Looks<S> looks_;
  mutable Looks<D> duals_;
};

}  // namespace

namespace {

// What a contact model or a constraint has no force for.
void refuse_unknown_forces(const Model& model, const Constraints& cons, const Observed& o,
                           const std::string& path) {
  if (!o.needs_accelerations()) return;
  const ContactParts& parts = parts_of(cons.contact);
  const bool contacts = !cons.pairs.empty();
  if (contacts && (parts.impacts || parts.impulses))
    throw Error({std::string("with contact '") + parts.name +
                     "' bodies exchange impulses over a step: a state "
                     "has no forces and no accelerations",
                 path, "use contact 'convex'"});
  const bool spatial =
      o.kind == Observed::Kind::acceleration || o.kind == Observed::Kind::angular_acceleration;
  if (contacts && parts.springs && !spatial)
    throw Error({"forces of contact 'penalty' cannot be observed", path, "use contact 'convex'"});
  const bool held = o.kind == Observed::Kind::force || o.kind == Observed::Kind::torque;
  for (const Tendon& t : model.tendons) {
    if (held && t.type == TendonType::spatial)
      throw Error({"force and torque do not know that tendon '" + t.name + "' pulls on the body", path,
                   "remove spatial tendons from the model, or observe accelerations and contacts"});
  }
  for (const Equality& e : model.equalities) {
    if (held && (e.type == EqualityType::connect || e.type == EqualityType::weld))
      throw Error({"force and torque do not know what equality '" + e.name + "' holds the body with", path,
                   "remove connect and weld from the model, or observe accelerations and contacts"});
  }
}

// Whether the controls of a system are those of its model, with or without forces on dofs.
bool applied_forces_in(const Model& model, const Signature& system, const std::string& path) {
  const auto n = system.controls();
  if (n == model.nu()) return false;
  if (n == model.nu() + model.nv) return true;
  throw Error({"forces depend on the controls, and those of this system are not the model's", path,
               "observe the model itself: a closed loop has its controls inside"});
}

}  // namespace

ObserverPlan make_observer_plan(const Model& model, const Signature& system,
                                const std::vector<Quantity>& quantities, const SystemOptions& options) {
  ObserverPlan made, *const plan = &made;
  Signature own;
  plan->tree = make_tree(model, add_parameters(model, own));
  for (const Quantity& q : quantities) {
    plan->list.push_back(resolve(model, plan->tree.p, q.path));
    const Observed& o = plan->list.back();
    plan->needs_controls |= o.needs_controls();
    plan->forces |= o.needs_accelerations() || o.of_actuator();
    if (o.needs_controls()) plan->applied_forces = applied_forces_in(model, system, q.path);
  }
  if (plan->forces) {
    own = Signature();
    Stepper stepper = make_stepper(model, options, own);
    plan->tree = stepper.tree;
    plan->tree.spinning.clear();  // what an integrator adds to the accelerations
    plan->constraints = stepper.constraints;
  }
  const std::vector<Field>&ours = own.fields(Role::parameter), &theirs = system.fields(Role::parameter);
  const auto same = [](const Field& a, const Field& b) { return a.name == b.name && a.size == b.size; };
  if (theirs.size() < ours.size() || !std::equal(ours.begin(), ours.end(), theirs.begin(), same))
    throw Error(
        {"the system that is observed is not one of this model: it must begin with the model's parameters",
         {},
         "make the loss of the model that is simulated"});
  plan->defaults = defaults_of(own);
  plan->all.parameters.assign(own.fields(Role::parameter).size(), true);
  plan->signature = system;
  plan->states = system.states();
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    Observed& o = plan->list[i];
    refuse_unknown_forces(model, plan->constraints, o, quantities[i].path);
    o.at = int(plan->signature.states());
    plan->signature.state(quantities[i].name, o.size);
    TouchZone zone;
    if (o.kind == Observed::Kind::touch)
      zone = {model.sites[std::size_t(o.element)].type, model.sites[std::size_t(o.element)].size};
    plan->zones.push_back(zone);
  }
  plan->size = plan->signature.states();
  return made;
}

Observer::Observer(const Model& model, const Signature& system, const std::vector<Quantity>& quantities,
                   const SystemOptions& options)
    : plan_(std::make_shared<Plan>(Plan{make_observer_plan(model, system, quantities, options)})) {}

Observer::~Observer() = default;

const Signature& Observer::signature() const { return plan_->signature; }

template <class Real>
ObjectivePtr<Real> Observer::objective(ObjectivePtr<Real> of) const {
  return std::make_shared<ObservedObjective<Real>>(plan_, std::move(of));
}
template ObjectivePtr<float> Observer::objective(ObjectivePtr<float>) const;
template ObjectivePtr<double> Observer::objective(ObjectivePtr<double>) const;

namespace {

// `at` with x, u and p of one world.
void take(const ObserverPlan& plan, const std::vector<double>& x, const std::vector<double>& u,
          const std::vector<double>& p, Look<double>& at) {
  if (plan.needs_controls && u.size() != at.u.size())
    throw Error({"forces depend on the controls: " + std::to_string(at.u.size()) + " are needed, and " +
                     std::to_string(u.size()) + " are given",
                 {},
                 "give u"});
  at.p = prepared<double>(plan.tree, p.empty() ? plan.defaults.data() : p.data(), 1);
  at.x = x;
  if (plan.needs_controls) at.u = u;
}

// After observe(). A body that is nowhere touches nothing, and its contact force would be a plain zero.
bool is_somewhere(const Look<double>& at) {
  const auto finite = [](double v) { return std::isfinite(v); };
  return std::all_of(at.x.begin(), at.x.end(), finite) && std::all_of(at.u.begin(), at.u.end(), finite) &&
         std::all_of(at.d.quat.begin(), at.d.quat.end(),
                     [&](const Quat<double>& q) { return finite(dot(q, q)); });
}
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::vector<double> Observer::values(const std::vector<double>& x, const std::vector<double>& p,
                                     const std::vector<double>& u) const {
  Look<double> at(*plan_);
  take(*plan_, x, u, p, at);
  at.observe();
  if (!is_somewhere(at)) std::fill(at.z.begin(), at.z.end(), kUnknown);
  return {at.z.begin() + plan_->states, at.z.end()};
}

Observer::Pulled Observer::pull_back(const std::vector<double>& x, const std::vector<double>& bars,
                                     const std::vector<double>& p, const std::vector<double>& u) const {
  if (bars.size() != std::size_t(plan_->size - plan_->states))
    throw Error("one cotangent for each number that is observed");
  Look<double> at(*plan_);
  take(*plan_, x, u, p, at);
  at.observe();
  std::fill(at.z_bar.begin(), at.z_bar.end(), 0.0);
  std::copy(bars.begin(), bars.end(), at.z_bar.begin() + plan_->states);
  at.observe_vjp(true);
  at.p_bar.resize(std::size_t(plan_->tree.p.size));
  if (!is_somewhere(at))
    for (auto* bar : {&at.x_bar, &at.u_bar, &at.p_bar}) std::fill(bar->begin(), bar->end(), kUnknown);
  if (!plan_->needs_controls) at.u_bar.clear();
  return {at.x_bar, at.u_bar, at.p_bar};
}

std::vector<std::array<double, 7>> Observer::body_poses(const std::vector<double>& x,
                                                        const std::vector<double>& p) const {
  const Tree& tree = plan_->tree;
  Data<double> d(tree);
  const std::vector<double> ready = prepared<double>(tree, p.empty() ? plan_->defaults.data() : p.data(), 1);
  kinematics(tree, ready.data(), x.data(), d);
  std::vector<std::array<double, 7>> poses;
  for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
    const Vec3<double> at = root_origin(tree, ready.data(), x.data(), tree.bodies[i].root) + d.x[i];
    const Quat<double>& r = d.quat[i];
    poses.push_back({at.x, at.y, at.z, r.w, r.x, r.y, r.z});
  }
  return poses;
}

}  // namespace costate::rigid
