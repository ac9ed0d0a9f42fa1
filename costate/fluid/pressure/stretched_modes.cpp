#include "costate/fluid/pressure/stretched_modes.h"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace costate::fluid {

StretchedModes stretched_modes(const Shape& shape, int axis, Ends ends) {
  const Index n = shape.n[std::size_t(axis)];
  const double h = shape.h[std::size_t(axis)];
  StretchedModes modes;
  for (Index i = 0; i < n; ++i) modes.roots.push_back(std::sqrt(shape.width(axis, i) / h));
  Eigen::MatrixXd k = Eigen::MatrixXd::Zero(n, n);
  const auto add = [&](Index i, Index j, double c) {
    k(i, j) += c * h / (modes.roots[std::size_t(i)] * modes.roots[std::size_t(j)]);
  };
  const auto link = [&](Index low, Index high, double c) {
    add(low, low, c), add(high, high, c), add(low, high, -c), add(high, low, -c);
  };
  for (Index i = 1; i < n; ++i) link(i - 1, i, 1 / shape.distance(axis, i));
  if (ends == Ends::periodic) link(n - 1, 0, 1 / shape.distance(axis, 0));
  if (ends == Ends::odd_odd || ends == Ends::odd_even) add(0, 0, 2 / shape.distance(axis, 0));
  if (ends == Ends::odd_odd || ends == Ends::even_odd) add(n - 1, n - 1, 2 / shape.distance(axis, n));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(k);
  for (Index m = 0; m < n; ++m) {
    modes.lambda.push_back(solver.eigenvalues()[m]);
    for (Index i = 0; i < n; ++i) modes.rows.push_back(solver.eigenvectors()(i, m));
  }
  if (ends == Ends::periodic || ends == Ends::even_even) modes.lambda[0] = 0;
  return modes;
}

}  // namespace costate::fluid
