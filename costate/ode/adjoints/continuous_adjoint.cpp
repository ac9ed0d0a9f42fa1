#include "costate/ode/adjoints/continuous_adjoint.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/ode/adjoints/adjoint_field.h"
#include "costate/ode/solve.h"

namespace costate::ode {
namespace {

// The backward pass, segment by segment, with jumps at samples and events in between.
class BackwardPass {
 public:
  BackwardPass(const Solution& solution, const OutputCotangents& cotangents, const AdjointOptions& options,
               bool backsolve);
  Gradient run();

 private:
  void integrate(const Segment& segment, double from,
                 double to);  // from > to in the direction of the solution
  void segment_backwards(const Segment& segment);
  void jump(int index, bool last);
  void compare(const double* truth);
  void leave_row();                        // its mu is complete
  void cross_knot(const Segment& before);  // from the interval after it
  double rate(double t, const double* x);  // <lambda, f> in this row
  void judge(Gradient& gradient) const;

  const Trajectory& tr_;
  const OutputCotangents& seed_;
  const AdjointOptions& options_;
  const bool backsolve_;
  const int n_, np_;
  InterpolatingField interpolating_;
  BacksolveField backsolving_;
  Replay replay_;
  std::size_t pending_;
  std::vector<double> x_, lambda_mu_, f_, scratch_;
  int row_;
  std::vector<double> rows_bar_;
  double t0_bar_ = 0, t1_bar_ = 0;
  double worst_ = 0;  // relative error of the reconstructed state
  long steps_ = 0;
};

BackwardPass::BackwardPass(const Solution& solution, const OutputCotangents& cotangents,
                           const AdjointOptions& options, bool backsolve)
    : tr_(solution.trajectory()),
      seed_(cotangents),
      options_(options),
      backsolve_(backsolve),
      n_(tr_.states()),
      np_(int(tr_.parameters.width())),
      interpolating_(tr_),
      backsolving_(tr_),
      replay_(tr_),
      pending_(cotangents.sample_times.size()),
      x_(tr_.final.begin(), tr_.final.begin() + n_),
      lambda_mu_(n_ + np_, 0.0),
      f_(n_),
      row_(tr_.last_row()),
      rows_bar_(tr_.parameters.zeros()) {
  if (!tr_.field->mass().empty()) {
    throw Error(
        {"continuous adjoints do not take a mass matrix", "", "use the discrete adjoint (ode::gradient)"});
  }
  std::copy(seed_.final.begin(), seed_.final.end(), lambda_mu_.begin());
  if (tr_.quadrature) lambda_mu_[n_ - 1] = seed_.integral;
  std::size_t scratch = tr_.field->scratch_size();
  for (const Event& e : tr_.guards) {
    scratch = std::max({scratch, e.guard->scratch_size(), e.jump ? e.jump->scratch_size() : 0});
  }
  scratch_.resize(scratch);
}

double BackwardPass::rate(double t, const double* x) {
  tr_.field->value(t, x, tr_.parameters.row(row_), f_.data(), scratch_.data());
  return std::inner_product(f_.begin(), f_.end(), lambda_mu_.begin(), 0.0);
}

void BackwardPass::integrate(const Segment& segment, double from, double to) {
  if (from == to) return;
  const Options options{.method = options_.method,
                        .rtol = options_.rtol,
                        .atol = {options_.atol},
                        .max_steps = options_.max_steps,
                        .keep_every = 1 << 20};
  if (backsolve_) {
    backsolving_.enter(segment);
    std::vector<double> start = x_;
    start.insert(start.end(), lambda_mu_.begin(), lambda_mu_.end());
    const Solution s = solve(backsolving_, {from, to}, start, {}, options);
    const std::vector<double> end = s.final_state();
    std::copy_n(end.begin(), n_, x_.begin());
    std::copy(end.begin() + n_, end.end(), lambda_mu_.begin());
    steps_ += s.counts.accepted;
  } else {
    interpolating_.enter(segment);
    const Solution s = solve(interpolating_, {from, to}, lambda_mu_, {}, options);
    lambda_mu_ = s.final_state();
    steps_ += s.counts.accepted;
  }
}

void BackwardPass::segment_backwards(const Segment& segment) {
  const double sign = tr_.t1 >= tr_.t0 ? 1 : -1;
  double t = segment.to;
  // Samples belong to the segment in which they end, so that one at an event sees the state before the jump.
  while (pending_ > 0 && sign * seed_.sample_times[pending_ - 1] > sign * segment.from) {
    const double at = seed_.sample_times[pending_ - 1];
    integrate(segment, t, at);
    for (int i = 0; i < tr_.user_states; ++i) {
      lambda_mu_[i] += seed_.samples[(pending_ - 1) * tr_.user_states + i];
    }
    t = at;
    --pending_;
  }
  integrate(segment, t, segment.from);
}

void BackwardPass::jump(int index, bool last) {
  const EventRecord& record = tr_.events[index];
  const Event& event = tr_.guards[record.event];
  const double* before = record.before.data();
  const double* p = tr_.parameters.row(row_);
  double t_e_bar = seed_.event_times.empty() ? 0.0 : seed_.event_times[index];
  double after_rate = 0;  // <f+, lambda+>: none where the solution ends
  if (last)
    t_e_bar += seed_.end_time;
  else
    after_rate = rate(record.t, record.after.data());

  // R' lambda+
  std::vector<double> lambda(lambda_mu_.begin(), lambda_mu_.begin() + n_), back = lambda;
  double jump_t = 0;
  double* mu = lambda_mu_.data() + n_;
  if (event.jump) {
    std::fill_n(back.begin(), tr_.user_states, 0.0);
    event.jump->vjp(record.t, before, p, lambda.data(), &jump_t, back.data(), mu, scratch_.data());
  }
  std::copy(back.begin(), back.end(), lambda_mu_.begin());
  const double before_rate = rate(record.t, before);  // <R_x f-, lambda+>

  double gdot = 0;
  event.guard->jvp(record.t, before, p, 1.0, f_.data(), nullptr, &gdot, scratch_.data());
  if (gdot == 0) {
    throw Error({"the guard of event \"" + event.name + "\" has no rate at t = " + number(record.t, 3), "",
                 "the event grazes; move away from tangency"},
                Error::Kind::numerics);
  }
  const double s = (after_rate - before_rate - jump_t - t_e_bar) / gdot;
  double ignored = 0;
  event.guard->vjp(record.t, before, p, &s, &ignored, lambda_mu_.data(), mu, scratch_.data());
  std::copy_n(record.before.begin(), n_, x_.begin());
}

void BackwardPass::compare(const double* truth) {
  double difference = 0, size = 0;
  for (int i = 0; i < tr_.user_states; ++i) {
    difference = std::max(difference, std::abs(x_[i] - truth[i]));
    size = std::max(size, std::abs(truth[i]));
  }
  worst_ = std::max(worst_, difference / std::max(size, options_.atol));
}

void BackwardPass::leave_row() {
  double* bar = rows_bar_.data() + row_ * np_;
  for (int i = 0; i < np_; ++i) bar[i] += lambda_mu_[n_ + i];
  std::fill_n(lambda_mu_.begin() + n_, np_, 0.0);
}

void BackwardPass::cross_knot(const Segment& before) {
  const double* x = backsolve_ ? x_.data() : replay_.start(before.last + 1);
  const double rate_after = rate(before.to, x);
  leave_row();
  row_ = before.row;
  const double tau_bar = rate(before.to, x) - rate_after;
  t0_bar_ += (1 - before.fraction) * tau_bar;
  t1_bar_ += before.fraction * tau_bar;
}

Gradient BackwardPass::run() {
  Gradient out = zero_gradient(tr_, std::string(backsolve_ ? "backsolve" : "interpolating") +
                                        " continuous adjoint, " + options_.method);
  const std::vector<Segment> segments = segments_of(tr_);
  const bool ended_by_event = !segments.empty() && segments.back().ends_in_event;
  if (!ended_by_event) out.t1 = seed_.end_time + rate(tr_.t1, tr_.final.data());
  try {
    for (std::size_t i = segments.size(); i-- > 0;) {
      const Segment& segment = segments[i];
      if (segment.row != row_) cross_knot(segment);
      if (segment.ends_in_event) jump(tr_.steps[segment.last].event, i + 1 == segments.size());
      segment_backwards(segment);
      if (backsolve_) compare(replay_.start(segment.first));
    }
  } catch (const Error& e) {
    if (!backsolve_) throw;
    throw Error({"the state could not be integrated backwards: " + e.message().what, e.message().where,
                 "the forward problem forgets its past, so backsolve is unstable; use ode::gradient or "
                 "interpolating_adjoint"},
                Error::Kind::numerics);
  }
  // Samples at the very start.
  for (; pending_ > 0; --pending_) {
    for (int i = 0; i < tr_.user_states; ++i) {
      lambda_mu_[i] += seed_.samples[(pending_ - 1) * tr_.user_states + i];
    }
  }
  if (!segments.empty()) out.t0 = -rate(tr_.t0, replay_.start(0));
  out.t0 += t0_bar_;
  out.t1 += t1_bar_;
  leave_row();
  out.x0.assign(lambda_mu_.begin(), lambda_mu_.begin() + tr_.user_states);
  add_rows(tr_, rows_bar_, out);
  judge(out);
  return out;
}

// The derivative of the flow, to the tolerances of both passes; not of the steps that were taken.
void BackwardPass::judge(Gradient& out) const {
  GradientReport& report = out.report;
  report.steps = steps_;
  report.label = "exact up to rtol " + number(options_.rtol, 3);
  const double span = std::abs(tr_.t1 - tr_.t0);
  double first = 0, last = 0;
  for (double v : out.x0) first += v * v;
  for (double v : seed_.final) last += v * v;
  if (first > 0 && last > 0 && span > 0) report.growth_per_time = 0.5 * std::log(first / last) / span;
  if (!backsolve_) return;
  report.reconstruction_error = worst_;
  const double growth = worst_ / options_.rtol;
  if (growth > 100) {
    report.label = "biased: the state is unstable backwards in time";
    report.advice.push_back("the error of the state that was integrated backwards grew to " +
                            number(growth, 3) +
                            " times the tolerance, and this gradient carries an error of that kind; use "
                            "ode::gradient or interpolating_adjoint");
  }
}

Gradient with_loss(const Solution& solution, const Loss& loss, const AdjointOptions& options,
                   bool backsolve) {
  const LossDerivatives l = evaluate(solution, loss);
  Gradient g = BackwardPass(solution, l.cotangents, options, backsolve).run();
  g.value = l.value;
  add_rows(solution.trajectory(), l.rows_bar, g);
  return finite(std::move(g));
}

}  // namespace

Gradient interpolating_adjoint(const Solution& solution, const Loss& loss, const AdjointOptions& options) {
  return with_loss(solution, loss, options, false);
}
Gradient interpolating_adjoint(const Solution& solution, const OutputCotangents& cotangents,
                               const AdjointOptions& options) {
  return finite(BackwardPass(solution, cotangents, options, false).run());
}
Gradient backsolve_adjoint(const Solution& solution, const Loss& loss, const AdjointOptions& options) {
  return with_loss(solution, loss, options, true);
}
Gradient backsolve_adjoint(const Solution& solution, const OutputCotangents& cotangents,
                           const AdjointOptions& options) {
  return finite(BackwardPass(solution, cotangents, options, true).run());
}

}  // namespace costate::ode
