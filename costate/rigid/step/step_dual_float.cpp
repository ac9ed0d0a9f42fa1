#include "costate/ad/dual.h"
#include "costate/rigid/step/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<Dual<NativePack<float>>>&, bool);
template void first_stage(const Stepper&, StepWork<Dual<NativePack<float>>>&);
template void other_stages(const Stepper&, StepWork<Dual<NativePack<float>>>&);
template void state_within(const Stepper&, StepWork<Dual<NativePack<float>>>&, const Dual<NativePack<float>>&,
                           Dual<NativePack<float>>*);

}  // namespace costate::rigid
