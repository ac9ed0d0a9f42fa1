// Every function of core/functions.h, ad/dual.h, core/quat.h and core/philox.h in device code: this file only
// has to compile.
//   nvcc -std=c++20 -arch=sm_90 -I. -c tests/core/functions_device.cu
#include "costate/ad/dual.h"
#include "costate/core/philox.h"
#include "costate/core/quat.h"

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

template <class S>
__global__ void turn(S* x) {
  const Vec3<S> phi{x[0], x[1], x[2]};
  const Quat<S> q = integrate(exp_map(phi), phi, x[3]);
  const Mat3<S> r = to_matrix(q);
  const Sym3<S> inertia = inverse(congruence(r, Sym3<S>::diagonal(x[4], x[5], x[6])));
  const Vec3<S> v = inertia * (inverse(r) * rotate(q, normalized(log_map(q)))) + cross(phi, skew(phi) * phi);
  x[7] = norm(v) + determinant(r) + S(normal<value_t<S>>(1, threadIdx.x, 2)) +
         S(uniform<value_t<S>>(1, threadIdx.x, 2));
}

template __global__ void turn(float*);
template __global__ void turn(double*);
template __global__ void turn(Dual<double>*);
template __global__ void run_every_function(float*);
template __global__ void run_every_function(double*);
template __global__ void run_every_function(Dual<double>*);
template __global__ void run_every_function(Dual<float, 3>*);
template __global__ void run_every_function(Dual<Dual<double>>*);

}  // namespace costate
