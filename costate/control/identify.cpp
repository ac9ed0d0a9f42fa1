#include "costate/control/identify.h"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "costate/control/dense.h"
#include "costate/control/sensitivity.h"
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/optim/levenberg_marquardt.h"
#include "costate/system/block_memory.h"

namespace costate::control {
namespace {

constexpr double kBlind = 1e-8;  // of the largest singular value: below it a direction is not seen

// One number among the parameters that is searched.
struct Searched {
  std::size_t unknown;
  std::size_t field;
  std::int64_t index;  // in its field
  std::string name;
  double start, scale;
};

// A piece of a recording: steps [first, first + count), and where its first state lies among the variables,
// or -1 where it is known.
struct Piece {
  std::size_t recording;
  std::int64_t first, count;
  int state;
  bool joined;  // it continues the piece before it
};

// sign(r) sqrt(rho(r^2)), and its derivative.
double softened(Robust kind, double width, double r, double& slope) {
  slope = 1;
  const double s = r * r;
  if (kind == Robust::huber && std::abs(r) > width) {
    const double rho = 2 * width * std::abs(r) - width * width;
    slope = width / std::sqrt(rho);
    return std::copysign(std::sqrt(rho), r);
  }
  if (kind == Robust::cauchy && s > 1e-12 * width * width) {
    const double rho = width * width * std::log1p(s / (width * width));
    slope = std::abs(r) / ((1 + s / (width * width)) * std::sqrt(rho));
    return std::copysign(std::sqrt(rho), r);
  }
  return r;
}

class Fit {
 public:
  explicit Fit(const Identification& problem) : problem_(problem) {
    check();
    search();
    cut();
    count();
  }

  optim::Residuals residuals() {
    return {residuals_, [this](const double* z, double* r, double* J) { evaluate(z, r, J); }};
  }
  int variables() const { return variables_; }
  // Of each residual of the latest evaluation: whether it is of a measurement.
  const std::vector<bool>& measures() const { return measures_; }
  const std::vector<Searched>& searched() const { return searched_; }
  const std::vector<Piece>& pieces() const { return pieces_; }

  std::vector<double> start() const {
    const auto count = std::size_t(variables_);
    std::vector<double> z(count);
    for (std::size_t i = 0; i < searched_.size(); ++i) z[i] = searched_[i].start / searched_[i].scale;
    // Pieces begin on the rollout from the recording's start, as far as it stays near: the first guess of
    // all.
    for (const Piece& piece : pieces_)
      if (piece.state >= 0) {
        const std::vector<double>& x0 = problem_.recordings[piece.recording].x0;
        std::copy(x0.begin(), x0.end(), z.begin() + piece.state);
      }
    roll_starts(z);
    return z;
  }
  optim::Bounds bounds() const {
    optim::Bounds b{std::vector<double>(std::size_t(variables_), -1e300),
                    std::vector<double>(std::size_t(variables_), 1e300)};
    for (std::size_t i = 0; i < searched_.size(); ++i) {
      const Unknown& u = problem_.unknowns[searched_[i].unknown];
      b.lower[i] = u.lower / searched_[i].scale, b.upper[i] = u.upper / searched_[i].scale;
    }
    return b;
  }
  Parameters<double> parameters_at(const double* z) const {
    Parameters<double> p = problem_.parameters;
    for (std::size_t i = 0; i < searched_.size(); ++i)
      p.values(searched_[i].field)[std::size_t(searched_[i].index)] = z[i] * searched_[i].scale;
    return p;
  }
  std::vector<double> state_of(const Piece& piece, const double* z) const {
    if (piece.state < 0) return problem_.recordings[piece.recording].x0;
    return {z + piece.state, z + piece.state + states_};
  }

 private:
  void check() const;
  void search();
  void cut();
  void count();
  void roll_starts(std::vector<double>& z) const;
  void evaluate(const double* z, double* r, double* J);

  std::vector<double> controls(const Measurements& recording, std::int64_t k) const {
    const auto m = std::size_t(problem_.system->signature().controls());
    if (recording.controls.empty()) return std::vector<double>(std::max<std::size_t>(m, 1));
    const auto first = recording.controls.size() == m ? 0 : std::size_t(k) * m;
    return {recording.controls.begin() + std::ptrdiff_t(first),
            recording.controls.begin() + std::ptrdiff_t(first + m)};
  }
  std::int64_t steps(const Measurements& recording) const {
    return std::int64_t(recording.y.size() / problem_.measured.size()) - 1;
  }
  bool seen(const Measurements& recording, std::int64_t k) const {
    return finite_bits(recording.y[std::size_t(k) * problem_.measured.size()]);
  }

