#include "costate/ode/fields/layered_field.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "costate/ad/dense_lanes.h"
#include "costate/ad/dense_tanh.h"
#include "costate/ad/derivative.h"
#include "costate/core/error.h"

namespace costate::ode {
namespace {

constexpr std::size_t kMostFields = 96;  // that one piece of straight code reads or writes

ad::Program only_last_output(const ad::Program& program) {
  return ad::part(program, {static_cast<int>(program.output_fields().size()) - 1});
}

ad::Program needed(const ad::Program& program) {
  std::vector<int> all(program.output_fields().size());
  std::iota(all.begin(), all.end(), 0);
  return ad::part(program, all);
}

}  // namespace

LayeredField::LayeredField(const ad::LayeredProgram& layered) : products_(layered.products) {
  const ad::Program& whole = layered.program;
  for (const ad::Field& field : whole.input_fields()) {
    if (field.name == "x") states_ = field.size;
    if (field.name == "p") parameters_ = field.size;
  }
  for (const ad::DenseProduct& product : products_) {
    if (product.weights != "p")
      throw Error("the weights of a layered field are numbers of p, not of '" + product.weights + "'");
  }
  if (whole.output_fields()[0].size != states_)
    throw Error("a vector field gives one rate per state: this program gives " +
                std::to_string(whole.output_fields()[0].size) + " for " + std::to_string(states_));

  for (std::size_t k = 0; k <= products_.size(); ++k) {
    const bool last = k == products_.size();
    ad::Program program = ad::part(whole, {last ? 0 : whole.output_field(ad::vector_field(k))});
    Part part;
    if (auto before = last ? std::nullopt : ad::arguments_of(program, ad::Op::tanh)) {
      program = std::move(*before);
      part.then_tanh = true;
    }
    part.value = code(program, k, false);
    part.jvp = code(only_last_output(ad::jvp(program)), k, false);
    std::vector<std::string> active;
    for (const ad::Field& field : program.input_fields()) {
      if (field.name != "p") active.push_back(field.name);
    }
    part.vjp = code(needed(ad::vjp(program)), k, true);
    if (!active.empty()) part.vjp_without_p = code(needed(ad::vjp(program, {.active = active})), k, true);
    parts_.push_back(std::move(part));
  }

  std::size_t next = 0;
  for (const ad::DenseProduct& product : products_) {
    for (const int size : {product.columns, product.rows, product.columns, product.rows})
      offsets_.push_back(std::exchange(next, next + static_cast<std::size_t>(size)));
  }
  for (const Part& part : parts_) {
    for (const Code* c : {&part.value, &part.jvp, &part.vjp, &part.vjp_without_p}) {
      if (!c->outputs.empty())
        register_bytes_ = std::max(register_bytes_, c->program.scratch_bytes<double>());
    }
  }
  registers_ = next;
  scratch_size_ = next + (register_bytes_ + sizeof(double) - 1) / sizeof(double);
  zeros_.assign(std::max({states_, parameters_, 1}), 0.0);
}

int LayeredField::vector_of(const std::string& field, std::size_t part) const {
  const auto ends_with = [&](const char* suffix) {
    return field.size() > 4 && field.compare(field.size() - 4, 4, suffix) == 0;
  };
  const bool other = ends_with("_dot") || ends_with("_bar");
  const std::string name = other ? field.substr(0, field.size() - 4) : field;
  const auto of = [&](int plain, int moved) { return other ? moved : plain; };
  if (name == "t") return of(kTime, kTimeOther);
  if (name == "x") return of(kState, kStateOther);
  if (name == "p") return of(kParameters, kParametersOther);
  for (std::size_t k = 0; k < products_.size(); ++k) {
    if (name == ad::product_field(k)) return of(d(k), d_other(k));
    if (name == ad::vector_field(k)) return of(e(k), e_other(k));
  }
  if (part == products_.size()) return of(kRate, kRateOther);
  throw Error(
      {"a layered field reads '" + name + "'", "", "its inputs are t, x, p and the results of its products"});
}

LayeredField::Code LayeredField::code(const ad::Program& program, std::size_t part, bool add) const {
  Code result;
  for (const ad::Field& field : program.input_fields()) result.inputs.push_back(vector_of(field.name, part));
  for (const ad::Field& field : program.output_fields())
    result.outputs.push_back(vector_of(field.name, part));
  if (result.inputs.size() > kMostFields || result.outputs.size() > kMostFields)
    throw Error("a layered field joins more than " + std::to_string(kMostFields) +
                " products in one expression");
  result.program = ad::Executable(program);
  result.add = add;
  return result;
}

double* LayeredField::address(int vector, const Table& given, double* scratch) const {
  return vector < kGiven ? given[vector] : scratch + offsets_[vector - kGiven];
}

void LayeredField::run(const Code& code, const Table& given, double* scratch) const {
  std::array<ad::InputBlock<double>, kMostFields> in;
  std::array<ad::OutputBlock<double>, kMostFields> out;
  for (std::size_t i = 0; i < code.inputs.size(); ++i)
    in[i] = {address(code.inputs[i], given, scratch), 1, false};
  for (std::size_t i = 0; i < code.outputs.size(); ++i)
    out[i] = {address(code.outputs[i], given, scratch), 1, code.add};
  code.program.run<double>({in.data(), code.inputs.size()}, {out.data(), code.outputs.size()}, 1,
                           {reinterpret_cast<std::byte*>(scratch + registers_), register_bytes_});
}

void LayeredField::evaluate(const Table& given, bool with_rate, double* scratch) const {
  for (std::size_t k = 0; k < products_.size(); ++k) {
    run(parts_[k].value, given, scratch);
    const ad::DenseProduct& w = products_[k];
    double* const vector = address(e(k), given, scratch);
    if (parts_[k].then_tanh) ad::tanh_all(vector, w.columns);
    ad::multiply_in_place(given[kParameters] + w.offset, w.rows, w.columns, w.row_stride, w.column_stride,
                          vector, address(d(k), given, scratch));
  }
  if (with_rate) run(parts_.back().value, given, scratch);
}

namespace {

// The caller's inputs are only read: straight code takes them from the same table as what it writes.
double* readable(const double* x) { return const_cast<double*>(x); }

}  // namespace

void LayeredField::value(double t, const double* x, const double* p, double* dx, double* scratch) const {
  evaluate({&t, readable(x), readable(p), dx}, true, scratch);
}

void LayeredField::jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot,
                       const double* p_dot, double* dx_dot, double* scratch) const {
  const auto or_zero = [&](const double* v) { return readable(v ? v : zeros_.data()); };
  const Table given{&t, readable(x), readable(p), nullptr, &t_dot, or_zero(x_dot), or_zero(p_dot), dx_dot};
  evaluate(given, false, scratch);
  for (std::size_t k = 0; k < products_.size(); ++k) {
    run(parts_[k].jvp, given, scratch);
    const ad::DenseProduct& w = products_[k];
    const double* const vector = address(e(k), given, scratch);
    double* const vector_dot = address(e_other(k), given, scratch);
    double* const result_dot = address(d_other(k), given, scratch);
    if (parts_[k].then_tanh) ad::tanh_all_vjp(vector, vector_dot, w.columns);  // diagonal: its own transpose
    ad::multiply_in_place(p + w.offset, w.rows, w.columns, w.row_stride, w.column_stride, vector_dot,
                          result_dot);
    for (int i = 0; p_dot != nullptr && i < w.rows; ++i) {
      for (int j = 0; j < w.columns; ++j) result_dot[i] += p_dot[w.place(i, j)] * vector[j];
    }
  }
  run(parts_.back().jvp, given, scratch);
}

