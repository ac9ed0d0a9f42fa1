// Derivatives of a LayeredSystem's straight code, made when they are first asked for.
#include <numeric>
#include <utility>

#include "costate/ad/derivative.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/layered_scratch.h"

namespace costate {

// The transpose of a part by its states and products, and by the inputs that are asked for; `outputs`: what
// its outputs are cotangents of.
template <class Real>
ad::Program LayeredSystem<Real>::transposed(const Part& part, bool controls,
                                            const std::vector<bool>& parameters,
                                            std::vector<Source>& outputs) const {
  ad::DerivativeOptions wanted;
  for (std::size_t i = 0; i < part.sources.size(); ++i) {
    const Source& source = part.sources[i];
    const bool active = source.kind == Reads::state || source.kind == Reads::product ||
                        (source.kind == Reads::control && controls) ||
                        (source.kind == Reads::parameter && parameters[source.index]);
    if (!active) continue;
    wanted.active.push_back(part.program.input_fields()[i].name);
    outputs.push_back(source);
  }
  if (outputs.empty()) return {};
  // The value of the part is still there from the way forward, unless it is the tanh of what the program
  // gives.
  wanted.with_outputs = !part.then_tanh;
  const ad::Program bare = ad::vjp(part.program, wanted);
  const ad::Program whole = part.then_tanh ? bare : ad::assume(bare, 0);
  std::vector<int> all(whole.output_fields().size());
  std::iota(all.begin(), all.end(), 0);
  return ad::part(whole, all);
}

template <class Real>
auto LayeredSystem<Real>::transpose(const Part& part, bool controls,
                                    const std::vector<bool>& parameters) const -> Transpose {
  Transpose result;
  const ad::Program program = transposed(part, controls, parameters, result.outputs);
  if (result.outputs.empty()) return result;
  result.code = ad::Executable(program);
  for (const ad::Field& field : program.input_fields())
    result.sources.push_back(source_of(field.name, part.value()));
  return result;
}

template <class Real>
auto LayeredSystem<Real>::variant(const FieldChoice& choice, Scratch& s) const -> const Variant& {
  constexpr int kVjp = 0;
  if (s.last != nullptr && s.last->are(kVjp, choice)) return *s.last;
  s.last = &variants_.find(kVjp, choice, [&] {
    auto made = std::make_unique<Variant>(kVjp, choice, s.shared.size());
    for (const Part& part : parts_) made->parts.push_back(transpose(part, made->controls, made->parameters));
    return made;
  });
  for (const Transpose& t : s.last->parts) {
    if (!t.outputs.empty()) s.bytes.reserve(static_cast<std::int64_t>(t.code.template scratch_bytes<Real>()));
  }
  return *s.last;
}

template <class Real>
const StepProgram<Real>& LayeredSystem<Real>::step_program() const {
  const std::lock_guard lock(mutex_);
  if (!written_out_)
    written_out_ =
        std::make_unique<StepProgram<Real>>(signature_, bind_step(user_, ad::expand(source_), scheme_));
  return *written_out_;
}

template class LayeredSystem<float>;
template class LayeredSystem<double>;

}  // namespace costate
