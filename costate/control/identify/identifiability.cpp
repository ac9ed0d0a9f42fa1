#include "costate/control/identify/identifiability.h"

#include <Eigen/SVD>
#include <cmath>

#include "costate/control/dense.h"

namespace costate::control {
namespace {

constexpr double kBlind = 1e-8;  // of the largest singular value: below it a direction is not seen

// Which of the names a direction is about.
std::string in_words(const Vector& direction, const std::vector<std::string>& names) {
  std::vector<std::string> about;
  for (std::size_t j = 0; j < names.size(); ++j)
    if (std::abs(direction[Eigen::Index(j)]) > 0.1) about.push_back(names[j]);
  if (about.empty()) return {};
  if (about.size() == 1) return "the data do not depend on " + about[0];
  std::string text = "the data cannot tell " + about[0];
  for (std::size_t j = 1; j < about.size(); ++j) text += " from " + about[j];
  return text;
}

struct Seen {
  Vector sizes;        // singular values, largest first
  Matrix directions;   // V
  Eigen::Index count;  // of the directions that the data see
};
Seen seen_by(const double* jacobian, int rows, int columns) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(MatrixIn(jacobian, rows, columns), Eigen::ComputeFullV);
  Seen to{svd.singularValues(), svd.matrixV(), 0};
  while (to.count < to.sizes.size() && to.sizes[to.count] > kBlind * to.sizes[0]) ++to.count;
  return to;
}

// The variances of what unseen directions are about are infinite; then all in the units of the unknowns.
void finish(const Seen& seen, const std::vector<double>& scales, Matrix& covariance,
            std::vector<double>& deviations) {
  const auto np = Eigen::Index(scales.size());
  for (Eigen::Index i = seen.count; i < seen.directions.cols(); ++i)
    for (Eigen::Index j = 0; j < np; ++j)
      if (std::abs(seen.directions(j, i)) > 1e-6) covariance(j, j) = HUGE_VAL;
  for (Eigen::Index i = 0; i < np; ++i)
    for (Eigen::Index j = 0; j < np; ++j) covariance(i, j) *= scales[std::size_t(i)] * scales[std::size_t(j)];
  for (Eigen::Index i = 0; i < np; ++i) deviations.push_back(std::sqrt(covariance(i, i)));
}

}  // namespace

Identifiability identifiability(const double* jacobian, int rows, int columns,
                                const std::vector<std::string>& names, const std::vector<double>& scales) {
  Identifiability to;
  const auto np = Eigen::Index(names.size());
  const Seen seen = seen_by(jacobian, rows, columns);
  to.singular_values = numbers_of(seen.sizes);
  Matrix covariance = Matrix::Zero(np, np);
  for (Eigen::Index i = 0; i < columns; ++i) {
    const Vector direction = seen.directions.col(i).head(np);
    if (i < seen.count) {
      covariance += direction * direction.transpose() / (seen.sizes[i] * seen.sizes[i]);
      continue;
    }
    std::string words = in_words(direction, names);
    if (!words.empty()) to.unseen.push_back(std::move(words));
  }
  finish(seen, scales, covariance, to.deviations);
  to.covariance = numbers_of(covariance);
  return to;
}

Laplace laplace(const double* jacobian, int rows, int columns, const double* correction,
                const std::vector<std::string>& names, const std::vector<double>& scales) {
  Laplace to;
  const auto np = Eigen::Index(names.size());
  const Seen seen = seen_by(jacobian, rows, columns);
  Matrix half = seen.directions.leftCols(seen.count);  // V S^-1
  for (Eigen::Index i = 0; i < seen.count; ++i) half.col(i) /= seen.sizes[i];
  const Matrix E = transposed_times(half, times(MatrixIn(correction, columns, columns), half));
  const Eigen::LLT<Matrix> factor(Matrix::Identity(seen.count, seen.count) + symmetric(E));
  to.minimum = factor.info() == Eigen::Success;
  if (!to.minimum) return to;
  const Matrix top = half.topRows(np);
  Matrix covariance = symmetric(times(top, solved(factor, top.transpose())));
  finish(seen, scales, covariance, to.deviations);
  to.covariance = numbers_of(covariance);
  return to;
}

}  // namespace costate::control
