#include "costate/rigid/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<NativePack<float>>&, bool);
template void step_vjp(const Stepper&, StepWork<NativePack<float>>&, const Wanted&);

}  // namespace costate::rigid
