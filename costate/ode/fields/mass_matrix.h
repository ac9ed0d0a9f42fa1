// MassMatrix: the constant M of M x' = f, with the identity as a case of its own so that ordinary problems
// pay nothing. Used by the stiff steppers (rosenbrock.h, radau.h).
#pragma once

#include "costate/ode/fields/vector_field.h"

namespace costate::ode {

class MassMatrix {
 public:
  explicit MassMatrix(const VectorField& field) : n_(field.states()), m_(field.mass()) {}

  bool identity() const { return m_.empty(); }

  // out += factor M v.
  void add(double factor, const double* v, double* out) const {
    if (identity()) {
      for (int i = 0; i < n_; ++i) out[i] += factor * v[i];
      return;
    }
    for (int i = 0; i < n_; ++i) {
      double sum = 0;
      for (int j = 0; j < n_; ++j) sum += m_[i * n_ + j] * v[j];
      out[i] += factor * sum;
    }
  }
  // out += factor M' v.
  void add_transposed(double factor, const double* v, double* out) const {
    if (identity()) {
      for (int i = 0; i < n_; ++i) out[i] += factor * v[i];
      return;
    }
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) out[j] += factor * m_[i * n_ + j] * v[i];
    }
  }
  // a += factor M into the n x n block of a row-major matrix with rows of `stride`.
  template <class S>
  void add_matrix(S factor, S* a, int stride) const {
    for (int i = 0; i < n_; ++i) {
      if (identity()) {
        a[i * stride + i] += factor;
      } else {
        for (int j = 0; j < n_; ++j) a[i * stride + j] += factor * m_[i * n_ + j];
      }
    }
  }
  // u' M v.
  double inner(const double* u, const double* v) const {
    double sum = 0;
    for (int i = 0; i < n_; ++i) {
      if (identity()) {
        sum += u[i] * v[i];
      } else {
        for (int j = 0; j < n_; ++j) sum += u[i] * m_[i * n_ + j] * v[j];
      }
    }
    return sum;
  }

 private:
  int n_;
  std::vector<double> m_;
};

}  // namespace costate::ode
