#include "costate/system/layered_system.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "costate/ad/derivative.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/pack.h"
#include "costate/system/bind_program.h"
#include "costate/system/program_system.h"

namespace costate {
namespace {

constexpr int kPacks = 2;          // of a block
constexpr int kStepsTogether = 4;  // whose outer products are added together
// Weights of the largest layer from which on a product beats straight code (measured: networks of 24 x 24 are a tie).
constexpr int kWorthwhile = 576;

template <class Real>
bool same_in_all_lanes(const Real* numbers, std::int64_t size, int lanes) {
  const auto bytes = static_cast<std::size_t>(lanes - 1) * sizeof(Real);
  for (std::int64_t i = 0; i < size; ++i, numbers += lanes) {
    if (std::memcmp(numbers, numbers + 1, bytes) != 0) return false;
  }
  return true;
}

}  // namespace

template <class Real>
struct LayeredSystem<Real>::Scratch : Workspace {
  const Variant* last = nullptr;
  const Real* held = nullptr;  // the parameters that `shared` and the weights are of
  std::vector<char> shared;
  std::vector<ad::LaneWeights<Real>> weights;
  AlignedBuffer<Real> compact, states, rates, numbers;
  std::vector<Real*> d;         // of each layer: stage after stage
  std::vector<Real*> e, d_bar;  // slot after slot
  Real *e_bar = nullptr, *x_bar = nullptr, *rate_bar = nullptr;
  std::vector<ad::InputBlock<Real>> inputs;
  std::vector<ad::OutputBlock<Real>> outputs;
  AlignedBuffer<std::byte> bytes;
  Real k = 0, c = 0;
  int filled = 0;  // slots that flush() has to add
  std::unique_ptr<typename StepProgram<Real>::Scratch> written_out;

