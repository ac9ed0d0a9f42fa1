// LayeredSystem: a recorded physics with neural networks in it. Straight code between dense products (ad/layered.h), in every stage of an explicit step.
//
//   x_1 = x,  x_s = x + a_s h k_{s-1},  k_s = f(t + a_s h, x_s),  y = x + h sum_s b_s k_s        f: parts and products in turn
//
// Transpose, stages backwards, with the stages computed anew:
//
//   k_s_ = b_s h y_ + a_{s+1} h x_{s+1}_          x_ = y_ + sum_s x_s_
//   h_   = y_ . sum_s b_s k_s + sum_s a_s k_{s-1} . x_s_
//   inside f, last part first:  e_ = W' d_,  W_ += d_ e',  and ad::vjp of the straight code
//
// The outer products d_ e' of some steps are added to W_ together: W_ has numbers for every lane, and adding them one by one
// would be all memory traffic. Tangents and second derivatives run the program written out, as ProgramSystem does.
//
// Tests: tests/system/layered_system_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "costate/ad/dense_lanes.h"
#include "costate/ad/interpret.h"
#include "costate/ad/layered.h"
#include "costate/system/explicit_step.h"
#include "costate/system/step_program.h"
#include "costate/system/system.h"

namespace costate {

template <class Real>
class LayeredSystem final : public System<Real> {
 public:
  // `signature`: the user's own fields; `source` gives all states in its first output field.
  LayeredSystem(const Signature& signature, ad::LayeredProgram source, const Scheme& scheme, int lanes);

  const Signature& signature() const override { return full_; }
  int lanes() const override { return lanes_; }
  std::unique_ptr<Workspace> make_workspace() const override;
  typename System<Real>::Capabilities capabilities() const override {
    return {.jvp = true, .vjp = true, .second_order = true, .reversible = false, .energy = false};
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override;
  void step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                Real* y_dot, Workspace& work) const override;
  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override;
  void step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot, const Real* y_bar,
                const Real* y_bar_dot, const Cotangents<Real>& bar, const Cotangents<Real>& bar_dot,
                const Activity& active, Workspace& work) const override;
  void advance(const Run<Real>& run, const Ring<Real>& states, Real* tape, Workspace& work) const override;
  void reverse(const Run<Real>& run, const Real* states, const Real* tape, const Ring<Real>& lambda,
               Real* u_bar, Real* p_bar, const Activity& active, Workspace& work) const override;

 private:
  struct Scratch;
  // What an input field of a part, or of its transpose, is.
  enum class Reads { state, control, parameter, step, stage, product, value, value_bar };
  struct Source {
    Reads kind;
    std::size_t index = 0;  // of a parameter field or a product
  };
  struct Part {
    ad::Program program;
    ad::Executable code;
    std::vector<Source> sources;
    std::string value() const { return program.output_fields()[0].name; }
  };
  struct Transpose {
    ad::Executable code;  // nothing to run if there are no outputs
    std::vector<Source> sources, outputs;
  };
  // The transposes of all parts, for a choice of fields.
  struct Variant {
    bool controls;
    std::vector<bool> parameters;
    std::vector<Transpose> parts;
  };
  struct Layer {
    std::size_t field;   // of the weights, among the parameters
    std::int64_t first;  // number of element (0, 0) among the parameters
    int rows, columns;
    std::int64_t row_stride, column_stride;
  };

  void bind(const Signature& signature, const Scheme& scheme);
  Source source_of(const std::string& name, const std::string& value) const;
  const Variant& variant(bool controls, bool any_parameter, const Activity& active, Scratch& s) const;
  Transpose transpose(const Part& part, bool controls, const std::vector<bool>& parameters) const;
  const StepProgram<Real>& written_out() const;

  void hold(const Real* p, Scratch& s) const;
  void evaluate(const Inputs<Real>& in, int stage, int slot, Real* rate, Scratch& s) const;
  void evaluate_vjp(const Inputs<Real>& in, int stage, int slot, const Real* rate_bar, Real* x_bar,
                    const Cotangents<Real>& bar, const Variant& v, Scratch& s) const;
  void stage_state(const Inputs<Real>& in, int stage, Scratch& s) const;
  // `value`, `value_bar`: of the part, for a transpose.
  void add_sources(const std::vector<Source>& sources, const Inputs<Real>& in, int stage, const Real* value,
                   const Real* value_bar, Scratch& s) const;
  // step_vjp without the weights' share, which stays in slots until flush().
  void pull_back(const StepContext& at, const Inputs<Real>& in, const Real* y_bar,
                 const Cotangents<Real>& bar, const Variant& v, Scratch& s) const;
  void flush(Real* p_bar, const Variant& v, Scratch& s) const;

  ad::LayeredProgram source_;
  Signature user_, full_;
  Scheme scheme_;
  int lanes_;
  std::vector<double> a_, b_;  // of the stages; next state: none
  std::int64_t dt_ = -1;       // number among the parameters
  std::size_t dt_field_ = 0;
  std::vector<Part> parts_;
  std::vector<Layer> layers_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Variant>> variants_;
  mutable std::unique_ptr<StepProgram<Real>> written_out_;
};

extern template class LayeredSystem<float>;
extern template class LayeredSystem<double>;

// Lanes of a block: fewer than those of straight code, since every lane has weights' cotangents of its own.
template <class Real>
int layered_lanes(std::int64_t worlds);

// Of a recording with large layers a LayeredSystem; of one without, the ProgramSystem of the same equations.
template <class Real>
std::shared_ptr<System<Real>> layered_system(const Signature& signature, const ad::LayeredProgram& program,
                                             const Scheme& scheme, std::int64_t worlds);

}  // namespace costate
