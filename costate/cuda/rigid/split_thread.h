// What one thread of a GPU does for rigid bodies whose steps are cut where contacts begin and end: one world,
// all steps of a run (rigid/step/split_step.h).
//
// The worlds of a warp go on like those of a pack: each takes the part of the step that it has come to, and
// none waits for another's step to end. The tape of a rollout holds the state of every step and, where memory
// allows, the tapes of its first parts and its record. Without them a step is taken again, right before its
// transpose.
//
// What its transposes would notice for the report is left out (docs/cuda.md).
// Tests: tests/cuda/device_rigid_test.cpp.
#pragma once

#include "costate/cuda/rigid/rigid_thread.h"
#include "costate/rigid/step/split_step_transpose.h"

namespace costate::cuda {

template <class S>
class SplitThread : public RigidThread<S> {
 public:
  SplitThread(const RigidModel& model, const DeviceRun<S>& run, const WorldOfThread& world)
      : RigidThread<S>(model, run, world), split_(stepper_) {}

  // The state becomes that after all steps of the run.
  void advance(const DeviceTape<S>& tape) {
    take({*this, int(run_.first), int(run_.first + run_.count), &tape}, tape.base && tape.extra > 0);
  }

  void reverse(const RigidModel& model, const DeviceTape<S>& tape, const DeviceCotangents<S>& bar) {
    this->begin_reverse(model, bar);
    std::copy(w_.x_bar.begin(), w_.x_bar.end(), split_.lambda.begin());
    std::fill(w_.u_bar.begin(), w_.u_bar.end(), S(0));
    const int first = int(run_.first), last = int(run_.first + run_.count) - 1;
    if (tape.extra > 0) {
      transpose({*this, last, first, tape, bar});
    } else {
      for (int k = last; k >= first; --k) {
        this->load_state(this->state_of(tape, k));
        take({*this, k, k + 1, nullptr}, true);
        transpose({*this, k, k, tape, bar});
      }
    }
    std::copy(split_.lambda.begin(), split_.lambda.end(), w_.x_bar.begin());
    this->fold_length();
    this->end_reverse(bar);
  }

 private:
  using RigidThread<S>::stepper_;
  using RigidThread<S>::run_;
  using RigidThread<S>::w_;

  // Where the tapes of step k lie, one after the other, and behind them its record: null if in the scratch.
  S* tapes_of(const DeviceTape<S>* tape, int k) const { return tape ? this->extra_of(*tape, k) : nullptr; }
  S* record_of(S* tapes) const { return tapes + std::int64_t(split_.tapes.size()) * run_.worlds; }
  std::int64_t tape_of_part() const { return std::int64_t(split_.number) * stepper_.tape_of_step(); }

  // Steps from k to end: what split_step_worlds.h asks of who runs them. The state lies in split_.end.
  struct Forward {
    SplitThread& of;
    int k, end_step;
    const DeviceTape<S>* tape;  // null: tapes and record stay in the scratch

    bool begin(bool idle) {
      if (!idle || k == end_step) return false;
      std::copy(of.split_.end.begin(), of.split_.end.end(), of.split_.now.x.begin());
      of.load_controls(k);
      if (tape && tape->base) of.store(of.split_.end.data(), of.state_of(*tape, k), of.stepper_.states());
      return true;
    }
    void keep_tape(bool worlds) {
      if (!worlds || !(of.split_.number < S(rigid::kTapesKept))) return;
      const int size = of.stepper_.tape_of_step();
      if (!tape)
        std::copy(of.w_.tape.begin(), of.w_.tape.begin() + size, of.split_.tapes.data() + of.tape_of_part());
      else
        of.store(of.w_.tape.data(), of.tapes_of(tape, k) + of.tape_of_part() * of.run_.worlds, size);
    }
    void end(bool worlds, bool with_tape) {
      if (!worlds) return;
      std::copy(of.w_.y.begin(), of.w_.y.end(), of.split_.end.begin());
      if (with_tape && tape)
        of.store(of.split_.record.data(), of.record_of(of.tapes_of(tape, k)),
                 of.stepper_.record_used(int(of.split_.number)));
      ++k;
    }
  };

  // Transposes of the steps from k down to first. The cotangent lies in split_.lambda.
  struct Back {
    SplitThread& of;
    int k, first;
    const DeviceTape<S>& tape;
    const DeviceCotangents<S>& bar;

    bool begin_transpose(bool idle) {
      if (!idle || k < first) return false;
      of.load(of.state_of(tape, k), of.split_.parts[0].x.data(), of.stepper_.states());
      of.load_controls(k);
      if (S* const tapes = of.tapes_of(&tape, k)) {
        const rigid::Stepper& stepper = of.stepper_;
        S* const record = of.split_.record.data();
        of.load(of.record_of(tapes), record, stepper.record_head());
        const int parts = int(rigid::recorded_parts(stepper, of.split_));
        of.load(of.record_of(tapes), record, stepper.record_used(parts));
      }
      return true;
    }
    void recall_tape(bool worlds) {
      if (!worlds) return;
      const int size = of.stepper_.tape_of_step();
      if (S* const tapes = of.tapes_of(&tape, k)) {
        of.load(tapes + of.tape_of_part() * of.run_.worlds, of.split_.part_tape.data(), size);
      } else {
        const S* const from = of.split_.tapes.data() + of.tape_of_part();
        std::copy(from, from + size, of.split_.part_tape.data());
      }
    }
    void end_transpose(bool worlds, bool) {
      if (!worlds) return;
      of.add_controls(k, bar.u);
      of.note_norm(k, of.split_.lambda, bar);
      --k;
    }
  };

  void take(Forward steps, bool with_tape) {
    std::copy(w_.x.begin(), w_.x.end(), split_.end.begin());
    rigid::take_steps<S>(stepper_, with_tape, steps, w_, split_);
    std::copy(split_.end.begin(), split_.end.end(), w_.x.begin());
  }
  void transpose(Back steps) { rigid::transpose_steps<S>(stepper_, this->wanted_, steps, w_, split_); }

  void add_controls(int k, S* u_bar) {
    S* const knot_bar = this->knot_of(k, u_bar);
    if (!knot_bar) return;
    const int n = stepper_.controls();
    for (int i = 0; i < n; ++i) {
      if (this->writes_) knot_bar[i * run_.worlds + this->index_] += w_.u_bar[i];
      w_.u_bar[i] = S(0);
    }
  }

  rigid::SplitWork<S> split_;
};

// As advance_rigid and reverse_rigid.
template <class S>
void advance_split(const RigidModel& model, const DeviceRun<S>& run, const WorldOfThread& of, const S* from,
                   S* to, const DeviceTape<S>& tape, char* diverged) {
  SplitThread<S> world(model, run, of);
  world.load_state(from);
  const bool finite = world.finite();
  world.advance(tape);
  world.store_state(to);
  if (!(finite && world.finite()) && of.writes) diverged[of.index] = 1;
}

template <class S>
void reverse_split(const RigidModel& model, const DeviceRun<S>& run, const WorldOfThread& of,
                   const DeviceTape<S>& tape, const DeviceCotangents<S>& bar) {
  SplitThread<S>(model, run, of).reverse(model, tape, bar);
}

}  // namespace costate::cuda