void LayeredField::vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar,
                       double* x_bar, double* p_bar, double* scratch) const {
  const Table given{&t, readable(x), readable(p), nullptr, t_bar, x_bar, p_bar, readable(dx_bar)};
  evaluate(given, false, scratch);
  for (std::size_t k = 0; k < products_.size(); ++k)
    std::fill_n(address(d_other(k), given, scratch), products_[k].rows, 0.0);
  for (std::size_t k = parts_.size(); k-- > 0;) {
    if (k < products_.size()) {
      const ad::DenseProduct& w = products_[k];
      const double* const vector = address(e(k), given, scratch);
      const double* const result_bar = address(d_other(k), given, scratch);
      double* const vector_bar = address(e_other(k), given, scratch);
      if (p_bar)
        ad::add_outer<double>({result_bar, 0, vector, 0, 1}, w.rows, w.columns, 1, w.row_stride,
                              w.column_stride, p_bar + w.offset);
      ad::multiply_in_place(p + w.offset, w.columns, w.rows, w.column_stride, w.row_stride, result_bar,
                            vector_bar);
      if (parts_[k].then_tanh) ad::tanh_all_vjp(vector, vector_bar, w.columns);
    }
    const Code& transpose = p_bar ? parts_[k].vjp : parts_[k].vjp_without_p;
    if (!transpose.outputs.empty()) run(transpose, given, scratch);
  }
}

}  // namespace costate::ode
