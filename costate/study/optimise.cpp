#include "costate/study/optimise.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "costate/control/identify/identifiability.h"
#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/study/fit.h"
#include "costate/study/state_file.h"
#include "costate/system/ranges.h"

namespace costate::study {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kShortWay = 0.3;     // of a scale: less is hardly a change
constexpr double kLongGradient = 30;  // times the median

// False where the numerics failed; a mistake in the input is still one.
template <class Evaluate>
bool simulated(const Evaluate& evaluate) {
  try {
    evaluate();
    return true;
  } catch (const OutOfRange&) {  // where the optimiser stepped to
    return false;
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::numerics) throw;
    return false;
  }
}

// What the steps of adam and gradient descent say about the settings. `lengths`: of the gradients, as they
// came. One gradient that is much longer than the others makes Adam's steps short for the next thousand.
std::vector<std::string> advice_on_steps(const Optimize& o, const Optimum& found,
                                         std::vector<double> lengths) {
  const bool steps_are_given = o.method == "adam" || o.method == "gradient_descent";
  if (!steps_are_given || found.converged || found.iterations < 5 || lengths.empty()) return {};
  std::vector<std::string> advice;
  double furthest = 0;
  for (std::size_t i = 0; i < found.best.size(); ++i)
    furthest = std::max(furthest, std::abs(found.best[i] - found.start[i]));
  if (furthest == 0)
    advice.push_back("no step made the loss smaller: ask costate grad --trust how far the gradient reaches");
  else if (furthest < kShortWay)
    advice.push_back("no variable moved further than " + number(furthest, 2) + " of its scale in " +
                     std::to_string(found.iterations) + " iterations: raise rate or iterations");
  const auto middle = lengths.begin() + std::ptrdiff_t(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  const double median = *middle, longest = *std::max_element(lengths.begin(), lengths.end());
  const bool limited = o.gradient_limit > 0 && o.gradient_limit <= kLongGradient * median;
  if (median > 0 && longest > kLongGradient * median && !limited)
    advice.push_back("one gradient was " + number(longest / median, 2) +
                     " times as long as half of them, and steps after it are short: set gradient_limit = " +
                     number(3 * median, 2));
  return advice;
}

// One run of an optimiser: what is told to the user and to the state file on the way.
class Session {
 public:
  Session(Study& study, const OptimiseOptions& options)
      : study_(study),
        options_(options),
        o_(*study.optimize()),
        n_(study.variables().size()),
        identity_(identity_of()),
        state(optim::fresh_state(o_.method)) {
    optimum.start = study.start();
    optimum.method = o_.method;
    if (options.resume && !options.state_file.empty())
      read_state(options.state_file, identity_, n_, state, optimum.losses);
    first_ = optim::common(state).iteration;
  }

  bool resumed() const { return first_ > 0 && !optimum.losses.empty(); }
  // The identity has names and sizes; what the numbers of the file are worth shows in the loss of the start.
  void expect_same(double at_start) const {
    const double was = resumed() ? optimum.losses.front() : at_start;
    if (std::abs(at_start - was) <= 1e-6 * std::max(std::abs(at_start), std::abs(was))) return;
    throw Error({"this is the state of another optimisation: the loss of its start was " + number(was) +
                     ", and it is " + number(at_start) + " here",
                 options_.state_file, "start anew, or from its best point: --from " + options_.state_file});
  }
  // The first loss is the start's.
  double watched(double value) {
    if (optimum.losses.empty()) optimum.losses.push_back(value);
    return value;
  }
  bool after_iteration(const optim::Progress& p) {
    optimum.losses.push_back(p.value);
    if (!options_.state_file.empty())
      write_state(options_.state_file, identity_, study_.variables(), state, optimum.losses);
    if (!options_.progress) return true;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const double each =
        seconds / (p.iteration - first_ + (first_ == 0 ? 1 : 0));  // the start was evaluated too
    return options_.progress({.iteration = p.iteration,
                              .iterations = o_.iterations,
                              .value = p.value,
                              .best = optim::common(state).best_value,
                              .gradient_norm = p.gradient_norm,
                              .seconds = seconds,
                              .seconds_left = each * (o_.iterations - p.iteration)});
  }
  optim::Stopping stopping() const {
    return {.max_iterations = o_.iterations, .gradient_tolerance = o_.tolerance, .target = o_.target};
  }
  optim::Bounds bounds() const {
    optim::Bounds bounds;
    for (const Variable& v : study_.variables()) {
      bounds.lower.push_back(v.lower / v.scale);
      bounds.upper.push_back(v.upper / v.scale);
    }
    return bounds;
  }
  void saw_gradient(double length) {
    if (std::isfinite(length)) lengths_.push_back(length);
  }
  optim::Callback callback() {
    return [this](const optim::Progress& p) { return after_iteration(p); };
  }
  Optimum finish(const optim::Result& result) {
    optimum.best = result.x;
    optimum.best_value = result.value;
    optimum.start_value = optimum.losses.empty() ? result.value : optimum.losses.front();
    optimum.iterations = result.iterations;
    optimum.evaluations = result.evaluations;
    optimum.converged = result.converged();
    optimum.reason = result.reason;
    optimum.advice = advice_on_steps(o_, optimum, lengths_);
    return optimum;
  }

 private:
  std::string identity_of() const {
    std::string text = o_.method + " " + study_.identity();
    for (const Variable& v : study_.variables())
      text += " " + v.name + "=" + std::to_string(v.start) + "/" + std::to_string(v.scale);
    return text;
  }

  Study& study_;
  const OptimiseOptions& options_;
  const Optimize& o_;
  std::size_t n_;
  std::string identity_;
  int first_ = 0;
  std::vector<double> lengths_;  // of the gradients
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();

 public:
  optim::AnyState state;
  Optimum optimum;
};

Optimum minimise(Study& study, const OptimiseOptions& options) {
  const Optimize& o = *study.optimize();
  Session session(study, options);
  const std::vector<double> start = study.start();
  const std::size_t n = start.size();
  bool first = true;
  const optim::Objective objective = [&](const double* x, double* gradient) {
    double value = kNan;
    const auto evaluate = [&] { value = study.value_and_gradient(std::vector<double>(x, x + n), gradient); };
    if (first)
      evaluate();
    else if (!simulated(evaluate))
      std::fill_n(gradient, n, kNan);
    first = false;
    double length = 0;
    for (std::size_t i = 0; i < n; ++i) length += gradient[i] * gradient[i];
    length = std::sqrt(length);
    session.saw_gradient(length);
    if (o.gradient_limit > 0 && length > o.gradient_limit)
      for (std::size_t i = 0; i < n; ++i) gradient[i] *= o.gradient_limit / length;
    return session.watched(value);
  };
  const optim::ValuesOfPoints values = [&](const double* points, int count, double* to) {
    for (int k = 0; k < count; ++k, points += n) {
      to[k] = std::numeric_limits<double>::infinity();
      simulated([&] { to[k] = study.value(std::vector<double>(points, points + n)); });
    }
  };
  // CMA-ES itself does not look at the start.
  if (o.method == "cma_es" || session.resumed()) {
    const double at_start = study.value(start);
    session.expect_same(at_start);
    session.watched(at_start);
  }
  const optim::Settings settings{.method = o.method,
                                 .rate = o.rate || o.method != "adam" ? o.rate : kAdamRate,
                                 .decay = o.decay,
                                 .stopping = session.stopping(),
                                 .bounds = session.bounds(),
                                 .callback = session.callback()};
  return session.finish(
      optim::minimize(objective, options.values ? options.values : values, start, settings, session.state));
}

// What the data say about the best point. Residuals in standard deviations have the covariance (J'J)^-1.
// Without any sigma it is multiplied by sum r^2 / (residuals - variables), the variance that the fit leaves.
// A prior is a statement in units of its own, weighed against data of sigma = 1 where none is given: then
// nothing is multiplied.
void judge(Study& study, FitResiduals& residuals, Optimum& optimum) {
  const int n = int(optimum.best.size()), m = residuals.count();
  std::vector<double> r(std::size_t(m), 0.0), J(std::size_t(m * n), 0.0), scales;
  std::vector<std::string> names;
  for (const Variable& v : study.variables()) names.push_back(v.name), scales.push_back(v.scale);
  residuals.evaluate(optimum.best, r.data(), J.data());
  double squares = 0;  // of the measurements, which come first
  for (int k = 0; k < study.residuals(); ++k) squares += r[k] * r[k];
  optimum.residual_rms = std::sqrt(squares / std::max(1, study.residuals()));
  const auto seen = control::identifiability(J.data(), m, n, names, scales);
  optimum.unseen = seen.unseen;
  const bool read_off = !study.optimize()->sigma_given && m == study.residuals();
  if (read_off ? m <= n : m < n) return;
  const double spread = read_off ? std::sqrt(squares / (m - n)) : 1;
  for (int i = 0; i < n; ++i) {
    optimum.standard_deviation.push_back(seen.deviations[i] * spread);
    for (int j = 0; j < n; ++j) {
      const double both = seen.deviations[i] * seen.deviations[j];
      optimum.correlation.push_back(std::isfinite(both) && both > 0 ? seen.covariance[i * n + j] / both : 0);
    }
  }
  if (!study.optimize()->laplace) return;
  const std::vector<double> C = residuals.correction(optimum.best);
  const control::Laplace whole = control::laplace(J.data(), m, n, C.data(), names, scales);
  for (int i = 0; i < n; ++i)
    optimum.laplace_deviation.push_back(whole.minimum ? whole.deviations[i] * spread : HUGE_VAL);
}

// Where there are no second derivatives that is said before the fit, not after it.
void require_curvature(Study& study, FitResiduals& residuals, const std::vector<double>& start) {
  try {
    residuals.correction(start);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::numerics || !error.message().advice.empty()) throw;
    throw Error({error.message().what + ", which laplace needs", study.file,
                 "leave laplace out: the other error bars need first derivatives only"});
  }
}

