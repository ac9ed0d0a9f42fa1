#include "costate/rigid/step/split_step_transpose.h"

namespace costate::rigid {

template struct SplitWork<NativePack<float>>;
template void split_step(const Stepper&, StepWork<NativePack<float>>&, SplitWork<NativePack<float>>&, bool);
template void split_step_vjp(const Stepper&, StepWork<NativePack<float>>&, SplitWork<NativePack<float>>&,
                             const Wanted&);
template void split_advance(const Stepper&, StepWork<NativePack<float>>&, SplitWork<NativePack<float>>&,
                            const SplitRun<float>&);
template void split_reverse(const Stepper&, StepWork<NativePack<float>>&, SplitWork<NativePack<float>>&,
                            const SplitRun<float>&, const Wanted&);
template struct SplitWork<Dual<NativePack<float>>>;
template void split_step(const Stepper&, StepWork<Dual<NativePack<float>>>&,
                         SplitWork<Dual<NativePack<float>>>&, bool);
template void split_step_vjp(const Stepper&, StepWork<Dual<NativePack<float>>>&,
                             SplitWork<Dual<NativePack<float>>>&, const Wanted&);

}  // namespace costate::rigid
