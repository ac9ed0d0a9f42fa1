#include "costate/rigid/step/split_step_transpose.h"

namespace costate::rigid {

template struct SplitWork<NativePack<double>>;
template void split_step(const Stepper&, StepWork<NativePack<double>>&, SplitWork<NativePack<double>>&, bool);
template void split_step_vjp(const Stepper&, StepWork<NativePack<double>>&, SplitWork<NativePack<double>>&,
                             const Wanted&);
template void split_advance(const Stepper&, StepWork<NativePack<double>>&, SplitWork<NativePack<double>>&,
                            const SplitRun<double>&);
template void split_reverse(const Stepper&, StepWork<NativePack<double>>&, SplitWork<NativePack<double>>&,
                            const SplitRun<double>&, const Wanted&);
template struct SplitWork<Dual<NativePack<double>>>;
template void split_step(const Stepper&, StepWork<Dual<NativePack<double>>>&,
                         SplitWork<Dual<NativePack<double>>>&, bool);
template void split_step_vjp(const Stepper&, StepWork<Dual<NativePack<double>>>&,
                             SplitWork<Dual<NativePack<double>>>&, const Wanted&);

}  // namespace costate::rigid