Optimum fit(Study& study, const OptimiseOptions& options) {
  Session session(study, options);
  FitResiduals residuals(study, options.residuals);
  const int count = residuals.count();
  std::vector<double> start = study.start(), first(std::size_t(count), 0.0);
  residuals.evaluate(start, first.data(), nullptr);
  if (study.optimize()->laplace) require_curvature(study, residuals, start);
  double half_squares = 0;
  for (const double r : first) half_squares += 0.5 * r * r;
  session.expect_same(half_squares);
  session.watched(half_squares);
  if (study.optimize()->segment > 0 && optim::common(session.state).iteration == 0)
    start = start_from_pieces(study);
  const optim::Residuals function{count, [&](const double* x, double* r, double* jacobian) {
                                    const std::vector<double> z(x, x + start.size());
                                    if (!simulated([&] { residuals.evaluate(z, r, jacobian); }))
                                      std::fill_n(r, count, kNan);
                                  }};
  optim::Stopping stopping = session.stopping();
  stopping.value_tolerance = 1e-14;
  Optimum optimum = session.finish(
      optim::minimize(function, start,
                      optim::LevenbergMarquardtOptions{
                          .stopping = stopping, .bounds = session.bounds(), .callback = session.callback()},
                      &std::get<optim::LevenbergMarquardtState>(session.state)));
  judge(study, residuals, optimum);
  return optimum;
}

}  // namespace

void Study::start_from(const std::string& state_file) {
  if (variables_.empty()) throw Error({"there are no variables: the file has no [optimize]", file, ""});
  if (start_from_state(state_file, variables_) == 0)
    throw Error({"this state has not one variable of the scene", state_file, ""});
  optimize_->variables = variables_;
}

Optimum optimise(Study& study, const OptimiseOptions& options) {
  if (!study.optimize())
    throw Error({"there is nothing to optimise: the file has neither [optimize] nor [fit]", study.file,
                 "add [optimize] with variables = [{name = \"...\", scale = 1}]"});
  return study.optimize()->method == "levenberg_marquardt" ? fit(study, options) : minimise(study, options);
}

}  // namespace costate::study
