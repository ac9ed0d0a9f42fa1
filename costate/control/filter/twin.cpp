#include "costate/control/filter/twin.h"

#include <algorithm>
#include <cmath>

#include "costate/control/dense.h"
#include "costate/control/filter/measured.h"
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/system/step_columns.h"

namespace costate::control {
namespace {

// x and theta.
struct Point {
  std::vector<double> x, theta;
};

void expect_numbers(const char* name, std::size_t have, std::size_t want) {
  if (have != want)
    throw Error(std::string(name) + " has " + std::to_string(have) + " numbers instead of " +
                std::to_string(want));
}

}  // namespace

// One step of the window: the control that leads on from it, what was measured, and what is known there.
struct Twin::Knot {
  std::int64_t k;
  std::vector<double> u, y;
  Point at;                // that the pass is linearised about: the latest estimate
  Point prior, posterior;  // before and after the measurement
  Matrix P_prior, P;
  Matrix F;  // of the step that leads on
};

// The system in (x, theta): steps, measurements and their Jacobians, in tangents.
class Twin::Model {
 public:
  explicit Model(const TwinProblem& problem);

  int tangents() const { return plant_.tangents(); }
  int size() const { return tangents() + int(places_.size()); }
  const Matrix& noise() const { return W_; }
  Point start() const;

  Point moved(const Point& at, const Vector& d) const;
  Vector difference(const Point& to, const Point& from) const;
  // The next point and d next / d at.
  Point step(std::int64_t k, const Point& at, const std::vector<double>& u, Matrix& F);
  double measure(std::size_t i, const Point& at, Vector& h);
  Parameters<double> parameters(const std::vector<double>& theta) const;

 private:
  void load(const Point& at);

