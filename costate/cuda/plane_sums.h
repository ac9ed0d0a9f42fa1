// What the threads of several physics do with planes of numbers, one number per cell, particle or node: sums
// in a fixed order, and a look at whether they are finite. `Exec` launches: see lane_kernels.h.
#pragma once

#include "costate/cuda/kernels.h"

namespace costate::cuda::thread {

// The sums of planes in kPartials parts each.
template <class S>
struct SumOfPlane {
  const S* planes;
  std::int64_t cells;
  double* partials;
  COSTATE_HD void operator()(std::int64_t index) const {
    const S* plane = planes + index / kPartials * cells;
    double sum = 0;
    for (std::int64_t cell = index % kPartials; cell < cells; cell += kPartials) sum += double(plane[cell]);
    partials[index] = sum;
  }
};
template <class S>
struct AddPartials {
  const double* partials;
  S* to;
  bool replace;
  COSTATE_HD void operator()(std::int64_t number) const {
    double sum = 0;
    for (std::int64_t i = 0; i < kPartials; ++i) sum += partials[number * kPartials + i];
    to[number] = replace ? S(sum) : to[number] + S(sum);
  }
};
template <class S>
struct WatchNumbers {
  const S* x;
  char* diverged;
  COSTATE_HD void operator()(std::int64_t i) const {
    if (!is_finite(x[i])) *diverged = 1;
  }
};

}  // namespace costate::cuda::thread
