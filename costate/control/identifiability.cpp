#include "costate/control/identifiability.h"

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

}  // namespace

Identifiability identifiability(const double* jacobian, int rows, int columns,
                                const std::vector<std::string>& names, const std::vector<double>& scales) {
  Identifiability to;
  const auto np = Eigen::Index(names.size());
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(MatrixIn(jacobian, rows, columns), Eigen::ComputeFullV);
  const Vector& s = svd.singularValues();
  to.singular_values = {s.data(), s.data() + s.size()};
  Matrix covariance = Matrix::Zero(np, np);
  for (Eigen::Index i = 0; i < columns; ++i) {
    const double size = i < s.size() ? s[i] : 0;
    const Vector direction = svd.matrixV().col(i).head(np);
    if (size > kBlind * s[0]) {
      covariance += direction * direction.transpose() / (size * size);
      continue;
    }
    std::string words = in_words(direction, names);
    if (!words.empty()) to.unseen.push_back(std::move(words));
    for (Eigen::Index j = 0; j < np; ++j)
      if (std::abs(direction[j]) > 1e-6) covariance(j, j) = HUGE_VAL;
  }
  for (Eigen::Index i = 0; i < np; ++i)
    for (Eigen::Index j = 0; j < np; ++j) covariance(i, j) *= scales[std::size_t(i)] * scales[std::size_t(j)];
  to.covariance = numbers_of(covariance);
  for (Eigen::Index i = 0; i < np; ++i) to.deviations.push_back(std::sqrt(covariance(i, i)));
  return to;
}

}  // namespace costate::control