  const Identification& problem_;
  int states_ = 0, variables_ = 0, residuals_ = 0;
  std::vector<bool> measures_;
  std::vector<Searched> searched_;
  std::vector<Piece> pieces_;
};

void Fit::check() const {
  const Identification& p = problem_;
  if (!p.system || p.measured.empty() || p.recordings.empty() || p.unknowns.empty())
    throw Error("an identification needs a system, something measured, a recording and an unknown");
  if (p.sigma.size() != p.measured.size())
    throw Error("sigma has " + std::to_string(p.sigma.size()) + " numbers instead of " +
                std::to_string(p.measured.size()));
  const auto rows = p.measured.size(), n = std::size_t(p.system->signature().states());
  for (std::size_t i = 0; i < p.recordings.size(); ++i) {
    const Measurements& recording = p.recordings[i];
    const std::string where = "recording " + std::to_string(i);
    if (recording.y.size() < 2 * rows || recording.y.size() % rows != 0)
      throw Error({std::to_string(recording.y.size()) + " numbers, which are not at least two rows of " +
                       std::to_string(rows),
                   where,
                   {}});
    if (recording.x0.size() != n)
      throw Error(
          {"x0 has " + std::to_string(recording.x0.size()) + " numbers instead of " + std::to_string(n),
           where,
           {}});
    for (std::size_t k = 0; k < recording.y.size() / rows; ++k) {
      std::size_t missing = 0;
      for (std::size_t j = 0; j < rows; ++j) missing += !finite_bits(recording.y[k * rows + j]);
      if (missing > 0 && missing < rows)
        throw Error({"row " + std::to_string(k) + " has numbers that are not finite", where,
                     "make the whole row NaN: it was not measured then"});
    }
  }
}

void Fit::search() {
  const Signature& s = problem_.system->signature();
  const auto& fields = s.fields(Role::parameter);
  for (std::size_t u = 0; u < problem_.unknowns.size(); ++u) {
    const Field& field = s.find(Role::parameter, problem_.unknowns[u].name);
    const auto f = std::size_t(&field - fields.data());
    for (std::int64_t i = 0; i < field.size; ++i) {
      const double start = problem_.parameters.values(f)[std::size_t(i)];
      const double own = problem_.unknowns[u].scale;
      searched_.push_back({u, f, i, s.describe(Role::parameter, field.offset + i), start,
                           own > 0      ? own
                           : start != 0 ? std::abs(start)
                                        : 1.0});
    }
  }
  states_ = int(s.states());
}

void Fit::cut() {
  variables_ = int(searched_.size());
  for (std::size_t i = 0; i < problem_.recordings.size(); ++i) {
    const Measurements& recording = problem_.recordings[i];
    const std::int64_t all = steps(recording), length = problem_.segment > 0 ? problem_.segment : all;
    for (std::int64_t first = 0; first < all; first += length) {
      const bool unknown = first > 0 || recording.x0_free;
      pieces_.push_back({i, first, std::min(length, all - first), unknown ? variables_ : -1, first > 0});
      if (unknown) variables_ += states_;
    }
  }
}

void Fit::count() {
  const int rows = int(problem_.measured.size());
  for (const Piece& piece : pieces_) {
    const Measurements& recording = problem_.recordings[piece.recording];
    const std::int64_t last = piece.first + piece.count;
    for (std::int64_t k = piece.first; k <= last; ++k)
      if ((k < last || k == steps(recording)) && seen(recording, k)) residuals_ += rows;
    if (piece.joined) residuals_ += states_;
  }
  for (const Searched& s : searched_) residuals_ += problem_.unknowns[s.unknown].deviation > 0;
}

// The first states of all pieces along one rollout.
void Fit::roll_starts(std::vector<double>& z) const {
  const Plant plant(problem_.system, parameters_at(z.data()), StateSpace());
  auto block = plant.take();
  const auto n = std::size_t(states_);
  std::vector<double> x, y(n);
  for (const Piece& piece : pieces_) {
    const Measurements& recording = problem_.recordings[piece.recording];
    if (!piece.joined) x = recording.x0;
    if (piece.state >= 0) std::copy(x.begin(), x.end(), z.begin() + piece.state);
    for (std::int64_t k = piece.first; k < piece.first + piece.count; ++k) {
      plant.step(k, x.data(), controls(recording, k).data(), y.data(), *block);
      if (std::all_of(y.begin(), y.end(), finite_bits<double>)) x = y;  // or stay where it was finite
    }
  }
  plant.give_back(std::move(block));
}

void Fit::evaluate(const double* z, double* r, double* J) {
  const int n = states_, np = int(searched_.size()), rows = int(problem_.measured.size());
  std::vector<std::int64_t> numbers;
  const auto& fields = problem_.system->signature().fields(Role::parameter);
  for (const Searched& s : searched_) numbers.push_back(fields[s.field].offset + s.index);
  Sensitivity along(problem_.system, parameters_at(z), problem_.measured, numbers);
  if (J) std::fill_n(J, std::size_t(residuals_) * std::size_t(variables_), 0.0);
  measures_.assign(std::size_t(residuals_), false);
  int row = 0;
  // A row of the Jacobian from derivatives with respect to the piece's first state and the parameters.
  const auto write = [&](const Piece& piece, const double* by, double weight) {
    double* to = J + std::ptrdiff_t(row) * variables_;
    for (int j = 0; j < n && piece.state >= 0; ++j) to[piece.state + j] += weight * by[j];
    for (int j = 0; j < np; ++j) to[j] += weight * by[n + j] * searched_[std::size_t(j)].scale;
  };
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const Measurements& recording = problem_.recordings[piece.recording];
    along.start(state_of(piece, z), J != nullptr);
    for (std::int64_t k = piece.first;; ++k) {
      const bool end = k == piece.first + piece.count;
      if ((!end || k == steps(recording)) && seen(recording, k)) {
        along.measure();
        for (int j = 0; j < rows; ++j, ++row) {
          double slope;
          measures_[std::size_t(row)] = true;
          const double sigma = problem_.sigma[std::size_t(j)];
          r[row] = softened(problem_.robust, problem_.robust_width,
                            (along.z(j) - recording.y[std::size_t(k * rows + j)]) / sigma, slope);
          if (J) write(piece, along.z_by(j), slope / sigma);
        }
      }
      if (end) break;
      along.step(k, controls(recording, k));
    }
    if (i + 1 == pieces_.size() || !pieces_[i + 1].joined) continue;
    const Piece& next = pieces_[i + 1];
    for (int j = 0; j < n; ++j, ++row) {
      r[row] = (along.x(j) - z[next.state + j]) / problem_.gap_sigma;
      if (!J) continue;
      write(piece, along.x_by(j), 1 / problem_.gap_sigma);
      J[std::ptrdiff_t(row) * variables_ + next.state + j] -= 1 / problem_.gap_sigma;
    }
  }
  for (int j = 0; j < np; ++j) {
    const Searched& s = searched_[std::size_t(j)];
    const Unknown& u = problem_.unknowns[s.unknown];
    if (!(u.deviation > 0)) continue;
    r[row] = (z[j] * s.scale - u.mean) / u.deviation;
    if (J) J[std::ptrdiff_t(row) * variables_ + j] = s.scale / u.deviation;
    ++row;
  }
}

// What the data cannot see, and how well they see the rest.
void judge(const Fit& fit, const Matrix& J, Identified& to) {
  const auto np = Eigen::Index(fit.searched().size());
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(J, Eigen::ComputeThinV);
  const Vector& s = svd.singularValues();
  for (Eigen::Index i = 0; i < s.size(); ++i) to.singular_values.push_back(s[i]);
  Matrix covariance = Matrix::Zero(np, np);
  for (Eigen::Index i = 0; i < J.cols(); ++i) {
    const double size = i < s.size() ? s[i] : 0;
    const Vector direction = svd.matrixV().col(i).head(np);
    if (size > kBlind * s[0]) {
      covariance += direction * direction.transpose() / (size * size);
      continue;
    }
    std::string names;
    for (Eigen::Index j = 0; j < np; ++j)
      if (std::abs(direction[j]) > 0.1) names += (names.empty() ? "" : " from ") + to.names[std::size_t(j)];
    if (!names.empty()) to.unseen.push_back("the data cannot tell " + names);
    for (Eigen::Index j = 0; j < np; ++j)
      if (std::abs(direction[j]) > 1e-6) covariance(j, j) = HUGE_VAL;
  }
  for (Eigen::Index i = 0; i < np; ++i)
    for (Eigen::Index j = 0; j < np; ++j)
      covariance(i, j) *= fit.searched()[std::size_t(i)].scale * fit.searched()[std::size_t(j)].scale;
  to.covariance = numbers_of(covariance);
  for (Eigen::Index i = 0; i < np; ++i) to.deviations.push_back(std::sqrt(covariance(i, i)));
}

}  // namespace

