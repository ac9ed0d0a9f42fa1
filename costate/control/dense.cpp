#include "costate/control/dense.h"

namespace costate::control {

Matrix symmetric(const Matrix& m) { return 0.5 * (m + m.transpose()); }
Matrix times(const Matrix& X, const Matrix& Y) { return X * Y; }
Matrix times(const Matrix& X, const Matrix& Y, const Matrix& Z) { return times(times(X, Y), Z); }
Matrix transposed_times(const Matrix& X, const Matrix& Y) { return X.transpose() * Y; }
Matrix times_transposed(const Matrix& X, const Matrix& Y) { return X * Y.transpose(); }
Matrix congruent(const Matrix& X, const Matrix& P) { return times_transposed(times(X, P), X); }
Matrix solved(const Eigen::LLT<Matrix>& factor, const Matrix& Y) { return factor.solve(Y); }

}  // namespace costate::control
