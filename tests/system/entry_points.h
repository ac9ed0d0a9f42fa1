// The entry points of a System on one block, as functions from inputs to outputs that a test can call again
// and compare.
// Outputs start as NaN and end in guards, so that a number that was not written, or was written beyond the
// end, is seen.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/system/rollout.h"

namespace costate::test {

enum class Entry { step, step_jvp, step_vjp, step_hvp, step_back, energy, advance, reverse };
const char* to_string(Entry entry);

// Runs begin in the middle of a rollout, and in the middle of a control knot.
inline constexpr std::int64_t kFirst = 3, kRun = 5, kHold = 2, kKnots = 4;
inline const RolloutOptions kRunOptions{.steps = kKnots * kHold, .worlds = 1, .hold = kHold};

// One world: its arguments (of a rollout with kRunOptions), and the seed of its tangents and cotangents.
template <class Real>
struct World {
  Arguments<Real> at;
  std::uint64_t seed = 1;
};

// Numbers between guards.
template <class Real>
class Guarded {
 public:
  void assign(std::int64_t size, Real value);
  bool intact() const;
  Real* data() { return buffer_.data(); }
  const Real* data() const { return buffer_.data(); }
  std::vector<Real> numbers() const { return {buffer_.data(), buffer_.data() + size_}; }

 private:
  AlignedBuffer<Real> buffer_;
  std::int64_t size_ = 0;
};

// What an entry point wrote: numbers of a role, [index][lane], for one step or more.
template <class Real>
struct Output {
  std::string what;  // "tangent of the state"
  Role role = Role::state;
  std::vector<Real> numbers;
  // Whose layout, and what it leaves unwritten, is the physics' own: only its transpose is compared.
  bool tape = false;
};
template <class Real>
using Outputs = std::vector<Output<Real>>;

template <class Real>
class EntryPoints {
 public:
  // What one block reads: lane l is world l, the last one fills the rest. With it the run that starts there,
  // recorded.
  struct Inputs {
    Guarded<Real> x, u, p, x_dot, u_dot, p_dot, y_bar, y_bar_dot, states;
    Guarded<Real> step_tapes,
        run_tape;         // of step() for step_vjp(), of advance() for reverse(): their layouts may differ
    bool intact() const;  // the guards
    std::vector<std::vector<Real>> copy();  // of all numbers
  };

  explicit EntryPoints(const System<Real>& system);

  const std::vector<Entry>& offered() const { return offered_; }
  // Tapes are recorded over zeros, or over those of `before`: nobody may depend on what a step does not write
  // there.
  Inputs load(const std::vector<World<Real>>& worlds, const Inputs* before = nullptr) const;
  // Counts the allocations of the call alone.
  Outputs<Real> call(Entry entry, const Inputs& in, Workspace& work, std::int64_t* allocations = nullptr);
  // The run one step at a time, by step() and step_vjp(): what advance() and reverse() must give.
  Outputs<Real> advance_by_steps(const Inputs& in, Workspace& work);
  Outputs<Real> reverse_by_steps(const Inputs& in, Workspace& work);
  // step_vjp() with tangents, cotangents or the tape left out, and with cotangents that it must add to.
  Outputs<Real> vjp(const Inputs& in, Workspace& work, bool controls, bool parameters, Real before,
                    bool tape = true);
  Outputs<Real> vjp_from_tape(const Inputs& in, Workspace& work);
  Outputs<Real> jvp_of_state_alone(const Inputs& in, Workspace& work, bool nulls);

  // "step_vjp, cotangent of body/arm/mass, lane 3": number i of an output.
  std::string describe(Entry entry, const Output<Real>& output, std::size_t i) const;
  testing::AssertionResult same_bits(Entry entry, const Outputs<Real>& a, const Outputs<Real>& b) const;
  // Lane by lane: |a - b| <= gate * the largest number of that output in any lane, or 1.
  testing::AssertionResult close(Entry entry, const Outputs<Real>& a, const Outputs<Real>& b,
                                 double gate) const;
  testing::AssertionResult same_lane(Entry entry, const Outputs<Real>& a, const Outputs<Real>& b,
                                     int lane) const;
  testing::AssertionResult all_written(Entry entry, const Outputs<Real>& outputs) const;

  const System<Real>& system() const { return system_; }
  const Activity& everything() const { return everything_; }
  bool tape_replaces_state() const { return tape_replaces_state_; }

 private:
  void invoke(Entry entry, const Inputs& in, Workspace& work);
  void advance(const Inputs& in, const Ring<Real>& states, Guarded<Real>& tape, Workspace& work) const;
  void reverse(const Inputs& in, Workspace& work);
  costate::Inputs<Real> step_inputs(const Inputs& in, std::int64_t k, const Real* x) const;
  Run<Real> run(const Inputs& in) const { return {kFirst, kRun, 0, kSeed, in.u.data(), kHold, in.p.data()}; }
  StepContext context(std::int64_t k) const { return {k, 0, kSeed}; }
  Outputs<Real> cotangents(const Real* x_bar) const;
  void prepare();

  static constexpr std::uint64_t kSeed = 7;
  const System<Real>& system_;
  const Activity everything_;
  const TapePlan beside_, alone_;  // with the states kept, and without
  const std::int64_t n_, nu_, np_, tape_n_;
  const int lanes_;
  const bool has_tape_;  // a transpose reads it besides the state
  const bool tape_replaces_state_;
  std::vector<Entry> offered_;
  Guarded<Real> y_, y_dot_, x_bar_, x_bar_dot_, u_bar_, u_bar_dot_, p_bar_, p_bar_dot_, ring_, lambda_, tape_;
};

extern template class EntryPoints<float>;
extern template class EntryPoints<double>;

// Whether a step depends on the number of its world: worlds alone and among others then differ, and so do
// lanes of one state.
template <class Real>
bool draws_noise(const System<Real>& system, const Arguments<Real>& at);

}  // namespace costate::test