  static Scratch& of(Workspace& work) { return static_cast<Scratch&>(work); }
  Real* state(int stage, std::int64_t size) { return states.data() + stage * size; }
  Real* rate(int stage, std::int64_t size) { return rates.data() + stage * size; }
};

// --- making ---------------------------------------------------------------------------------------------------

template <class Real>
LayeredSystem<Real>::LayeredSystem(const Signature& signature, ad::LayeredProgram source,
                                   const Scheme& scheme, int lanes)
    : source_(std::move(source)),
      user_(signature),
      full_(with_time_step(signature, scheme, reads_time(signature, source_.program))),
      scheme_(scheme),
      lanes_(lanes) {
  if (std::holds_alternative<EulerStep>(scheme)) a_ = {0}, b_ = {1};
  if (std::holds_alternative<Rk4Step>(scheme))
    a_ = {0, 0.5, 0.5, 1}, b_ = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  if (!b_.empty()) {
    dt_ = full_.find(Role::parameter, "dt").offset;
    dt_field_ = source_of("p/dt", "").index;
  }
  bind(signature, scheme);
}

// f with its inputs resolved; the time of a stage is t0 + (k + c) dt.
template <class Real>
void LayeredSystem<Real>::bind(const Signature& signature, const Scheme& scheme) {
  ad::Builder builder;
  BoundInputs inputs = declare_inputs(builder, full_);
  if (dt_ >= 0) {
    const ad::Id c = builder.input_field("c");
    const ad::Id shift = builder.binary(ad::Op::mul, c, inputs.p[static_cast<std::size_t>(dt_)]);
    inputs.t = builder.binary(ad::Op::add, inputs.t, shift);
  }
  for (std::size_t k = 0; k < source_.products.size(); ++k) {
    const std::string name = ad::product_field(k);
    const int rows = source_.products[k].rows;
    const ad::Id first = builder.input_field(name, rows);
    auto& ids = inputs.others.emplace_back(name, std::vector<ad::Id>{}).second;
    for (int i = 0; i < rows; ++i) ids.push_back(first + i);
  }
  // With a user's own dt, `next` programs read it under its own name.
  const Signature& known = std::holds_alternative<NextState>(scheme) ? full_ : signature;
  const std::vector<ad::Id> outputs = call(builder, source_.program, known, inputs);
  if (source_.program.output_fields()[0].size != full_.states())
    throw Error("a layered program gives " + std::to_string(source_.program.output_fields()[0].size) +
                " numbers for " + std::to_string(full_.states()) + " states");
  for (std::size_t f = 0; f < source_.program.output_fields().size(); ++f) {
    const auto first = outputs.begin() + source_.program.output_offset(static_cast<int>(f));
    const ad::Field& field = source_.program.output_fields()[f];
    builder.output_field(field.name, std::vector<ad::Id>(first, first + field.size));
  }
  const ad::Program bound = builder.finish();

  for (std::size_t k = 0; k <= source_.products.size(); ++k) {
    const bool last = k == source_.products.size();
    Part part;
    part.program = ad::part(bound, {last ? 0 : bound.output_field(ad::vector_field(k))});
    part.code = ad::Executable(part.program);
    for (const ad::Field& field : part.program.input_fields())
      part.sources.push_back(source_of(field.name, ""));
    parts_.push_back(std::move(part));
    if (last) break;
    const ad::DenseProduct& d = source_.products[k];
    const auto& fields = full_.fields(Role::parameter);
    Layer layer{0, 0, d.rows, d.columns, d.row_stride, d.column_stride};
    while (layer.field < fields.size() && fields[layer.field].name != d.weights) ++layer.field;
    if (layer.field == fields.size()) throw Error("the weights '" + d.weights + "' are not a parameter");
    layer.first = fields[layer.field].offset + d.offset;
    layers_.push_back(layer);
  }
}

template <class Real>
auto LayeredSystem<Real>::source_of(const std::string& name, const std::string& value) const -> Source {
  if (name == value) return {Reads::value};
  if (name == value + "_bar") return {Reads::value_bar};
  if (name == "x") return {Reads::state};
  if (name == "u") return {Reads::control};
  if (name == "k") return {Reads::step};
  if (name == "c") return {Reads::stage};
  for (std::size_t k = 0; k < source_.products.size(); ++k) {
    if (name == ad::product_field(k)) return {Reads::product, k};
  }
  const auto& fields = full_.fields(Role::parameter);
  const auto at = std::find_if(fields.begin(), fields.end(),
                               [&](const Field& field) { return "p/" + field.name == name; });
  return {Reads::parameter, static_cast<std::size_t>(at - fields.begin())};
}

template <class Real>
std::unique_ptr<Workspace> LayeredSystem<Real>::make_workspace() const {
  auto s = std::make_unique<Scratch>();
  const auto stages = static_cast<std::int64_t>(std::max<std::size_t>(b_.size(), 1));
  const std::int64_t n = this->state_size(), slots = stages * kStepsTogether;
  s->shared.resize(full_.fields(Role::parameter).size());
  s->weights.resize(layers_.size());
  s->states.reserve(stages * n);
  s->rates.reserve(stages * n);
  std::int64_t compact = 0, numbers = 2 * n, widest = 0;
  for (const Layer& layer : layers_) {
    compact += 2 * std::int64_t(layer.rows) * layer.columns;
    numbers += (stages * layer.rows + slots * (layer.rows + layer.columns)) * lanes_;
    widest = std::max<std::int64_t>(widest, layer.columns);
  }
  s->compact.reserve(compact);
  s->numbers.reserve(numbers + widest * lanes_);
  Real* next = s->numbers.data();
  const auto take = [&](std::int64_t count) { return std::exchange(next, next + count); };
  s->x_bar = take(n);
  s->rate_bar = take(n);
  s->e_bar = take(widest * lanes_);
  for (const Layer& layer : layers_) {
    s->d.push_back(take(stages * layer.rows * lanes_));
    s->e.push_back(take(slots * layer.columns * lanes_));
    s->d_bar.push_back(take(slots * layer.rows * lanes_));
  }
  std::size_t fields = 0;
  for (const Part& part : parts_) {
    fields = std::max(fields, part.sources.size() + 2);
    s->bytes.reserve(static_cast<std::int64_t>(part.code.template scratch_bytes<Real>()));
  }
  s->inputs.reserve(fields);
  s->outputs.reserve(fields);
  return s;
}

// --- derivatives on demand ------------------------------------------------------------------------------------

template <class Real>
auto LayeredSystem<Real>::transpose(const Part& part, bool controls,
                                    const std::vector<bool>& parameters) const -> Transpose {
  Transpose result;
  ad::DerivativeOptions wanted;
  for (std::size_t i = 0; i < part.sources.size(); ++i) {
    const Source& source = part.sources[i];
    const bool active = source.kind == Reads::state || source.kind == Reads::product ||
                        (source.kind == Reads::control && controls) ||
                        (source.kind == Reads::parameter && parameters[source.index]);
    if (!active) continue;
    wanted.active.push_back(part.program.input_fields()[i].name);
    result.outputs.push_back(source);
  }
  if (result.outputs.empty()) return result;
  // The value of the part is still there from the way forward.
  wanted.with_outputs = true;
  const ad::Program whole = ad::assume(ad::vjp(part.program, wanted), 0);
  std::vector<int> all(whole.output_fields().size());
  std::iota(all.begin(), all.end(), 0);
  const ad::Program program = ad::part(whole, all);
  result.code = ad::Executable(program);
  for (const ad::Field& field : program.input_fields())
    result.sources.push_back(source_of(field.name, part.value()));
  return result;
}

template <class Real>
auto LayeredSystem<Real>::variant(bool controls, bool any_parameter, const Activity& active, Scratch& s) const
    -> const Variant& {
  const auto wants = [&](std::size_t f) { return any_parameter && active.parameters[f]; };
  const auto matches = [&](const Variant& v) {
    if (v.controls != controls) return false;
    for (std::size_t f = 0; f < v.parameters.size(); ++f) {
      if (v.parameters[f] != wants(f)) return false;
    }
    return true;
  };
  if (s.last != nullptr && matches(*s.last)) return *s.last;
  const std::lock_guard lock(mutex_);
  s.last = nullptr;
  for (const auto& v : variants_) {
    if (matches(*v)) s.last = v.get();
  }
  if (s.last == nullptr) {
    auto made = std::make_unique<Variant>();
    made->controls = controls;
    for (std::size_t f = 0; f < s.shared.size(); ++f) made->parameters.push_back(wants(f));
    for (const Part& part : parts_) made->parts.push_back(transpose(part, controls, made->parameters));
    s.last = variants_.emplace_back(std::move(made)).get();
  }
  for (const Transpose& t : s.last->parts) {
    if (!t.outputs.empty()) s.bytes.reserve(static_cast<std::int64_t>(t.code.template scratch_bytes<Real>()));
  }
  return *s.last;
}

template <class Real>
const StepProgram<Real>& LayeredSystem<Real>::written_out() const {
  const std::lock_guard lock(mutex_);
  if (!written_out_)
    written_out_ = std::make_unique<StepProgram<Real>>(full_, bind_step(user_, ad::expand(source_), scheme_));
  return *written_out_;
}

// --- f and its transpose --------------------------------------------------------------------------------------

template <class Real>
void LayeredSystem<Real>::hold(const Real* p, Scratch& s) const {
  if (s.held == p) return;
  const auto& fields = full_.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    s.shared[f] = same_in_all_lanes(p + fields[f].offset * lanes_, fields[f].size, lanes_);
  Real* next = s.compact.data();
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Layer& layer = layers_[k];
    const Real* const first = p + layer.first * lanes_;
    ad::LaneWeights<Real>& w = s.weights[k];
    w = {nullptr, nullptr, s.shared[layer.field] ? nullptr : first, layer.row_stride, layer.column_stride};
    if (!w.shared()) continue;
    const std::int64_t rows = layer.rows, columns = layer.columns;
    Real* const by_row = std::exchange(next, next + rows * columns);
    Real* const by_column = std::exchange(next, next + rows * columns);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const Real weight = first[(i * layer.row_stride + j * layer.column_stride) * lanes_];
        by_row[i * columns + j] = weight;
        by_column[j * rows + i] = weight;
      }
    }
    w.rows = by_row;
    w.columns_first = by_column;
  }
  s.held = p;
}

