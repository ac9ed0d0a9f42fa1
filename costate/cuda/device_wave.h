// DeviceWave: the wave equation of grid/wave.h on a GPU, one thread a cell, one launch a step; every state is
// kept for the transposes. What a thread does is in stencil_field.h. Needs nvcc. Tests:
// tests/cuda/device_wave_test.cu.
#pragma once

#include "costate/cuda/device_buffer.h"
#include "costate/cuda/launch.h"
#include "costate/cuda/stencil_field.h"
#include "costate/grid/wave_kernel.h"

namespace costate::cuda {

template <class S>
using WaveField = StencilField<grid::WaveKernel, S>;

template <class S>
__global__ void __launch_bounds__(kThreadsPerBlock) step_wave_kernel(WaveField<S> field, const S* x, S* y) {
  const std::int64_t cell = thread_index();
  if (cell < field.cells()) step_cell(field, cell, x, y);
}
template <class S>
__global__ void __launch_bounds__(kThreadsPerBlock)
    transpose_wave_kernel(WaveField<S> field, const S* x, const S* y_bar, S* x_bar, S* speed_bar) {
  const std::int64_t cell = thread_index();
  if (cell < field.cells()) transpose_cell(field, cell, x, y_bar, x_bar, speed_bar);
}

struct DeviceWaveOptions {
  std::int64_t nx = 64, ny = 64;
  int steps = 0;
  double dx = 1.0, dt = 0.5, damping = 0.0;
};

template <class Real>
class DeviceWave {
 public:
  struct Gradient {
    std::vector<Real> x0, speed;
  };

  // speed: one number per cell.
  DeviceWave(const DeviceWaveOptions& o, const std::vector<Real>& speed) : steps_(o.steps) {
    if (o.nx < 2 || o.ny < 2 || o.steps < 0)
      throw Error("a wave on the GPU needs at least 2 x 2 cells and steps >= 0");
    if (!(o.dx > 0) || !(o.dt > 0)) throw Error("a wave on the GPU needs dx > 0 and dt > 0");
    const std::size_t cells = o.nx * o.ny;
    speed_ = DeviceBuffer<Real>(cells);
    speed_.upload(speed);
    trajectory_ = DeviceBuffer<Real>((std::size_t(steps_) + 1) * 2 * cells);
    const Real dt = Real(o.dt), dx = Real(o.dx);
    field_ = {o.nx, o.ny, grid::WaveKernel{}.scale(Vec<Real, 3>{{Real(o.damping), dx, dt}}), speed_.data()};
  }

  // x0: u in all cells, then v in all cells. Returns the final state in the same order.
  std::vector<Real> simulate(const std::vector<Real>& x0) {
    if (x0.size() != state_size())
      throw Error("expected " + std::to_string(state_size()) + " numbers of initial state, got " +
                  std::to_string(x0.size()));
    check(cudaMemcpy(state(0), x0.data(), state_size() * sizeof(Real), cudaMemcpyHostToDevice),
          "copy the wave to the GPU");
    for (int k = 0; k < steps_; ++k)
      step_wave_kernel<<<blocks_for(field_.cells()), kThreadsPerBlock>>>(field_, state(k), state(k + 1));
    finish("step the wave on the GPU");
    std::vector<Real> end(state_size());
    check(cudaMemcpy(end.data(), state(steps_), state_size() * sizeof(Real), cudaMemcpyDeviceToHost),
          "copy the wave from the GPU");
    simulated_ = true;
    return end;
  }

  // After simulate: the gradient of a loss of the final state, given its derivative there.
  Gradient reverse(const std::vector<Real>& x_end_bar) {
    if (!simulated_) throw Error("reverse() needs the states of simulate()");
    DeviceBuffer<Real> after(state_size()), before(state_size()), speed_bar(speed_.size());
    after.upload(x_end_bar);
    speed_bar.fill_bytes(0);
    for (int k = steps_ - 1; k >= 0; --k) {
      transpose_wave_kernel<<<blocks_for(field_.cells()), kThreadsPerBlock>>>(
          field_, state(k), after.data(), before.data(), speed_bar.data());
      std::swap(after, before);
    }
    finish("differentiate the wave on the GPU");
    return {after.download(), speed_bar.download()};
  }

 private:
  std::size_t state_size() const { return 2 * speed_.size(); }
  Real* state(int k) { return trajectory_.data() + std::size_t(k) * state_size(); }

  int steps_;
  DeviceBuffer<Real> speed_, trajectory_;
  WaveField<Real> field_;
  bool simulated_ = false;
};

}  // namespace costate::cuda
