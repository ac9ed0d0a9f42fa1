#include "costate/ad/dual.h"
#include "costate/rigid/step_body.h"

namespace costate::rigid {

template void step(const Stepper&, StepWork<Dual<NativePack<double>>>&, bool);

}  // namespace costate::rigid
