#include "costate/system/program/program_system.h"

#include <algorithm>
#include <utility>

#include "costate/core/pack.h"

namespace costate {

template <class Real>
int strip_lanes(std::int64_t worlds) {
  constexpr int width = kNativeLanes<Real>, strip = 16 * width;
  if (worlds <= 1) return 1;
  if (worlds >= 1 << 20) return strip;
  const std::int64_t blocks = (worlds + strip - 1) / strip;
  const std::int64_t each = (worlds + blocks - 1) / blocks;
  return static_cast<int>((each + width - 1) / width * width);
}
template int strip_lanes<float>(std::int64_t);
template int strip_lanes<double>(std::int64_t);

template <class Real>
struct ProgramSystem<Real>::Scratch : Workspace {
  std::unique_ptr<typename StepProgram<Real>::Scratch> step;
  static auto& of(Workspace& work) { return *static_cast<Scratch&>(work).step; }
};

template <class Real>
ProgramSystem<Real>::ProgramSystem(Signature signature, ad::Program bound, int lanes)
    : signature_(std::move(signature)), lanes_(lanes), step_(signature_, std::move(bound)) {}

template <class Real>
std::unique_ptr<Workspace> ProgramSystem<Real>::make_workspace() const {
  auto scratch = std::make_unique<Scratch>();
  scratch->step = step_.make_scratch();
  return scratch;
}

template <class Real>
void ProgramSystem<Real>::step(const StepContext& at, const Inputs<Real>& in, Real* y, Real*,
                               Workspace& work) const {
  step_.step(at.k, in, y, lanes_, Scratch::of(work));
}

template <class Real>
void ProgramSystem<Real>::step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                                   Real* y, Real* y_dot, Workspace& work) const {
  step_.jvp(at.k, in, in_dot, y, y_dot, lanes_, Scratch::of(work));
}

template <class Real>
void ProgramSystem<Real>::begin_run(const Real* p, Real*, const Activity&, Workspace& work) const {
  step_.hold_parameters(p, lanes_, Scratch::of(work));
}

template <class Real>
void ProgramSystem<Real>::end_run(const Real*, Real*, const Activity&, Workspace& work) const {
  step_.release_parameters(Scratch::of(work));
}

template <class Real>
void ProgramSystem<Real>::step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*,
                                   const Real* y_bar, const Cotangents<Real>& bar, const Activity& active,
                                   Workspace& work) const {
  step_.vjp(at.k, in, y_bar, bar, active, lanes_, Scratch::of(work));
}

template <class Real>
void ProgramSystem<Real>::step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                                   const Real* y_bar, const Real* y_bar_dot, const Cotangents<Real>& bar,
                                   const Cotangents<Real>& bar_dot, const Activity& active,
                                   Workspace& work) const {
  step_.hvp(at.k, in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, lanes_, Scratch::of(work));
}

template class ProgramSystem<float>;
template class ProgramSystem<double>;

template <class Real>
std::shared_ptr<System<Real>> program_system(const Signature& signature, const ad::Program& program,
                                             const Scheme& scheme, std::int64_t worlds) {
  const bool timed = reads_time(signature, program);
  return std::make_shared<ProgramSystem<Real>>(with_time_step(signature, scheme, timed),
                                               bind_step(signature, program, scheme),
                                               strip_lanes<Real>(worlds));
}

template <class Real>
std::shared_ptr<System<Real>> equations_system(const Signature& signature, std::string_view text,
                                               const Scheme& scheme, std::int64_t worlds) {
  return program_system<Real>(signature, parse_step(signature, text, scheme), scheme, worlds);
}

#define COSTATE_INSTANTIATE(Real)                                                                   \
  template std::shared_ptr<System<Real>> program_system<Real>(const Signature&, const ad::Program&, \
                                                              const Scheme&, std::int64_t);         \
  template std::shared_ptr<System<Real>> equations_system<Real>(const Signature&, std::string_view, \
                                                                const Scheme&, std::int64_t);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate
