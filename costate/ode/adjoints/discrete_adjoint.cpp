#include "costate/ode/adjoints/discrete_adjoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"

namespace costate::ode {
namespace {

// One reverse sweep.
class Sweep {
 public:
  // rows_bar: what a loss says about the parameters directly; empty: nothing.
  Sweep(const Trajectory& trajectory, const OutputCotangents& cotangents, std::vector<double> rows_bar);
  Gradient run();

 private:
  void segment_to_end(const Segment& segment);
  void segment_to_event(const Segment& segment);
  void samples_of(long k, const StepInput& in);  // into the cotangents of step k
  void event_step(long k,
                  const StepInput& in);  // saltation: lambda_ from after the jump to the start of the step
  void clear_step();
  long full_steps(const Segment& segment) const;
  void move_dt(long k, const Segment& segment);  // what step k's t and h say about dt
  std::optional<double> by_dt(double t1_bar) const;
  void note_norm(long k) { norms_[k] = norm(); }
  double norm() const;
  void judge(GradientReport& report) const;  // what the norms and the events say
  double* p_bar() { return rows_bar_.data() + row_ * tr_.parameters.width(); }
  StepCotangent step_bar() { return {&t_bar_, &h_bar_, x_bar_.data(), p_bar()}; }

  const Trajectory& tr_;
  const OutputCotangents& seed_;
  Replay replay_;
  const int n_;
  std::vector<SamplePlace> samples_;
  std::size_t pending_;  // samples not yet passed

