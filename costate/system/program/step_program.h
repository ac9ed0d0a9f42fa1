// StepProgram: a step given as a Program, and its derivatives, run over the lanes of a block.
//
//   step   y                  the program itself
//   jvp    y_dot              ad::jvp of it
//   vjp    x_bar, u_bar, p_bar ad::vjp of it, for the wanted parameters only
//   hvp    their rates        ad::jvp of that vjp
//
// A derivative is made when it is first asked for, for the fields it is asked for, and kept: later calls find
// it in their own Scratch without a lock. Every lane is computed by the same instructions, whatever the
// lanes.
//
// Used by ProgramSystem, LayeredSystem and RecordedLaneSystem.
// Tests: tests/system/program/program_system_test.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "costate/ad/executable.h"
#include "costate/core/aligned_buffer.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/variants.h"
#include "costate/system/system.h"

namespace costate {

template <class Real>
class StepProgram {
 public:
  class Scratch;  // what one block needs; made beforehand

  // `bound`: a program as bind_program.h makes it, with the output "y".
  StepProgram(const Signature& signature, ad::Program bound);

  std::unique_ptr<Scratch> make_scratch() const;

  // As System's maps of the same names, for `lanes` worlds.
  void step(std::int64_t k, const Inputs<Real>& in, Real* y, int lanes, Scratch& scratch) const;
  void jvp(std::int64_t k, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
           int lanes, Scratch& scratch) const;
  void vjp(std::int64_t k, const Inputs<Real>& in, const Real* y_bar, const Cotangents<Real>& bar,
           const Activity& active, int lanes, Scratch& scratch) const;
  void hvp(std::int64_t k, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
           const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
           const Activity& active, int lanes, Scratch& scratch) const;

  // Between these the parameters p do not change: which of them all lanes share is looked up once.
  void hold_parameters(const Real* p, int lanes, Scratch& scratch) const;
  void release_parameters(Scratch& scratch) const;

  const ad::Program& program() const { return program_; }

 private:
  enum Kind { kJvp, kVjp, kHvp, kKinds };
  // A derivative for a choice of fields.
  struct Variant : ChosenFields {
    using ChosenFields::ChosenFields;
    ad::Executable code;
  };
  const Variant& variant(Kind kind, const FieldChoice& choice, Scratch& scratch) const;
  std::unique_ptr<Variant> make(Kind kind, const FieldChoice& choice) const;

  void add_inputs(std::int64_t k, const Inputs<Real>& in, int lanes, Scratch& scratch) const;
  void add_tangents(const Inputs<Real>& in_dot, const Variant& wanted, int lanes, Scratch& scratch) const;
  void add_cotangents(const Cotangents<Real>& bar, const Variant& wanted, int lanes, Scratch& scratch) const;
  void run(const ad::Executable& code, int lanes, Scratch& scratch) const;

  ad::Program program_;
  std::vector<std::int64_t> offsets_, sizes_;  // of the parameter fields
  bool has_controls_ = false;
  ad::Executable step_;
  mutable Variants<Variant> variants_;
};

template <class Real>
class StepProgram<Real>::Scratch {
  friend class StepProgram;
  const Variant* last[kKinds] = {};  // the variant in use
  std::vector<ad::InputBlock<Real>> inputs;
  std::vector<ad::OutputBlock<Real>> outputs;
  AlignedBuffer<std::byte> bytes;
  Real k = 0, zero = 0;
  const Real* held = nullptr;  // parameters that hold_parameters has looked at
  std::vector<char> shared;    // which of their fields all lanes share
};

extern template class StepProgram<float>;
extern template class StepProgram<double>;

}  // namespace costate