template <class Real>
void LayeredSystem<Real>::add_sources(const std::vector<Source>& sources, const Inputs<Real>& in, int stage,
                                      const Real* value, const Real* value_bar, Scratch& s) const {
  s.inputs.clear();
  s.outputs.clear();
  for (const Source& source : sources) {
    switch (source.kind) {
      case Reads::state:
        s.inputs.push_back({stage == 0 ? in.x : s.state(stage, this->state_size()), lanes_, false});
        break;
      case Reads::control:
        s.inputs.push_back({in.u, lanes_, false});
        break;
      case Reads::parameter:
        s.inputs.push_back({in.p + full_.fields(Role::parameter)[source.index].offset * lanes_, lanes_,
                            s.shared[source.index] != 0});
        break;
      case Reads::step:
        s.inputs.push_back({&s.k, 1, true});
        break;
      case Reads::stage:
        s.inputs.push_back({&s.c, 1, true});
        break;
      case Reads::product:
        s.inputs.push_back(
            {s.d[source.index] + std::int64_t(stage) * layers_[source.index].rows * lanes_, lanes_, false});
        break;
      case Reads::value:
        s.inputs.push_back({value, lanes_, false});
        break;
      case Reads::value_bar:
        s.inputs.push_back({value_bar, lanes_, false});
        break;
    }
  }
}

