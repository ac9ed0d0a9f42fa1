#include "costate/optim/cma_es.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/optim/descent.h"

namespace costate::optim {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kSmallestCloud = 1e-12;  // of its first width
constexpr double kWorstCondition = 1e14;  // of C: beyond it the drawn points are rounding errors

// Table 1 of the tutorial.
struct Constants {
  int lambda, mu;
  Vector weights;  // of the points in the order of their values; those past mu are negative
  double mu_eff, c_sigma, d_sigma, c_c, c_1, c_mu, expected_length;

  Constants(double n, int population) {
    lambda = population > 0 ? population : 4 + int(3 * std::log(n));
    mu = lambda / 2;
    weights.resize(lambda);
    for (int i = 0; i < lambda; ++i) weights[i] = std::log((lambda + 1) / 2.0) - std::log(i + 1.0);
    const auto better = weights.head(mu), worse = weights.tail(lambda - mu);
    const auto effective = [](const auto& w) { return w.sum() * w.sum() / w.squaredNorm(); };
    mu_eff = effective(better);
    c_sigma = (mu_eff + 2) / (n + mu_eff + 5);
    d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mu_eff - 1) / (n + 1)) - 1) + c_sigma;
    c_c = (4 + mu_eff / n) / (n + 4 + 2 * mu_eff / n);
    c_1 = 2 / ((n + 1.3) * (n + 1.3) + mu_eff);
    c_mu = std::min(1 - c_1, 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / ((n + 2) * (n + 2) + mu_eff));
    expected_length = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
    // How much the worse half may take away, so that C stays positive.
    const double away =
        std::min({1 + c_1 / c_mu, 1 + 2 * effective(worse) / (mu_eff + 2), (1 - c_1 - c_mu) / (n * c_mu)});
    weights.head(mu) /= Vector(better).sum();
    weights.tail(lambda - mu) *= away / Vector(worse).cwiseAbs().sum();
  }
};

// The spread of the better half: how much a width of the cloud is worth.
double spread_of(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2] - values.front();
}

class CmaEs {
 public:
  CmaEs(const ValuesOfPoints& values, const CmaEsOptions& options, CmaEsState& state, int n)
      : values_(values),
        options_(options),
        state_(state),
        n_(n),
        c_(n, options.population),
        inside_(Objective(), options.bounds, n),
        y_(n, c_.lambda),
        points_(n * c_.lambda),
        value_(c_.lambda),
        order_(c_.lambda),
        point_(n) {
    if (options.population > 0 && options.population < 4)
      throw Error("a population of CMA-ES has 4 points or more");
    if (!options.scale.empty() && int(options.scale.size()) != n)
      throw Error("scale has " + std::to_string(options.scale.size()) + " components, the variables " +
                  std::to_string(n));
  }

  void start(const std::vector<double>& x0) {
    state_.x = x0;
    inside_.project(state_.x);
    state_.gradient.assign(x0.size(), 0.0);
    state_.best_x = state_.x;
    state_.best_value = state_.value = std::numeric_limits<double>::infinity();
    state_.sigma = options_.sigma;
    state_.sigma_path.assign(x0.size(), 0.0);
    state_.covariance_path.assign(x0.size(), 0.0);
    state_.covariance.assign(x0.size() * x0.size(), 0.0);
    for (int i = 0; i < n_; ++i) state_.covariance[i * n_ + i] = scale(i) * scale(i);
  }

