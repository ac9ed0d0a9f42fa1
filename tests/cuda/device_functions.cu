#include "tests/cuda/device_functions.h"

#include "costate/cuda/device_buffer.h"
#include "costate/cuda/launch.h"

namespace costate::test {
namespace {

using cuda::blocks_for;
using cuda::DeviceBuffer;
using cuda::kThreadsPerBlock;

template <class T>
__global__ void evaluate_kernel(Function f, std::int64_t n, const T* x, const T* y, T* result) {
  const std::int64_t i = cuda::thread_index();
  if (i >= n) return;
  switch (f) {
    case Function::sin:
      result[i] = costate::sin(x[i]);
      break;
    case Function::cos:
      result[i] = costate::cos(x[i]);
      break;
    case Function::exp:
      result[i] = costate::exp(x[i]);
      break;
    case Function::log:
      result[i] = costate::log(x[i]);
      break;
    case Function::tanh:
      result[i] = costate::tanh(x[i]);
      break;
    case Function::atan2:
      result[i] = costate::atan2(x[i], y[i]);
      break;
    case Function::pow:
      result[i] = costate::pow(x[i], y[i]);
      break;
    case Function::sqrt:
      result[i] = costate::sqrt(x[i]);
      break;
  }
}

template <class T>
__global__ void noise_kernel(std::uint64_t seed, std::uint64_t step, std::int64_t worlds, T* uniforms,
                             T* normals) {
  const std::int64_t world = cuda::thread_index();
  if (world >= worlds) return;
  uniforms[world] = uniform<T>(seed, std::uint32_t(world), step);
  normals[world] = normal<T>(seed, std::uint32_t(world), step, 1);
}

__global__ void sample_kernel(std::int64_t n, const double* x, double* value, double* first, double* second) {
  const std::int64_t i = cuda::thread_index();
  if (i >= n) return;
  using D = Dual<double>;
  const Dual<D> y = sample(Dual<D>(D(x[i], 1.0), D(1.0, 0.0)));
  value[i] = y.v.v;
  first[i] = y.v.d[0];
  second[i] = y.d[0].d[0];
}

}  // namespace

template <class T>
std::vector<T> evaluate_on_device(Function f, const std::vector<T>& x, const std::vector<T>& y) {
  const DeviceBuffer<T> a(x), b(y);
  DeviceBuffer<T> result(x.size());
  evaluate_kernel<<<blocks_for(std::int64_t(x.size())), kThreadsPerBlock>>>(
      f, std::int64_t(x.size()), a.data(), b.data(), result.data());
  cuda::finish("evaluate functions on the GPU");
  return result.download();
}
template std::vector<float> evaluate_on_device(Function, const std::vector<float>&,
                                               const std::vector<float>&);
template std::vector<double> evaluate_on_device(Function, const std::vector<double>&,
                                                const std::vector<double>&);

template <class T>
Noise<T> noise_on_device(std::uint64_t seed, std::uint64_t step, std::size_t worlds) {
  DeviceBuffer<T> uniforms(worlds), normals(worlds);
  noise_kernel<<<blocks_for(std::int64_t(worlds)), kThreadsPerBlock>>>(seed, step, std::int64_t(worlds),
                                                                       uniforms.data(), normals.data());
  cuda::finish("draw random numbers on the GPU");
  return {uniforms.download(), normals.download()};
}
template Noise<float> noise_on_device(std::uint64_t, std::uint64_t, std::size_t);
template Noise<double> noise_on_device(std::uint64_t, std::uint64_t, std::size_t);

Derivatives sample_on_device(const std::vector<double>& x) {
  const DeviceBuffer<double> at(x);
  DeviceBuffer<double> value(x.size()), first(x.size()), second(x.size());
  sample_kernel<<<blocks_for(std::int64_t(x.size())), kThreadsPerBlock>>>(
      std::int64_t(x.size()), at.data(), value.data(), first.data(), second.data());
  cuda::finish("evaluate dual numbers on the GPU");
  return {value.download(), first.download(), second.download()};
}

}  // namespace costate::test
