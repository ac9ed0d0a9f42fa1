#include "costate/rigid/step/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<NativePack<double>>&, bool);
template void first_stage(const Stepper&, StepWork<NativePack<double>>&);
template void other_stages(const Stepper&, StepWork<NativePack<double>>&);
template NativePack<double> step_error(const Stepper&, StepWork<NativePack<double>>&);
template void state_within(const Stepper&, StepWork<NativePack<double>>&, const NativePack<double>&,
                           NativePack<double>*);
template NativePack<double> rate_within(const Stepper&, StepWork<NativePack<double>>&,
                                        const NativePack<double>*);
template void step_vjp(const Stepper&, StepWork<NativePack<double>>&, const Wanted&);

}  // namespace costate::rigid
