// Least squares over blocks. Each block sends J'r and J'J, which are added in the order of the tree:
//
//   f = 1/2 r'r,   g = J'r,   H = J'J = L L'
//
// Levenberg-Marquardt (optim/) wants residuals. With K = L' and s = L^-1 g, the n + 1 residuals
// (s, sqrt(2 f - s's)) with the Jacobian (K; 0) have the same f, the same gradient K's = g and the same
// K'K = H, so its steps are those of the whole problem. The price of sums instead of rows is the square of
// the condition number: a direction that the data see 1e-8 times less than another one is not seen.
//
//   covariance = H^-1 2 f / (m - n)
#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/cluster/pool.h"

namespace costate::cluster {
namespace {

// The normal equations of a Part.
struct Normal {
  int n;
  std::vector<double> g, L;  // L: lower triangle, row-major n x n; a column of what the data do not see is 0
  double value = 0;
  std::int64_t residuals = 0;
  bool definite = true;

  Normal(int size, const Evaluation& e) : n(size), L(std::size_t(n * n), 0.0), value(e.value) {
    if (e.gradient.size() != std::size_t(n + n * (n + 1) / 2 + 1))
      throw Error({"the job's blocks do not hold residuals of " + std::to_string(n) + " variables", "",
                   "make them with cluster::add_residuals"});
    g.assign(e.gradient.begin(), e.gradient.begin() + n);
    residuals = std::int64_t(e.gradient.back());
    const double* upper = e.gradient.data() + n;
    for (int i = 0; i < n; ++i)
      for (int j = i; j < n; ++j) at(j, i) = *upper++;
    factorise();
  }
  double& at(int i, int j) { return L[std::size_t(i * n + j)]; }

  void factorise() {
    for (int j = 0; j < n; ++j) {
      const double diagonal = at(j, j);
      for (int k = 0; k < j; ++k) at(j, j) -= at(j, k) * at(j, k);
      const bool seen = at(j, j) > 1e-14 * diagonal;
      definite &= seen;
      const double root = seen ? std::sqrt(at(j, j)) : 0;
      at(j, j) = root;
      for (int i = j + 1; i < n; ++i) {
        for (int k = 0; k < j; ++k) at(i, j) -= at(i, k) * at(j, k);
        at(i, j) = seen ? at(i, j) / root : 0;
      }
    }
  }
  void residuals_of(double* s, double* K) {
    double squares = 0;
    for (int i = 0; i < n; ++i) {
      s[i] = g[std::size_t(i)];
      for (int k = 0; k < i; ++k) s[i] -= at(i, k) * s[k];
      s[i] = at(i, i) > 0 ? s[i] / at(i, i) : 0;
      squares += s[i] * s[i];
      for (int j = 0; K != nullptr && j < n; ++j) K[i * n + j] = j >= i ? at(j, i) : 0;
    }
    s[n] = std::sqrt(std::max(0.0, 2 * value - squares));
    for (int j = 0; K != nullptr && j < n; ++j) K[n * n + j] = 0;
  }
  // Column j of H^-1.
  void inverse(int j, double* column) {
    std::fill_n(column, n, 0.0);
    column[j] = 1;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) column[i] -= at(i, k) * column[k];
      column[i] /= at(i, i);
    }
    for (int i = n; i-- > 0;) {
      for (int k = i + 1; k < n; ++k) column[i] -= at(k, i) * column[k];
      column[i] /= at(i, i);
    }
  }
};

}  // namespace

void add_residuals(Part& part, int n, int m, const double* r, const double* J) {
  part.sums.resize(std::size_t(n + n * (n + 1) / 2 + 1), 0.0);
  for (int k = 0; k < m; ++k, J += n) {
    part.value += 0.5 * r[k] * r[k];
    double* H = part.sums.data() + n;
    for (int i = 0; i < n; ++i) {
      part.sums[std::size_t(i)] += J[i] * r[k];
      for (int j = i; j < n; ++j) *H++ += J[i] * J[j];
    }
  }
  part.sums.back() += m;
}

LeastSquares Pool::least_squares(const Job& job, const std::vector<double>& theta0,
                                 const optim::LevenbergMarquardtOptions& options,
                                 optim::LevenbergMarquardtState* state) {
  const int n = int(theta0.size());
  std::vector<double> last;  // a step that is accepted is asked for twice: its residuals, then its Jacobian
  std::unique_ptr<Normal> normal;
  const auto evaluate = [&](const double* x) {
    const std::vector<double> theta(x, x + n);
    if (normal && theta == last) return true;
    const Evaluation e = population(job, {theta}, Want::gradient)[0];
    if (e.failure) return false;
    normal = std::make_unique<Normal>(n, e);
    last = theta;
    return true;
  };
  const optim::Residuals residuals{n + 1, [&](const double* x, double* r, double* jacobian) {
                                     if (evaluate(x))
                                       normal->residuals_of(r, jacobian);
                                     else
                                       std::fill_n(r, n + 1, std::numeric_limits<double>::quiet_NaN());
                                   }};
  LeastSquares fit;
  fit.result = optim::minimize(residuals, theta0, options, state);
  if (!evaluate(fit.result.x.data())) throw Error("the best point of the fit cannot be simulated again");
  fit.result.value = normal->value;
  fit.residuals = normal->residuals;
  const bool known = normal->definite && normal->residuals > n;
  fit.covariance.assign(std::size_t(n * n), std::numeric_limits<double>::infinity());
  for (int j = 0; known && j < n; ++j) {
    double* row = fit.covariance.data() + j * n;
    normal->inverse(j, row);
    for (int i = 0; i < n; ++i) row[i] *= 2 * normal->value / double(normal->residuals - n);
  }
  for (int j = 0; j < n; ++j)
    fit.standard_deviation.push_back(std::sqrt(fit.covariance[std::size_t(j * n + j)]));
  return fit;
}

}  // namespace costate::cluster
