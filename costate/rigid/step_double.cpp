#include "costate/rigid/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<NativePack<double>>&, bool);
template void step_vjp(const Stepper&, StepWork<NativePack<double>>&, const Wanted&);

}  // namespace costate::rigid
