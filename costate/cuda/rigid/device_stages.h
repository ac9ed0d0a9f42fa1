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

// Steps themselves are called by whole rollouts and by those that cut them.
template <class S>
__noinline__ void step(const Stepper&, StepWork<S>&, bool);
template <class S>
__noinline__ void step_vjp(const Stepper&, StepWork<S>&, const Wanted&);
template <class S>
__noinline__ void other_stages(const Stepper&, StepWork<S>&);
template <class S>
__noinline__ void state_within(const Stepper&, StepWork<S>&, const S&, S*);
template <class S>
__noinline__ S rate_within(const Stepper&, StepWork<S>&, const S*);

}  // namespace costate::rigid