  // False: C has no usable roots any more.
  bool generation() {
    Eigen::Map<Matrix> covariance(state_.covariance.data(), n_, n_);
    const Eigen::SelfAdjointEigenSolver<Matrix> roots(covariance);
    const Vector& squares = roots.eigenvalues();
    if (!(squares[0] > 0) || squares[n_ - 1] > kWorstCondition * squares[0]) return false;
    const Matrix& axes = roots.eigenvectors();
    const Vector lengths = squares.cwiseSqrt();

    draw(axes, lengths);
    rank();

    // The tutorial's updates, in its order.
    const double k = state_.iteration + 1;
    Eigen::Map<Vector> mean(state_.x.data(), n_), p_s(state_.sigma_path.data(), n_),
        p_c(state_.covariance_path.data(), n_);
    Vector step = Vector::Zero(n_);
    for (int i = 0; i < c_.mu; ++i) step += c_.weights[i] * y_.col(order_[i]);
    mean += state_.sigma * step;
    const auto whitened = [&](const Vector& y) -> Vector {
      return axes * (axes.transpose() * y).cwiseQuotient(lengths);
    };
    p_s = (1 - c_.c_sigma) * p_s + std::sqrt(c_.c_sigma * (2 - c_.c_sigma) * c_.mu_eff) * whitened(step);
    const double length = p_s.norm();
    // The path of the shape pauses while the width grows fast.
    const double h =
        length / std::sqrt(1 - std::pow(1 - c_.c_sigma, 2 * k)) < (1.4 + 2.0 / (n_ + 1)) * c_.expected_length
            ? 1
            : 0;
    p_c = (1 - c_.c_c) * p_c + h * std::sqrt(c_.c_c * (2 - c_.c_c) * c_.mu_eff) * step;
    covariance *= 1 + c_.c_1 * (1 - h) * c_.c_c * (2 - c_.c_c) - c_.c_1 - c_.c_mu * c_.weights.sum();
    covariance += c_.c_1 * p_c * p_c.transpose();
    for (int i = 0; i < c_.lambda; ++i) {
      const Vector y = y_.col(order_[i]);
      double w = c_.weights[i];
      if (w < 0) w *= n_ / whitened(y).squaredNorm();
      covariance += c_.c_mu * w * y * y.transpose();
    }
    covariance = Matrix(0.5 * (covariance + covariance.transpose()));
    state_.sigma *= std::exp(std::min(1.0, c_.c_sigma / c_.d_sigma * (length / c_.expected_length - 1)));

    state_.recent.push_back(state_.value);
    if (state_.recent.size() > memory()) state_.recent.erase(state_.recent.begin());
    return true;
  }

  bool shrunk() const {
    double largest = 0;
    for (int i = 0; i < n_; ++i)
      largest = std::max(largest, std::sqrt(state_.covariance[i * n_ + i]) / scale(i));
    return state_.sigma * largest < kSmallestCloud * options_.sigma;
  }
  // Relative range of the best values of the last generations; infinite before there are enough of them.
  double range() const {
    if (state_.recent.size() < memory()) return std::numeric_limits<double>::infinity();
    const auto [low, high] = std::minmax_element(state_.recent.begin(), state_.recent.end());
    return (*high - *low) / std::max({std::abs(*low), std::abs(*high), 1e-300});
  }
  int lambda() const { return c_.lambda; }

 private:
  std::size_t memory() const { return std::size_t(10 + std::ceil(30.0 * n_ / c_.lambda)); }
  double scale(int i) const { return options_.scale.empty() ? 1 : options_.scale[i]; }

  void draw(const Matrix& axes, const Vector& lengths) {
    Vector z(n_);
    for (int k = 0; k < c_.lambda; ++k) {
      for (int i = 0; i < n_; ++i)
        z[i] = normal<double>(options_.seed, std::uint32_t(k), std::uint64_t(state_.iteration),
                              std::uint32_t(i));
      y_.col(k) = axes * z.cwiseProduct(lengths);
    }
  }

