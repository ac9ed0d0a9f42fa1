#include "costate/ode/fields/program_field.h"

#include <algorithm>
#include <array>
#include <string>

#include "costate/ad/builder.h"
#include "costate/ad/derivative.h"
#include "costate/core/error.h"

namespace costate::ode {
namespace {

// The program with the last `count` of its output fields only, and what they need.
ad::Program last_outputs(const ad::Program& program, std::size_t count) {
  ad::Builder builder;
  std::vector<ad::Id> inputs, ids;
  for (const ad::Field& field : program.input_fields()) {
    const ad::Id first = builder.input_field(field.name, field.size);
    for (int i = 0; i < field.size; ++i) inputs.push_back(first + i);
  }
  const auto moved = [&](ad::Id id) { return id == ad::kNone ? ad::kNone : ids[id]; };
  for (const ad::Node& n : program.nodes()) {
    if (n.op == ad::Op::input)
      ids.push_back(inputs[n.value]);
    else if (n.op == ad::Op::constant)
      ids.push_back(builder.constant(n.value));
    else
      ids.push_back(builder.make({n.op, moved(n.a), moved(n.b), moved(n.c), n.value}));
  }
  const std::vector<ad::Field>& fields = program.output_fields();
  for (std::size_t f = fields.size() - count; f < fields.size(); ++f) {
    std::vector<ad::Id> elements;
    for (int i = 0; i < fields[f].size; ++i)
      elements.push_back(moved(program.outputs()[program.output_offset(int(f)) + i]));
    builder.output_field(fields[f].name, elements);
  }
  return builder.finish();
}

ad::Program checked(const ad::Program& program) {
  const std::vector<ad::Field>& in = program.input_fields();
  if (in.size() == 3 && in[0] == ad::Field{"t", 1} && in[1].name == "x" && in[2].name == "p" &&
      program.output_fields().size() == 1)
    return program;
  std::string names;
  for (const ad::Field& field : in) names += (names.empty() ? "" : ", ") + field.name;
  throw Error(
      {"a field or function of time needs a program with inputs t, x, p and one output; this one has inputs "
       "(" +
           names + ") and " + std::to_string(program.output_fields().size()) + " output fields",
       "", "declare the inputs {\"t\"}, {\"x\", states}, {\"p\", parameters}"});
}

}  // namespace

ProgramDerivatives::ProgramDerivatives(const ad::Program& program)
    : states_(checked(program).input_fields()[1].size),
      parameters_(program.input_fields()[2].size),
      outputs_(program.output_count()),
      value_(program),
      jvp_(last_outputs(ad::jvp(program), 1)) {
  const ad::Program transposed = ad::vjp(program);
  vjp_ = ad::Executable(transposed);
  vjp_jvp_ = ad::Executable(last_outputs(ad::jvp(transposed), 3));
  const ad::Program transposed_without_p = ad::vjp(program, {.active = {"t", "x"}});
  vjp_without_p_ = ad::Executable(transposed_without_p);
  vjp_jvp_without_p_ = ad::Executable(last_outputs(ad::jvp(transposed_without_p), 2));
  const ad::Jacobian by_state = ad::jacobian(program, {.active = {"x"}});
  jacobian_ = ad::Executable(by_state.program);
  for (std::size_t k = 0; k < by_state.row.size(); ++k)
    entries_.push_back(by_state.row[k] * states_ + by_state.column[k]);
  zeros_.assign(std::max({states_, parameters_, outputs_, 1}), 0.0);

  std::size_t bytes = 0;
  for (const ad::Executable* e :
       {&value_, &jvp_, &vjp_, &vjp_without_p_, &vjp_jvp_, &vjp_jvp_without_p_, &jacobian_})
    bytes = std::max(bytes, e->scratch_bytes<double>());
  register_doubles_ = (bytes + sizeof(double) - 1) / sizeof(double);
  scratch_size_ = register_doubles_ + entries_.size();
}

void ProgramDerivatives::run(const ad::Executable& executable, std::initializer_list<const double*> inputs,
                             std::initializer_list<double*> outputs, bool add, double* scratch) const {
  std::array<ad::InputBlock<double>, 8> in;
  std::array<ad::OutputBlock<double>, 3> out;
  std::size_t i = 0, o = 0;
  for (const double* data : inputs) in[i++] = {data ? data : zeros_.data(), 1, false};
  for (double* data : outputs) out[o++] = {data, 1, add};
  executable.run<double>({in.data(), i}, {out.data(), o}, 1,
                         {reinterpret_cast<std::byte*>(scratch), register_doubles_ * sizeof(double)});
}

// value and vjp, which are called most, without lists of arguments in between.
void ProgramDerivatives::value(double t, const double* x, const double* p, double* y, double* scratch) const {
  const ad::InputBlock<double> in[] = {{&t, 1, false}, {x, 1, false}, {p, 1, false}};
  const ad::OutputBlock<double> out[] = {{y, 1, false}};
  value_.run<double>(in, out, 1, {reinterpret_cast<std::byte*>(scratch), register_doubles_ * sizeof(double)});
}

void ProgramDerivatives::jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot,
                             const double* p_dot, double* y_dot, double* scratch) const {
  run(jvp_, {&t, x, p, &t_dot, x_dot, p_dot}, {y_dot}, false, scratch);
}

