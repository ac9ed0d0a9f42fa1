// The kernels of rigid bodies as NVRTC compiles them, with the library's own sources: gpu_compiler.cpp. Never
// included on the host.
#pragma once

#include "costate/cuda/rigid/device_stages.h"

#include "costate/cuda/rigid/device_collide.h"
#include "costate/cuda/rigid/split_thread.h"
#include "costate/rigid/contact/contact_adjoint.cpp"
#include "costate/rigid/contact/contact_penalty.cpp"
#include "costate/rigid/contact/contact_rows.cpp"
#include "costate/rigid/contact/impact.cpp"

namespace costate::cuda {

using Scalar = COSTATE_REAL;

// Memory on the stack of the thread, which a GPU interleaves with those of its neighbours.
#define COSTATE_ALLOCATE(to, bytes)                                                       \
  asm volatile("{ .reg .u64 local; alloca.u64 local, %1, 16; cvta.local.u64 %0, local; }" \
               : "=l"(to)                                                                 \
               : "l"(bytes))

// With the most threads of a block (cuda_rigid.cpp), and how many blocks a multiprocessor has room for: in
// float, other warps to go on with gain more than registers, since all wait for memory (docs/cuda.md).
#define COSTATE_ENTRY(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
inline constexpr bool kInFloat = sizeof(Scalar) == 4;
inline constexpr int kMostThreads = kInFloat ? 512 : 384, kBlocks = kInFloat ? 2 : 1;

// A warp takes its branches together (device_pack.h), and the warps of a block keep in step (in_step.h): all
// of its threads go on if one of them has a world.
#define COSTATE_WORLD                                                                           \
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;              \
  if (thread - threadIdx.x >= run.worlds) return;                                               \
  const WorldOfThread world =                                                                   \
      thread < run.worlds ? WorldOfThread{thread, true} : WorldOfThread{run.worlds - 1, false}; \
  char* memory;                                                                                 \
  COSTATE_ALLOCATE(memory, scratch);                                                            \
  arena() = {memory, false};

COSTATE_ENTRY(kMostThreads, kBlocks)
advance(RigidModel model, size_t scratch, DeviceRun<Scalar> run, const Scalar* from, Scalar* to,
        DeviceTape<Scalar> tape, char* diverged) {
  COSTATE_WORLD
  advance_rigid(model, run, world, from, to, tape, diverged);
}

COSTATE_ENTRY(kMostThreads, kBlocks)
reverse(RigidModel model, size_t scratch, DeviceRun<Scalar> run, DeviceTape<Scalar> tape,
        DeviceCotangents<Scalar> bar) {
  COSTATE_WORLD
  reverse_rigid(model, run, world, tape, bar);
}

COSTATE_ENTRY(128)
advance_in_parts(RigidModel model, size_t scratch, DeviceRun<Scalar> run, const Scalar* from, Scalar* to,
                 DeviceTape<Scalar> tape, char* diverged) {
  COSTATE_WORLD
  advance_split(model, run, world, from, to, tape, diverged);
}

COSTATE_ENTRY(128)
reverse_in_parts(RigidModel model, size_t scratch, DeviceRun<Scalar> run, DeviceTape<Scalar> tape,
                 DeviceCotangents<Scalar> bar) {
  COSTATE_WORLD
  reverse_split(model, run, world, tape, bar);
}

// Bytes of scratch that a thread needs, and whether host and device lay out a model in the same way.
COSTATE_ENTRY(32) measure(RigidModel model, size_t* bytes) {
  arena() = {nullptr, true};
  const rigid::StepWork<Scalar> work(*model.stepper);
  if (model.stepper->split) const rigid::SplitWork<Scalar> split(*model.stepper);
  bytes[0] = reinterpret_cast<size_t>(arena().next);
  bytes[1] = sizeof(rigid::Stepper);
}

}  // namespace costate::cuda
