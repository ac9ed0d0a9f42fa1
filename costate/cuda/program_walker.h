// ProgramWalker: a Program as DeviceKernels without a compiler: its instructions are walked by the threads of
// the device (program_thread.h). Several times slower than compiled ones, and there at once. `Exec` launches:
// see lane_kernels.h.
#pragma once

#include "costate/ad/allocate.h"
#include "costate/ad/derivative.h"
#include "costate/cuda/kernels.h"
#include "costate/cuda/program_source.h"
#include "costate/cuda/program_thread.h"

namespace costate::cuda {

namespace thread {

template <class S>
struct WalkWorld {
  WalkedProgram<S> step;
  DeviceRun<S> run;
  const S* from;
  S* to;
  DeviceTape<S> tape;
  char* diverged;
  COSTATE_HD void operator()(std::int64_t world) const {
    walk_world(step, run, world, from, to, tape, diverged);
  }
};
template <class S>
struct WalkWorldBack {
  WalkedProgram<S> transpose;
  DeviceRun<S> run;
  DeviceTape<S> tape;
  DeviceCotangents<S> bar;
  COSTATE_HD void operator()(std::int64_t world) const { walk_world_back(transpose, run, world, tape, bar); }
};

}  // namespace thread

template <class Real, class Exec>
class ProgramWalker final : public DeviceKernels<Real> {
 public:
  // `bound`: one step, from bind_step (system/program/bind_program.h).
  ProgramWalker(const Device& device, const Exec& exec, const Signature& signature, const ad::Program& bound,
                const Activity& activity)
      : exec_(exec),
        device_(device.name()),
        step_(device, signature, bound, {}),
        transpose_(device, signature, ad::vjp(bound, wanted_cotangents(signature, bound, activity)),
                   parameters_of(signature, activity)),
        memory_(device) {}

  bool samples_norms() const override { return true; }
  std::string note() const override {
    return "without NVRTC " + device_ +
           " walks through equations one instruction after the other: pip install nvidia-cuda-nvrtc, or name "
           "the library (COSTATE_NVRTC=/path/to/libnvrtc.so), for many times the speed";
  }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    record(run, from, to, {nullptr, 0}, diverged);
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    exec_.launch(run.worlds, thread::WalkWorld<Real>{ready(step_, run), run, from, to, tape, diverged});
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    exec_.launch(run.worlds, thread::WalkWorldBack<Real>{ready(transpose_, run), run, tape, bar});
  }

 private:
  // Instructions that have been copied to the device.
  struct Code {
    Code(const Device& device, const Signature& signature, const ad::Program& program,
         const std::vector<int>& wanted)
        : instructions(device), constants(device), outputs(device), wanted_parameters(device) {
      const ad::StraightCode code = ad::allocate(program);
      const std::vector<Real> values(code.constants.begin(), code.constants.end());
      instructions.upload(code.instructions.data(), std::int64_t(code.instructions.size()));
      constants.upload(values.data(), std::int64_t(values.size()));
      outputs.upload(code.output_slots.data(), std::int64_t(code.output_slots.size()));
      wanted_parameters.upload(wanted.data(), std::int64_t(wanted.size()));
      walked.code = {instructions.data(),
                     constants.data(),
                     outputs.data(),
                     std::uint32_t(values.size()),
                     int(code.instructions.size()),
                     int(code.output_slots.size())};
      walked.states = int(signature.states()), walked.controls = int(signature.controls());
      walked.parameters = int(signature.parameters());
      walked.wanted = int(wanted.size());
      walked.wanted_parameters = wanted_parameters.data();
      walked.slots = int(code.input_slots + code.register_count);
    }
    std::int64_t numbers() const { return walked.slots + walked.code.outputs; }

    DeviceArray<ad::Instruction> instructions;
    DeviceArray<Real> constants;
    DeviceArray<std::uint32_t> outputs;
    DeviceArray<int> wanted_parameters;
    WalkedProgram<Real> walked{};
  };

  // Where the cotangents that a program has of parameters belong.
  static std::vector<int> parameters_of(const Signature& signature, const Activity& activity) {
    std::vector<int> all;
    const auto& fields = signature.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t i = 0; activity.parameters[f] && i < fields[f].size; ++i)
        all.push_back(int(fields[f].offset + i));
    return all;
  }

  // With memory for its worlds. Steps and transposes take turns in it.
  const WalkedProgram<Real>& ready(Code& code, const DeviceRun<Real>& run) {
    memory_.reserve(std::max(step_.numbers(), transpose_.numbers()) * run.worlds);
    code.walked.memory = memory_.data();
    return code.walked;
  }

  Exec exec_;
  std::string device_;
  Code step_, transpose_;
  DeviceArray<Real> memory_;
};

}  // namespace costate::cuda
