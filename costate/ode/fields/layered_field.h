// LayeredField: the right-hand side of an initial value problem with neural networks in it (ad/layered.h).
//
//   e_k = g_k(t, x, p, d_0 ... d_{k-1}),   d_k = W_k e_k,   x' = g_K(t, x, p, d_0 ... d_{K-1})
//       W_k: numbers of p
//
// jvp: d_k_dot = W_k e_k_dot + W_k_dot e_k.   vjp, last part first: e_k_ = W_k' d_k_,  W_k_ += d_k_ e_k',
// and ad::vjp of the straight code.
//
// Written out, a network of 64 x 64 is some 10 000 instructions, and its second derivatives hundreds of
// thousands that take seconds to make; here it is a few loops, and there are no second derivatives. As
// LayeredSystem, for one world in double precision.
// Tests: tests/ode/fields/layered_field_test.cpp.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "costate/ad/executable.h"
#include "costate/ad/layered.h"
#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

class LayeredField final : public VectorField {
 public:
  // Inputs t, x, p and those of the products, whose weights are numbers of p; the first output is x'.
  explicit LayeredField(const ad::LayeredProgram& layered);

  int states() const override { return states_; }
  int parameters() const override { return parameters_; }
  std::size_t scratch_size() const override { return scratch_size_; }
  void value(double t, const double* x, const double* p, double* dx, double* scratch) const override;
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double* scratch) const override;
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override;

 private:
  // The vectors a piece of straight code may read or write: those of the caller, then those in scratch.
  enum Given : int {
    kTime,
    kState,
    kParameters,
    kRate,
    kTimeOther,
    kStateOther,
    kParametersOther,
    kRateOther,
    kGiven
  };
  using Table = std::array<double*, kGiven>;  // "Other": tangents in jvp, cotangents in vjp
  struct Code {
    ad::Executable program;
    std::vector<int> inputs, outputs;  // numbers of vectors
    bool add = false;
  };
  struct Part {
    bool then_tanh = false;
    Code value, jvp, vjp, vjp_without_p;
  };

  int vector_of(const std::string& field, std::size_t part) const;
  Code code(const ad::Program& program, std::size_t part, bool add) const;
  double* address(int vector, const Table& given, double* scratch) const;
  void run(const Code& code, const Table& given, double* scratch) const;
  // All e_k and d_k; the rate too if `with_rate`.
  void evaluate(const Table& given, bool with_rate, double* scratch) const;

  // Numbers of the vectors of product k in scratch, and of its tangents or cotangents.
  int e(std::size_t k) const { return kGiven + 4 * static_cast<int>(k); }
  int d(std::size_t k) const { return e(k) + 1; }
  int e_other(std::size_t k) const { return e(k) + 2; }
  int d_other(std::size_t k) const { return e(k) + 3; }

  std::vector<ad::DenseProduct> products_;
  int states_ = 0, parameters_ = 0;
  std::vector<Part> parts_;
  std::vector<std::size_t> offsets_;  // of the vectors in scratch
  std::size_t registers_ = 0, register_bytes_ = 0, scratch_size_ = 0;
  std::vector<double> zeros_;
};

}  // namespace costate::ode