template <class Real>
void LayeredSystem<Real>::evaluate(const Inputs<Real>& in, int stage, int slot, Real* rate,
                                   Scratch& s) const {
  s.c = b_.empty() ? Real(0) : static_cast<Real>(a_[static_cast<std::size_t>(stage)]);
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const bool last = k == layers_.size();
    Real* const e = last ? rate : s.e[k] + std::int64_t(slot) * layers_[k].columns * lanes_;
    add_sources(parts_[k].sources, in, stage, nullptr, nullptr, s);
    s.outputs.push_back({e, lanes_, false});
    parts_[k].code.template run<Real>(s.inputs, s.outputs, lanes_,
                                      {s.bytes.data(), static_cast<std::size_t>(s.bytes.capacity())});
    if (last) break;
    const Layer& layer = layers_[k];
    ad::multiply<Real>(s.weights[k], layer.rows, layer.columns, lanes_, e,
                       s.d[k] + std::int64_t(stage) * layer.rows * lanes_);
  }
}

// x_bar is overwritten; bar.u and bar.p are added to, but for the weights' share, which stays in the slot.
template <class Real>
void LayeredSystem<Real>::evaluate_vjp(const Inputs<Real>& in, int stage, int slot, const Real* rate_bar,
                                       Real* x_bar, const Cotangents<Real>& bar, const Variant& v,
                                       Scratch& s) const {
  s.c = b_.empty() ? Real(0) : static_cast<Real>(a_[static_cast<std::size_t>(stage)]);
  std::fill_n(x_bar, this->state_size(), Real(0));
  const auto d_bar = [&](std::size_t k) {
    return s.d_bar[k] + std::int64_t(slot) * layers_[k].rows * lanes_;
  };
  for (std::size_t k = 0; k < layers_.size(); ++k)
    std::fill_n(d_bar(k), std::int64_t(layers_[k].rows) * lanes_, Real(0));
  for (std::size_t k = parts_.size(); k-- > 0;) {
    const Real* out_bar = rate_bar;
    if (k < layers_.size()) {
      ad::multiply<Real>(s.weights[k].transposed(), layers_[k].columns, layers_[k].rows, lanes_, d_bar(k),
                         s.e_bar);
      out_bar = s.e_bar;
    }
    const Transpose& t = v.parts[k];
    if (t.outputs.empty()) continue;
    const Real* const value = k < layers_.size() ? s.e[k] + std::int64_t(slot) * layers_[k].columns * lanes_
                                                 : s.rate(stage, this->state_size());
    add_sources(t.sources, in, stage, value, out_bar, s);
    for (const Source& source : t.outputs) {
      Real* const to = source.kind == Reads::state     ? x_bar
                       : source.kind == Reads::control ? bar.u
                       : source.kind == Reads::product
                           ? d_bar(source.index)
                           : bar.p + full_.fields(Role::parameter)[source.index].offset * lanes_;
      s.outputs.push_back({to, lanes_, true});
    }
    t.code.template run<Real>(s.inputs, s.outputs, lanes_,
                              {s.bytes.data(), static_cast<std::size_t>(s.bytes.capacity())});
  }
}

// --- a step ---------------------------------------------------------------------------------------------------

// x_s = x + a_s h k_{s-1}
template <class Real>
void LayeredSystem<Real>::stage_state(const Inputs<Real>& in, int stage, Scratch& s) const {
  if (stage == 0) return;
  const std::int64_t n = this->state_size();
  const Real* const h = in.p + dt_ * lanes_;
  const Real a = static_cast<Real>(a_[static_cast<std::size_t>(stage)]);
  Real* const x = s.state(stage, n);
  const Real* const k = s.rate(stage - 1, n);
  for (std::int64_t i = 0; i < n; i += lanes_) {
    for (int l = 0; l < lanes_; ++l) x[i + l] = std::fma(a * h[l], k[i + l], in.x[i + l]);
  }
}

