// DeviceRollout: many worlds of a LaneSystem's kernel, rolled out and differentiated on a GPU, one thread a
// world.
//
//   DeviceRollout<Kernel, float> rollout({.worlds = n, .steps = 1000}, {x0, controls, parameters});
//   x_end    = rollout.simulate();               // forward only
//   x_end    = rollout.record();                 // forward, checkpoints kept
//   gradient = rollout.reverse(x_end_bar);       // of any loss of x_end, given its derivative there
//
// Arrays lie as [index][world], see world_rollout.h, which also holds what a thread does.
// Needs nvcc. Tests: tests/cuda/device_rollout_test.cu.
#pragma once

#include "costate/cuda/device_buffer.h"
#include "costate/cuda/launch.h"
#include "costate/cuda/world_rollout.h"

namespace costate::cuda {

template <class Kernel, class S>
__global__ void __launch_bounds__(kThreadsPerBlock) simulate_kernel(WorldBatch<S> batch, S* x_end) {
  const std::int64_t world = thread_index();
  if (world < batch.worlds) simulate_world<Kernel>(batch, world, x_end);
}
template <class Kernel, int kSegment, class S>
__global__ void __launch_bounds__(kThreadsPerBlock)
    record_kernel(WorldBatch<S> batch, S* checkpoints, S* x_end) {
  const std::int64_t world = thread_index();
  if (world < batch.worlds) record_world<Kernel, kSegment>(batch, world, checkpoints, x_end);
}
template <class Kernel, int kSegment, unsigned long kActive, class S>
__global__ void __launch_bounds__(kThreadsPerBlock)
    reverse_kernel(WorldBatch<S> batch, const S* checkpoints, WorldCotangents<S> bar) {
  const std::int64_t world = thread_index();
  if (world < batch.worlds) reverse_world<Kernel, kSegment, kActive>(batch, world, checkpoints, bar);
}

struct DeviceRolloutOptions {
  std::int64_t worlds = 1;
  int steps = 0;
  int hold = 1;  // steps that share a control knot
  std::uint64_t seed = 0;
};

template <class Real>
struct DeviceArguments {
  std::vector<Real> x0, controls, parameters;
};

// kSegment: steps from one checkpoint to the next. Longer ones take less memory and more registers: the
// compiler keeps the stages of all steps of a segment for their transposes, and spills when they are too
// many. kActive: bit i asks for the gradient of parameter i.
template <class Kernel, class Real, int kSegment = 4, unsigned long kActive = ~0ul>
class DeviceRollout {
 public:
  // Parameters that are not active have NaN for a gradient: nobody takes it for zero.
  using Gradient = DeviceArguments<Real>;

  DeviceRollout(const DeviceRolloutOptions& o, const DeviceArguments<Real>& arguments) {
    if (o.worlds < 1 || o.steps < 0 || o.hold < 1)
      throw Error("a rollout on the GPU needs worlds >= 1, steps >= 0 and hold >= 1");
    batch_ = {o.worlds, o.steps, o.hold, o.seed};
    x0_ = DeviceBuffer<Real>(count(Kernel::states));
    u_ = DeviceBuffer<Real>(count(std::int64_t{batch_.knots()} * Kernel::controls));
    p_ = DeviceBuffer<Real>(count(Kernel::parameters));
    x_end_ = DeviceBuffer<Real>(count(Kernel::states));
    batch_.x0 = x0_.data();
    batch_.u = u_.data();
    batch_.p = p_.data();
    set(arguments);
  }

  void set(const DeviceArguments<Real>& a) {
    x0_.upload(a.x0);
    u_.upload(a.controls);
    p_.upload(a.parameters);
    recorded_ = false;
  }

  std::vector<Real> simulate() {
    launch_simulate();
    finish("simulate on the GPU");
    return x_end_.download();
  }
  std::vector<Real> record() {
    launch_record();
    finish("record a rollout on the GPU");
    return x_end_.download();
  }
  Gradient reverse(const std::vector<Real>& x_end_bar) {
    if (!recorded_) throw Error("reverse() needs the checkpoints of record()");
    x_bar_.upload(x_end_bar);
    launch_reverse();
    finish("differentiate a rollout on the GPU");
    return {x_bar_.download(), u_bar_.download(), p_bar_.download()};
  }

  // The same without transfers and without waiting, for whoever times them or goes on with the results on the
  // GPU.
  void launch_simulate() {
    simulate_kernel<Kernel><<<blocks_for(batch_.worlds), kThreadsPerBlock>>>(batch_, x_end_.data());
  }
  void launch_record() {
    reserve_reverse();
    record_kernel<Kernel, kSegment>
        <<<blocks_for(batch_.worlds), kThreadsPerBlock>>>(batch_, checkpoints_.data(), x_end_.data());
    recorded_ = true;
  }
  // Reads the cotangent of the final state from cotangent() and leaves that of the initial state there.
  void launch_reverse() {
    u_bar_.fill_bytes(0);
    p_bar_.fill_bytes(0xFF);  // all bits set: NaN
    reverse_kernel<Kernel, kSegment, kActive><<<blocks_for(batch_.worlds), kThreadsPerBlock>>>(
        batch_, checkpoints_.data(), WorldCotangents<Real>{x_bar_.data(), u_bar_.data(), p_bar_.data()});
  }
  const DeviceBuffer<Real>& final_state() const { return x_end_; }
  DeviceBuffer<Real>& cotangent() {
    reserve_reverse();
    return x_bar_;
  }

 private:
  std::size_t count(std::int64_t numbers_per_world) const {
    return std::size_t(numbers_per_world * batch_.worlds);
  }
  // A rollout that is never differentiated takes no memory for it.
  void reserve_reverse() {
    if (x_bar_.size() > 0) return;
    checkpoints_ =
        DeviceBuffer<Real>(count(std::int64_t{checkpoint_count(batch_.steps, kSegment)} * Kernel::states));
    u_bar_ = DeviceBuffer<Real>(u_.size());
    p_bar_ = DeviceBuffer<Real>(p_.size());
    x_bar_ = DeviceBuffer<Real>(x0_.size());
  }

  WorldBatch<Real> batch_;
  DeviceBuffer<Real> x0_, u_, p_, x_end_, checkpoints_, x_bar_, u_bar_, p_bar_;
  bool recorded_ = false;
};

}  // namespace costate::cuda