Identified identify(const Identification& problem, const IdentifyOptions& options) {
  Fit fit(problem);
  const optim::Residuals residuals = fit.residuals();
  const optim::Result found = optim::minimize(
      residuals, fit.start(),
      optim::LevenbergMarquardtOptions{
          .stopping = {.max_iterations = options.iterations, .gradient_tolerance = options.tolerance},
          .bounds = fit.bounds()});
  Identified to;
  to.parameters = fit.parameters_at(found.x.data());
  for (std::size_t i = 0; i < fit.searched().size(); ++i) {
    to.names.push_back(fit.searched()[i].name);
    to.values.push_back(found.x[i] * fit.searched()[i].scale);
  }
  for (const Piece& piece : fit.pieces())
    if (!piece.joined) to.x0.push_back(fit.state_of(piece, found.x.data()));
  Vector r(residuals.count);
  Matrix J(residuals.count, fit.variables());
  residuals.evaluate(found.x.data(), r.data(), J.data());
  double square = 0, count = 0;
  for (int i = 0; i < residuals.count; ++i)
    if (fit.measures()[std::size_t(i)]) square += r[i] * r[i], ++count;
  to.value = found.value, to.iterations = found.iterations;
  to.residual_rms = std::sqrt(square / std::max(1.0, count));
  to.converged = found.converged(), to.reason = found.reason;
  judge(fit, J, to);
  return to;
}

}  // namespace costate::control
