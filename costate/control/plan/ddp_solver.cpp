#include "costate/control/plan/ddp_solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/parallel.h"
#include "costate/core/text.h"
#include "costate/system/block_memory.h"

namespace costate::control {
namespace {

constexpr int kLengths = 8;
constexpr double kSmallestShare = 0.125;  // of the curvature of the steps
constexpr double kArmijo = 1e-4, kPriceFactor = 1.6, kSmallestPrice = 1e-6, kLargestPrice = 1e10;
constexpr double kLargestState = 1e12;  // what is larger has left the physics: soon it is not a number

// 2, 1, 1/2, ... Written out: ldexp in the loops over steps and lanes took a fifth of a small plan.
double length_of(std::int64_t i) {
  static constexpr std::array<double, kLengths> kAll = {2, 1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625};
  return kAll[std::size_t(i)];
}

bool sane(double value) { return finite_bits(value) && std::abs(value) < kLargestState; }

}  // namespace

// Rollouts of all lengths: lane l of a block is length first + l.
struct DdpSolver::Search {
  std::array<double, kLengths> objective, merit;
  std::array<bool, kLengths> alive;
  std::array<std::vector<double>, kLengths> x, u;
};

DdpSolver::DdpSolver(Problem problem_in, DdpOptions options_in)
    : problem(std::move(problem_in)),
      options(std::move(options_in)),
      multipliers{std::vector<std::vector<double>>(problem.constraints.size(),
                                                   std::vector<double>(std::size_t(problem.steps) + 1)),
                  1},
      expansion(problem),
      stage_(expansion.lq.states, expansion.lq.controls),
      gains_(std::size_t(problem.steps)),
      held_(std::size_t(problem.steps) * std::size_t(expansion.lq.controls)),
      price_(options.first_price) {
  const auto n = std::size_t(expansion.lq.states), N = std::size_t(problem.steps);
  gaps.resize(N * n), P_.resize((N + 1) * n * n), p_.resize((N + 1) * n);
}

void DdpSolver::start(const std::vector<double>& x0, const std::vector<double>& controls,
                      const std::vector<double>& states) {
  const Plant& plant = expansion.plant();
  const auto n = std::size_t(plant.states()), m = std::size_t(plant.controls()),
             N = std::size_t(problem.steps);
  u.resize(N * m), x.resize((N + 1) * n);
  for (std::size_t i = 0; i < u.size(); ++i) {
    u[i] = controls[controls.size() == m ? i % m : i];
    if (!problem.lower.empty()) u[i] = std::max(u[i], problem.lower[i % m]);
    if (!problem.upper.empty()) u[i] = std::min(u[i], problem.upper[i % m]);
  }
  if (!states.empty()) x = states;
  std::copy(x0.begin(), x0.end(), x.begin());
  std::fill(gaps.begin(), gaps.end(), 0.0);
  auto block = plant.take();
  std::vector<double> y(n);
  for (std::size_t k = 0; k < N; ++k) {
    plant.step(std::int64_t(k), &x[k * n], &u[k * m], y.data(), *block);
    if (!std::all_of(y.begin(), y.end(), sane))
      throw Error({"the trajectory to start from is not finite",
                   "step " + std::to_string(k) + " of " + std::to_string(N),
                   "start from other controls, or give states to start from (multiple shooting)"},
                  Error::Kind::numerics);
    if (states.empty())
      std::copy(y.begin(), y.end(), x.begin() + std::ptrdiff_t((k + 1) * n));
    else
      plant.space().difference(y.data(), &x[(k + 1) * n], &gaps[k * std::size_t(plant.tangents())]);
  }
  plant.give_back(std::move(block));
  begin();
}

void DdpSolver::resume(std::vector<double> states, std::vector<double> controls) {
  x = std::move(states), u = std::move(controls);
  std::fill(gaps.begin(), gaps.end(), 0.0);
  if (!std::all_of(x.begin(), x.end(), sane))
    throw Error({"the trajectory to start from is not finite",
                 {},
                 "the state may be too far from the last plan: plan more often, or over a shorter time"},
                Error::Kind::numerics);
  begin();
}

void DdpSolver::begin() {
  for (StageGains& g : gains_) g.k.setZero(expansion.plant().controls());
  price_ = options.first_price, growth_ = 1, gap_price_ = 0, outcome = Outcome::iterations, reason.clear();
  passed_ = expanded_ = false;
  evaluate();
  if (!std::isfinite(merit))
    throw Error({"the loss of the trajectory to start from is not finite",
                 {},
                 "look for a division by zero or a logarithm in it, or start from other controls"},
                Error::Kind::numerics);
}

void DdpSolver::evaluate() {
  const Plant& plant = expansion.plant();
  const std::int64_t n = plant.states(), m = plant.controls(), N = problem.steps;
  auto block = plant.take();
  objective = merit = 0;
  const auto term = [&](const Objective<double>& of, std::int64_t k) {
    return plant.value(of, k, N, &x[std::size_t(k * n)], k < N ? &u[std::size_t(k * m)] : nullptr, *block);
  };
  for (std::int64_t k = 0; k <= N; ++k) {
    if (problem.objective->next(k, N) == k) objective += term(*problem.objective, k);
    for (std::size_t j = 0; j < problem.constraints.size(); ++j) {
      const Constraint& c = problem.constraints[j];
      if (c.of->next(k, N) != k) continue;
      merit += augmented_value(c.equality, multipliers.y[j][std::size_t(k)], multipliers.rho, term(*c.of, k));
    }
  }
  merit += objective;
  plant.give_back(std::move(block));
}

double DdpSolver::violation() const {
  const Plant& plant = expansion.plant();
  const std::int64_t n = plant.states(), m = plant.controls(), N = problem.steps;
  auto block = plant.take();
  double largest = 0;
  for (const Constraint& c : problem.constraints) {
    for (std::int64_t k = c.of->next(0, N); k <= N; k = c.of->next(k + 1, N)) {
      const double value =
          plant.value(*c.of, k, N, &x[std::size_t(k * n)], k < N ? &u[std::size_t(k * m)] : nullptr, *block);
      largest = std::max(largest, c.equality ? std::abs(value) : value);
      if (k == N) break;
    }
  }
  plant.give_back(std::move(block));
  return largest;
}

double DdpSolver::gap_sum() const {
  double sum = 0;
  for (const double gap : gaps) sum += std::abs(gap);
  return sum;
}

void DdpSolver::expand() {
  expansion.about(problem, multipliers, x.data(), u.data(), options.method == Method::ddp);
  expansion.lq.c = gaps;
  share_ = 0;
  if (options.method == Method::ddp) {
    // Against the slope of the cost to go, which knows the feedback; that of the costates explodes with an
    // unstable trajectory. At the solution they are the same.
    const bool convex = backward_pass();
    expansion.curve(x.data(), u.data(), convex ? p_.data() : expansion.lambda.data());
    expansion.add_curvature(1);
    share_ = 1;
  }
  gradient_norm_ = expansion.gradient_norm(problem, u.data());
}

bool DdpSolver::backward_pass() {
  const LinearQuadratic& lq = expansion.lq;
  const int n = lq.states, m = lq.controls, N = lq.steps;
  const auto nn = std::size_t(n * n), mn = std::size_t(m * n), mm = std::size_t(m * m);
  std::copy(lq.Qf.begin(), lq.Qf.end(), P_.end() - std::ptrdiff_t(nn));
  std::copy(lq.qf.begin(), lq.qf.end(), p_.end() - n);
  const bool bounded = !problem.lower.empty() || !problem.upper.empty();
  std::vector<double> lower(std::size_t(m), -HUGE_VAL), upper(std::size_t(m), HUGE_VAL);
  promised_ = curvature_ = 0;
  for (int k = N - 1; k >= 0; --k) {
    const auto at = std::size_t(k);
    const double *P_next = &P_[(at + 1) * nn], *p_next = &p_[(at + 1) * std::size_t(n)];
    stage_.expand({&lq.A[at * nn], &lq.B[at * mn], &lq.c[at * std::size_t(n)], &lq.Q[at * nn], &lq.S[at * mn],
                   &lq.R[at * mm], &lq.q[at * std::size_t(n)], &lq.r[at * std::size_t(m)]},
                  P_next, p_next);
    for (std::size_t i = 0; bounded && i < std::size_t(m); ++i) {
      const double now = u[at * std::size_t(m) + i];
      if (!problem.lower.empty()) lower[i] = problem.lower[i] - now;
      if (!problem.upper.empty()) upper[i] = problem.upper[i] - now;
    }
    StageGains& gains = gains_[at];
    const bool convex =
        bounded ? stage_.bounded_gains(lower.data(), upper.data(), price_, gains, &held_[at * std::size_t(m)])
                : stage_.gains(nullptr, price_, gains);
    if (!convex) return false;
    promised_ += gains.k.dot(stage_.Qu());
    curvature_ += 0.5 * gains.k.dot(stage_.Quu() * gains.k);
    stage_.close(gains, &P_[at * nn], &p_[at * std::size_t(n)]);
  }
  return true;
}

// What the quadratic model says of J along the step, where gaps close on the way.
void DdpSolver::promise_with_gaps() {
  const LinearQuadratic& lq = expansion.lq;
  const int n = lq.states, m = lq.controls, N = lq.steps;
  Vector dx = Vector::Zero(n), du(m);
  promised_ = curvature_ = 0;
  for (int k = 0; k < N; ++k) {
    const auto at = std::size_t(k), nn = std::size_t(n * n), mn = std::size_t(m * n), mm = std::size_t(m * m);
    du = gains_[at].k + gains_[at].K * dx;
    promised_ +=
        VectorIn(&lq.q[at * std::size_t(n)], n).dot(dx) + VectorIn(&lq.r[at * std::size_t(m)], m).dot(du);
    curvature_ += 0.5 * dx.dot(MatrixIn(&lq.Q[at * nn], n, n) * dx) +
                  0.5 * du.dot(MatrixIn(&lq.R[at * mm], m, m) * du) +
                  du.dot(MatrixIn(&lq.S[at * mn], m, n) * dx);
    dx = (MatrixIn(&lq.A[at * nn], n, n) * dx + MatrixIn(&lq.B[at * mn], n, m) * du +
          VectorIn(&lq.c[at * std::size_t(n)], n))
             .eval();
  }
  promised_ += VectorIn(lq.qf.data(), n).dot(dx);
  curvature_ += 0.5 * dx.dot(MatrixIn(lq.Qf.data(), n, n) * dx);
}

void DdpSolver::raise_price() {
  growth_ = std::max(kPriceFactor, growth_ * kPriceFactor);
  price_ = std::max(kSmallestPrice, price_ * growth_);
}
void DdpSolver::lower_price() {
  growth_ = std::min(1 / kPriceFactor, growth_ / kPriceFactor);
  price_ = price_ * growth_ > kSmallestPrice ? price_ * growth_ : 0;
}

bool DdpSolver::backward() {
  while (!backward_pass()) {
    if (share_ > kSmallestShare)
      expansion.add_curvature(-share_ / 2), share_ /= 2;
    else if (share_ > 0)
      expansion.add_curvature(-share_), share_ = 0;
    else
      raise_price();
    if (price_ > kLargestPrice) return false;
  }
  return passed_ = true;
}

// The controls of every lane: u_k + a k_k + K_k (x (-) x_k), inside the bounds.
void DdpSolver::lane_controls(std::int64_t k, std::int64_t first, Plant::Block& b) const {
  const Plant& plant = expansion.plant();
  const int lanes = plant.lanes(), n = plant.tangents(), m = plant.controls(), states = plant.states();
  const StageGains& g = gains_[std::size_t(k)];
  const double* nominal = &x[std::size_t(k * states)];
  double* dx = b.y_dot.data();  // [tangent][lane]
  if (plant.space().quaternions().empty()) {
    for (int i = 0; i < states; ++i)
      for (int l = 0; l < lanes; ++l) dx[i * lanes + l] = b.x.data()[i * lanes + l] - nominal[i];
  } else {
    for (int l = 0; l < lanes; ++l) {
      take_lane(b.x.data(), states, lanes, l, b.state.data());
      plant.space().difference(b.state.data(), nominal, b.tangent.data());
      for (int i = 0; i < n; ++i) dx[i * lanes + l] = b.tangent[std::size_t(i)];
    }
  }
  for (int i = 0; i < m; ++i) {
    double* to = b.u.data() + i * lanes;
    for (int l = 0; l < lanes; ++l)
      to[l] = u[std::size_t(k * m + i)] + length_of(std::min<std::int64_t>(first + l, kLengths - 1)) * g.k[i];
    for (int j = 0; j < n; ++j) {
      const double gain = g.K(i, j);
      for (int l = 0; l < lanes; ++l) to[l] += gain * dx[j * lanes + l];
    }
    for (int l = 0; l < lanes; ++l) {
      if (!problem.lower.empty()) to[l] = std::max(to[l], problem.lower[std::size_t(i)]);
      if (!problem.upper.empty()) to[l] = std::min(to[l], problem.upper[std::size_t(i)]);
    }
  }
}

// Adds the costs of step k of every lane.
void DdpSolver::lane_costs(std::int64_t k, std::int64_t first, int count, Plant::Block& b,
                           Search& search) const {
  const std::int64_t N = problem.steps;
  const auto add = [&](const Objective<double>& of, const auto& to) {
    Objective<double>::At at;
    at.k = k, at.steps = N, at.lanes = expansion.plant().lanes();
    at.in = {b.x.data(), k < N ? b.u.data() : nullptr, expansion.plant().p()};
    std::fill(b.loss.begin(), b.loss.end(), 0.0);
    of.value(at, b.loss.data());
    for (int l = 0; l < count; ++l) to(std::size_t(first + l), b.loss[std::size_t(l)]);
  };
  if (problem.objective->next(k, N) == k)
    add(*problem.objective, [&](std::size_t i, double value) { search.objective[i] += value; });
  for (std::size_t j = 0; j < problem.constraints.size(); ++j) {
    const Constraint& c = problem.constraints[j];
    if (c.of->next(k, N) != k) continue;
    add(*c.of, [&](std::size_t i, double value) {
      search.merit[i] +=
          augmented_value(c.equality, multipliers.y[j][std::size_t(k)], multipliers.rho, value);
    });
  }
}

// Lane l of the next state, with the share of the gap that length leaves open; a lane that has left the
// physics goes back to the trajectory.
void DdpSolver::keep_lane(std::int64_t k, std::int64_t i, int lane, Plant::Block& b, Search& search) const {
  const Plant& plant = expansion.plant();
  const std::int64_t n = plant.states(), lanes = plant.lanes();
  double* to = &search.x[std::size_t(i)][std::size_t((k + 1) * n)];
  take_lane(b.y.data(), n, int(lanes), lane, to);
  if (!std::all_of(to, to + n, sane)) {
    search.alive[std::size_t(i)] = false;
    std::copy_n(&x[std::size_t((k + 1) * n)], n, to);
  } else if (gap_open_) {
    const double* gap = &gaps[std::size_t(k * plant.tangents())];
    for (int j = 0; j < plant.tangents(); ++j) b.tangent[std::size_t(j)] = -(1 - length_of(i)) * gap[j];
    plant.space().move(to, b.tangent.data(), b.state.data());
    std::copy_n(b.state.data(), n, to);
  }
  for (std::int64_t j = 0; j < n; ++j) b.x.data()[j * lanes + lane] = to[j];
}

void DdpSolver::candidates(std::int64_t first, Search& search) const {
  const Plant& plant = expansion.plant();
  const std::int64_t n = plant.states(), m = plant.controls(), N = problem.steps, lanes = plant.lanes();
  const int count = int(std::min<std::int64_t>(plant.copies(), kLengths - first));
  auto block = plant.take();
  plant.spread(x.data(), int(n), block->x);
  for (std::int64_t i = first; i < first + count; ++i) {
    search.x[std::size_t(i)].resize(std::size_t((N + 1) * n)), search.u[std::size_t(i)].resize(u.size());
    std::copy_n(x.begin(), n, search.x[std::size_t(i)].begin());
    search.objective[std::size_t(i)] = search.merit[std::size_t(i)] = 0, search.alive[std::size_t(i)] = true;
  }
  for (std::int64_t k = 0; k < N; ++k) {
    lane_controls(k, first, *block);
    lane_costs(k, first, count, *block, search);
    for (int l = 0; l < count; ++l)
      take_lane(block->u.data(), m, int(lanes), l, &search.u[std::size_t(first + l)][std::size_t(k * m)]);
    plant.step(k, *block);
    for (int l = 0; l < count; ++l) keep_lane(k, first + l, l, *block, search);
    // Lanes beyond the last length stay where the trajectory is.
    for (int l = count; l < int(lanes); ++l)
      for (std::int64_t j = 0; j < n; ++j) block->x.data()[j * lanes + l] = x[std::size_t((k + 1) * n + j)];
  }
  lane_costs(N, first, count, *block, search);
  plant.give_back(std::move(block));
}

bool DdpSolver::forward() {
  const double open = gap_sum();
  gap_open_ = open > 0;
  if (gap_open_) {
    promise_with_gaps();
    gap_price_ = std::max(gap_price_, 2 * (promised_ + std::max(0.0, curvature_)) / open);
  }
  Search search;
  const std::int64_t copies = expansion.plant().copies();
  parallel_for((kLengths + copies - 1) / copies, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) candidates(b * copies, search);
  });
  const double slope = promised_ - gap_price_ * open,
               rounding = 1e-15 * (std::abs(merit) + std::abs(objective));
  int best = -1;
  double best_merit = merit + gap_price_ * open;
  const double now = best_merit;
  for (int i = 0; i < kLengths; ++i) {
    const auto at = std::size_t(i);
    if (!search.alive[at] || (gap_open_ && length_of(i) > 1)) continue;
    const double a = length_of(i),
                 after = search.objective[at] + search.merit[at] + gap_price_ * (1 - a) * open;
    if (!finite_bits(after) || after > now + kArmijo * a * slope + rounding) continue;
    if (best < 0 || after < best_merit) best = i, best_merit = after;
  }
  if (best < 0) return false;
  const auto at = std::size_t(best);
  length_ = length_of(best);
  gained_ = now - best_merit;
  x.swap(search.x[at]), u.swap(search.u[at]);
  objective = search.objective[at], merit = search.objective[at] + search.merit[at];
  for (double& gap : gaps) gap *= 1 - length_;
  return true;
}

