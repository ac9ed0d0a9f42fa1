#include "costate/ad/dual.h"
#include "costate/rigid/step/step_body.h"

namespace costate::rigid {

template Dual<NativePack<float>> rate_within(const Stepper&, StepWork<Dual<NativePack<float>>>&,
                                             const Dual<NativePack<float>>*);
template void step_vjp(const Stepper&, StepWork<Dual<NativePack<float>>>&, const Wanted&);

}  // namespace costate::rigid
