#include "costate/control/filter/estimation.h"

#include <cmath>
#include <numbers>
#include <string>

#include "costate/control/filter/measured.h"
#include "costate/control/filter/moments.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/system/block_memory.h"

namespace costate::control {
namespace {

// What one step of a filter leaves for smoothers and for the transpose.
struct Pass {
  Normal predicted, filtered;
  Moments measured;  // covariance with the noise of the measurement
  Matrix gain;
  Vector innovation, weighted;  // r, S^-1 r
  Matrix cross;                 // cov(x_k, x_{k+1})
  bool seen = false;
};

void expect(const char* name, std::size_t have, std::size_t want) {
  if (have != want)
    throw Error(std::string(name) + " has " + std::to_string(have) + " numbers instead of " +
                std::to_string(want));
}

class Filtering {
 public:
  Filtering(const Estimation& problem, const std::vector<double>& y) : problem_(problem), y_(y) {
    if (!problem.system) throw Error("there is no system to estimate the state of");
    if (problem.measured.empty()) throw Error("nothing is measured");
    check_measured(problem.measured);
    space_ =
        problem.space.states() == 0 ? StateSpace(int(problem.system->signature().states())) : problem.space;
    n_ = space_.tangents(), rows_ = Eigen::Index(problem.measured.size());
    const auto n = std::size_t(n_), m = std::size_t(problem.system->signature().controls());
    expect("x0", problem.x0.size(), std::size_t(space_.states()));
    expect("P0", problem.P0.size(), n * n), expect("process_noise", problem.process_noise.size(), n * n);
    expect("measurement_noise", problem.measurement_noise.size(), std::size_t(rows_ * rows_));
    check_covariance("P0", problem.P0, n);
    check_covariance("process_noise", problem.process_noise, n);
    if (y.empty() || y.size() % std::size_t(rows_) != 0)
      throw Error("the measurements have " + std::to_string(y.size()) + " numbers, which are not rows of " +
                  std::to_string(rows_));
    for (const double number : y)
      if (std::isinf(number))
        throw Error({"a measurement is infinite", "control::filter", "write NaN where nothing was measured"});
    steps_ = y.size() / std::size_t(rows_) - 1;
    rest_.resize(std::max<std::size_t>(m, 1));
    if (!problem.controls.empty() && problem.controls.size() != m)
      expect("controls", problem.controls.size(), steps_ * m);
    transform_ = problem.filter == Filter::extended ? extended(problem) : unscented(problem);
  }

  std::size_t steps() const { return steps_; }
  const StateSpace& space() const { return space_; }
  Eigen::Index tangents() const { return n_; }
  Eigen::Index rows() const { return rows_; }
  Transform& transform() { return *transform_; }

  const double* controls(std::size_t k) const {
    const auto m = std::size_t(problem_.system->signature().controls());
    if (problem_.controls.empty()) return rest_.data();
    return problem_.controls.data() + (problem_.controls.size() == m ? 0 : k * m);
  }

  double run(std::vector<Pass>& passes) {
    double log_likelihood = 0;
    passes.resize(steps_ + 1);
    passes[0].predicted = {VectorIn(problem_.x0.data(), space_.states()),
                           MatrixIn(problem_.P0.data(), n_, n_)};
    for (std::size_t k = 0; k <= steps_; ++k) {
      stop_if_interrupted();
      log_likelihood += update(k, passes[k]);
      if (k == steps_) break;
      const Moments next = transform_->predict(std::int64_t(k), passes[k].filtered, controls(k));
      passes[k].cross = next.cross;
      passes[k + 1].predicted = {
          next.mean, symmetric(next.covariance + MatrixIn(problem_.process_noise.data(), n_, n_))};
    }
    return log_likelihood;
  }

 private:
  bool seen(std::size_t k) const {
    Eigen::Index missing = 0;
    const double* row = &y_[k * std::size_t(rows_)];
    for (Eigen::Index i = 0; i < rows_; ++i) missing += !finite_bits(row[i]);
    if (missing > 0 && missing < rows_)
      throw Error({"row " + std::to_string(k) + " of the measurements has numbers that are not finite",
                   "control::filter", "make the whole row NaN: it was not measured then"});
    return missing == 0;
  }

  double update(std::size_t k, Pass& p) {
    p.filtered = p.predicted;
    p.innovation = Vector::Zero(rows_), p.weighted = Vector::Zero(rows_);
    p.seen = seen(k);
    if (!p.seen) return 0;
    p.measured = transform_->measure(p.predicted);
    p.measured.covariance += MatrixIn(problem_.measurement_noise.data(), rows_, rows_);
    const Eigen::LLT<Matrix> S(symmetric(p.measured.covariance));
    if (S.info() != Eigen::Success)
      throw Error({"the covariance of a measurement is not positive definite, at step " + std::to_string(k),
                   "control::filter", "give every measured number some noise"},
                  Error::Kind::numerics);
    p.innovation = VectorIn(&y_[k * std::size_t(rows_)], rows_) - p.measured.mean;
    p.weighted = S.solve(p.innovation);
    p.gain = solved(S, p.measured.cross.transpose()).transpose();
    const Vector shift = p.gain * p.innovation;
    space_.move(p.predicted.x.data(), shift.data(), p.filtered.x.data());
    p.filtered.P = symmetric(p.predicted.P - times_transposed(p.gain, p.measured.cross));
    const double log_det = 2 * Matrix(S.matrixL()).diagonal().array().log().sum();
    return -0.5 * (p.innovation.dot(p.weighted) + log_det + double(rows_) * std::log(2 * std::numbers::pi));
  }

