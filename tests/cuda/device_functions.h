// Elementary functions, random numbers and dual numbers, computed by the GPU: the bridge between the kernels
// that nvcc compiles and the tests that compare them with quad precision, which it cannot compile.
#pragma once

#include <cstdint>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/philox.h"

namespace costate::test {

enum class Function { sin, cos, exp, log, tanh, atan2, pow, sqrt };

// f(x[i], y[i]), or f(x[i]) for functions of one argument.
template <class T>
std::vector<T> evaluate_on_device(Function f, const std::vector<T>& x, const std::vector<T>& y);

template <class T>
struct Noise {
  std::vector<T> uniform, normal;
};
// Of worlds 0, 1, ... in one step.
template <class T>
Noise<T> noise_on_device(std::uint64_t seed, std::uint64_t step, std::size_t worlds);

// Something of everything, for 0 < x < 2.
template <class S>
COSTATE_HD inline S sample(const S& x) {
  return sin(x * x) * exp(-x) + atan2(x, x * x + 1) / sqrt(x + 1) + pow(x, 1.5) * tanh(x) -
         log(x + 2) * cos(3 * x);
}
// sample and its first and second derivatives, by Dual<Dual<double>>.
struct Derivatives {
  std::vector<double> value, first, second;
};
Derivatives sample_on_device(const std::vector<double>& x);

}  // namespace costate::test
