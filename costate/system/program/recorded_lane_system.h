// RecordedLaneSystem: a System of many small worlds from a kernel that has a step and no transpose.
//
//   struct Kernel {
//     static constexpr int states, controls, parameters;
//     template <class S> Vec<S, states> step(S k, x, u, p) const;
//     ...   // step_back, energy, unroll as in lane_system.h
//   };
//
// Values and tangents are those of a LaneSystem. The transpose and the second order come from the step
// recorded as a Program, run on the same block: so the step takes its number k as an S, which is recorded for
// all steps at once. Interpreting is cheap only over many packs, so a block is a strip of them.
// Tests: tests/system/program/lambda_system_test.cpp.
#pragma once

#include "costate/ad/record.h"
#include "costate/system/lane_forward.h"
#include "costate/system/program/recorded_step.h"
#include "costate/system/program/step_program.h"

namespace costate {

template <class Kernel, class Real>
class RecordedLaneSystem final : public LaneForward<RecordedLaneSystem<Kernel, Real>, Kernel, Real>,
                                 public RecordedStep {
  using Forward = LaneForward<RecordedLaneSystem, Kernel, Real>;
  friend Forward;
  using Forward::kLanes, Forward::kP, Forward::kU, Forward::kX;

  struct Scratch : Forward::Scratch {
    explicit Scratch(const RecordedLaneSystem& system)
        : Forward::Scratch(system.lanes_), program(system.recorded_.make_scratch()) {}
    std::unique_ptr<typename StepProgram<Real>::Scratch> program;
    static auto& of(Workspace& work) { return *static_cast<Scratch&>(work).program; }
  };

 public:
  // `lanes` is rounded up to whole groups of packs.
  RecordedLaneSystem(Signature signature, Kernel kernel, int lanes)
      : Forward(std::move(signature)),
        kernel_(std::move(kernel)),
        lanes_((lanes + kLanes - 1) / kLanes * kLanes),
        recorded_(this->signature_, record()) {}

  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }
  const ad::Program& program() const override { return recorded_.program(); }

  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override {
    recorded_.vjp(at.k, in, y_bar, bar, active, lanes_, Scratch::of(work));
  }
  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override {
    recorded_.hvp(at.k, in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, lanes_, Scratch::of(work));
  }
  void begin_run(const Real* p, Real*, const Activity&, Workspace& work) const override {
    recorded_.hold_parameters(p, lanes_, Scratch::of(work));
  }
  void end_run(const Real*, Real*, const Activity&, Workspace& work) const override {
    recorded_.release_parameters(Scratch::of(work));
  }

 private:
  COSTATE_INLINE int stride() const { return lanes_; }
  template <class Scalar>
  COSTATE_INLINE Vec<Scalar, kX> kernel_step(const StepContext& at, const Vec<Scalar, kX>& x,
                                             const Vec<Scalar, kU>& u, const Vec<Scalar, kP>& p) const {
    return kernel_.template step<Scalar>(Scalar(value_t<Scalar>(at.k)), x, u, p);
  }

  ad::Program record() const {
    ad::Recorder recorder;
    Vec<ad::Var, kU> u;
    Vec<ad::Var, kP> p;
    const Vec<ad::Var, kX> x = recorder.input<kX>("x");
    if constexpr (kU > 0) u = recorder.input<kU>("u");
    for (const Field& field : this->signature_.fields(Role::parameter)) {
      const std::vector<ad::Var> values = recorder.input("p/" + field.name, int(field.size));
      std::copy(values.begin(), values.end(), p.e + field.offset);
    }
    const ad::Var k = recorder.scalar("k");
    recorder.output("y", kernel_.template step<ad::Var>(k, x, u, p));
    return recorder.finish();
  }

  Kernel kernel_;
  int lanes_;
  StepProgram<Real> recorded_;
};

}  // namespace costate