  const Estimation& problem_;
  const std::vector<double>& y_;
  StateSpace space_;
  Eigen::Index n_ = 0, rows_ = 0;
  std::size_t steps_ = 0;
  std::vector<double> rest_;
  std::unique_ptr<Transform> transform_;
};

void append(const Normal& normal, Estimate& to) {
  to.x.insert(to.x.end(), normal.x.data(), normal.x.data() + normal.x.size());
  to.P.insert(to.P.end(), normal.P.data(), normal.P.data() + normal.P.size());
}

Estimate estimate_of(const std::vector<Pass>& passes, double log_likelihood) {
  Estimate e;
  e.log_likelihood = log_likelihood;
  for (const Pass& p : passes) {
    append(p.filtered, e);
    e.innovation.insert(e.innovation.end(), p.innovation.data(), p.innovation.data() + p.innovation.size());
    e.surprise.push_back(p.innovation.dot(p.weighted));
  }
  return e;
}

// The transpose of Filtering::update: from the cotangent of the filtered normal to that of the predicted one.
Normal update_vjp(Transform& transform, const Pass& p, const Normal& bar, Matrix& noise_bar, double* p_bar) {
  Normal in = bar;
  if (!p.seen) return in;
  const Matrix inverse = solved(Eigen::LLT<Matrix>(symmetric(p.measured.covariance)),
                                Matrix::Identity(p.innovation.size(), p.innovation.size()));
  const Vector &v = p.weighted, w = inverse * (p.measured.cross.transpose() * bar.x);
  const Matrix P_bar = symmetric(bar.P);
  Moments m;
  m.mean = v - w;
  m.covariance = symmetric(-w * v.transpose() + 0.5 * v * v.transpose() - 0.5 * inverse +
                           times(transposed_times(p.gain, P_bar), p.gain));
  m.cross = bar.x * v.transpose() - 2 * times(P_bar, p.gain);
  noise_bar += m.covariance;
  transform.measure_vjp(p.predicted, m, in, p_bar);
  return in;
}

}  // namespace

Estimate filter(const Estimation& problem, const std::vector<double>& y) {
  Filtering filtering(problem, y);
  std::vector<Pass> passes;
  const double log_likelihood = filtering.run(passes);
  return estimate_of(passes, log_likelihood);
}

Estimate smooth(const Estimation& problem, const std::vector<double>& y) {
  Filtering filtering(problem, y);
  std::vector<Pass> passes;
  const double log_likelihood = filtering.run(passes);
  const StateSpace& space = filtering.space();
  for (std::size_t k = passes.size() - 1; k-- > 0;) {
    stop_if_interrupted();
    const Normal &later = passes[k + 1].filtered, &predicted = passes[k + 1].predicted;
    const Matrix D = solved(Eigen::LLT<Matrix>(predicted.P), passes[k].cross.transpose()).transpose();
    Vector ahead(space.tangents()), moved(space.states());
    space.difference(later.x.data(), predicted.x.data(), ahead.data());
    const Vector shift = D * ahead;
    Normal& now = passes[k].filtered;
    space.move(now.x.data(), shift.data(), moved.data());
    now.x = moved;
    now.P = symmetric(now.P + congruent(D, later.P - predicted.P));
  }
  return estimate_of(passes, log_likelihood);
}

LikelihoodGradient likelihood_gradient(const Estimation& problem, const std::vector<double>& y) {
  Filtering filtering(problem, y);
  if (!filtering.space().quaternions().empty())
    throw Error("the gradient of the likelihood is of plain numbers: there is none on quaternions");
  if (problem.filter == Filter::extended && !problem.system->capabilities().second_order)
    throw Error({"the system has no second derivatives, which the extended filter's gradient needs",
                 {},
                 "use Filter::unscented"});
  std::vector<Pass> passes;
  LikelihoodGradient g;
  g.value = filtering.run(passes);
  const Eigen::Index n = filtering.tangents();
  std::vector<double> p_bar(std::size_t(problem.system->signature().parameters()) + 1);
  Matrix V = Matrix::Zero(filtering.rows(), filtering.rows()), W = Matrix::Zero(n, n);
  Normal bar{Vector::Zero(n), Matrix::Zero(n, n)};
  for (std::size_t k = passes.size(); k-- > 0;) {
    stop_if_interrupted();
    const Normal predicted = update_vjp(filtering.transform(), passes[k], bar, V, p_bar.data());
    bar = {Vector::Zero(n), Matrix::Zero(n, n)};
    if (k == 0) {
      g.x0 = numbers_of(predicted.x), g.P0 = numbers_of(symmetric(predicted.P));
      break;
    }
    W += symmetric(predicted.P);
    filtering.transform().predict_vjp(std::int64_t(k - 1), passes[k - 1].filtered, filtering.controls(k - 1),
                                      {predicted.x, symmetric(predicted.P), {}}, bar, p_bar.data());
  }
  g.process_noise = numbers_of(W), g.measurement_noise = numbers_of(V);
  g.parameters = problem.parameters.zeros();
  const auto& fields = problem.system->signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    for (std::int64_t i = 0; i < fields[f].size; ++i)
      g.parameters.values(f)[std::size_t(i)] = p_bar[std::size_t(fields[f].offset + i)];
  return g;
}

}  // namespace costate::control