  void rank() {
    Vector outside = Vector::Zero(c_.lambda);  // squared distances in units of the cloud
    for (int k = 0; k < c_.lambda; ++k) {
      for (int i = 0; i < n_; ++i) point_[i] = state_.x[i] + state_.sigma * y_(i, k);
      const std::vector<double> drawn = point_;
      inside_.project(point_);
      for (int i = 0; i < n_; ++i) {
        const double width = state_.sigma * std::sqrt(state_.covariance[i * n_ + i]);
        outside[k] += std::pow((drawn[i] - point_[i]) / width, 2);
      }
      std::copy(point_.begin(), point_.end(), points_.begin() + std::ptrdiff_t(k) * n_);
    }
    values_(points_.data(), c_.lambda, value_.data());
    state_.evaluations += c_.lambda;
    for (double& v : value_) {
      if (!std::isfinite(v)) v = std::numeric_limits<double>::infinity();
    }
    const auto best = std::min_element(value_.begin(), value_.end());
    state_.value = std::min(*best, std::numeric_limits<double>::max());  // a state can be stored as text
    if (*best < state_.best_value) {
      state_.best_value = *best;
      const auto first = points_.begin() + (best - value_.begin()) * n_;
      state_.best_x.assign(first, first + n_);
    }
    const double spread = spread_of(value_);
    for (int k = 0; k < c_.lambda; ++k) value_[k] += spread * outside[k];
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return value_[a] < value_[b]; });
  }

  const ValuesOfPoints& values_;
  const CmaEsOptions& options_;
  CmaEsState& state_;
  const int n_;
  const Constants c_;
  const Evaluator inside_;
  Matrix y_;  // one column per point: (x - m) / sigma as drawn
  std::vector<double> points_, value_;
  std::vector<int> order_;  // of the values, best first
  std::vector<double> point_;
};

}  // namespace

Result minimize(const ValuesOfPoints& values, const std::vector<double>& x0, const CmaEsOptions& options,
                CmaEsState* given) {
  CmaEsState own;
  CmaEsState& state = given ? *given : own;
  const bool resumed = !state.x.empty();
  if (x0.empty() && !resumed) throw Error("nothing to minimise: there are no variables");
  CmaEs search(values, options, state, int(resumed ? state.x.size() : x0.size()));
  if (!resumed) search.start(x0);

  const auto finish = [&](Stop stop, std::string reason) {
    return Result{state.best_x, state.best_value, 0, state.iteration, state.evaluations,
                  stop,         std::move(reason)};
  };
  const Stopping& stopping = options.stopping;
  for (;;) {
    if (state.best_value <= stopping.target) {
      return finish(Stop::target,
                    in_words("value %.6g not above the target %.6g", state.best_value, stopping.target));
    }
    if (search.shrunk()) return finish(Stop::value, in_words("the cloud has shrunk to %.2g", state.sigma));
    if (stopping.value_tolerance > 0 && search.range() <= stopping.value_tolerance) {
      return finish(
          Stop::value,
          in_words("the best values of the last generations differ by %.2g, relative tolerance %.2g",
                   search.range(), stopping.value_tolerance));
    }
    if (state.iteration >= stopping.max_iterations ||
        state.evaluations > options.max_evaluations - search.lambda()) {
      return finish(Stop::iterations, in_words("%.0f generations done, %.0f evaluations", state.iteration,
                                               double(state.evaluations)));
    }
    const std::vector<double> before = state.x;
    if (!search.generation())
      return finish(Stop::no_descent, "the cloud is longer than wide beyond what numbers can tell");
    ++state.iteration;
    if (state.iteration == 1 && !std::isfinite(state.best_value))
      return finish(Stop::not_finite, "no value of the first generation is finite");
    double step = 0;
    for (std::size_t i = 0; i < before.size(); ++i) step = std::max(step, std::abs(state.x[i] - before[i]));
    if (options.callback && !options.callback({state.iteration, state.value, 0, step, state.evaluations})) {
      return finish(Stop::callback,
                    in_words("stopped by the callback after %.0f iterations", state.iteration));
    }
  }
}

Result minimize(const std::function<double(const double* x)>& value, const std::vector<double>& x0,
                const CmaEsOptions& options, CmaEsState* state) {
  const std::size_t n = state && !state->x.empty() ? state->x.size() : x0.size();
  const ValuesOfPoints values = [&](const double* points, int count, double* out) {
    for (int k = 0; k < count; ++k) out[k] = value(points + std::size_t(k) * n);
  };
  return minimize(values, x0, options, state);
}

}  // namespace costate::optim
