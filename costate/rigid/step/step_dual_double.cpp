#include "costate/ad/dual.h"
#include "costate/rigid/step/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<Dual<NativePack<double>>>&, bool);
template void first_stage(const Stepper&, StepWork<Dual<NativePack<double>>>&);
template void other_stages(const Stepper&, StepWork<Dual<NativePack<double>>>&);
template void state_within(const Stepper&, StepWork<Dual<NativePack<double>>>&,
                           const Dual<NativePack<double>>&, Dual<NativePack<double>>*);

}  // namespace costate::rigid