  const TwinProblem& problem_;
  Plant plant_;
  Plant::Block block_;
  std::unique_ptr<Workspace> work_;  // outside of runs: parameters change
  AlignedBuffer<double> p_, p_dot_, p_bar_;
  std::vector<std::int64_t> places_;  // of theta among the parameters
  Matrix W_;
};

Twin::Model::Model(const TwinProblem& p)
    : problem_(p),
      plant_(p.system, p.parameters, p.space),
      block_(plant_),
      work_(p.system->make_workspace()) {
  const std::int64_t numbers = std::max<std::int64_t>(1, p.system->parameter_size());
  for (auto* buffer : {&p_, &p_dot_, &p_bar_}) buffer->reserve(numbers);
  std::copy_n(plant_.p(), p.system->parameter_size(), p_.data());
  const Signature& s = p.system->signature();
  for (const Tuned& tuned : p.tuned) {
    const Field& field = s.find(Role::parameter, tuned.name);
    if (tuned.index < 0 || tuned.index >= field.size)
      throw Error("'" + tuned.name + "' has " + std::to_string(field.size) + " numbers, counted from 0");
    if (!(tuned.deviation > 0) || !(tuned.drift >= 0))
      throw Error({"the deviation of " + tuned.name + " is not positive, or its drift is negative",
                   "control::Twin", "say how far off its first value may be"});
    places_.push_back(field.offset + tuned.index);
  }
  const int n = tangents();
  W_ = Matrix::Zero(size(), size());
  W_.topLeftCorner(n, n) = MatrixIn(p.process_noise.data(), n, n);
  for (std::size_t i = 0; i < p.tuned.size(); ++i) {
    const auto at = Eigen::Index(n) + Eigen::Index(i);
    W_(at, at) = p.tuned[i].drift * p.tuned[i].drift;
  }
}

Point Twin::Model::start() const {
  Point at{problem_.x0, {}};
  for (const std::int64_t place : places_) at.theta.push_back(plant_.p()[place * plant_.lanes()]);
  return at;
}

// Parameters stay between their bounds.
Point Twin::Model::moved(const Point& at, const Vector& d) const {
  Point to = at;
  plant_.space().move(at.x.data(), d.data(), to.x.data());
  for (std::size_t i = 0; i < to.theta.size(); ++i)
    to.theta[i] = std::clamp(at.theta[i] + d[tangents() + Eigen::Index(i)], problem_.tuned[i].lower,
                             problem_.tuned[i].upper);
  return to;
}

Vector Twin::Model::difference(const Point& to, const Point& from) const {
  Vector d(size());
  plant_.space().difference(to.x.data(), from.x.data(), d.data());
  for (std::size_t i = 0; i < to.theta.size(); ++i)
    d[tangents() + Eigen::Index(i)] = to.theta[i] - from.theta[i];
  return d;
}

void Twin::Model::load(const Point& at) {
  plant_.spread(at.x.data(), plant_.states(), block_.x);
  for (std::size_t i = 0; i < places_.size(); ++i)
    std::fill_n(p_.data() + places_[i] * plant_.lanes(), plant_.lanes(), at.theta[i]);
}

Point Twin::Model::step(std::int64_t k, const Point& at, const std::vector<double>& u, Matrix& F) {
  const int n = tangents(), lanes = plant_.lanes();
  load(at), plant_.spread(u.data(), plant_.controls(), block_.u);
  Point next = at;
  F = Matrix::Identity(size(), size());
  std::vector<double> direction(std::size_t(n), 0.0), rate(at.x.size()), column(std::size_t(n), 0.0);
  step_columns<double>(
      plant_.system(), {k, 0, 0}, {block_.x.data(), block_.u.data(), p_.data()},
      {block_.x_dot.data(), nullptr, p_dot_.data()}, size(), plant_.copies(), block_.y.data(),
      block_.y_dot.data(), *work_,
      [&](std::int64_t j, int l) {
        if (j >= n) {
          p_dot_.data()[places_[std::size_t(j - n)] * lanes + l] = 1;
          return;
        }
        std::fill(direction.begin(), direction.end(), 0.0);
        direction[std::size_t(j)] = 1;
        plant_.space().rate_of(at.x.data(), direction.data(), rate.data());
        for (std::size_t i = 0; i < rate.size(); ++i)
          block_.x_dot.data()[i * std::size_t(lanes) + std::size_t(l)] = rate[i];
      },
      [&](std::int64_t j, int l) {
        if (l == 0) take_lane(block_.y.data(), plant_.states(), lanes, 0, next.x.data());
        take_lane(block_.y_dot.data(), plant_.states(), lanes, l, rate.data());
        plant_.space().tangent_of(next.x.data(), rate.data(), column.data());
        for (int i = 0; i < n; ++i) F(i, j) = column[std::size_t(i)];
      });
  for (const double number : next.x)
    if (!finite_bits(number))
      throw Error({"the model diverges at step " + std::to_string(k), "control::Twin",
                   "narrow the bounds of what is tuned, or take shorter steps"},
                  Error::Kind::numerics);
  return next;
}

double Twin::Model::measure(std::size_t i, const Point& at, Vector& h) {
  const int n = tangents(), lanes = plant_.lanes();
  load(at);
  Objective<double>::At now;
  now.k = now.steps = 1, now.lanes = lanes;
  now.in = {block_.x.data(), nullptr, p_.data()};
  std::fill(block_.loss.begin(), block_.loss.end(), 0.0);
  problem_.measured[i]->value(now, block_.loss.data());
  fill_zero(block_.x_bar.data(), plant_.system().state_size());
  fill_zero(p_bar_.data(), plant_.system().parameter_size());
  problem_.measured[i]->vjp(now, {block_.x_bar.data(), nullptr, p_bar_.data()});
  std::vector<double> x_bar(at.x.size());
  take_lane(block_.x_bar.data(), plant_.states(), lanes, 0, x_bar.data());
  h.resize(size());
  plant_.space().pull(at.x.data(), x_bar.data(), h.data());
  for (std::size_t j = 0; j < places_.size(); ++j) h[n + Eigen::Index(j)] = p_bar_.data()[places_[j] * lanes];
  return block_.loss[0];
}

Parameters<double> Twin::Model::parameters(const std::vector<double>& theta) const {
  Parameters<double> to = problem_.parameters;
  for (std::size_t i = 0; i < theta.size(); ++i)
    to[problem_.tuned[i].name][std::size_t(problem_.tuned[i].index)] = theta[i];
  return to;
}

Twin::Twin(TwinProblem problem) : problem_(std::move(problem)) {
  TwinProblem& p = problem_;
  if (!p.system || p.measured.empty()) throw Error("a twin needs a system and something that is measured");
  check_measured(p.measured);
  if (p.window < 0 || p.iterations < 1)
    throw Error("a twin needs a window of 0 steps or more, and at least one iteration");
  if (p.space.states() == 0) p.space = StateSpace(int(p.system->signature().states()));
  const auto n = std::size_t(p.space.tangents());
  expect_numbers("x0", p.x0.size(), std::size_t(p.space.states())), expect_numbers("P0", p.P0.size(), n * n);
  expect_numbers("process_noise", p.process_noise.size(), n * n);
  expect_numbers("measurement_noise", p.measurement_noise.size(), p.measured.size());
  for (const double variance : p.measurement_noise)
    if (!(variance > 0)) throw Error("the variance of a measurement must be positive");
  check_covariance("P0", p.P0, n), check_covariance("process_noise", p.process_noise, n);
  for (const Tuned& tuned : p.tuned)
    if (!(tuned.lower <= tuned.upper))
      throw Error({"the bounds of '" + tuned.name + "' contradict each other", "control::Twin",
                   "give a lower bound that is not above the upper one"});
  model_ = std::make_unique<Model>(p);
  Knot first{0, {}, std::vector<double>(p.measured.size(), NAN), model_->start(), {}, {}, {}, {}, {}};
  first.prior = first.posterior = first.at;
  first.P_prior = Matrix::Zero(model_->size(), model_->size());
  first.P_prior.topLeftCorner(Eigen::Index(n), Eigen::Index(n)) =
      MatrixIn(p.P0.data(), Eigen::Index(n), Eigen::Index(n));
  for (std::size_t i = 0; i < p.tuned.size(); ++i)
    first.P_prior(Eigen::Index(n + i), Eigen::Index(n + i)) = p.tuned[i].deviation * p.tuned[i].deviation;
  first.P = first.P_prior;
  window_.push_back(std::move(first));
}
Twin::~Twin() = default;

void Twin::measure(const std::vector<double>& y) {
  expect_numbers("a measurement", y.size(), problem_.measured.size());
  for (const double number : y)
    if (std::isinf(number))
      throw Error({"a measurement is infinite", "step " + std::to_string(steps_),
                   "write NaN where nothing was measured"});
  window_.back().y = y;
  estimate();
}

void Twin::step(const std::vector<double>& u, const std::vector<double>& y) {
  expect_numbers("the control", u.size(), std::size_t(problem_.system->signature().controls()));
  Knot& last = window_.back();
  last.u = u;
  Knot next{last.k + 1, {}, std::vector<double>(problem_.measured.size(), NAN), {}, {}, {}, {}, {}, {}};
  Matrix F;
  next.prior = model_->step(last.k, last.posterior, u, F);
  next.at = next.posterior = next.prior;
  next.P_prior = symmetric(congruent(F, last.P) + model_->noise());
  next.P = next.P_prior;
  last.F = F;
  window_.push_back(std::move(next));
  ++steps_;
  if (std::int64_t(window_.size()) > problem_.window + 1) window_.pop_front();
  if (!y.empty()) measure(y);
}

// Iterations of filter and smoother over the window.
void Twin::estimate() {
  Vector h;
  for (int iteration = 0; iteration < problem_.iterations; ++iteration) {
    for (std::size_t k = 0; k < window_.size(); ++k) {
      Knot& knot = window_[k];
      if (k > 0) {  // predict, linearised about the estimate
        Knot& before = window_[k - 1];
        const Point reached = model_->step(before.k, before.at, before.u, before.F);
        knot.prior = model_->moved(reached, before.F * model_->difference(before.posterior, before.at));
        knot.P_prior = symmetric(congruent(before.F, before.P) + model_->noise());
      }
      Vector d = model_->difference(knot.prior, knot.at);
      knot.P = knot.P_prior;
      surprise_ = 0;
      int count = 0;
      for (std::size_t i = 0; i < problem_.measured.size(); ++i) {  // one number after the other
        if (!finite_bits(knot.y[i])) continue;
        const double z = model_->measure(i, knot.at, h), r = knot.y[i] - z - h.dot(d);
        const Vector Ph = knot.P * h;
        const double S = h.dot(Ph) + problem_.measurement_noise[i];
        d += Ph * (r / S);
        knot.P = symmetric(knot.P - Ph * Ph.transpose() / S);
        surprise_ += r * r / S, ++count;
      }
      surprise_ /= std::max(1, count);
      knot.posterior = model_->moved(knot.at, d);
    }
    // Smooth: what later measurements say about earlier steps, and where to linearise next.
    window_.back().at = window_.back().posterior;
    for (std::size_t k = window_.size() - 1; k-- > 0;) {
      Knot &knot = window_[k], &next = window_[k + 1];
      const Vector change = next.P_prior.ldlt().solve(model_->difference(next.at, next.prior));
      knot.at = model_->moved(knot.posterior, knot.P * (knot.F.transpose() * change));
    }
  }
}

const std::vector<double>& Twin::x() const { return window_.back().posterior.x; }
const std::vector<double>& Twin::values() const { return window_.back().posterior.theta; }
std::vector<double> Twin::deviations() const {
  std::vector<double> to;
  for (Eigen::Index i = model_->tangents(); i < model_->size(); ++i)
    to.push_back(std::sqrt(window_.back().P(i, i)));
  return to;
}
std::vector<double> Twin::covariance() const { return numbers_of(window_.back().P); }
Parameters<double> Twin::parameters() const { return model_->parameters(values()); }

}  // namespace costate::control
