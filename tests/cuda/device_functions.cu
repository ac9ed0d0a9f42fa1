#include "tests/cuda/device_functions.h"

#include "costate/cuda/cuda_device.h"
#include "costate/cuda/cuda_exec.h"

namespace costate::test {
namespace {

template <class T>
struct Evaluate {
  Function f;
  const T *x, *y;
  T* result;
  COSTATE_HD void operator()(std::int64_t i) const {
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
};

template <class T>
struct Draw {
  std::uint64_t seed, step;
  T *uniforms, *normals;
  COSTATE_HD void operator()(std::int64_t world) const {
    uniforms[world] = uniform<T>(seed, std::uint32_t(world), step);
    normals[world] = normal<T>(seed, std::uint32_t(world), step, 1);
  }
};

struct Differentiate {
  const double* x;
  double *value, *first, *second;
  COSTATE_HD void operator()(std::int64_t i) const {
    using D = Dual<double>;
    const Dual<D> y = sample(Dual<D>(D(x[i], 1.0), D(1.0, 0.0)));
    value[i] = y.v.v;
    first[i] = y.v.d[0];
    second[i] = y.d[0].d[0];
  }
};

// Numbers on the first GPU.
template <class T>
struct Numbers : cuda::DeviceArray<T> {
  explicit Numbers(std::size_t size) : cuda::DeviceArray<T>(*cuda::device_of(0)) {
    cuda::device_of(0)->enter();
    this->reserve(std::int64_t(size));
  }
  explicit Numbers(const std::vector<T>& from) : Numbers(from.size()) {
    this->upload(from.data(), std::int64_t(from.size()));
  }
};

}  // namespace

template <class T>
std::vector<T> evaluate_on_device(Function f, const std::vector<T>& x, const std::vector<T>& y) {
  const auto n = std::int64_t(x.size());
  const Numbers<T> a(x), b(y);
  Numbers<T> result(x.size());
  cuda::CudaExec{}.launch(n, Evaluate<T>{f, a.data(), b.data(), result.data()});
  cuda::device_of(0)->finish("evaluate functions on the GPU");
  return result.download(n);
}
template std::vector<float> evaluate_on_device(Function, const std::vector<float>&,
                                               const std::vector<float>&);
template std::vector<double> evaluate_on_device(Function, const std::vector<double>&,
                                                const std::vector<double>&);

template <class T>
Noise<T> noise_on_device(std::uint64_t seed, std::uint64_t step, std::size_t worlds) {
  const auto n = std::int64_t(worlds);
  Numbers<T> uniforms(worlds), normals(worlds);
  cuda::CudaExec{}.launch(n, Draw<T>{seed, step, uniforms.data(), normals.data()});
  cuda::device_of(0)->finish("draw random numbers on the GPU");
  return {uniforms.download(n), normals.download(n)};
}
template Noise<float> noise_on_device(std::uint64_t, std::uint64_t, std::size_t);
template Noise<double> noise_on_device(std::uint64_t, std::uint64_t, std::size_t);

Derivatives sample_on_device(const std::vector<double>& x) {
  const auto n = std::int64_t(x.size());
  const Numbers<double> at(x);
  Numbers<double> value(x.size()), first(x.size()), second(x.size());
  cuda::CudaExec{}.launch(n, Differentiate{at.data(), value.data(), first.data(), second.data()});
  cuda::device_of(0)->finish("evaluate dual numbers on the GPU");
  return {value.download(n), first.download(n), second.download(n)};
}

}  // namespace costate::test
