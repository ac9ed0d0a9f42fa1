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
ProgramSystem<Real>::ProgramSystem(Signature signature, ad::Program bound, int lanes)
    : Base(std::move(signature), lanes), step_(this->signature_, std::move(bound)) {}

template <class Real>
std::unique_ptr<Workspace> ProgramSystem<Real>::make_workspace() const {
  auto scratch = std::make_unique<typename Base::Scratch>();
  scratch->program = step_.make_scratch();
  return scratch;
}

template <class Real>
void ProgramSystem<Real>::step(const StepContext& at, const Inputs<Real>& in, Real* y, Real*,
                               Workspace& work) const {
  step_.step(at.k, in, y, lanes_, program_scratch(work));
}

template <class Real>
void ProgramSystem<Real>::begin_run(const Real* p, Real*, const Activity&, Workspace& work) const {
  step_.hold_parameters(p, lanes_, program_scratch(work));
}

template <class Real>
void ProgramSystem<Real>::end_run(const Real*, Real*, const Activity&, Workspace& work) const {
  step_.release_parameters(program_scratch(work));
}

template <class Real>
void ProgramSystem<Real>::step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*,
                                   const Real* y_bar, const Cotangents<Real>& bar, const Activity& active,
                                   Workspace& work) const {
  step_.vjp(at.k, in, y_bar, bar, active, lanes_, program_scratch(work));
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
