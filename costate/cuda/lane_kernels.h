// LaneKernels: the kernels of a small physics, one thread per world (lane_thread.h). `Exec` launches them:
// CudaExec on a GPU, the tests' HostExec as a loop.
#pragma once

#include <array>
#include <bit>
#include <utility>

#include "costate/cuda/kernels.h"
#include "costate/system/lane_system.h"

namespace costate::cuda {

template <class Kernel, class S>
struct AdvanceWorld {
  DeviceRun<S> run;
  const S* from;
  S* to;
  char* diverged;
  COSTATE_HD void operator()(std::int64_t world) const {
    advance_world<Kernel>(run, world, from, to, diverged);
  }
};
template <class Kernel, class S>
struct RecordWorld {
  DeviceRun<S> run;
  const S* from;
  S* to;
  DeviceTape<S> tape;
  char* diverged;
  COSTATE_HD void operator()(std::int64_t world) const {
    record_world<Kernel>(run, world, from, to, tape, diverged);
  }
};
template <class Kernel, unsigned long kActive, class S>
struct ReverseWorld {
  DeviceRun<S> run;
  DeviceTape<S> tape;
  DeviceCotangents<S> bar;
  COSTATE_HD void operator()(std::int64_t world) const {
    reverse_world<Kernel, kActive>(run, world, tape, bar);
  }
};
template <class Kernel, class S>
struct StepWorldBack {
  DeviceRun<S> run;
  S* state;
  COSTATE_HD void operator()(std::int64_t index) const {
    const LaneThread<Kernel, S> world(run, index);
    world.store(state, world.step_back(int(run.first), world.load(state)));
  }
};
template <class Kernel, class S>
struct EnergyOfWorld {
  DeviceRun<S> run;
  const S* state;
  S* value;
  COSTATE_HD void operator()(std::int64_t index) const {
    const LaneThread<Kernel, S> world(run, index);
    value[index] = world.energy(world.load(state));
  }
};

template <class Kernel, class Real, class Exec>
class LaneKernels final : public DeviceKernels<Real> {
 public:
  LaneKernels(const Exec& exec, unsigned long wanted) : exec_(exec), wanted_(wanted) {}

  int segment() const override { return LaneThread<Kernel, Real>::kSegment; }
  bool samples_norms() const override { return true; }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    exec_.launch(run.worlds, AdvanceWorld<Kernel, Real>{run, from, to, diverged});
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    exec_.launch(run.worlds, RecordWorld<Kernel, Real>{run, from, to, tape, diverged});
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    choose(std::make_index_sequence<kPatterns.size()>{}, run, tape, bar);
  }
  void step_back(const DeviceRun<Real>& run, Real* state) override {
    if constexpr (kernel::Reversible<Kernel>)
      exec_.launch(run.worlds, StepWorldBack<Kernel, Real>{run, state});
  }
  void energy(const DeviceRun<Real>& run, const Real* state, Real* value) override {
    if constexpr (kernel::HasEnergy<Kernel>)
      exec_.launch(run.worlds, EnergyOfWorld<Kernel, Real>{run, state, value});
  }

 private:
  // Those that the kernel finds worth a loop of their own, and all parameters.
  static constexpr auto kPatterns = [] {
    constexpr auto own = kernel::patterns<Kernel>();
    std::array<unsigned long, own.size() + 1> all{};
    for (std::size_t i = 0; i < own.size(); ++i) all[i] = own[i];
    all[own.size()] = kernel::all_of(Kernel::parameters);
    return all;
  }();

  template <std::size_t... I>
  void choose(std::index_sequence<I...>, const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
              const DeviceCotangents<Real>& bar) {
    std::size_t best = kPatterns.size() - 1;
    for (std::size_t i = 0; i < kPatterns.size(); ++i)
      if ((wanted_ & ~kPatterns[i]) == 0 && std::popcount(kPatterns[i]) < std::popcount(kPatterns[best]))
        best = i;
    ((best == I ? exec_.launch(run.worlds, ReverseWorld<Kernel, kPatterns[I], Real>{run, tape, bar})
                : void()),
     ...);
  }

  Exec exec_;
  unsigned long wanted_;
};

}  // namespace costate::cuda
