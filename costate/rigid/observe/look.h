// Look: the quantities of one world, or of a pack of worlds, and their transpose, stage by stage.
//
//   accelerations, if forces are asked for; otherwise where the bodies are and how they move
//   each quantity: frames (observe.h), sums (observe_sums.h), forces (observe_forces.h)
//
// Transpose: each quantity puts its cotangents on bodies, dofs and accelerations; one sweep takes them up the
// tree; then the transpose of the accelerations.
// Tests: tests/rigid/dynamics/observer_test.cpp, observe_forces_test.cpp.
#pragma once

#include <algorithm>
#include <optional>

#include "costate/rigid/dynamics/integrate.h"
#include "costate/rigid/observe/observe_forces.h"
#include "costate/rigid/observer.h"

namespace costate::rigid {

// What an Observer looks at.
struct ObserverPlan {
  Tree tree;
  Constraints constraints;  // none where no forces are observed
  std::vector<Observed> list;
  std::vector<TouchZone> zones;  // of each quantity
  Signature signature;           // states, quantities
  std::int64_t states = 0;       // of the system
  std::int64_t size = 0;         // with the quantities
  Activity all;                  // every parameter
  std::vector<double> defaults;
  bool forces = false, needs_controls = false, applied_forces = false;
  int controls() const { return tree.nu + (applied_forces ? tree.nv : 0); }
};

// Throws Error for what the model or its contact model has no numbers for. (observer.cpp)
ObserverPlan make_observer_plan(const Model& model, const Signature& system,
                                const std::vector<Quantity>& quantities, const SystemOptions& options);

// One world or a pack of worlds, looked at.
template <class S>
struct Look {
  explicit Look(const ObserverPlan& the_plan)
      : plan(the_plan),
        d(plan.tree),
        p(plan.tree.p.prepared_size),
        p_bar(p.size()),
        x(plan.states),
        x_bar(x.size()),
        z(plan.size),
        z_bar(z.size()),
        u(plan.controls(), S(0)),
        u_bar(u.size()),
        q_bar(plan.tree.dofs.size()),
        v_bar(q_bar.size()),
        act_bar(plan.tree.na),
        ambient(plan.tree.nq) {
    if (plan.forces) forces.emplace(plan.tree, plan.constraints);
  }

  const ObserverPlan& plan;
  Data<S> d;
  std::optional<ForceScratch<S>> forces;
  std::vector<S> p, p_bar, x, x_bar, z, z_bar, u, u_bar, q_bar, v_bar, act_bar, ambient;

  StateIn<S> in() const {
    const Tree& t = plan.tree;
    const S* q = x.data();
    return {q, q + t.nq, q + t.nq + t.nv, u.data(), plan.applied_forces ? u.data() + t.nu : nullptr};
  }

  // z of x, u and p.
  void observe() {
    const Tree& t = plan.tree;
    std::copy(x.begin(), x.end(), z.begin());
    if (plan.forces) {
      find_accelerations(t, plan.constraints, static_cast<const S*>(p.data()), in(), d, *forces);
    } else {
      kinematics(t, p.data(), x.data(), d);
      tendon_lengths(t, static_cast<const S*>(p.data()), static_cast<const S*>(x.data()), d);
      rnea_forward<S>(t, Vec3<S>::zero(), x.data() + t.nq, nullptr, d);
    }
    for (std::size_t i = 0; i < plan.list.size(); ++i) {
      const Observed& o = plan.list[i];
      if (o.kind == Observed::Kind::state)
        std::copy(x.begin() + o.state, x.begin() + o.state + o.size, z.begin() + o.at);
      else if (o.kind < Observed::Kind::mean)
        observe_frame<S>(t, o, p.data(), x.data(), z.data(), d);
      else if (o.kind < Observed::Kind::force)
        observe_sum<S>(t, o, p.data(), x.data(), z.data(), d);
      else
        observe_force<S>(t, plan.constraints, o, plan.zones[i], p.data(), in(), z.data(), d, *forces);
      if (o.cutoff > 0) cut_off(o);
    }
  }