template <class Real>
void LayeredSystem<Real>::step(const StepContext& at, const Inputs<Real>& in, Real* y, Real*,
                               Workspace& work) const {
  Scratch& s = Scratch::of(work);
  const bool own = s.held != in.p;
  hold(in.p, s);
  s.k = static_cast<Real>(at.k);
  const std::int64_t n = this->state_size();
  if (b_.empty()) {
    evaluate(in, 0, 0, y, s);
    if (own) s.held = nullptr;
    return;
  }
  const int stages = static_cast<int>(b_.size());
  for (int stage = 0; stage < stages; ++stage) {
    stage_state(in, stage, s);
    evaluate(in, stage, 0, s.rate(stage, n), s);
  }
  const Real* const h = in.p + dt_ * lanes_;
  for (std::int64_t i = 0; i < n; i += lanes_) {
    for (int l = 0; l < lanes_; ++l) {
      Real sum = static_cast<Real>(b_[0]) * s.rates.data()[i + l];
      for (int stage = 1; stage < stages; ++stage)
        sum = std::fma(static_cast<Real>(b_[static_cast<std::size_t>(stage)]),
                       s.rates.data()[stage * n + i + l], sum);
      y[i + l] = std::fma(h[l], sum, in.x[i + l]);
    }
  }
  if (own) s.held = nullptr;
}

template <class Real>
void LayeredSystem<Real>::pull_back(const StepContext& at, const Inputs<Real>& in, const Real* y_bar,
                                    const Cotangents<Real>& bar, const Variant& v, Scratch& s) const {
  s.k = static_cast<Real>(at.k);
  const std::int64_t n = this->state_size();
  const int stages = static_cast<int>(std::max<std::size_t>(b_.size(), 1)), first = s.filled;
  for (int stage = 0; stage < stages; ++stage) {
    stage_state(in, stage, s);
    evaluate(in, stage, first + stage, s.rate(stage, n), s);
  }
  s.filled += stages;
  if (b_.empty()) return evaluate_vjp(in, 0, first, y_bar, bar.x, bar, v, s);

  const Real* const h = in.p + dt_ * lanes_;
  const bool wants_dt = bar.p != nullptr && v.parameters[dt_field_];
  Real* const h_bar = wants_dt ? bar.p + dt_ * lanes_ : nullptr;
  std::copy_n(y_bar, n, bar.x);
  for (int stage = stages - 1; stage >= 0; --stage) {
    const Real b = static_cast<Real>(b_[static_cast<std::size_t>(stage)]);
    const bool is_last = stage == stages - 1;
    const Real a = is_last ? Real(0) : static_cast<Real>(a_[static_cast<std::size_t>(stage) + 1]);
    const Real* const k = s.rate(stage, n);
    // s.x_bar is x_{s+1}_ of the stage before in this loop.
    for (std::int64_t i = 0; i < n; i += lanes_) {
      for (int l = 0; l < lanes_; ++l) {
        const Real next = is_last ? Real(0) : s.x_bar[i + l];
        const Real slope = std::fma(a, next, b * y_bar[i + l]);
        s.rate_bar[i + l] = h[l] * slope;
        if (h_bar != nullptr) h_bar[l] = std::fma(k[i + l], slope, h_bar[l]);
      }
    }
    evaluate_vjp(in, stage, first + stage, s.rate_bar, s.x_bar, bar, v, s);
    for (std::int64_t i = 0; i < n; ++i) bar.x[i] += s.x_bar[i];
  }
}

template <class Real>
void LayeredSystem<Real>::flush(Real* p_bar, const Variant& v, Scratch& s) const {
  for (std::size_t k = 0; k < layers_.size() && p_bar != nullptr; ++k) {
    const Layer& layer = layers_[k];
    if (!v.parameters[layer.field]) continue;
    ad::add_outer<Real>({s.d_bar[k], std::int64_t(layer.rows) * lanes_, s.e[k],
                         std::int64_t(layer.columns) * lanes_, s.filled},
                        layer.rows, layer.columns, lanes_, layer.row_stride, layer.column_stride,
                        p_bar + layer.first * lanes_);
  }
  s.filled = 0;
}

template <class Real>
void LayeredSystem<Real>::step_vjp(const StepContext& at, const Inputs<Real>& in, const Real*,
                                   const Real* y_bar, const Cotangents<Real>& bar, const Activity& active,
                                   Workspace& work) const {
  Scratch& s = Scratch::of(work);
  const bool own = s.held != in.p;
  hold(in.p, s);
  const Variant& v = variant(full_.controls() > 0 && bar.u != nullptr, bar.p != nullptr, active, s);
  s.filled = 0;
  pull_back(at, in, y_bar, bar, v, s);
  flush(bar.p, v, s);
  if (own) s.held = nullptr;
}

