// Every function of core/functions.h and ad/dual.h in device code: this file only has to compile.
//   nvcc -std=c++20 -arch=sm_90 -I. -c tests/core/functions_device.cu
#include "costate/ad/dual.h"

namespace costate {

template <class S>
COSTATE_HD S every_function(S x, S y) {
  const SinCos<S> t = sincos(x);
  S r = t.sin + t.cos + sin(x) + cos(x) + tan(x);
  r += exp(x) + expm1(x) + sinh(x) + cosh(x) + tanh(x);
  r += log(x) + log1p(x) + log2(x) + pow(x, y) + pow(x, 3) + cbrt(x);
  r += asin(x) + acos(x) + atan(x) + atan2(x, y) + hypot(x, y);
  r += sqrt(x) + abs(x) + sign(x) + copysign(x, y) + min(x, y) + max(x, y) + floor(x) + trunc(x) + round(x);
  r += fma(x, y, x);
  return select(is_finite(r), r, x);
}

template <class S>
__global__ void run_every_function(S* x) {
  x[threadIdx.x] = every_function(x[threadIdx.x], x[threadIdx.x + 1]);
}

template __global__ void run_every_function(float*);
template __global__ void run_every_function(double*);
template __global__ void run_every_function(Dual<double>*);
template __global__ void run_every_function(Dual<float, 3>*);
template __global__ void run_every_function(Dual<Dual<double>>*);

}  // namespace costate
