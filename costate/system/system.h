// System: a simulator is a step and its transpose.
//
//   y       = step(x, u, p)                          x state, u control, p parameters
//   y_dot   = step_jvp(x, u, p; x_dot, u_dot, p_dot)   tangent, forward mode
//   x_bar,.. = step_vjp(x, u, p; y_bar)               cotangent, reverse mode
//
// Every physics implements these; rollouts, checkpointing, losses, reports, estimators, optimisers and the
// bindings are written once against them. Two kinds of physics stand behind the same interface:
//
//   small, many worlds   lanes() worlds are stepped together, one per SIMD lane (LaneSystem does this from a
//                        kernel)
//   large, one world     lanes() == 1; the step is parallel inside
//
// A *block* is lanes() worlds. All numbers of a block lie as [index][lane]: number i of lane l is at i *
// lanes + l, so one large world is a plain array and many small worlds load straight into registers.
//
// Rules. Inputs are never written to. A step is a pure function: noise comes from (seed, world, step) by
// Philox, time from the step's index. No allocation inside: scratch is a Workspace made beforehand. Asked for
// a derivative it does not have, a System throws; it never answers zero.
//
// Tests: tests/system/ (contract tests that every physics also runs: tests/system/contract.h).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "costate/system/activity.h"
#include "costate/system/diagnostics.h"
#include "costate/system/signature.h"

namespace costate {

// Where in a rollout a step stands. Lane l of the block is world `world + l`.
struct StepContext {
  std::int64_t k = 0;
  std::int64_t world = 0;
  std::uint64_t seed = 0;
};

// Scratch of one block. A physics derives its own; nobody reads it between calls, except the diagnostics.
class Workspace {
 public:
  virtual ~Workspace() = default;
  Diagnostics diagnostics;
};

// Pointers to the numbers of one block.
template <class Real>
struct Inputs {
  const Real* x = nullptr;
  const Real* u = nullptr;
  const Real* p = nullptr;
};
template <class Real>
struct Cotangents {
  Real* x = nullptr;  // overwritten: exactly one step reads a state
  Real* u = nullptr;  // added to: several steps may share a control; null: not wanted
  Real* p = nullptr;  // added to: all steps share the parameters; null: not wanted
};

// Consecutive steps [first, first + count) of one block.
template <class Real>
struct Run {
  std::int64_t first = 0, count = 0;
  std::int64_t world = 0;
  std::uint64_t seed = 0;
  const Real* u = nullptr;  // control knots of the whole rollout, each controls() x lanes numbers
  std::int64_t hold = 1;    // steps that share a knot
  const Real* p = nullptr;

  StepContext context(std::int64_t k) const { return {k, world, seed}; }
};

// Consecutive block states: state number j lies in slot (start + j) % slots.
template <class Real>
struct Ring {
  Real* base = nullptr;
  std::int64_t slots = 2;
  std::int64_t start = 0;

  std::int64_t slot(std::int64_t j) const { return (start + j) % slots; }
  std::int64_t next(std::int64_t slot) const { return slot + 1 == slots ? 0 : slot + 1; }
};

// What steps leave for their own transposes: a shortcut that a transpose can do without, at the price of
// computing something again. The numbers are a pure function of the step's (x, u, p).
//
// A rollout tells a System its TapeBudget and the System answers with a TapePlan. The budget has no say over
// results: with every plan that a System gives, a gradient has the same bits. What step() wrote is for
// step_vjp(), and what advance() wrote for reverse().
struct TapeBudget {
  std::int64_t numbers =
      std::numeric_limits<std::int64_t>::max();  // per lane and step that there is room for
  bool keeps_states = true;  // the states lie beside the tape in any case; false: they need not
};
struct TapePlan {
  std::int64_t size = 0;           // numbers per lane and step; 0: no tape
  bool instead_of_states = false;  // step_vjp gets the tape alone, in.x is null. Only without keeps_states
};

// The tapes of consecutive steps, each size x lanes numbers: that of the j-th is `stride` past the one
// before.
template <class Real>
struct Tape {
  Real* base = nullptr;  // null: none
  std::int64_t stride = 0;

  Real* at(std::int64_t j) const { return base ? base + j * stride : nullptr; }
};

template <class Real>
class System {
 public:
  virtual ~System() = default;

  virtual const Signature& signature() const = 0;
  virtual int lanes() const { return 1; }
  virtual std::unique_ptr<Workspace> make_workspace() const { return std::make_unique<Workspace>(); }

  virtual TapePlan tape(const Activity&, const TapeBudget&) const { return {}; }

  struct Capabilities {
    bool jvp = true, vjp = true, second_order = false, reversible = false, energy = false;
  };
  virtual Capabilities capabilities() const { return {}; }

  // y = step(x, u, p). Null tape: not wanted, or for the transpose not there.
  virtual void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
                    Workspace& work) const = 0;

  // y and y_dot. A null pointer in `in_dot` stands for zero.
  virtual void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                        Real* y_dot, Workspace& work) const;

  virtual void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                        const Cotangents<Real>& bar, const Activity& active, Workspace& work) const;

  // Forward tangent of step_vjp: bar as step_vjp, bar_dot its rate when the inputs move along in_dot and
  // y_bar along y_bar_dot.
  virtual void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                        const Real* y_bar, const Real* y_bar_dot, const Cotangents<Real>& bar,
                        const Cotangents<Real>& bar_dot, const Activity& active, Workspace& work) const;

  // x from y = step(x, u, p), for time-reversible integrators; in.x is not read.
  virtual void step_back(const StepContext& at, const Inputs<Real>& in, const Real* y, Real* x,
                         Workspace& work) const;

  // Energy of each lane at (x, p), where the physics conserves one.
  virtual void energy(const Inputs<Real>& in, Real* value, Workspace& work) const;

  // What is wrong with the inputs of one lane, where that can be said: the reason to give for a step that is
  // not finite, and what to do. in.u may be null. Empty: nothing that the physics knows of.
  struct Fault {
    std::string what, advice;
  };
  virtual Fault fault(const Inputs<Real>& in, int lane) const;

  // --- runs of steps ------------------------------------------------------------------------------------

  // Steps between begin_run and end_run share the parameters p, which do not change: what depends on them
  // alone is prepared once. Where p_bar is given, transposes may hold back what they add to it until end_run;
  // nobody else touches those numbers in between. Steps outside of a run are runs of one step.
  virtual void begin_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const;
  virtual void end_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const;

  // A part of a run, in one call. The defaults loop over step and step_vjp; LaneSystem keeps the state in
  // registers instead.

  // State 0 of the ring is x_first; the state after j steps becomes state j. With more slots than steps the
  // whole trajectory is recorded, with two slots only its end survives: the same code, so the same bits.
  virtual void advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>& tape,
                       Workspace& work) const;

  // The transposes backwards over recorded steps (states[j] = x_{first + j}; null: the tape stands in).
  // Entry 0 of the ring lambda is the cotangent after these steps; entry `count` is the one before them on
  // return. u_bar points to knot 0, like run.u.
  virtual void reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
                       const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
                       Workspace& work) const;

  // --- sizes in numbers -----------------------------------------------------------------------------------
  std::int64_t state_size() const { return signature().states() * lanes(); }
  std::int64_t control_size() const { return signature().controls() * lanes(); }
  std::int64_t parameter_size() const { return signature().parameters() * lanes(); }
};

extern template class System<float>;
extern template class System<double>;

}  // namespace costate
