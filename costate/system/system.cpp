#include "costate/system/system.h"

#include "costate/core/error.h"
#include "costate/core/interrupt.h"

namespace costate {
namespace {

[[noreturn]] void missing(const char* what, const char* advice) {
  throw Error({std::string("this physics has no ") + what, {}, advice});
}

template <class Real>
Inputs<Real> inputs_of(const System<Real>& system, const Run<Real>& run, std::int64_t k, const Real* x) {
  return {x, run.u ? run.u + (k / run.hold) * system.control_size() : nullptr, run.p};
}

}  // namespace

template <class Real>
void System<Real>::step_jvp(const StepContext&, const Inputs<Real>&, const Inputs<Real>&, Real*, Real*,
                            Workspace&) const {
  missing("forward-mode derivative", "use backward(), or a finite-difference check");
}

template <class Real>
void System<Real>::step_vjp(const StepContext&, const Inputs<Real>&, const Real*, const Real*,
                            const Cotangents<Real>&, const Activity&, Workspace&) const {
  missing("reverse-mode derivative", "use jvp()");
}

template <class Real>
void System<Real>::step_hvp(const StepContext&, const Inputs<Real>&, const Inputs<Real>&, const Real*,
                            const Real*, const Cotangents<Real>&, const Cotangents<Real>&, const Activity&,
                            Workspace&) const {
  missing("second derivatives", "take differences of gradients");
}

template <class Real>
void System<Real>::step_back(const StepContext&, const Inputs<Real>&, const Real*, Real*, Workspace&) const {
  missing("inverse step", "choose another checkpoint schedule than `reversible`");
}

template <class Real>
void System<Real>::energy(const Inputs<Real>&, Real*, Workspace&) const {
  missing("energy", "leave the energy out of the report");
}

template <class Real>
auto System<Real>::fault(const Inputs<Real>&, int) const -> Fault {
  return {};
}

template <class Real>
void System<Real>::begin_run(const Real*, Real*, const Activity&, Workspace&) const {}

template <class Real>
void System<Real>::end_run(const Real*, Real*, const Activity&, Workspace&) const {}

template <class Real>
void System<Real>::advance(const Run<Real>& run, const Ring<Real>& states, const Tape<Real>& tape,
                           Workspace& work) const {
  const std::int64_t size = state_size();
  std::int64_t slot = states.start;
  for (std::int64_t j = 0; j < run.count; ++j) {
    const std::int64_t k = run.first + j, next = states.next(slot);
    step(run.context(k), inputs_of(*this, run, k, states.base + slot * size), states.base + next * size,
         tape.at(j), work);
    slot = next;
    stop_if_interrupted();
  }
}

template <class Real>
void System<Real>::reverse(const Run<Real>& run, const Real* states, const Tape<const Real>& tape,
                           const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
                           Workspace& work) const {
  const std::int64_t size = state_size();
  std::int64_t slot = lambda.start;
  for (std::int64_t j = run.count - 1; j >= 0; --j) {
    const std::int64_t k = run.first + j, next = lambda.next(slot);
    step_vjp(run.context(k), inputs_of(*this, run, k, states ? states + j * size : nullptr), tape.at(j),
             lambda.base + slot * size,
             {lambda.base + next * size, u_bar ? u_bar + (k / run.hold) * control_size() : nullptr, p_bar},
             active, work);
    slot = next;
    stop_if_interrupted();
  }
}

template class System<float>;
template class System<double>;

}  // namespace costate
