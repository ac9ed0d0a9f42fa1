#include "costate/control/identify/sensitivity.h"

namespace costate::control {

Sensitivity::Sensitivity(const std::shared_ptr<const System<double>>& system,
                         const Parameters<double>& parameters,
                         const std::vector<ObjectivePtr<double>>& measured, std::vector<std::int64_t> numbers)
    : lanes_({.system = system,
              .parameters = parameters,
              .measured = measured,
              .process_noise = {},
              .measurement_noise = {},
              .x0 = {},
              .P0 = {}}),
      numbers_(std::move(numbers)),
      z_(Eigen::Index(measured.size())) {}

void Sensitivity::start(const std::vector<double>& x, bool derivatives) {
  const auto n = Eigen::Index(x.size()), np = Eigen::Index(numbers_.size());
  x_ = VectorIn(x.data(), n);
  derivatives_ = derivatives;
  X_.setZero(n, n + np);
  X_.leftCols(n).setIdentity();
  Z_.resize(z_.size(), n + np);
}

void Sensitivity::step(std::int64_t k, const std::vector<double>& u) {
  if (derivatives_) {
    const auto n = x_.rows();
    const Matrix D = lanes_.step_jacobian(k, x_.col(0), u.data(), numbers_);
    Matrix next = D.leftCols(n) * X_;
    next.rightCols(Eigen::Index(numbers_.size())) += D.rightCols(Eigen::Index(numbers_.size()));
    X_ = next;
  }
  x_ = lanes_.step(k, x_, u.data());
}

void Sensitivity::measure() {
  Vector one(1);
  for (Eigen::Index j = 0; j < z_.size(); ++j) {
    lanes_.measure(std::size_t(j), x_, one);
    z_[j] = one[0];
    if (!derivatives_) continue;
    Matrix x_bar = Matrix::Zero(x_.rows(), 1);
    std::vector<double> p_bar(std::size_t(lanes_.plant().system().signature().parameters()) + 1);
    lanes_.measure_vjp(std::size_t(j), x_, Vector::Ones(1), x_bar, p_bar.data());
    Z_.row(j) = x_bar.transpose() * X_;
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      Z_(j, x_.rows() + Eigen::Index(i)) += p_bar[std::size_t(numbers_[i])];
  }
}

}  // namespace costate::control