  // x_bar, u_bar and, where wanted, p_bar of z_bar, after observe().
  void observe_vjp(bool parameters) {
    const Tree& t = plan.tree;
    for (auto* bar : {&q_bar, &v_bar, &act_bar, &u_bar, &p_bar}) std::fill(bar->begin(), bar->end(), S(0));
    clear_body_cotangents(d);
    clear_tendon_cotangents(d);
    for (auto* array : {&d.w, &d.w_before}) std::fill(array->begin(), array->end(), Motion<S>::zero());
    // The states themselves come first among what is observed.
    std::copy(z_bar.begin(), z_bar.begin() + std::ptrdiff_t(x.size()), x_bar.begin());
    for (const Observed& o : plan.list) {
      for (int k = o.at; o.cutoff > 0 && k < o.at + o.size; ++k)
        z_bar[k] = select(abs(z[k]) < S(value_t<S>(o.cutoff)), z_bar[k], S(0));
    }
    S* const to = parameters ? p_bar.data() : nullptr;
    Wanted wanted{nullptr, nullptr, false};
    if (parameters) wanted = {&plan.all, &t.p.field_of, true};
    if (plan.forces) forces->begin_vjp();
    for (std::size_t i = 0; i < plan.list.size(); ++i) one_vjp(i, wanted, to);
    tendon_lengths_vjp<S>(t, p.data(), x.data(), wanted, q_bar.data(), to, d);
    if (plan.forces) forces->recall_arriving(t, d);
    sweep(wanted, to);
    if (plan.forces) accelerations_vjp(wanted, to);
    if (parameters) p_bar[t.p.dt] += p_bar[t.p.whole_dt];
    add_state_cotangents();
  }

 private:
  void cut_off(const Observed& o) {
    const S most = S(value_t<S>(o.cutoff));
    for (int k = o.at; k < o.at + o.size; ++k)
      z[k] = select(z[k] > most, most, select(z[k] < -most, -most, z[k]));
  }

  void one_vjp(std::size_t i, const Wanted& wanted, S* to) {
    const Observed& o = plan.list[i];
    const Tree& t = plan.tree;
    if (o.kind == Observed::Kind::state)
      for (int k = 0; k < o.size; ++k) x_bar[o.state + k] += z_bar[o.at + k];
    else if (o.kind < Observed::Kind::mean)
      observe_frame_vjp<S>(t, o, p.data(), x.data(), z_bar.data(), to, d);
    else if (o.kind < Observed::Kind::force)
      observe_sum_vjp<S>(t, o, p.data(), x.data(), z_bar.data(), q_bar.data(), v_bar.data(), to, d);
    else
      observe_force_vjp<S>(t, plan.constraints, o, plan.zones[i], p.data(), in(), z_bar.data(), wanted,
                           {q_bar.data(), v_bar.data(), act_bar.data(), u_bar.data(), to}, d, *forces);
  }

  // Up the tree.
  void sweep(const Wanted& wanted, S* to) {
    const Tree& t = plan.tree;
    const S *q = x.data(), *qd = q + t.nq, *zeros = d.zeros.data();
    const S* qdd = plan.forces ? d.qacc.data() : zeros;
    joint_sweep<Given::everything>(
        t, qd, qdd, zeros,
        {q_bar.data(), v_bar.data(), plan.forces ? forces->qacc_bar.data() : nullptr, to,
         to && plan.forces ? to + t.p.gravity : nullptr},
        true, d);
    if (to) frame_sweep(t, static_cast<const S*>(p.data()), q, qd, qdd, zeros, true, wanted, to, d);
  }

  void accelerations_vjp(const Wanted& wanted, S* to) {
    const Tree& t = plan.tree;
    std::copy(forces->qacc_bar.begin(), forces->qacc_bar.end(), d.lambda.begin());
    const StateBar<S> bar{q_bar.data(),
                          v_bar.data(),
                          act_bar.data(),
                          u_bar.data(),
                          plan.applied_forces ? u_bar.data() + t.nu : nullptr,
                          to};
    acceleration_vjp<S>(t, plan.constraints, Implicit::none, p.data(), in(), nullptr, nullptr, wanted, bar, d,
                        forces->c);
  }

  void add_state_cotangents() {
    const Tree& t = plan.tree;
    ambient_cotangent(t, static_cast<const S*>(x.data()), q_bar.data(), ambient.data());
    for (int i = 0; i < t.nq; ++i) x_bar[i] += ambient[i];
    for (int i = 0; i < t.nv; ++i) x_bar[t.nq + i] += v_bar[i];
    for (int i = 0; i < t.na; ++i) x_bar[t.nq + t.nv + i] += act_bar[i];
  }
};

}  // namespace costate::rigid
