// Moments by points: the unscented Kalman filter with 2n points of equal weight.
//
//   P = L L',   X_j = x (+) (+-sqrt(n) L_j),   Y_j = f(X_j)                       a step or a measurement
//   mean = average of Y;   d_j = Y_j (-) mean;   covariance = average d d';   cross = average (X_j (-) x) d'
//
// Transpose (of plain numbers), e_j = X_j - x:
//
//   Y_j_ = (m_ + 2 c_ d_j + o_'e_j) / 2n, centred on top of m_;   X_j_ = f' Y_j_ + (o_ d_j) / 2n
//   x_ += sum f'Y_j_;   L_j_ = sqrt(n) (X_j+_ - X_j-_);   P_ += sym(L^-T phi(L'L_) L^-1), phi: the lower
//   half, its diagonal halved [1]
//
// [1] Murray: Differentiation of the Cholesky decomposition (2016).
#include <cmath>

#include "costate/control/filter/moments.h"
#include "costate/core/error.h"

namespace costate::control {
namespace {

class Unscented final : public Transform {
 public:
  explicit Unscented(const Estimation& problem)
      : lanes_(problem), rows_(Eigen::Index(problem.measured.size())) {}

  Moments predict(std::int64_t k, const Normal& in, const double* u) override {
    const Points points = points_of(in);
    const Matrix Y = lanes_.step(k, points.X, u);
    const StateSpace& space = lanes_.plant().space();
    // The mean of rotations: where the differences to it average to nothing.
    Vector mean = Y.col(0), shift(space.tangents()), next(space.states());
    Matrix d(space.tangents(), Y.cols());
    for (int i = 0; i < 20; ++i) {
      for (Eigen::Index j = 0; j < Y.cols(); ++j) difference(space, Y, j, mean, d);
      shift = d.rowwise().mean();
      space.move(mean.data(), shift.data(), next.data());
      mean = next;
      if (shift.norm() <= 1e-15 * (1 + mean.norm())) break;
      if (space.quaternions().empty() && i > 0) break;
    }
    for (Eigen::Index j = 0; j < Y.cols(); ++j) difference(space, Y, j, mean, d);
    return moments(mean, d, points.E);
  }

  Moments measure(const Normal& in) override {
    const Points points = points_of(in);
    const Matrix Z = measurements(points.X);
    const Vector mean = Z.rowwise().mean();
    return moments(mean, Z.colwise() - mean, points.E);
  }

  void predict_vjp(std::int64_t k, const Normal& in, const double* u, const Moments& bar, Normal& in_bar,
                   double* p_bar) override {
    const Points points = points_of(in);
    const Matrix Y = lanes_.step(k, points.X, u);
    const Matrix Y_bar = output_bar(Y, points.E, bar);
    points_vjp(points, lanes_.step_vjp(k, points.X, u, Y_bar, p_bar), in_bar);
  }

  void measure_vjp(const Normal& in, const Moments& bar, Normal& in_bar, double* p_bar) override {
    const Points points = points_of(in);
    const Matrix Z = measurements(points.X), Z_bar = output_bar(Z, points.E, bar);
    Matrix X_bar = Matrix::Zero(points.X.rows(), points.X.cols());
    for (Eigen::Index i = 0; i < rows_; ++i)
      lanes_.measure_vjp(std::size_t(i), points.X, Z_bar.row(i).transpose(), X_bar, p_bar);
    const Matrix d = Z.colwise() - Vector(Z.rowwise().mean());
    Matrix E_bar = bar.cross * d / double(points.X.cols());
    points_vjp(points, X_bar, in_bar, &E_bar);
  }

 private:
  struct Points {
    Matrix L, X, E;  // E: X (-) x
  };

  Points points_of(const Normal& in) const {
    const StateSpace& space = lanes_.plant().space();
    const Eigen::Index n = space.tangents();
    const Eigen::LLT<Matrix> factor(in.P);
    if (factor.info() != Eigen::Success)
      throw Error({"a covariance is no longer positive definite", "control::filter",
                   "give every state some process noise"},
                  Error::Kind::numerics);
    Points p{factor.matrixL(), Matrix(space.states(), 2 * n), Matrix(n, 2 * n)};
    p.E << std::sqrt(double(n)) * p.L, -std::sqrt(double(n)) * p.L;
    Vector moved(space.states());
    for (Eigen::Index j = 0; j < 2 * n; ++j) {
      const Vector e = p.E.col(j);
      space.move(in.x.data(), e.data(), moved.data());
      p.X.col(j) = moved;
    }
    return p;
  }

  static void difference(const StateSpace& space, const Matrix& Y, Eigen::Index j, const Vector& mean,
                         Matrix& d) {
    const Vector y = Y.col(j);
    Vector to(space.tangents());
    space.difference(y.data(), mean.data(), to.data());
    d.col(j) = to;
  }
  static Moments moments(const Vector& mean, const Matrix& d, const Matrix& E) {
    const double count = double(d.cols());
    return {mean, times_transposed(d, d) / count, times_transposed(E, d) / count};
  }
  Matrix measurements(const Matrix& X) {
    Matrix Z(rows_, X.cols());
    Vector z(X.cols());
    for (Eigen::Index i = 0; i < rows_; ++i) lanes_.measure(std::size_t(i), X, z), Z.row(i) = z.transpose();
    return Z;
  }

  // The cotangent of every point's result. What the differences get is centred: their mean is zero.
  static Matrix output_bar(const Matrix& Y, const Matrix& E, const Moments& bar) {
    const double count = double(Y.cols());
    const Matrix d = Y.colwise() - Vector(Y.rowwise().mean());
    Matrix d_bar = 2 * symmetric(bar.covariance) * d / count;
    if (bar.cross.size() > 0) d_bar += transposed_times(bar.cross, E) / count;
    d_bar.colwise() -= Vector(d_bar.rowwise().mean());
    return d_bar.colwise() + Vector(bar.mean / count);
  }

  void points_vjp(const Points& p, const Matrix& X_bar, Normal& in_bar, const Matrix* E_bar = nullptr) const {
    const Eigen::Index n = p.L.rows();
    in_bar.x += X_bar.rowwise().sum();
    Matrix spread = X_bar;
    if (E_bar) spread += *E_bar;
    const Matrix L_bar = std::sqrt(double(n)) * (spread.leftCols(n) - spread.rightCols(n));
    Matrix phi = transposed_times(p.L, L_bar).triangularView<Eigen::Lower>();
    phi.diagonal() *= 0.5;
    const auto factor = p.L.transpose().triangularView<Eigen::Upper>();
    const Matrix half = factor.solve(phi);                              // L^-T phi
    in_bar.P += symmetric(factor.solve(half.transpose()).transpose());  // (L^-T (L^-T phi)')' = L^-T phi L^-1
  }

  Lanes lanes_;
  Eigen::Index rows_;
};

}  // namespace

std::unique_ptr<Transform> unscented(const Estimation& problem) {
  return std::make_unique<Unscented>(problem);
}

}  // namespace costate::control
