// Row-major views of plain arrays for Eigen, whose products and factors the planners and filters are made of.
// For sources of this layer only: its headers show arrays of numbers.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

namespace costate::control {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;
using MatrixIn = Eigen::Map<const Matrix>;
using MatrixOut = Eigen::Map<Matrix>;
using VectorIn = Eigen::Map<const Vector>;
using VectorOut = Eigen::Map<Vector>;

inline std::vector<double> numbers_of(const Matrix& m) { return {m.data(), m.data() + m.size()}; }
inline std::vector<double> numbers_of(const Vector& v) { return {v.data(), v.data() + v.size()}; }
Matrix symmetric(const Matrix& m);  // its symmetric part

// Compiled once: every other form of a product costs each source that writes it a second.
Matrix times(const Matrix& X, const Matrix& Y);
Matrix times(const Matrix& X, const Matrix& Y, const Matrix& Z);   // from the left
Matrix transposed_times(const Matrix& X, const Matrix& Y);         // X'Y
Matrix times_transposed(const Matrix& X, const Matrix& Y);         // XY'
Matrix congruent(const Matrix& X, const Matrix& P);                // X P X'
Matrix solved(const Eigen::LLT<Matrix>& factor, const Matrix& Y);  // (LL')^-1 Y

}  // namespace costate::control
