#include "costate/rigid/step/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<NativePack<float>>&, bool);
template void first_stage(const Stepper&, StepWork<NativePack<float>>&);
template void other_stages(const Stepper&, StepWork<NativePack<float>>&);
template NativePack<float> step_error(const Stepper&, StepWork<NativePack<float>>&);
template void state_within(const Stepper&, StepWork<NativePack<float>>&, const NativePack<float>&,
                           NativePack<float>*);
template NativePack<float> rate_within(const Stepper&, StepWork<NativePack<float>>&,
                                       const NativePack<float>*);
template void step_vjp(const Stepper&, StepWork<NativePack<float>>&, const Wanted&);

}  // namespace costate::rigid
