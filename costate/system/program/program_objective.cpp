#include "costate/system/program/program_objective.h"

#include <algorithm>
#include <array>
#include <utility>

#include "costate/ad/derivative.h"
#include "costate/ad/derivative_rules.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/system/program/bind_program.h"

namespace costate::loss {
namespace {

// The program over the numbers of a block: inputs "x", "u", "p/..." and "k", output "value".
ad::Program bind_term(const Signature& signature, const ad::Program& source) {
  ad::Builder builder;
  const BoundInputs inputs = declare_inputs(builder, signature);
  const std::vector<ad::Id> outputs = call(builder, source, signature, inputs);
  if (outputs.size() != 1) {
    throw Error("an objective is one number; the program gives " + std::to_string(outputs.size()));
  }
  builder.output_field("value", outputs);
  return builder.finish();
}

// The second half of what jvp returns: the rates without the values.
ad::Program rates_of(const ad::Program& tangent) {
  ad::Builder builder;
  const ad::Copy copy = ad::copy_into(builder, tangent);
  const std::size_t fields = tangent.output_fields().size();
  for (std::size_t f = fields / 2; f < fields; ++f) {
    std::vector<ad::Id> elements;
    const int first = tangent.output_offset(static_cast<int>(f));
    for (int i = 0; i < tangent.output_fields()[f].size; ++i) {
      const ad::Id old = tangent.outputs()[first + i];
      elements.push_back(copy.value[old]);
    }
    builder.output_field(tangent.output_fields()[f].name, elements);
  }
  return builder.finish();
}

template <class Real>
class ProgramObjective final : public Objective<Real> {
 public:
  using typename Objective<Real>::At;
  ProgramObjective(const Signature& signature, const ad::Program& source, When when);

  void check(std::int64_t steps, std::int64_t worlds) const override;
  std::int64_t next(std::int64_t k, std::int64_t steps) const override;
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override;
  void value(const At& at, double* loss) const override;
  void vjp(const At& at, const Cotangents<Real>& bar) const override;
  void hvp(const At& at, const Inputs<Real>& in_dot, const Cotangents<Real>& bar_dot) const override;

 private:
  // An input field of the term other than k.
  struct Slot {
    Role role;
    std::int64_t offset;
    bool read;
  };
  // For a choice of roles (bit r: role r), the gradient and its rate.
  struct Derivative {
    bool exists = false;
    ad::Executable gradient, rate;
  };
  // The blocks of one evaluation. An objective is shared by all blocks of a rollout, so this belongs to a
  // thread.
  struct Call {
    std::vector<ad::InputBlock<Real>> inputs;
    std::vector<ad::OutputBlock<Real>> outputs;
    AlignedBuffer<std::byte> bytes;
    AlignedBuffer<Real> term;
    Real k = 0;
    void run(const ad::Executable& code, int lanes);
  };
  static constexpr Real kOne = 1, kZero = 0;

  Call& begin(const At& at) const;
  void add_tangents(const Inputs<Real>& in_dot, int lanes, Call& call) const;
  void add_cotangents(const Cotangents<Real>& bar, int lanes, Call& call) const;
  static unsigned wanted_of(const Cotangents<Real>& bar) {
    return (bar.x ? 1 : 0) | (bar.u ? 2 : 0) | (bar.p ? 4 : 0);
  }
  template <class Pointers>
  static auto pointer_of(const Pointers& in, Role role) {
    return role == Role::state ? in.x : role == Role::control ? in.u : in.p;
  }
  void refuse_controls_at_the_end() const;

