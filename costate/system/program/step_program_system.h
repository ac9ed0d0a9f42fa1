// StepProgramSystem: a System whose tangents and second derivatives are those of a StepProgram. ProgramSystem
// takes the step and its transpose from the same program; LayeredSystem has its own.
//
// Tests: tests/system/program/program_system_test.cpp, layered_system_test.cpp.
#pragma once

#include <memory>
#include <utility>

#include "costate/system/program/step_program.h"
#include "costate/system/system.h"

namespace costate {

template <class Real>
class StepProgramSystem : public System<Real> {
 public:
  const Signature& signature() const final { return signature_; }
  int lanes() const final { return lanes_; }
  typename System<Real>::Capabilities capabilities() const final {
    return {.jvp = true, .vjp = true, .second_order = true, .reversible = false, .energy = false};
  }

  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const final {
    step_program().jvp(at.k, in, in_dot, y, y_dot, lanes_, program_scratch(work));
  }
  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const final {
    step_program().hvp(at.k, in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, lanes_,
                       program_scratch(work));
  }

 protected:
  struct Scratch : Workspace {
    std::unique_ptr<typename StepProgram<Real>::Scratch> program;
  };

  StepProgramSystem(Signature signature, int lanes) : signature_(std::move(signature)), lanes_(lanes) {}

  virtual const StepProgram<Real>& step_program() const = 0;

  // Made when it is first asked for, unless make_workspace() has done so.
  typename StepProgram<Real>::Scratch& program_scratch(Workspace& work) const {
    auto& scratch = static_cast<Scratch&>(work).program;
    if (!scratch) scratch = step_program().make_scratch();
    return *scratch;
  }

  Signature signature_;
  int lanes_;
};

}  // namespace costate
