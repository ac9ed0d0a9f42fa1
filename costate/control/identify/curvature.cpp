#include "costate/control/identify/curvature.h"

namespace costate::control {
namespace {

// Columns of directions: of the state, and below them of the parameters.
Matrix directions_of(const Passed& at, std::size_t parameters) {
  const Eigen::Index n = at.x.size(), np = Eigen::Index(parameters), columns = at.X.cols();
  Matrix d = Matrix::Zero(n + np, columns);
  d.topRows(n) = at.X;
  d.bottomRightCorner(np, np).setIdentity();
  return d;
}

}  // namespace

Matrix curvature(Lanes& lanes, std::int64_t first, const std::vector<Passed>& passed,
                 const std::vector<std::int64_t>& parameters, const Vector& w_last) {
  const Eigen::Index n = passed[0].x.size(), columns = passed[0].X.cols();
  std::vector<double> p_bar(std::size_t(lanes.plant().system().signature().parameters()) + 1);  // not read
  Matrix C = Matrix::Zero(columns, columns), lambda = Matrix::Zero(n, 1);
  if (w_last.size() > 0) lambda = w_last;
  for (std::size_t j = passed.size(); j-- > 0;) {
    const Passed& at = passed[j];
    const Matrix d = directions_of(at, parameters.size());
    if (j + 1 < passed.size()) {
      const auto k = first + std::int64_t(j);
      C += transposed_times(d, lanes.step_hessian(k, at.x, at.u.data(), d, parameters, lambda));
      lambda = lanes.step_vjp(k, at.x, at.u.data(), lambda, p_bar.data());
    }
    for (std::size_t i = 0; i < at.weight.size(); ++i) {
      if (at.weight[i] == 0) continue;
      C += at.weight[i] * transposed_times(d, lanes.measure_hessian(i, at.x, d, parameters));
      lanes.measure_vjp(i, at.x, Vector::Constant(1, at.weight[i]), lambda, p_bar.data());
    }
  }
  return symmetric(C);
}

}  // namespace costate::control
