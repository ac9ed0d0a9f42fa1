// Moments by linearisation: the extended Kalman filter.
//
//   predict    mean = step(x),  covariance = A P A',  cross = P A'    A, H: Jacobians, in the tangent space
//   measure   mean = h(x),     covariance = H P H',  cross = P H'
//
// Transpose (of plain numbers), c_ the cotangent of the covariance and o_ of the cross covariance:
//
//   predict   x_ += A'm_ + sum_j d/dx <A_j, step_xj>,   A_ = 2 c_ A P;   P_ += A'c_ A
//   measure   x_ += H'm_ + sum_i d/dx <H_i, h_i,x>,     H_ = 2 c_ H P + o_'P;   P_ += H'c_ H + sym(o_ H)
//
// The sums are Hessian-vector products, and give the parameters' cotangents too.
#include "costate/control/filter/moments.h"

namespace costate::control {
namespace {

class Extended final : public Transform {
 public:
  explicit Extended(const Estimation& problem) : lanes_(problem), rows_(problem.measured.size()) {}

  Moments predict(std::int64_t k, const Normal& in, const double* u) override {
    const Matrix A = jacobian(k, in, u);
    return {lanes_.step(k, in.x, u).col(0), congruent(A, in.P), times_transposed(in.P, A)};
  }

  Moments measure(const Normal& in) override {
    const Matrix H = measured_jacobian(in);
    Moments m{Vector(Eigen::Index(rows_)), congruent(H, in.P), times_transposed(in.P, H)};
    Vector z(1);
    for (std::size_t i = 0; i < rows_; ++i) {
      lanes_.measure(i, in.x, z);
      m.mean[Eigen::Index(i)] = z[0];
    }
    return m;
  }

  void predict_vjp(std::int64_t k, const Normal& in, const double* u, const Moments& bar, Normal& in_bar,
                   double* p_bar) override {
    const Matrix A = jacobian(k, in, u), A_bar = 2 * symmetric(bar.covariance) * A * in.P;
    in_bar.x += lanes_.step_vjp(k, in.x, u, bar.mean, p_bar).col(0);
    lanes_.step_hvp(k, in.x, u, Matrix::Identity(in.x.size(), in.x.size()), A_bar, in_bar.x, p_bar);
    in_bar.P += times(transposed_times(A, symmetric(bar.covariance)), A);
  }

  void measure_vjp(const Normal& in, const Moments& bar, Normal& in_bar, double* p_bar) override {
    const Matrix H = measured_jacobian(in), c = symmetric(bar.covariance);
    const Matrix H_bar = times(2 * times(c, H) + bar.cross.transpose(), in.P);
    Matrix x_bar = Matrix::Zero(in.x.size(), 1);
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto row = Eigen::Index(i);
      lanes_.measure_vjp(i, in.x, bar.mean.segment(row, 1), x_bar, p_bar);
      lanes_.measure_hvp(i, in.x, H_bar.row(row).transpose(), in_bar.x, p_bar);
    }
    in_bar.x += x_bar.col(0);
    in_bar.P += times(transposed_times(H, c), H) + symmetric(times(bar.cross, H));
  }

 private:
  Matrix jacobian(std::int64_t k, const Normal& in, const double* u) {
    const Plant& plant = lanes_.plant();
    Matrix A(plant.tangents(), plant.tangents()), B(plant.tangents(), plant.controls());
    auto block = plant.take();
    plant.linearise(k, in.x.data(), u, A.data(), B.data(), *block);
    plant.give_back(std::move(block));
    return A;
  }
  Matrix measured_jacobian(const Normal& in) {
    const Plant& plant = lanes_.plant();
    Matrix H(Eigen::Index(rows_), plant.tangents());
    std::vector<double> ignored(std::size_t(plant.system().signature().parameters()));
    for (std::size_t i = 0; i < rows_; ++i) {
      Matrix x_bar = Matrix::Zero(in.x.size(), 1);
      lanes_.measure_vjp(i, in.x, Vector::Ones(1), x_bar, ignored.data());
      plant.space().pull(in.x.data(), x_bar.data(), H.row(Eigen::Index(i)).data());
    }
    return H;
  }

  Lanes lanes_;
  std::size_t rows_;
};

}  // namespace

std::unique_ptr<Transform> extended(const Estimation& problem) { return std::make_unique<Extended>(problem); }

}  // namespace costate::control
