#include "costate/ad/dual.h"
#include "costate/rigid/step/step_body.h"

namespace costate::rigid {

template Dual<NativePack<double>> rate_within(const Stepper&, StepWork<Dual<NativePack<double>>>&,
                                              const Dual<NativePack<double>>*);
template void step_vjp(const Stepper&, StepWork<Dual<NativePack<double>>>&, const Wanted&);

}  // namespace costate::rigid
