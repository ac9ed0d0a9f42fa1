// The evaluation of a step and its transpose, declared before their definitions so that a GPU's compiler
// compiles each once and calls it, instead of writing it out for every integrator and every kernel. An
// evaluation is long: a call costs nothing beside it, and the kernels compile faster. Never included on the
// host.
#pragma once

namespace costate::rigid {

struct Stepper;
struct Wanted;
template <class S>
struct StateIn;
template <class S>
struct StepWork;

template <class S>
__noinline__ void evaluate(const Stepper&, const S*, const StateIn<S>&, S*, StepWork<S>&);
template <class S>
__noinline__ void evaluate_vjp(const Stepper&, const StateIn<S>&, const S*, const Wanted&, S*, S*, S*,
                               StepWork<S>&);

}  // namespace costate::rigid
