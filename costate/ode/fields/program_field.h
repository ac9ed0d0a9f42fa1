// Vector fields, guards, jumps and costs from a Program: physics that arrives as text, or recorded.
//
//   ad::Program f     inputs t, x, p (in this order; p may have no elements), one output field
//   ProgramField      its output is x', one element per state
//   ProgramFunction   any number of outputs
//
// Every derivative is a program of its own, made once from f by source transformation and run for one
// world: jvp(f) and vjp(f), jvp(vjp(f)) for second derivatives, and the entries of f_x that are not
// structurally zero. Evaluations allocate nothing: the scratch asked for beforehand holds its registers.
// Tests: tests/ode/fields/program_field_test.cpp. Fields from compiled lambdas: lambda_field.h.
#pragma once

#include <memory>
#include <vector>

#include "costate/ad/executable.h"
#include "costate/ad/program.h"
#include "costate/ode/fields/function.h"
#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

class ProgramDerivatives {
 public:
  // Throws Error if the inputs of the program are not t, x, p or it has several output fields.
  explicit ProgramDerivatives(const ad::Program& program);

  int states() const { return states_; }
  int parameters() const { return parameters_; }
  int outputs() const { return outputs_; }
  std::size_t scratch_size() const { return scratch_size_; }  // in doubles
  static bool has_second_order() { return true; }

  void value(double t, const double* x, const double* p, double* y, double* scratch) const;
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* scratch) const;
  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const;
  void vjp_jvp(double t, const double* x, const double* p, const double* y_bar, double t_dot,
               const double* x_dot, const double* p_dot, const double* y_bar_dot, double* t_bar_dot,
               double* x_bar_dot, double* p_bar_dot, double* scratch) const;
  // dy/dx, row-major.
  void jacobian(double t, const double* x, const double* p, double* y_x, double* scratch) const;

 private:
  void run(const ad::Executable& executable, std::initializer_list<const double*> inputs,
           std::initializer_list<double*> outputs, bool add, double* scratch) const;

  int states_, parameters_, outputs_;
  std::size_t scratch_size_ = 0, register_doubles_ = 0;
  ad::Executable value_, jvp_, vjp_, vjp_without_p_, vjp_jvp_, vjp_jvp_without_p_, jacobian_;
  std::vector<int> entries_;   // of jacobian_: row * states + column
  std::vector<double> zeros_;  // for tangents that are null
};

class ProgramField final : public FunctionOf<VectorField, ProgramDerivatives> {
 public:
  explicit ProgramField(const ad::Program& program);
  // Row-major, or empty for the identity; see VectorField::mass.
  ProgramField(const ad::Program& program, std::vector<double> mass);

  void jacobian(double t, const double* x, const double* p, double* f_x, double* scratch) const override {
    f_.jacobian(t, x, p, f_x, scratch);
  }
  const std::vector<double>& mass() const override { return mass_; }

 private:
  std::vector<double> mass_;
};

class ProgramFunction final : public FunctionOf<Function, ProgramDerivatives> {
 public:
  explicit ProgramFunction(const ad::Program& program)
      : FunctionOf<Function, ProgramDerivatives>(ProgramDerivatives(program)) {}
  int outputs() const override { return f_.outputs(); }
};

}  // namespace costate::ode
