#include "costate/control/identify/identify.h"

#include <algorithm>
#include <cmath>

#include "costate/control/dense.h"
#include "costate/control/identify/curvature.h"
#include "costate/control/identify/sensitivity.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/text.h"
#include "costate/optim/levenberg_marquardt.h"
#include "costate/system/block_memory.h"
#include "costate/system/ranges.h"

namespace costate::control {
namespace {

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
  // What the Hessian of the loss has beside J'J.
  Matrix correction(const double* z) const;
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
  // Their places among all parameters of the system.
  std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> places;
    const auto& fields = problem_.system->signature().fields(Role::parameter);
    for (const Searched& s : searched_) places.push_back(fields[s.field].offset + s.index);
    return places;
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
  Sensitivity along(const double* z) const;
  bool measured(const Piece& piece, const Measurements& recording, std::int64_t k) const {
    return (k < piece.first + piece.count || k == steps(recording)) && seen(recording, k);
  }
  Passed passed(const Measurements& recording, std::int64_t k, bool taken, Sensitivity& at,
                Matrix& bent) const;
  void add_correction(const Piece& piece, const Matrix& of_piece, Matrix& to) const;

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
  bool seen(const Measurements& recording, std::int64_t k, int j) const {
    return finite_bits(recording.y[std::size_t(k) * problem_.measured.size() + std::size_t(j)]);
  }
  bool seen(const Measurements& recording, std::int64_t k) const {
    for (std::size_t j = 0; j < problem_.measured.size(); ++j)
      if (seen(recording, k, int(j))) return true;
    return false;
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
  check_ranges(p.system->signature(), p.parameters);
  if (p.sigma.size() != p.measured.size())
    throw Error("sigma has " + std::to_string(p.sigma.size()) + " numbers instead of " +
                std::to_string(p.measured.size()));
  for (const double sigma : p.sigma)
    if (!(sigma > 0)) throw Error({"a sigma is " + number(sigma), {}, "a standard deviation is positive"});
  if (p.segment < 0) throw Error({"segment is negative", {}, "give a number of steps, or 0 for no pieces"});
  if (p.robust != Robust::none && !(p.robust_width > 0))
    throw Error({"robust_width is " + number(p.robust_width), {}, "give a positive number of deviations"});
  for (const Unknown& unknown : p.unknowns)
    if (!(unknown.deviation >= 0))
      throw Error({"the prior of '" + unknown.name + "' has the deviation " + number(unknown.deviation),
                   {},
                   "give a positive one, or leave the prior out"});
  bool any = false;
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
    for (const double y : recording.y) {
      any |= std::isfinite(y);
      if (std::isinf(y))
        throw Error({"a measurement is infinite", where, "write NaN where nothing was measured"});
    }
  }
  if (!any) throw Error({"nothing was measured: every number of y is NaN", {}, "give measurements"});
}

void Fit::search() {
  const Signature& s = problem_.system->signature();
  const auto& fields = s.fields(Role::parameter);
  for (std::size_t u = 0; u < problem_.unknowns.size(); ++u) {
    const Field& field = s.find(Role::parameter, problem_.unknowns[u].name);
    const auto f = std::size_t(&field - fields.data());
    const std::int64_t only = problem_.unknowns[u].index;
    if (only >= field.size)
      throw Error("'" + field.name + "' has " + std::to_string(field.size) + " numbers, counted from 0");
    for (std::int64_t i = 0; i < field.size; ++i) {
      if (only >= 0 && i != only) continue;
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
      for (int j = 0; j < rows; ++j)
        residuals_ += (k < last || k == steps(recording)) && seen(recording, k, j);
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

Sensitivity Fit::along(const double* z) const {
  return {problem_.system, parameters_at(z), problem_.measured, numbers()};
}

void Fit::evaluate(const double* z, double* r, double* J) {
  const int n = states_, np = int(searched_.size()), rows = int(problem_.measured.size());
  if (!fault(problem_.system->signature(), parameters_at(z)).empty()) {  // the search steps back
    std::fill_n(r, residuals_, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  Sensitivity along = this->along(z);
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
      stop_if_interrupted();
      const bool end = k == piece.first + piece.count;
      if (measured(piece, recording, k)) {
        along.measure();
        for (int j = 0; j < rows; ++j) {
          if (!seen(recording, k, j)) continue;
          double slope;
          measures_[std::size_t(row)] = true;
          const double sigma = problem_.sigma[std::size_t(j)];
          r[row] = softened(problem_.robust, problem_.robust_width,
                            (along.z(j) - recording.y[std::size_t(k * rows + j)]) / sigma, slope);
          if (J) write(piece, along.z_by(j), slope / sigma);
          ++row;
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

// Where a trajectory is at step k, and what its measurements weigh there. Adds to `bent` what a robust loss
// bends otherwise than the square of its softened residual.
Passed Fit::passed(const Measurements& recording, std::int64_t k, bool taken, Sensitivity& at,
                   Matrix& bent_by) const {
  const Eigen::Index columns = bent_by.cols();
  Passed to{.x = at.state(), .X = at.state_by().rightCols(columns), .u = {}, .weight = {}};
  if (!taken) return to;
  at.measure();
  const int rows = int(problem_.measured.size());
  to.weight.resize(std::size_t(rows));
  for (int j = 0; j < rows; ++j) {
    if (!seen(recording, k, j)) continue;
    const double sigma = problem_.sigma[std::size_t(j)];
    const double r = (at.z(j) - recording.y[std::size_t(k * rows + j)]) / sigma;
    double slope;
    const double soft = softened(problem_.robust, problem_.robust_width, r, slope);
    to.weight[std::size_t(j)] = soft * slope / sigma;
    const double more = bent(problem_.robust, problem_.robust_width, r) - slope * slope;
    const VectorIn by(at.z_by(j) + (at.state_by().cols() - columns), columns);
    bent_by += more / (sigma * sigma) * by * by.transpose();
  }
  return to;
}

// From a piece's own numbers (its first state, unless that is known, and the parameters) to the variables.
void Fit::add_correction(const Piece& piece, const Matrix& of_piece, Matrix& to) const {
  const int np = int(searched_.size()), n = int(of_piece.rows()) - np;
  const auto place = [&](int i) { return i < n ? piece.state + i : i - n; };
  const auto scale = [&](int i) { return i < n ? 1.0 : searched_[std::size_t(i - n)].scale; };
  for (int i = 0; i < n + np; ++i)
    for (int j = 0; j < n + np; ++j) to(place(i), place(j)) += scale(i) * scale(j) * of_piece(i, j);
}

Matrix Fit::correction(const double* z) const {
  Matrix to = Matrix::Zero(variables_, variables_);
  Sensitivity along = this->along(z);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const Measurements& recording = problem_.recordings[piece.recording];
    const int columns = int(searched_.size()) + (piece.state >= 0 ? states_ : 0);
    Matrix of_piece = Matrix::Zero(columns, columns);
    std::vector<Passed> way;
    along.start(state_of(piece, z), true);
    for (std::int64_t k = piece.first;; ++k) {
      stop_if_interrupted();
      way.push_back(passed(recording, k, measured(piece, recording, k), along, of_piece));
      if (k == piece.first + piece.count) break;
      way.back().u = controls(recording, k);
      along.step(k, way.back().u);
    }
    Vector gap;
    if (i + 1 < pieces_.size() && pieces_[i + 1].joined)
      gap = (along.state() - VectorIn(z + pieces_[i + 1].state, states_)) /
            (problem_.gap_sigma * problem_.gap_sigma);
    of_piece += curvature(along.lanes(), piece.first, way, numbers(), gap);
    add_correction(piece, of_piece, to);
  }
  return to;
}

void require_second_order(const Identification& problem) {
  if (!problem.system->capabilities().second_order)
    throw Error({"Laplace's covariance needs second derivatives, which this system has not",
                 {},
                 "leave laplace out: the covariance of Gauss-Newton needs first derivatives only"});
}

}  // namespace

Identified identify(const Identification& problem, const IdentifyOptions& options) {
  Fit fit(problem);
  if (options.laplace) require_second_order(problem);
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
  std::vector<double> scales;
  for (const Searched& searched : fit.searched()) scales.push_back(searched.scale);
  const Identifiability seen = identifiability(J.data(), residuals.count, fit.variables(), to.names, scales);
  to.covariance = seen.covariance, to.deviations = seen.deviations;
  to.unseen = seen.unseen, to.singular_values = seen.singular_values;
  if (options.laplace)
    to.laplace = laplace(J.data(), residuals.count, fit.variables(), fit.correction(found.x.data()).data(),
                         to.names, scales);
  return to;
}

}  // namespace costate::control
