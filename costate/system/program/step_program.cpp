#include "costate/system/program/step_program.h"

#include <cstring>
#include <utility>

#include "costate/ad/derivative.h"
#include "costate/system/block_memory.h"

namespace costate {

template <class Real>
StepProgram<Real>::StepProgram(const Signature& signature, ad::Program bound)
    : program_(std::move(bound)), has_controls_(signature.controls() > 0), step_(program_) {
  for (const Field& field : signature.fields(Role::parameter)) {
    offsets_.push_back(field.offset);
    sizes_.push_back(field.size);
  }
}

template <class Real>
auto StepProgram<Real>::make_scratch() const -> std::unique_ptr<Scratch> {
  auto scratch = std::make_unique<Scratch>();
  // The longest lists are those of hvp: x, u, p, k, y_bar and the tangents of all but k; bar and bar_dot.
  scratch->inputs.reserve(2 * (offsets_.size() + 4));
  scratch->outputs.reserve(2 * (offsets_.size() + 2));
  scratch->shared.resize(offsets_.size());
  scratch->bytes.reserve(static_cast<std::int64_t>(step_.scratch_bytes<Real>()));
  return scratch;
}

// --- derivatives on demand ---------------------------------------------------------------------------------

template <class Real>
auto StepProgram<Real>::variant(Kind kind, const FieldChoice& choice, Scratch& scratch) const
    -> const Variant& {
  const Variant*& last = scratch.last[kind];
  if (last != nullptr && last->are(kind, choice)) return *last;
  last = &variants_.find(kind, choice, [&] { return make(kind, choice); });
  scratch.bytes.reserve(static_cast<std::int64_t>(last->code.template scratch_bytes<Real>()));
  return *last;
}

template <class Real>
auto StepProgram<Real>::make(Kind kind, const FieldChoice& choice) const -> std::unique_ptr<Variant> {
  auto v = std::make_unique<Variant>(kind, choice, offsets_.size());
  // Parameters stand after x and u, in order.
  const std::size_t first = has_controls_ ? 2 : 1;
  ad::DerivativeOptions wanted{.active = {"x"}}, all{.active = {"x"}};
  if (has_controls_) all.active.emplace_back("u");
  if (choice.controls) wanted.active.emplace_back("u");
  for (std::size_t f = 0; f < offsets_.size(); ++f) {
    all.active.push_back(program_.input_fields()[first + f].name);
    if (choice(f)) wanted.active.push_back(all.active.back());
  }
  all.active.emplace_back("y_bar");
  if (kind == kJvp) {
    v->code = ad::Executable(ad::jvp(program_, wanted));
  } else {
    const ad::Program transpose = ad::vjp(program_, wanted);
    v->code = ad::Executable(kind == kVjp ? transpose : ad::jvp(transpose, all));
  }
  return v;
}

// --- blocks, in the order of a program's fields ------------------------------------------------------------

template <class Real>
void StepProgram<Real>::add_inputs(std::int64_t k, const Inputs<Real>& in, int lanes,
                                   Scratch& scratch) const {
  scratch.inputs.clear();
  scratch.outputs.clear();
  scratch.k = static_cast<Real>(k);
  scratch.inputs.push_back({in.x, lanes, false});
  if (has_controls_) scratch.inputs.push_back({in.u, lanes, false});
  // Most parameters are the same in all worlds: then an instruction loads them once for the whole strip.
  for (std::size_t f = 0; f < offsets_.size(); ++f) {
    const Real* const p = in.p + offsets_[f] * lanes;
    const bool shared = scratch.held == in.p ? scratch.shared[f] : same_in_all_lanes(p, sizes_[f], lanes);
    scratch.inputs.push_back({p, lanes, shared});
  }
  scratch.inputs.push_back({&scratch.k, 1, true});
}

template <class Real>
void StepProgram<Real>::hold_parameters(const Real* p, int lanes, Scratch& scratch) const {
  for (std::size_t f = 0; f < offsets_.size(); ++f) {
    scratch.shared[f] = same_in_all_lanes(p + offsets_[f] * lanes, sizes_[f], lanes);
  }
  scratch.held = p;
}

template <class Real>
void StepProgram<Real>::release_parameters(Scratch& scratch) const {
  scratch.held = nullptr;
}

template <class Real>
void StepProgram<Real>::add_tangents(const Inputs<Real>& in_dot, const Variant& wanted, int lanes,
                                     Scratch& scratch) const {
  const auto add = [&](const Real* data, std::int64_t offset) {
    if (data != nullptr) {
      scratch.inputs.push_back({data + offset * lanes, lanes, false});
    } else {
      scratch.inputs.push_back({&scratch.zero, 0, true});
    }
  };
  const bool all = wanted.kind == kHvp;
  add(in_dot.x, 0);
  if (has_controls_ && (all || wanted.controls)) add(in_dot.u, 0);
  for (std::size_t f = 0; f < offsets_.size(); ++f) {
    if (all || wanted.parameters[f]) add(in_dot.p, offsets_[f]);
  }
}

template <class Real>
void StepProgram<Real>::add_cotangents(const Cotangents<Real>& bar, const Variant& wanted, int lanes,
                                       Scratch& scratch) const {
  scratch.outputs.push_back({bar.x, lanes, false});
  if (wanted.controls) scratch.outputs.push_back({bar.u, lanes, true});
  for (std::size_t f = 0; f < offsets_.size(); ++f) {
    if (wanted.parameters[f]) scratch.outputs.push_back({bar.p + offsets_[f] * lanes, lanes, true});
  }
}

template <class Real>
void StepProgram<Real>::run(const ad::Executable& code, int lanes, Scratch& scratch) const {
  code.template run<Real>(scratch.inputs, scratch.outputs, lanes,
                          {scratch.bytes.data(), static_cast<std::size_t>(scratch.bytes.capacity())});
}

// --- the maps ----------------------------------------------------------------------------------------------

template <class Real>
void StepProgram<Real>::step(std::int64_t k, const Inputs<Real>& in, Real* y, int lanes,
                             Scratch& scratch) const {
  add_inputs(k, in, lanes, scratch);
  scratch.outputs.push_back({y, lanes, false});
  run(step_, lanes, scratch);
}

template <class Real>
void StepProgram<Real>::jvp(std::int64_t k, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y,
                            Real* y_dot, int lanes, Scratch& scratch) const {
  const Variant& v =
      variant(kJvp, {has_controls_ && in_dot.u != nullptr, in_dot.p != nullptr, nullptr}, scratch);
  add_inputs(k, in, lanes, scratch);
  add_tangents(in_dot, v, lanes, scratch);
  scratch.outputs.push_back({y, lanes, false});
  scratch.outputs.push_back({y_dot, lanes, false});
  run(v.code, lanes, scratch);
}

template <class Real>
void StepProgram<Real>::vjp(std::int64_t k, const Inputs<Real>& in, const Real* y_bar,
                            const Cotangents<Real>& bar, const Activity& active, int lanes,
                            Scratch& scratch) const {
  const Variant& v = variant(kVjp, {has_controls_ && bar.u != nullptr, bar.p != nullptr, &active}, scratch);
  add_inputs(k, in, lanes, scratch);
  scratch.inputs.push_back({y_bar, lanes, false});
  add_cotangents(bar, v, lanes, scratch);
  run(v.code, lanes, scratch);
}

template <class Real>
void StepProgram<Real>::hvp(std::int64_t k, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                            const Real* y_bar, const Real* y_bar_dot, const Cotangents<Real>& bar,
                            const Cotangents<Real>& bar_dot, const Activity& active, int lanes,
                            Scratch& scratch) const {
  const Variant& v = variant(kHvp, {has_controls_ && bar.u != nullptr, bar.p != nullptr, &active}, scratch);
  add_inputs(k, in, lanes, scratch);
  scratch.inputs.push_back({y_bar, lanes, false});
  add_tangents(in_dot, v, lanes, scratch);
  if (y_bar_dot != nullptr) {
    scratch.inputs.push_back({y_bar_dot, lanes, false});
  } else {
    scratch.inputs.push_back({&scratch.zero, 0, true});
  }
  add_cotangents(bar, v, lanes, scratch);
  add_cotangents(bar_dot, v, lanes, scratch);
  run(v.code, lanes, scratch);
}

template class StepProgram<float>;
template class StepProgram<double>;

}  // namespace costate
