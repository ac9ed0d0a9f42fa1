// LayeredSystem: a recorded physics with neural networks in it. Straight code between dense products
// (ad/layered.h), in every stage of an explicit step.
//
//   x_s = x + h sum_j a_sj k_j,  k_s = f(t + c_s h, x_s),  y = x + h sum_s b_s k_s
//       f: parts and products in turn
//
// Transpose, stages backwards:
//
//   k_s_ = h (b_s y_ + sum_j a_js x_j_)          x_ = y_ + sum_s x_s_
//       h_ = sum_s k_s . (b_s y_ + sum_j a_js x_j_)
//   inside f, last part first:  e_ = W' d_,  W_ += d_ e',  and ad::vjp of the straight code
//
// What the transpose of f needs is read from a tape where the rollout has room for one, and computed anew
// otherwise. The outer products d_ e' of some steps of a run are added to W_ together: W_ has numbers for
// every lane, and adding them one by one would be all memory traffic. Where a part ends in tanh of every
// element, that is done for the whole layer at once (ad/dense_tanh.h), with the bias if there is nothing
// else. Tangents and second derivatives run the program written out, as ProgramSystem does.
//
// Files: layered_system.cpp makes it, layered_step.cpp is f and the step, layered_transpose.cpp makes the
// derivatives of the parts, layered_reverse.cpp is the transposed step, layered_scratch.h the memory. Tests:
// tests/system/program/layered_system_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "costate/ad/dense_lanes.h"
#include "costate/ad/executable.h"
#include "costate/ad/layered.h"
#include "costate/system/program/explicit_step.h"
#include "costate/system/program/step_program_system.h"

namespace costate {

template <class Real>
class LayeredSystem final : public StepProgramSystem<Real> {
  using Base = StepProgramSystem<Real>;
  using Base::lanes_, Base::signature_;

 public:
  // `signature`: the user's own fields; `source` gives all states in its first output field.
  LayeredSystem(const Signature& signature, ad::LayeredProgram source, const Scheme& scheme, int lanes);

  std::unique_ptr<Workspace> make_workspace() const override;

  // The records of all stages, where there is room.
  TapePlan tape(const Activity&, const TapeBudget& budget) const override {
    const std::int64_t size = stages_ * record_size_ / lanes_;
    return {.size = size <= budget.numbers ? size : 0};
  }

  void step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
            Workspace& work) const override;
  void step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity& active, Workspace& work) const override;
  void begin_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override;
  void end_run(const Real* p, Real* p_bar, const Activity& active, Workspace& work) const override;

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
    bool then_tanh = false;  // of every output of the program
    // The program is the sum of a product and a parameter field, element by element: run without code.
    struct Sum {
      std::size_t product = 0, field = 0;
      std::int64_t first = 0;  // number of the first element among the parameters
    };
    std::optional<Sum> bias = {};
    ad::Executable code;
    std::vector<Source> sources;
    std::string value() const { return program.output_fields()[0].name; }
  };
  struct Transpose {
    ad::Executable code;  // nothing to run if there are no outputs
    std::vector<Source> sources, outputs;
  };
  // The transposes of all parts, for a choice of fields.
  struct Variant : ChosenFields {
    using ChosenFields::ChosenFields;
    std::vector<Transpose> parts;
  };
  struct Layer {
    std::size_t field;   // of the weights, among the parameters
    std::int64_t first;  // number of element (0, 0) among the parameters
    int rows, columns;
    std::int64_t row_stride, column_stride;
  };

  void bind(const Signature& signature, const Scheme& scheme);
  void lay_out_records();
  std::optional<typename Part::Sum> biased_product(const Part& part) const;
  Source source_of(const std::string& name, const std::string& value) const;
  const Variant& variant(const FieldChoice& choice, Scratch& s) const;
  ad::Program transposed(const Part& part, bool controls, const std::vector<bool>& parameters,
                         std::vector<Source>& outputs) const;
  Transpose transpose(const Part& part, bool controls, const std::vector<bool>& parameters) const;
  const StepProgram<Real>& step_program() const override;  // written out, when first asked for

  void hold(const Real* p, Scratch& s) const;
  void take_step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape, Scratch& s) const;
  void move(const Inputs<Real>& in, const runge_kutta::Row& row, const Real* records, std::int64_t stride,
            Real* out) const;
  // x_s into scratch, from the rates in the records; `records`: of stage 0, the others' `stride` apart.
  void stage_state(const Inputs<Real>& in, int stage, const Real* records, std::int64_t stride,
                   Scratch& s) const;
  void evaluate(const Inputs<Real>& in, int stage, Real* record, Scratch& s) const;
  void evaluate_vjp(const Inputs<Real>& in, int stage, int slot, const Real* record, const Real* rate_bar,
                    Real* x_bar, const Cotangents<Real>& bar, const Variant& v, Scratch& s) const;
  // `value`, `value_bar`: of the part, for a transpose.
  void add_sources(const std::vector<Source>& sources, const Inputs<Real>& in, int stage, const Real* record,
                   const Real* value, const Real* value_bar, Scratch& s) const;
  // step_vjp without the weights' share, which stays in slots until flush(). Null tape: the stages are
  // computed again.
  void pull_back(const StepContext& at, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                 const Cotangents<Real>& bar, const Variant& v, Scratch& s) const;
  void flush(Real* p_bar, const Variant& v, Scratch& s) const;

  bool integrates() const { return !method_.c.empty(); }
  const Real* result_of(std::size_t layer, const Real* record, const Scratch& s) const;

  ad::LayeredProgram source_;
  Signature user_;
  Scheme scheme_;
  runge_kutta::Rows method_;
  std::vector<runge_kutta::Row> columns_;  // of a
  std::vector<double> b_;
  int stages_, slots_;
  std::int64_t dt_ = -1;  // number among the parameters
  std::size_t dt_field_ = 0;
  std::vector<Part> parts_;
  std::vector<Layer> layers_;
  // Of a record: where e_k and d_k (-1: not in it) and the rate start, in numbers of all lanes.
  std::vector<std::int64_t> vector_at_, result_at_;
  std::int64_t rate_at_ = 0, record_size_ = 0;
  mutable std::mutex mutex_;
  mutable Variants<Variant> variants_;
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
