#include "costate/system/program/layered_system.h"

#include <algorithm>
#include <string>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/pack.h"
#include "costate/system/program/bind_program.h"
#include "costate/system/program/layered_scratch.h"
#include "costate/system/program/program_system.h"

namespace costate {
namespace {

constexpr int kPacks = 2;   // of a block
constexpr int kSlots = 32;  // evaluations whose outer products are added together, at least a step's
// Weights of the largest layer from which on a product beats straight code (measured: networks of 24 x 24 are
// a tie).
constexpr int kWorthwhile = 576;

}  // namespace

template <class Real>
LayeredSystem<Real>::LayeredSystem(const Signature& signature, ad::LayeredProgram source,
                                   const Scheme& scheme, int lanes)
    : Base(with_time_step(signature, scheme, reads_time(signature, source.program)), lanes),
      source_(std::move(source)),
      user_(signature),
      scheme_(scheme),
      method_(rows_of(scheme).rows),
      stages_(std::max(1, static_cast<int>(method_.c.size()))),
      slots_(std::max(1, kSlots / stages_) * stages_) {
  if (integrates()) {
    dt_ = signature_.find(Role::parameter, "dt").offset;
    dt_field_ = source_of("p/dt", "").index;
    columns_.resize(method_.c.size());
    for (int s = 0; s < stages_; ++s) {
      for (const auto& term : method_.a[s]) columns_[term.stage].push_back({s, term.value});
    }
    b_.assign(method_.c.size(), 0.0);
    for (const auto& term : method_.b) b_[term.stage] = term.value;
  }
  bind(signature, scheme);
  lay_out_records();
}

// f with its inputs resolved; the time of a stage is t0 + (k + c) dt.
template <class Real>
void LayeredSystem<Real>::bind(const Signature& signature, const Scheme& scheme) {
  ad::Builder builder;
  BoundInputs inputs = declare_inputs(builder, signature_);
  if (dt_ >= 0) {
    const ad::Id c = builder.input_field("c");
    const ad::Id shift = builder.binary(ad::Op::mul, c, inputs.p[dt_]);
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
  const Signature& known = std::holds_alternative<NextState>(scheme) ? signature_ : signature;
  const std::vector<ad::Id> outputs = call(builder, source_.program, known, inputs);
  if (source_.program.output_fields()[0].size != signature_.states())
    throw Error("a layered program gives " + std::to_string(source_.program.output_fields()[0].size) +
                " numbers for " + std::to_string(signature_.states()) + " states");
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
    if (auto before = last ? std::nullopt : ad::arguments_of(part.program, ad::Op::tanh)) {
      part.program = std::move(*before);
      part.then_tanh = true;
    }
    part.code = ad::Executable(part.program);
    for (const ad::Field& field : part.program.input_fields())
      part.sources.push_back(source_of(field.name, ""));
    if (part.then_tanh && lanes_ > 1) part.bias = biased_product(part);
    parts_.push_back(std::move(part));
    if (last) break;
    const ad::DenseProduct& d = source_.products[k];
    const auto& fields = signature_.fields(Role::parameter);
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
  const auto& fields = signature_.fields(Role::parameter);
  const auto at = std::find_if(fields.begin(), fields.end(),
                               [&](const Field& field) { return "p/" + field.name == name; });
  return {Reads::parameter, static_cast<std::size_t>(at - fields.begin())};
}

// Output i = d[i] + b[first + i] for all i, with d the whole result of a product.
template <class Real>
auto LayeredSystem<Real>::biased_product(const Part& part) const -> std::optional<typename Part::Sum> {
  const ad::Program& program = part.program;
  std::vector<int> field_of, place_of;
  for (std::size_t f = 0; f < program.input_fields().size(); ++f) {
    for (int i = 0; i < program.input_fields()[f].size; ++i)
      field_of.push_back(static_cast<int>(f)), place_of.push_back(i);
  }
  std::optional<typename Part::Sum> found;
  int i = 0;
  for (const ad::Id id : program.outputs()) {
    const ad::Node& sum = program.nodes()[id];
    if (sum.op != ad::Op::add) return {};
    typename Part::Sum here;
    int bias = -1, product = -1;
    for (const ad::Id operand : {sum.a, sum.b}) {
      const ad::Node& input = program.nodes()[operand];
      if (input.op != ad::Op::input) return {};
      const std::size_t element = input.value;
      const Source& source = part.sources[field_of[element]];
      if (source.kind == Reads::product) here.product = source.index, product = place_of[element];
      if (source.kind == Reads::parameter) here.field = source.index, bias = place_of[element];
    }
    if (bias < 0 || product != i) return {};
    here.first = signature_.fields(Role::parameter)[here.field].offset + bias - i;
    if (found && (found->product != here.product || found->field != here.field || found->first != here.first))
      return {};
    found = here;
    ++i;
  }
  if (!found || layers_[found->product].rows != i) return {};
  return found;
}

// A transpose by everything reads all that any other does.
template <class Real>
void LayeredSystem<Real>::lay_out_records() {
  std::vector<bool> read(layers_.size(), false);
  const std::vector<bool> every(signature_.fields(Role::parameter).size(), true);
  for (const Part& part : parts_) {
    std::vector<Source> outputs;
    const ad::Program program = transposed(part, true, every, outputs);
    for (const ad::Field& field : program.input_fields()) {
      const Source source = source_of(field.name, part.value());
      if (source.kind == Reads::product) read[source.index] = true;
    }
  }
  const auto take = [&](std::int64_t numbers) {
    return std::exchange(record_size_, record_size_ + numbers * lanes_);
  };
  for (const Layer& layer : layers_) vector_at_.push_back(take(layer.columns));
  for (std::size_t k = 0; k < layers_.size(); ++k)
    result_at_.push_back(read[k] ? take(layers_[k].rows) : std::int64_t{-1});
  rate_at_ = take(signature_.states());
}

template <class Real>
std::unique_ptr<Workspace> LayeredSystem<Real>::make_workspace() const {
  auto s = std::make_unique<Scratch>();
  const std::int64_t n = this->state_size();
  s->shared.resize(signature_.fields(Role::parameter).size());
  s->weights.resize(layers_.size());
  s->states.reserve(stages_ * n);
  s->records.reserve(slots_ * record_size_);
  std::int64_t compact = 0, numbers = (stages_ + 1) * n, widest = 0;
  for (const Layer& layer : layers_) {
    compact += 2 * std::int64_t(layer.rows) * layer.columns;
    numbers += std::int64_t(1 + slots_) * layer.rows * lanes_;
    widest = std::max<std::int64_t>(widest, layer.columns);
  }
  s->compact.reserve(compact);
  s->numbers.reserve(numbers + widest * lanes_);
  Real* next = s->numbers.data();
  const auto take = [&](std::int64_t count) { return std::exchange(next, next + count); };
  s->x_bar = take(stages_ * n);
  s->rate_bar = take(n);
  s->e_bar = take(widest * lanes_);
  for (const Layer& layer : layers_) {
    s->d.push_back(take(layer.rows * lanes_));
    s->d_bar.push_back(take(std::int64_t(slots_) * layer.rows * lanes_));
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