// --- runs -----------------------------------------------------------------------------------------------------

template <class Real>
void LayeredSystem<Real>::advance(const Run<Real>& run, const Ring<Real>& states, Real* tape,
                                  Workspace& work) const {
  Scratch& s = Scratch::of(work);
  s.held = nullptr;
  hold(run.p, s);
  System<Real>::advance(run, states, tape, work);
  s.held = nullptr;
}

template <class Real>
void LayeredSystem<Real>::reverse(const Run<Real>& run, const Real* states, const Real*,
                                  const Ring<Real>& lambda, Real* u_bar, Real* p_bar, const Activity& active,
                                  Workspace& work) const {
  Scratch& s = Scratch::of(work);
  s.held = nullptr;
  hold(run.p, s);
  const Variant& v = variant(full_.controls() > 0 && u_bar != nullptr, p_bar != nullptr, active, s);
  const std::int64_t size = this->state_size();
  const auto stages = static_cast<int>(std::max<std::size_t>(b_.size(), 1));
  std::int64_t slot = lambda.start;
  s.filled = 0;
  for (std::int64_t j = run.count - 1; j >= 0; --j) {
    const std::int64_t k = run.first + j, knot = k / run.hold * this->control_size();
    const std::int64_t next = slot + 1 == lambda.slots ? 0 : slot + 1;
    const Inputs<Real> in{states + j * size, run.u ? run.u + knot : nullptr, run.p};
    pull_back(run.context(k), in, lambda.base + slot * size,
              {lambda.base + next * size, u_bar ? u_bar + knot : nullptr, p_bar}, v, s);
    if (s.filled + stages > stages * kStepsTogether) flush(p_bar, v, s);
    slot = next;
    stop_if_interrupted();
  }
  flush(p_bar, v, s);
  s.held = nullptr;
}

// --- tangents and second derivatives --------------------------------------------------------------------------

template <class Real>
void LayeredSystem<Real>::step_jvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                                   Real* y, Real* y_dot, Workspace& work) const {
  Scratch& s = Scratch::of(work);
  const StepProgram<Real>& program = written_out();
  if (!s.written_out) s.written_out = program.make_scratch();
  program.jvp(at.k, in, in_dot, y, y_dot, lanes_, *s.written_out);
}

template <class Real>
void LayeredSystem<Real>::step_hvp(const StepContext& at, const Inputs<Real>& in, const Inputs<Real>& in_dot,
                                   const Real* y_bar, const Real* y_bar_dot, const Cotangents<Real>& bar,
                                   const Cotangents<Real>& bar_dot, const Activity& active,
                                   Workspace& work) const {
  Scratch& s = Scratch::of(work);
  const StepProgram<Real>& program = written_out();
  if (!s.written_out) s.written_out = program.make_scratch();
  program.hvp(at.k, in, in_dot, y_bar, y_bar_dot, bar, bar_dot, active, lanes_, *s.written_out);
}

template class LayeredSystem<float>;
template class LayeredSystem<double>;

template <class Real>
int layered_lanes(std::int64_t worlds) {
  constexpr std::int64_t width = kNativeLanes<Real>;
  if (worlds <= 1) return 1;
  return static_cast<int>(std::min<std::int64_t>((worlds + width - 1) / width, kPacks) * width);
}

template <class Real>
std::shared_ptr<System<Real>> layered_system(const Signature& signature, const ad::LayeredProgram& program,
                                             const Scheme& scheme, std::int64_t worlds) {
  int largest = 0;
  for (const ad::DenseProduct& d : program.products) largest = std::max(largest, d.rows * d.columns);
  if (largest < kWorthwhile) return program_system<Real>(signature, ad::expand(program), scheme, worlds);
  return std::make_shared<LayeredSystem<Real>>(signature, program, scheme, layered_lanes<Real>(worlds));
}

#define COSTATE_INSTANTIATE(Real)                                                                          \
  template int layered_lanes<Real>(std::int64_t);                                                          \
  template std::shared_ptr<System<Real>> layered_system<Real>(const Signature&, const ad::LayeredProgram&, \
                                                              const Scheme&, std::int64_t);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate
