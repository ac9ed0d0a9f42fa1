// ProgramSystem: physics given as a Program or as equations in text: no compiler needed.
//
//   Signature s;
//   s.state("x").state("y").parameter("a", 1.0);
//   auto system = equations_system<double>(s, "x_dot = y; y_dot = -a*sin(x)", rk4(0.01));
//
// The whole step, all stages of an integrator included, is one straight program: common subexpressions are
// shared between stages, and each instruction works on a strip of worlds that stays in the L1 cache.
//
// Tests: tests/system/program/program_system_test.cpp. The names a program may read: bind_program.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "costate/ad/program.h"
#include "costate/system/program/explicit_step.h"
#include "costate/system/program/recorded_step.h"
#include "costate/system/program/step_program_system.h"

namespace costate {

inline constexpr std::int64_t kManyWorlds = INT64_MAX;

// Lanes of an interpreted block: a strip for many worlds, cut to equal blocks of whole packs for fewer, and 1
// (plain numbers) for a single world.
template <class Real>
int strip_lanes(std::int64_t worlds);

template <class Real>
class ProgramSystem final : public StepProgramSystem<Real>, public RecordedStep {
  using Base = StepProgramSystem<Real>;
  using Base::lanes_, Base::program_scratch;

 public:
  // `bound`: from bind_step.
  ProgramSystem(Signature signature, ad::Program bound, int lanes);

  std::unique_ptr<Workspace> make_workspace() const override;
  const ad::Program& program() const override { return step_.program(); }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override;
  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override;
  void begin_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override;
  void end_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override;

 private:
  const StepProgram<Real>& step_program() const override { return step_; }

  StepProgram<Real> step_;
};

extern template class ProgramSystem<float>;
extern template class ProgramSystem<double>;

// `signature` lists the user's own fields; an integrator adds dt and, if the time is read, t0. `worlds`: how
// many the rollout will have, if that is known.
template <class Real>
std::shared_ptr<System<Real>> program_system(const Signature& signature, const ad::Program& program,
                                             const Scheme& scheme = NextState{},
                                             std::int64_t worlds = kManyWorlds);
template <class Real>
std::shared_ptr<System<Real>> equations_system(const Signature& signature, std::string_view text,
                                               const Scheme& scheme = NextState{},
                                               std::int64_t worlds = kManyWorlds);

}  // namespace costate