  When when_;
  std::vector<Slot> slots_;
  ad::Executable value_;
  std::array<Derivative, 8> derivatives_;
};

template <class Real>
ProgramObjective<Real>::ProgramObjective(const Signature& signature, const ad::Program& source, When when)
    : when_(std::move(when)) {
  if (!std::is_sorted(when_.steps.begin(), when_.steps.end()) ||
      std::adjacent_find(when_.steps.begin(), when_.steps.end()) != when_.steps.end()) {
    throw Error("the steps of an objective must increase");
  }
  slots_.push_back({Role::state, 0, false});
  if (signature.controls() > 0) slots_.push_back({Role::control, 0, false});
  for (const Field& field : signature.fields(Role::parameter))
    slots_.push_back({Role::parameter, field.offset, false});

  const ad::Program term = bind_term(signature, source);
  ad::DerivativeOptions moving;
  for (std::size_t f = 0; f < slots_.size(); ++f) {
    const int first = term.input_offset(static_cast<int>(f)), end = first + term.input_fields()[f].size;
    for (const ad::Node& n : term.nodes())
      slots_[f].read |= n.op == ad::Op::input && n.value >= first && n.value < end;
    moving.active.push_back(term.input_fields()[f].name);
  }
  if (when_.kind == When::Kind::end) refuse_controls_at_the_end();

  value_ = ad::Executable(term);
  for (unsigned wanted = 0; wanted < derivatives_.size(); ++wanted) {
    ad::DerivativeOptions active;
    for (std::size_t f = 0; f < slots_.size(); ++f) {
      if (slots_[f].read && (wanted >> static_cast<int>(slots_[f].role)) % 2 == 1)
        active.active.push_back(term.input_fields()[f].name);
    }
    if (active.active.empty()) continue;
    const ad::Program gradient = ad::vjp(term, active);
    derivatives_[wanted] = {true, ad::Executable(gradient),
                            ad::Executable(rates_of(ad::jvp(gradient, moving)))};
  }
}

// --- when --------------------------------------------------------------------------------------------------

template <class Real>
void ProgramObjective<Real>::refuse_controls_at_the_end() const {
  for (const Slot& slot : slots_) {
    if (slot.role != Role::control || !slot.read) continue;
    throw Error({"an objective that reads a control has a term at the final state, where there is none",
                 {},
                 "use loss::each_step() for the part with controls"});
  }
}

template <class Real>
void ProgramObjective<Real>::check(std::int64_t steps, std::int64_t) const {
  if (when_.kind != When::Kind::steps || when_.steps.empty()) return;
  if (when_.steps.front() < 0 || when_.steps.back() > steps) {
    throw Error("an objective has a term at step " +
                std::to_string(when_.steps.front() < 0 ? when_.steps.front() : when_.steps.back()) +
                ", outside the rollout of " + std::to_string(steps) + " steps");
  }
  if (when_.steps.back() == steps) refuse_controls_at_the_end();
}

template <class Real>
std::int64_t ProgramObjective<Real>::next(std::int64_t k, std::int64_t steps) const {
  if (when_.kind == When::Kind::end) return k <= steps ? steps : kNever;
  if (when_.kind == When::Kind::each_step) return k < steps ? k : kNever;
  const auto it = std::lower_bound(when_.steps.begin(), when_.steps.end(), k);
  return it == when_.steps.end() ? kNever : *it;
}

template <class Real>
std::int64_t ProgramObjective<Real>::previous(std::int64_t k, std::int64_t steps) const {
  if (when_.kind == When::Kind::end) return k >= steps ? steps : -1;
  if (when_.kind == When::Kind::each_step) return std::min(k, steps - 1);
  const auto it = std::upper_bound(when_.steps.begin(), when_.steps.end(), k);
  return it == when_.steps.begin() ? -1 : *(it - 1);
}

// --- what --------------------------------------------------------------------------------------------------

template <class Real>
void ProgramObjective<Real>::Call::run(const ad::Executable& code, int lanes) {
  bytes.reserve(static_cast<std::int64_t>(code.scratch_bytes<Real>()));
  code.run<Real>(inputs, outputs, lanes, {bytes.data(), static_cast<std::size_t>(bytes.capacity())});
}

template <class Real>
auto ProgramObjective<Real>::begin(const At& at) const -> Call& {
  thread_local Call call;
  call.inputs.clear();
  call.outputs.clear();
  call.k = static_cast<Real>(at.k);
  for (const Slot& slot : slots_) {
    if (slot.read) {
      call.inputs.push_back({pointer_of(at.in, slot.role) + slot.offset * at.lanes, at.lanes, false});
    } else {
      call.inputs.push_back({&kZero, 0, true});
    }
  }
  call.inputs.push_back({&call.k, 1, true});
  return call;
}

template <class Real>
void ProgramObjective<Real>::add_tangents(const Inputs<Real>& in_dot, int lanes, Call& call) const {
  for (const Slot& slot : slots_) {
    const Real* const data = pointer_of(in_dot, slot.role);
    if (slot.read && data != nullptr) {
      call.inputs.push_back({data + slot.offset * lanes, lanes, false});
    } else {
      call.inputs.push_back({&kZero, 0, true});
    }
  }
}

template <class Real>
void ProgramObjective<Real>::add_cotangents(const Cotangents<Real>& bar, int lanes, Call& call) const {
  for (const Slot& slot : slots_) {
    Real* const data = pointer_of(bar, slot.role);
    if (slot.read && data != nullptr) call.outputs.push_back({data + slot.offset * lanes, lanes, true});
  }
}

template <class Real>
void ProgramObjective<Real>::value(const At& at, double* loss) const {
  Call& call = begin(at);
  call.term.reserve(at.lanes);
  call.outputs.push_back({call.term.data(), at.lanes, false});
  call.run(value_, at.lanes);
  for (int l = 0; l < at.lanes; ++l) loss[l] += static_cast<double>(call.term.data()[l]);
}

template <class Real>
void ProgramObjective<Real>::vjp(const At& at, const Cotangents<Real>& bar) const {
  const Derivative& derivative = derivatives_[wanted_of(bar)];
  if (!derivative.exists) return;
  Call& call = begin(at);
  call.inputs.push_back({&kOne, 0, true});
  add_cotangents(bar, at.lanes, call);
  call.run(derivative.gradient, at.lanes);
}

template <class Real>
void ProgramObjective<Real>::hvp(const At& at, const Inputs<Real>& in_dot,
                                 const Cotangents<Real>& bar_dot) const {
  const Derivative& derivative = derivatives_[wanted_of(bar_dot)];
  if (!derivative.exists) return;
  Call& call = begin(at);
  call.inputs.push_back({&kOne, 0, true});
  add_tangents(in_dot, at.lanes, call);
  add_cotangents(bar_dot, at.lanes, call);
  call.run(derivative.rate, at.lanes);
}

}  // namespace

template <class Real>
ObjectivePtr<Real> program(const Signature& signature, const ad::Program& program, const When& when) {
  return std::make_shared<ProgramObjective<Real>>(signature, program, when);
}

template <class Real>
ObjectivePtr<Real> expression(const Signature& signature, std::string_view text, const When& when) {
  const bool timed = signature.find_if(Role::parameter, "dt") != nullptr;
  return program<Real>(signature,
                       ad::parse_expression(text, names_of(signature, timed), {.name = "objective"}), when);
}

#define COSTATE_INSTANTIATE(Real)                                                               \
  template ObjectivePtr<Real> program<Real>(const Signature&, const ad::Program&, const When&); \
  template ObjectivePtr<Real> expression<Real>(const Signature&, std::string_view, const When&);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::loss
