// What one thread of a GPU does for rigid bodies: one world, all steps of a run.
//
//   x_{k+1} = step(x_k, u_k, p)                 k = first ... first + count - 1
//   l_k     = step_vjp(x_k, u_k, p; l_{k+1})    u_bar and p_bar add up on the way
//
// The step is the CPU's (rigid/step/step.h) with S = float or double instead of a pack of worlds. Its scratch
// lies in the thread's own memory, which a GPU interleaves, so that neighbouring threads touch neighbouring
// addresses. The tape of a rollout holds the state of every step and, where memory allows, what the step
// leaves for its transpose: a kilobyte or two per world. Without it a transpose takes the step again.
//
// Steps that are cut where contacts begin and end: split_thread.h.
//
// Nothing here needs a GPU: tests run the same functions on the host. Who calls them: rigid_kernels.h on the
// host, rigid_entries.h on a GPU. Tests: tests/cuda/device_rigid_test.cpp.
#pragma once

#include "costate/cuda/lane_thread.h"
#include "costate/cuda/rigid/no_hard_contact.h"
#include "costate/rigid/step/step_body.h"

namespace costate::cuda {

// A model, and whose cotangents are wanted, where the device can read them.
struct RigidModel {
  const rigid::Stepper* stepper;
  const Activity* active;
  bool frames;    // a frame or an inertia is among them
  const void* p;  // parameters that all worlds share, with unit vectors made unit; or null
};

// Threads of a warp go together: one that has no world of its own goes along with another's and writes
// nothing.
struct WorldOfThread {
  std::int64_t index;
  bool writes;
};

template <class S>
class RigidThread {
 public:
  RigidThread(const RigidModel& model, const DeviceRun<S>& run, const WorldOfThread& world)
      : stepper_(*model.stepper), run_(run), index_(world.index), writes_(world.writes), w_(stepper_) {
    if (const S* const same = static_cast<const S*>(model.p)) {
      // Steps that are cut write the length of each part to theirs.
      bool lies = false;
      if constexpr (requires { w_.p.lie_at(same); }) {
        lies = !stepper_.split;
        if (lies) w_.p.lie_at(same);
      }
      if (!lies) std::copy(same, same + stepper_.tree.p.prepared_size, w_.p.data());
      return;
    }
    load(run.p, w_.p.data(), stepper_.tree.p.size);
    prepare_units(stepper_.tree.p, w_.p.data());
  }

  void load_state(const S* from) { load(from, w_.x.data(), stepper_.states()); }
  void store_state(S* to) const { store(w_.x.data(), to, stepper_.states()); }
  // Where the tape keeps the state before step k, and behind it what the step leaves: null if it leaves
  // nothing.
  S* state_of(const DeviceTape<S>& tape, int k) const {
    return tape.base + (k - tape.begin) * (stepper_.states() + tape.extra) * run_.worlds;
  }
  S* extra_of(const DeviceTape<S>& tape, int k) const {
    return tape.base && tape.extra > 0 ? state_of(tape, k) + stepper_.states() * run_.worlds : nullptr;
  }

  // The state becomes that after step k. extra: where the step's own tape goes, or null.
  void step(int k, S* extra) {
    load_controls(k);
    rigid::step<S>(stepper_, w_, extra != nullptr);
    if (extra) store(w_.tape.data(), extra, stepper_.tape_size());
    std::swap(w_.x, w_.y);
  }

  void begin_reverse(const RigidModel& model, const DeviceCotangents<S>& bar) {
    wanted_ = {nullptr, nullptr, false};
    std::fill(w_.p_bar.begin(), w_.p_bar.end(), S(0));
    load(bar.x, w_.x_bar.data(), stepper_.states());
    if (bar.p == nullptr) return;
    wanted_ = {model.active, &stepper_.tree.p.field_of, model.frames};
    load(bar.p, w_.p_bar.data(), stepper_.tree.p.size);
    w_.p_bar[stepper_.tree.p.whole_dt] = S(0);
  }
  // The cotangent of the state after step k, whose state is the loaded one, becomes that before it.
  void step_vjp(int k, const S* extra, S* u_bar) {
    load_controls(k);
    if (extra)
      load(extra, w_.tape.data(), stepper_.tape_size());
    else
      rigid::step<S>(stepper_, w_, true);
    std::swap(w_.x_bar, w_.y_bar);
    S* const knot_bar = knot_of(k, u_bar);
    if (knot_bar)
      load(knot_bar, w_.u_bar.data(), stepper_.controls());
    else
      std::fill(w_.u_bar.begin(), w_.u_bar.end(), S(0));
    rigid::step_vjp<S>(stepper_, w_, wanted_);
    if (knot_bar) store(w_.u_bar.data(), knot_bar, stepper_.controls());
    fold_length();
  }
  void end_reverse(const DeviceCotangents<S>& bar) const {
    store(w_.x_bar.data(), bar.x, stepper_.states());
    if (bar.p != nullptr) store(w_.p_bar.data(), bar.p, stepper_.tree.p.size);
  }

  bool finite() const {
    for (const S& x : w_.x)
      if (!is_finite(x)) return false;
    return true;
  }
  // |x_bar|^2 of the state before step k, where it is one of those that are kept.
  void note_norm(int k, const std::vector<S>& x_bar, const DeviceCotangents<S>& bar) const {
    const int spacing = int(bar.spacing);
    if (k <= int(run_.first) || k % spacing != 0 || !writes_) return;
    double sum = 0;
    for (const S& x : x_bar) sum += double(x) * double(x);
    bar.norms[std::int64_t(k / spacing) * run_.worlds + index_] = sum;
  }
  void note_norm(int k, const DeviceCotangents<S>& bar) const { note_norm(k, w_.x_bar, bar); }

 protected:
  void load(const S* from, S* to, int n) const {
    for (int i = 0; i < n; ++i) to[i] = from[i * run_.worlds + index_];
  }
  void store(const S* from, S* to, int n) const {
    for (int i = 0; writes_ && i < n; ++i) to[i * run_.worlds + index_] = from[i];
  }
  void load_controls(int k) {
    const S* const knot = run_.u + (k / int(run_.hold)) * run_.u_knot + index_ * run_.u_world;
    for (int i = 0; i < stepper_.controls(); ++i) w_.u[i] = knot[i * run_.u_index];
  }

  S* knot_of(int k, S* u_bar) const {
    return u_bar ? u_bar + (k / int(run_.hold)) * (stepper_.controls() * run_.worlds) : nullptr;
  }
  // What constraints see of the time step is a parameter of its own: kinematics.h.
  void fold_length() {
    if (!wanted_.active) return;
    w_.p_bar[stepper_.tree.p.dt] += w_.p_bar[stepper_.tree.p.whole_dt];
    w_.p_bar[stepper_.tree.p.whole_dt] = S(0);
  }

  const rigid::Stepper& stepper_;
  const DeviceRun<S>& run_;
  std::int64_t index_;
  bool writes_;
  rigid::StepWork<S> w_;
  rigid::Wanted wanted_;
};

// Steps from `from` to `to`. tape: where the states before each step go, or null.
template <class S>
void advance_rigid(const RigidModel& model, const DeviceRun<S>& run, const WorldOfThread& of, const S* from,
                   S* to, const DeviceTape<S>& tape, char* diverged) {
  RigidThread<S> world(model, run, of);
  world.load_state(from);
  bool finite = world.finite();
  const int end = int(run.first + run.count);
  for (int k = int(run.first); k < end; ++k) {
    rigid::keep_in_step();
    if (tape.base != nullptr) world.store_state(world.state_of(tape, k));
    world.step(k, world.extra_of(tape, k));
  }
  finite = finite && world.finite();
  world.store_state(to);
  if (!finite && of.writes) diverged[of.index] = 1;
}

template <class S>
void reverse_rigid(const RigidModel& model, const DeviceRun<S>& run, const WorldOfThread& of,
                   const DeviceTape<S>& tape, const DeviceCotangents<S>& bar) {
  RigidThread<S> world(model, run, of);
  world.begin_reverse(model, bar);
  for (int k = int(run.first + run.count) - 1; k >= int(run.first); --k) {
    rigid::keep_in_step();
    world.load_state(world.state_of(tape, k));
    world.step_vjp(k, world.extra_of(tape, k), bar.u);
    world.note_norm(k, bar);
  }
  world.end_reverse(bar);
}

}  // namespace costate::cuda