  std::vector<double> lambda_;  // cotangent of the state where the sweep stands
  double time_bar_;             // and of the time there
  std::vector<double> x_bar_, y_bar_, step_h_, g_x_, jump_bar_, scratch_;
  std::vector<double> rows_bar_;  // of Trajectory::parameters
  int row_ = 0;                   // of the segment
  double t_bar_ = 0, h_bar_ = 0;
  double t0_bar_ = 0, t1_bar_ = 0, dt_bar_ = 0;
  std::vector<double> norms_;
};

Sweep::Sweep(const Trajectory& trajectory, const OutputCotangents& cotangents, std::vector<double> rows_bar)
    : tr_(trajectory),
      seed_(cotangents),
      replay_(trajectory),
      n_(trajectory.width()),
      rows_bar_(std::move(rows_bar)) {
  const std::size_t n = n_;
  const std::size_t user = trajectory.user_states;
  if ((!seed_.final.empty() && seed_.final.size() != user) ||
      seed_.samples.size() != seed_.sample_times.size() * user ||
      (!seed_.event_times.empty() && seed_.event_times.size() != trajectory.events.size())) {
    throw Error({"the cotangents do not fit the solution", "ode::gradient",
                 "final: one per state; samples: one row of states per sample time; event_times: one per "
                 "event that happened"});
  }
  samples_ = place_samples(replay_, trajectory, seed_.sample_times);
  pending_ = samples_.size();
  lambda_.assign(n, 0.0);
  std::copy(seed_.final.begin(), seed_.final.end(), lambda_.begin());
  if (trajectory.quadrature) lambda_[trajectory.states() - 1] = seed_.integral;
  time_bar_ = seed_.end_time;
  for (auto* v : {&x_bar_, &y_bar_, &step_h_, &g_x_, &jump_bar_}) v->assign(n, 0.0);
  if (rows_bar_.empty()) rows_bar_ = trajectory.parameters.zeros();
  norms_.assign(trajectory.size() + 1, 0.0);
  std::size_t scratch = 0;
  for (const Event& e : trajectory.guards) {
    scratch = std::max({scratch, e.guard->scratch_size(), e.jump ? e.jump->scratch_size() : 0});
  }
  scratch_.resize(scratch);
}

double Sweep::norm() const {
  double sum = 0;
  for (int i = 0; i < tr_.user_states; ++i) sum += lambda_[i] * lambda_[i];
  return std::sqrt(sum);
}

void Sweep::clear_step() {
  std::fill(x_bar_.begin(), x_bar_.end(), 0.0);
  t_bar_ = h_bar_ = 0;
}

// All but a last step that was cut to fit.
long Sweep::full_steps(const Segment& segment) const {
  const long steps = segment.last - segment.first + 1;
  return std::abs(tr_.steps[segment.last].h) == tr_.dt ? steps : steps - 1;
}

// t_k = a + j dt and h_k = dt, but for a last step that was cut to fit.
void Sweep::move_dt(long k, const Segment& segment) {
  dt_bar_ += double(k - segment.first) * t_bar_;
  if (std::abs(tr_.steps[k].h) == tr_.dt) dt_bar_ += h_bar_;
}

// Knots stand at fractions of the span, and move with dt only as far as the whole span does: where dt fills
// every interval, t1 = t0 + N dt.
std::optional<double> Sweep::by_dt(double t1_bar) const {
  if (tr_.dt == 0 || !tr_.events.empty()) return std::nullopt;
  const double sign = tr_.t1 >= tr_.t0 ? 1 : -1;
  if (tr_.parameters.count() == 1 && !tr_.parameters.linear()) return sign * dt_bar_;
  const bool filled = std::all_of(tr_.steps.begin(), tr_.steps.end(),
                                  [&](const StepRecord& step) { return std::abs(step.h) == tr_.dt; });
  if (!filled) return std::nullopt;
  return sign * double(tr_.size()) * t1_bar;
}

void Sweep::samples_of(long k, const StepInput& in) {
  for (; pending_ > 0 && samples_[pending_ - 1].step == k; --pending_) {
    const double theta = samples_[pending_ - 1].theta;
    std::copy_n(seed_.samples.begin() + (pending_ - 1) * tr_.user_states, tr_.user_states, y_bar_.begin());
    if (tr_.quadrature) y_bar_[tr_.states() - 1] = 0;
    if (in.h == 0) {
      for (int i = 0; i < tr_.states(); ++i) x_bar_[i] += y_bar_[i];
      continue;
    }
    // The sample's own time stays where it is: theta = (t_s - t) / h.
    double theta_bar = 0;
    replay_.stepper().interpolate_vjp(in, theta, y_bar_.data(), step_bar(), &theta_bar);
    t_bar_ -= theta_bar / in.h;
    h_bar_ -= theta_bar * theta / in.h;
  }
}

void Sweep::segment_to_end(const Segment& segment) {
  const double length = segment.to - segment.from;
  // A fixed grid that restarted at an event moves with it, and its last step ends at the segment's end.
  const bool restarted = tr_.dt > 0 && segment.starts_at_event;
  double from_bar = 0, to_bar = time_bar_;
  dt_bar_ += double(full_steps(segment)) * time_bar_;
  for (long k = segment.last; k >= segment.first; --k) {
    stop_if_interrupted();
    const StepInput in = replay_.input(k);
    clear_step();
    samples_of(k, in);
    replay_.step_vjp(in, lambda_.data(), step_bar());
    std::swap(lambda_, x_bar_);
    if (restarted) {
      from_bar += t_bar_;
      if (k == segment.last) {
        from_bar -= h_bar_;
        to_bar += h_bar_;
      }
    } else {
      // An empty span: h is t1 - t0 itself.
      const double s = length != 0 ? (in.t - segment.from) / length : 0, w = length != 0 ? in.h / length : 1;
      from_bar += (1 - s) * t_bar_ - w * h_bar_;
      to_bar += s * t_bar_ + w * h_bar_;
    }
    move_dt(k, segment);
    note_norm(k);
  }
  time_bar_ = from_bar;
  t0_bar_ += (1 - segment.fraction) * to_bar;
  t1_bar_ += segment.fraction * to_bar;
}

void Sweep::segment_to_event(const Segment& segment) {
  double from_bar = 0;
  for (long k = segment.last; k >= segment.first; --k) {
    stop_if_interrupted();
    const StepInput in = replay_.input(k);
    clear_step();
    samples_of(k, in);
    if (k == segment.last) {
      event_step(k, in);
      h_bar_ = 0;  // h_e is no constant: it was eliminated
    } else {
      replay_.step_vjp(in, lambda_.data(), step_bar());
    }
    std::swap(lambda_, x_bar_);
    from_bar += t_bar_;
    move_dt(k, segment);
    note_norm(k);
  }
  time_bar_ = from_bar;
}

void Sweep::event_step(long k, const StepInput& in) {
  const int index = tr_.steps[k].event;
  const EventRecord& record = tr_.events[index];
  const Event& event = tr_.guards[record.event];
  const double* y = record.before.data();
  if (!seed_.event_times.empty()) time_bar_ += seed_.event_times[index];

  // Jump. The integral of the running cost passes unchanged.
  std::copy(lambda_.begin(), lambda_.end(), y_bar_.begin());
  if (event.jump) {
    std::fill_n(y_bar_.begin(), tr_.user_states, 0.0);
    event.jump->vjp(record.t, y, in.p, lambda_.data(), &time_bar_, y_bar_.data(), p_bar(), scratch_.data());
  }

  // Guard: how the event time answers.
  std::fill(g_x_.begin(), g_x_.end(), 0.0);
  double g_t = 0;
  const double one = 1;
  event.guard->vjp(record.t, y, in.p, &one, &g_t, g_x_.data(), nullptr, scratch_.data());
  replay_.step_jvp(in, {0, 1, nullptr, nullptr}, step_h_.data());
  const double G_h = g_t + std::inner_product(g_x_.begin(), g_x_.end(), step_h_.begin(), 0.0);
  if (G_h == 0) {
    throw Error({"the guard of event \"" + event.name + "\" has no rate at t = " + std::to_string(record.t) +
                     ": the event time has no derivative there",
                 "ode::gradient", "the event grazes; move away from tangency"},
                Error::Kind::numerics);
  }
  const double h_bar =
      h_bar_ + std::inner_product(y_bar_.begin(), y_bar_.end(), step_h_.begin(), 0.0) + time_bar_;
  const double s = -h_bar / G_h;
  double ignored = 0;
  std::fill(jump_bar_.begin(), jump_bar_.end(), 0.0);
  event.guard->vjp(record.t, y, in.p, &s, &ignored, jump_bar_.data(), p_bar(), scratch_.data());
  for (int i = 0; i < n_; ++i) y_bar_[i] += jump_bar_[i];
  replay_.step_vjp(in, y_bar_.data(), step_bar());
  t_bar_ += time_bar_ + s * g_t;
}

Gradient Sweep::run() {
  const std::vector<Segment> segments = segments_of(tr_);
  norms_[tr_.size()] = norm();
  for (std::size_t i = segments.size(); i-- > 0;) {
    row_ = segments[i].row;
    if (segments[i].ends_in_event)
      segment_to_event(segments[i]);
    else
      segment_to_end(segments[i]);
  }
  Gradient out = zero_gradient(tr_, "discrete adjoint of " + tr_.method);
  out.x0.assign(lambda_.begin(), lambda_.begin() + tr_.user_states);
  out.t0 = time_bar_ + t0_bar_;
  out.t1 = t1_bar_;
  add_rows(tr_, rows_bar_, out);
  out.dt = by_dt(out.t1);
  judge(out.report);
  return out;
}

void Sweep::judge(GradientReport& report) const {
  report.adjoint_norm = norms_;
  report.sampled_steps.resize(norms_.size());
  std::iota(report.sampled_steps.begin(), report.sampled_steps.end(), 0);
  // Growth since the last time at which the loss depended on the state at all: a running cost has no
  // cotangent at t1.
  long end = tr_.size();
  while (end > 0 && !(norms_[end] > 0)) --end;
  const double span = std::abs((end == tr_.size() ? tr_.t1 : tr_.steps[end].t) - tr_.t0);
  if (norms_.front() > 0 && span > 0) report.growth_per_time = std::log(norms_.front() / norms_[end]) / span;
  for (const EventRecord& e : tr_.events) {
    if (!e.grazing) continue;
    report.label = "grazing";
    report.advice.push_back("event \"" + tr_.guards[e.event].name + "\" at t = " + std::to_string(e.t) +
                            " grazes its guard: this gradient is inversely proportional to a rate of " +
                            std::to_string(e.guard_rate) + " and holds only in a small neighbourhood");
  }
  report.conclude(std::numeric_limits<double>::epsilon());
}

}  // namespace

Gradient gradient(const Solution& solution, const OutputCotangents& cotangents) {
  return finite(Sweep(solution.trajectory(), cotangents, {}).run());
}

Gradient gradient(const Solution& solution, const Loss& loss) {
  const LossDerivatives derivatives = evaluate(solution, loss);
  Gradient out = Sweep(solution.trajectory(), derivatives.cotangents, derivatives.rows_bar).run();
  out.value = derivatives.value;
  return finite(std::move(out));
}

}  // namespace costate::ode