void ProgramDerivatives::vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar,
                             double* x_bar, double* p_bar, double* scratch) const {
  const ad::InputBlock<double> in[] = {{&t, 1, false}, {x, 1, false}, {p, 1, false}, {y_bar, 1, false}};
  const ad::OutputBlock<double> out[] = {{t_bar, 1, true}, {x_bar, 1, true}, {p_bar, 1, true}};
  const std::span<std::byte> registers{reinterpret_cast<std::byte*>(scratch),
                                       register_doubles_ * sizeof(double)};
  if (p_bar)
    vjp_.run<double>(in, out, 1, registers);
  else
    vjp_without_p_.run<double>(in, std::span(out).first(2), 1, registers);
}

void ProgramDerivatives::vjp_jvp(double t, const double* x, const double* p, const double* y_bar,
                                 double t_dot, const double* x_dot, const double* p_dot,
                                 const double* y_bar_dot, double* t_bar_dot, double* x_bar_dot,
                                 double* p_bar_dot, double* scratch) const {
  if (p_bar_dot)
    run(vjp_jvp_, {&t, x, p, y_bar, &t_dot, x_dot, p_dot, y_bar_dot}, {t_bar_dot, x_bar_dot, p_bar_dot}, true,
        scratch);
  else
    run(vjp_jvp_without_p_, {&t, x, p, y_bar, &t_dot, x_dot, p_dot, y_bar_dot}, {t_bar_dot, x_bar_dot}, true,
        scratch);
}

void ProgramDerivatives::jacobian(double t, const double* x, const double* p, double* y_x,
                                  double* scratch) const {
  double* const entries = scratch + register_doubles_;
  run(jacobian_, {&t, x, p}, {entries}, false, scratch);
  std::fill_n(y_x, std::size_t(outputs_) * std::size_t(states_), 0.0);
  for (std::size_t k = 0; k < entries_.size(); ++k) y_x[entries_[k]] = entries[k];
}

ProgramField::ProgramField(const ad::Program& program) : ProgramField(program, {}) {}

ProgramField::ProgramField(const ad::Program& program, std::vector<double> mass)
    : FunctionOf<VectorField, ProgramDerivatives>(ProgramDerivatives(program)), mass_(std::move(mass)) {
  const std::string states = std::to_string(f_.states());
  if (f_.outputs() != f_.states())
    throw Error("a vector field gives one rate per state: this program gives " +
                std::to_string(f_.outputs()) + " for " + states);
  if (!mass_.empty() && mass_.size() != std::size_t(f_.states()) * std::size_t(f_.states()))
    throw Error("the mass matrix has " + std::to_string(mass_.size()) + " entries; it is " + states + " x " +
                states);
}

}  // namespace costate::ode