bool DdpSolver::stop(Outcome why, std::string words) {
  outcome = why, reason = std::move(words);
  return false;
}

bool DdpSolver::iterate(double gradient_tolerance, double value_tolerance) {
  if (!expanded_) expand(), expanded_ = true;
  if (gap_sum() == 0 && gradient_norm_ <= gradient_tolerance)
    return stop(Outcome::converged,
                "gradient norm " + number(gradient_norm_, 3) + " not above " + number(gradient_tolerance, 3));
  if (iterations >= std::min(options.iterations, iteration_limit))
    return stop(Outcome::iterations, "stopped after " + std::to_string(iterations) + " iterations");
  if (out_of_time && out_of_time())
    return stop(Outcome::budget, "the time is over after " + std::to_string(iterations) + " iterations");
  for (;;) {
    stop_if_interrupted();
    if (!backward()) return stop(Outcome::stuck, "no quadratic model of the problem is convex");
    if (gap_sum() == 0 && -promised_ <= 1e-16 * std::abs(merit))
      return stop(Outcome::converged,
                  "what is left to gain is rounding; gradient norm " + number(gradient_norm_, 3));
    if (forward()) break;
    raise_price();
    if (price_ > kLargestPrice)
      return stop(Outcome::stuck, "no step along the direction of descent lowers the value; gradient norm " +
                                      number(gradient_norm_, 3));
  }
  lower_price();
  ++iterations, expanded_ = false;
  if (options.callback && !options.callback({iterations, objective, gradient_norm_,
                                             problem.constraints.empty() ? 0 : violation(), length_, price_}))
    return stop(Outcome::callback,
                "stopped by the callback after " + std::to_string(iterations) + " iterations");
  if (gap_sum() == 0 && value_tolerance > 0 && gained_ < value_tolerance)
    return stop(Outcome::converged, "the value fell by less than " + number(value_tolerance, 3));
  return true;
}

void DdpSolver::descend(double gradient_tolerance, double value_tolerance) {
  while (iterate(gradient_tolerance, value_tolerance)) {
  }
}

void DdpSolver::finish_gains() {
  if (outcome == Outcome::budget || (passed_ && !options.fresh_gains)) return;
  if (!expanded_) expand(), expanded_ = true;
  backward();
}

Plan DdpSolver::result() const {
  Plan plan;
  plan.u = u, plan.x = x;
  for (std::size_t k = 0; passed_ && k < gains_.size(); ++k)
    plan.K.insert(plan.K.end(), gains_[k].K.data(), gains_[k].K.data() + gains_[k].K.size());
  plan.value = objective, plan.gradient_norm = gradient_norm_;
  plan.violation = problem.constraints.empty() ? 0 : violation();
  plan.iterations = iterations, plan.outcome = outcome, plan.reason = reason;
  return plan;
}

}  // namespace costate::control
