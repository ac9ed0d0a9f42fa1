// Where the warps of a GPU's block wait for each other: between the stages of an evaluation and of its
// transpose. The code of a step is larger than the caches for instructions, and warps that are in different
// places of it wait for instructions most of the time; those that keep in step share them (docs/cuda.md).
//
// Only where all of them come: a stage that some worlds skip has none inside. On a CPU it is nothing.
#pragma once

namespace costate::rigid {

inline void keep_in_step() {
#if defined(COSTATE_ON_DEVICE)
  __syncthreads();
#endif
}

}  // namespace costate::rigid
