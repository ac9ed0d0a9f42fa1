#include "costate/ode/solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/text.h"
#include "costate/ode/fields/consistent_state.h"
#include "costate/ode/fields/linear_control.h"
#include "costate/ode/fields/quadrature_field.h"
#include "costate/ode/methods/step_control.h"
#include "costate/ode/methods/stiffness.h"
#include "costate/ode/zeno.h"

namespace costate::ode {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kConverged = 1e-11;  // tolerance of stages in steps of fixed length; see implicit_method.cpp

void check_input(bool ok, const std::string& what, const std::string& advice) {
  if (!ok) throw Error({what, "ode::solve", advice});
}

void check_options(const Options& options, const TimeSpan& span, const std::vector<double>& y0, int states) {
  check_input(int(y0.size()) == states,
              "y0 has " + std::to_string(y0.size()) + " values for " + std::to_string(states) + " states",
              "give one initial value per state");
  check_input(std::isfinite(span.t0) && !std::isnan(span.t1), "the time span is not finite",
              "only t1 may be infinite, where an event ends the solution");
  check_input(std::isfinite(span.t1) || (!(options.dt > 0) && options.controls.values.empty()),
              "a time span without end has neither steps of fixed length nor controls", "set a finite t1");
  check_input(options.rtol_per_state.empty() || int(options.rtol_per_state.size()) == states,
              "rtol_per_state has " + std::to_string(options.rtol_per_state.size()) + " values",
              "give one per state");
  check_input(options.atol.size() == 1 || int(options.atol.size()) == states,
              "atol has " + std::to_string(options.atol.size()) + " values",
              "give one for all states, or one per state");
  check_input(options.rtol >= 0 && options.keep_every >= 1 && options.dt >= 0,
              "rtol and dt must not be negative, keep_every at least 1", "");
  const double sign = span.t1 >= span.t0 ? 1 : -1;
  for (std::size_t i = 0; i < options.t_eval.size(); ++i) {
    const double t = options.t_eval[i];
    check_input(sign * t >= sign * span.t0 && sign * t <= sign * span.t1,
                "t_eval[" + std::to_string(i) + "] = " + number(t) + " is outside the time span", "");
    check_input(i == 0 || sign * options.t_eval[i - 1] <= sign * t,
                "t_eval is not sorted in the direction of time", "");
  }
}

}  // namespace

// One run of solve(): the state of the march, and the trajectory it leaves behind.
class Integration {
 public:
  Integration(const VectorField& field, TimeSpan span, const std::vector<double>& y0,
              const std::vector<double>& p, const Options& options);
  Solution run();

 private:
  double initial_step();
  bool attempt();  // one step from (t_, x_) into (h_, y_); false: rejected
  bool attempt_fixed();
  void accept();  // record the step, outputs, events
  void record_step(int event);
  void handle_event(int event);
  void emit(bool at_end);
  void stand_still();
  void forget(std::vector<double>& x) const { std::fill(x.begin() + n_, x.end(), 0.0); }  // the memory
  void end_interval();  // at t1, or at a knot of the controls
  const double* p() const { return trajectory_->parameters.row(row_); }
  void finish(Status status, const std::string& message);
  void require_consistent(double t, const std::vector<double>& x, const std::string& what,
                          const std::string& advice) const;
  [[noreturn]] void fail(const std::string& what, const std::string& advice) const;
  std::string hint() const {  // what the equations look like here
    return hint_about(*field_, {t_, h_, t1_, x_.data(), p(), user_field_.states()}, stepper_->implicit());
  }

  const Options& options_;
  const VectorField& user_field_;
  std::shared_ptr<Trajectory> trajectory_ = std::make_shared<Trajectory>();
  const VectorField* field_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<EventMonitor> monitor_;
  std::optional<ConsistentState> motion_;
  StepControl control_;
  ZenoWatch zeno_;
  Solution solution_;

  int n_, controlled_;
  double t0_, t1_, sign_;
  bool fixed_;
  double t_, h_ = 0, next_h_ = 0, max_step_;
  double segment_start_;
  long segment_steps_ = 0, attempts_ = 0;
  int row_ = 0;                                              // of the interval between knots
  double interval_end_;                                      // where it ends: no step goes further
  long kept_stages_ = 0;                                     // steps whose stages are kept
  std::vector<int> happened_;                                // how often each event did, if it is terminal
  bool not_finite_ = false, done_ = false, last_ = false;    // last_: the step ends the interval
  std::vector<double> x_, y_, error_, scale_, rtol_, atol_;  // x_, y_: with the memory of the method
  std::size_t next_output_ = 0;
};

Integration::Integration(const VectorField& field, TimeSpan span, const std::vector<double>& y0,
                         const std::vector<double>& p, const Options& options)
    : options_(options),
      user_field_(field),
      field_(&field),
      control_(1),
      zeno_(std::isfinite(span.t1) ? std::abs(span.t1 - span.t0) : 1 + std::abs(span.t0)),
      t0_(span.t0),
      t1_(span.t1),
      sign_(span.t1 >= span.t0 ? 1 : -1),
      fixed_(options.dt > 0),
      t_(span.t0),
      segment_start_(span.t0) {
  const int states = field.states();
  check_options(options, span, y0, states);
  Trajectory& tr = *trajectory_;
  tr.parameters = ParameterRows(p, options.controls, field.parameters(), t0_, t1_);
  interval_end_ = tr.parameters.end(0);
  tr.guards = options.events;
  happened_.assign(options.events.size(), 0);
  std::shared_ptr<const Function> running = options.running;
  if (tr.parameters.linear()) {
    const LinearControl control = linear_control_of(tr.parameters);
    tr.controlled = with_linear_control(field, control);
    field_ = tr.controlled.get();
    for (Event& event : tr.guards) event = with_linear_control(event, control);
    running = with_linear_control(running, control);
  }
  if (running) {
    tr.quadrature = std::make_shared<QuadratureField>(*field_, running);
    field_ = tr.quadrature.get();
  }
  n_ = field_->states();
  controlled_ = options.control_integral ? n_ : states;
  tr.field = field_;
  tr.method = options.method;
  rtol_.assign(n_, options.rtol);
  std::copy(options.rtol_per_state.begin(), options.rtol_per_state.end(), rtol_.begin());
  tr.tolerance = {*std::min_element(rtol_.begin(), rtol_.end()),
                  *std::min_element(options.atol.begin(), options.atol.end()), options.carry_newton};
  if (fixed_) {
    // Nothing but the convergence of implicit stages hangs on these: to rounding, as the derivatives assume.
    tr.tolerance.rtol = std::min(tr.tolerance.rtol, kConverged);
    tr.tolerance.atol = std::min(tr.tolerance.atol, kConverged);
  }
  tr.user_states = states;
  tr.t0 = t0_;
  tr.t1 = t0_;
  tr.dt = options.dt;
  tr.keep_every = options.keep_every;

  stepper_ = make_stepper(options.method, *field_, tr.tolerance);
  check_input(fixed_ || stepper_->error_order() > 0,
              "the method " + options.method + " has no error estimate",
              "set dt, or use dopri5, tsit5 or dop853");
  tr.memory = stepper_->memory();
  check_input(tr.memory == 0 || (!fixed_ && options.keep_every == 1),
              "the method " + options.method + " chooses its steps, and keeps all of them",
              fixed_ ? "leave dt out, or use radau5" : "leave keep_every at 1");
  control_ = StepControl(std::max(stepper_->error_order(), 1));
  monitor_ = std::make_unique<EventMonitor>(tr.guards, *field_, states, this->p());
  const bool all_stages = stepper_->needs_stages();
  check_input(!all_stages || options.keep_every == 1, "carry_newton keeps every step",
              "leave keep_every at 1");
  if (options.keep_every == 1) tr.stage_size = stepper_->stage_size();
  if (tr.stage_size > 0) kept_stages_ = options.stage_memory / long(tr.stage_size * sizeof(double));
  if (all_stages) kept_stages_ = std::numeric_limits<long>::max();
  max_step_ = options.max_step > 0 ? options.max_step : std::numeric_limits<double>::infinity();

  x_ = y0;
  x_.resize(tr.width(), 0.0);
  y_.assign(tr.width(), 0.0);
  for (auto* v : {&error_, &scale_}) v->assign(n_, 0.0);
  atol_.resize(n_, options.atol.back());
  for (std::size_t i = 0; i < options.atol.size(); ++i) atol_[i] = options.atol[i];
  motion_.emplace(*field_);
  motion_->require_consistent(t0_, x_.data(), this->p(), options.rtol,
                              *std::min_element(atol_.begin(), atol_.end()));
}

void Integration::fail(const std::string& what, const std::string& advice) const {
  throw Error({what,
               options_.method + " at t = " + number(t_) + " (step " +
                   std::to_string(solution_.counts.accepted) + ")",
               advice},
              Error::Kind::numerics);
}

// Starting step of [HNW II.4]: a small Euler step shows the size of the second derivative.
double Integration::initial_step() {
  if (options_.first_step > 0) return options_.first_step;
  std::vector<double> f0(n_), f1(n_), scratch(field_->scratch_size());
  field_->value(t_, x_.data(), p(), f0.data(), scratch.data());
  for (int i = 0; i < n_; ++i) {
    // No step is short enough for it.
    if (!std::isfinite(f0[i]))
      fail("the derivative of state " + std::to_string(i) + " is " + number(f0[i]),
           "check the equations, and the parameters that they use");
  }
  stepper_->know_rate(t_, x_.data(), f0.data());
  double d0 = 0, d1 = 0, d2 = 0;
  for (int i = 0; i < controlled_; ++i) {
    scale_[i] = atol_[i] + rtol_[i] * std::abs(x_[i]);
    check_input(scale_[i] > 0, "the error tolerance of state " + std::to_string(i) + " is zero",
                "set atol > 0");
    d0 += std::pow(x_[i] / scale_[i], 2);
    d1 += std::pow(f0[i] / scale_[i], 2);
  }
  d0 = std::sqrt(d0 / controlled_);
  d1 = std::sqrt(d1 / controlled_);
  double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
  h0 = std::min(h0, std::abs(t1_ - t_));
  for (int i = 0; i < n_; ++i) y_[i] = x_[i] + sign_ * h0 * f0[i];
  field_->value(t_ + sign_ * h0, y_.data(), p(), f1.data(), scratch.data());
  for (int i = 0; i < controlled_; ++i) d2 += std::pow((f1[i] - f0[i]) / scale_[i], 2);
  d2 = std::sqrt(d2 / controlled_) / h0;
  solution_.counts.rhs += 2;
  const double steepest = std::max(d1, d2);
  const double h1 = steepest <= 1e-15 ? std::max(1e-6, h0 * 1e-3)
                                      : std::pow(0.01 / steepest, 1.0 / (stepper_->error_order() + 1));
  const double h = std::min(100 * h0, h1);
  return std::isfinite(h) && h > 0 ? h : h0;
}

bool Integration::attempt_fixed() {
  const double remaining = std::abs(interval_end_ - t_);
  const bool full = remaining >= options_.dt * (1 - 1e-9);
  last_ = remaining <= options_.dt * (1 + 1e-9);
  h_ = full ? sign_ * options_.dt : interval_end_ - t_;
  if (!stepper_->step({t_, h_, x_.data(), p()}, y_.data(), nullptr)) {
    fail("the implicit stages did not converge", "reduce dt (now " + number(options_.dt) + ")");
  }
  for (int i = 0; i < n_; ++i) {
    if (!std::isfinite(y_[i])) {
      fail("the state is not finite: state " + std::to_string(i) + " is " + number(y_[i]),
           "reduce dt (now " + number(options_.dt) + "), or use an adaptive method" + hint());
    }
  }
  return true;
}

bool Integration::attempt() {
  if (fixed_) return attempt_fixed();
  const double remaining = interval_end_ - t_;
  const double length = std::min(next_h_, max_step_);
  last_ = length * 1.01 >= std::abs(remaining);
  h_ = last_ ? remaining : sign_ * length;
  const double span = std::isfinite(t1_) ? std::abs(t1_ - t0_) : 0;
  const double smallest = 16 * kEps * std::max(std::abs(t_), span * 1e-3);
  if (std::abs(h_) < smallest && !(last_ && std::abs(remaining) < smallest)) {
    if (not_finite_)
      fail("the state stops being finite",
           "the solution may blow up in finite time; check the equations" + hint());
    fail("the step size fell to " + number(std::abs(h_)),
         "raise rtol (now " + number(options_.rtol) + ") or atol; a discontinuity belongs in an event" +
             hint());
  }
  const bool converged = stepper_->step({t_, h_, x_.data(), p()}, y_.data(), error_.data());
  bool finite = converged;
  for (int i = 0; finite && i < n_; ++i) finite = std::isfinite(y_[i]) && std::isfinite(error_[i]);
  not_finite_ = converged && !finite;
  if (!finite) {
    next_h_ = std::abs(h_) * control_.fail();
    return false;
  }
  // The differences of a multistep method tell the error at the end of the step.
  const bool by_end = stepper_->implicit() && stepper_->memory() > 0;
  for (int i = 0; i < controlled_; ++i) {
    const double start = by_end ? 0 : std::abs(x_[i]);
    scale_[i] = atol_[i] + rtol_[i] * std::max(start, std::abs(y_[i]));
  }
  const double err = stepper_->error_norm(error_.data(), scale_.data(), controlled_);
  if (!(err <= 1)) {
    next_h_ = std::abs(h_) * stepper_->shrink(err, control_.reject(err));
    return false;
  }
  next_h_ = std::abs(h_) * stepper_->settle(y_.data(), scale_.data(), controlled_, err, control_.accept(err));
  // A step cut short by a knot says little about the next.
  if (last_ && row_ + 1 < trajectory_->parameters.count()) next_h_ = std::max(next_h_, length);
  return true;
}

void Integration::record_step(int event) {
  Trajectory& tr = *trajectory_;
  if (tr.size() % tr.keep_every == 0) tr.kept.insert(tr.kept.end(), x_.begin(), x_.end());
  if (tr.stage_size > 0 && tr.size() < kept_stages_) {
    tr.stages.resize(tr.stages.size() + tr.stage_size);
    stepper_->save_stages(tr.stages.data() + tr.stages.size() - tr.stage_size);
  }
  tr.steps.push_back({t_, h_, event, row_});
  ++solution_.counts.accepted;
}

// Outputs asked for inside the step just taken; without t_eval, its start if that was kept.
void Integration::emit(bool at_end) {
  const int n = user_field_.states();
  if (options_.t_eval.empty()) {
    if (!at_end && (trajectory_->size() - 1) % options_.keep_every != 0) return;
    solution_.t.push_back(t_);
    solution_.y.insert(solution_.y.end(), x_.begin(), x_.begin() + n);
    return;
  }
  const double end = last_ && trajectory_->steps.back().event < 0 ? interval_end_ : t_ + h_;
  while (!at_end && next_output_ < options_.t_eval.size()) {
    const double t = options_.t_eval[next_output_];
    if (sign_ * t > sign_ * end) break;
    if (t == t0_) {
      solution_.y.insert(solution_.y.end(), x_.begin(), x_.begin() + n);
    } else {
      if (h_ == 0 || t == end)
        std::copy_n(y_.begin(), n_, error_.begin());
      else
        stepper_->interpolate((t - t_) / h_, error_.data());
      solution_.y.insert(solution_.y.end(), error_.begin(), error_.begin() + n);
    }
    solution_.t.push_back(t);
    ++next_output_;
  }
}

void Integration::finish(Status status, const std::string& message) {
  done_ = true;
  solution_.status = status;
  solution_.message = message;
}

void Integration::handle_event(int event) {
  Trajectory& tr = *trajectory_;
  const Event& guard = tr.guards[event];
  EventRecord record{.event = event,
                     .t = t_ + h_,
                     .before = y_,
                     .after = y_,
                     .guard_rate = monitor_->guard_rate(),
                     .grazing = monitor_->grazing(),
                     .step = tr.size()};
  if (guard.jump) {
    std::vector<double> scratch(guard.jump->scratch_size());
    guard.jump->value(record.t, y_.data(), p(), record.after.data(), scratch.data());
    require_consistent(record.t, record.after,
                       "the jump of event \"" + guard.name + "\" leaves the algebraic equations",
                       "set the algebraic states too, or let ConsistentJump find them");
  }
  // Differences over a step cut this short say little about one of the usual length.
  if (guard.jump || std::abs(h_) < 0.2 * next_h_) forget(record.after);
  if (record.grazing) {
    solution_.notes.push_back("event \"" + guard.name + "\" at t = " + number(record.t) +
                              " is grazing: its guard moves at " + number(record.guard_rate) +
                              " only, and derivatives across it are inversely proportional to that");
  }
  record_step(int(tr.events.size()));
  tr.events.push_back(record);
  emit(false);
  t_ = segment_start_ = record.t;
  segment_steps_ = 0;
  x_ = record.after;
  if (guard.terminal > 0 && ++happened_[event] >= guard.terminal)
    return finish(Status::terminated, "ended by event \"" + guard.name + "\" at t = " + number(t_));

  if (zeno_.accumulates(t_)) {
    const std::string what = "events accumulate: \"" + guard.name + "\" has happened " +
                             std::to_string(tr.events.size()) +
                             " times, and would go on without end at t = " + number(zeno_.limit());
    if (options_.stop_at_zeno) return finish(Status::zeno, what);
    fail(what,
         "set stop_at_zeno to end the solution there, or make the event terminal and go on with a resting "
         "contact");
  }
  if (long(tr.events.size()) >= options_.max_events)
    fail("there are " + std::to_string(tr.events.size()) + " events", "raise max_events");

  const int another = monitor_->after_event(event, t_, x_.data());
  if (another >= 0) {  // at the same instant: a step of zero length, with its own derivatives
    h_ = 0;
    y_ = x_;
    handle_event(another);
  }
}

void Integration::accept() {
  double length = h_;
  const int event =
      monitor_->empty() ? -1 : monitor_->find(*stepper_, {t_, h_, x_.data(), p()}, &length, y_.data());
  if (!monitor_->empty() && monitor_->near_miss()) {
    solution_.notes.push_back("a guard came near zero without crossing it in the step from t = " +
                              number(t_) + ": a small change of the inputs may add two events");
  }
  if (event >= 0) {
    h_ = length;
    last_ = false;
    handle_event(event);
    if (!done_ && sign_ * (interval_end_ - t_) <= 0) {
      // A knot at the instant of the event: a step of zero length lies between them, with its own
      // derivatives.
      if (row_ + 1 < trajectory_->parameters.count()) {
        h_ = 0;
        record_step(-1);
      }
      end_interval();
    }
    return;
  }
  record_step(-1);
  emit(false);
  ++segment_steps_;
  // Time is start + k dt, never accumulated.
  t_ = last_    ? interval_end_
       : fixed_ ? segment_start_ + double(segment_steps_) * (sign_ * options_.dt)
                : t_ + h_;
  std::swap(x_, y_);
  if (last_) end_interval();
}

void Integration::end_interval() {
  Trajectory& tr = *trajectory_;
  if (row_ + 1 == tr.parameters.count()) return finish(Status::finished, "reached t1");
  monitor_->change_parameters(tr.parameters.row(row_ + 1), interval_end_, x_.data());
  t_ = segment_start_ = interval_end_;
  segment_steps_ = 0;
  interval_end_ = tr.parameters.end(++row_);
  forget(x_);
  if (tr.parameters.linear()) return;
  require_consistent(
      t_, x_, "the controls jump in an algebraic equation, which the state after the knot does not satisfy",
      "use controls that are linear between knots");
}

void Integration::require_consistent(double t, const std::vector<double>& x, const std::string& what,
                                     const std::string& advice) const {
  if (motion_->algebraic_equations() == 0) return;
  try {
    motion_->require_consistent(t, x.data(), p(), options_.rtol,
                                *std::min_element(atol_.begin(), atol_.end()));
  } catch (const Error&) {
    fail(what, advice);
  }
}

// An empty span is one step of zero length, or one per interval of the controls: its outputs are the start,
// and it has derivatives like any other.
void Integration::stand_still() {
  Trajectory& tr = *trajectory_;
  y_ = x_;
  for (row_ = 0; row_ < tr.parameters.count(); ++row_) {
    if (row_ % tr.keep_every == 0) tr.kept.insert(tr.kept.end(), x_.begin(), x_.end());
    tr.steps.push_back({t_, 0, -1, row_});
  }
  --row_;
  if (!options_.t_eval.empty()) emit(false);
  finish(Status::finished, "reached t1");
}

Solution Integration::run() {
  Trajectory& tr = *trajectory_;
  monitor_->start(t_, x_.data(), sign_ > 0);
  if (t1_ == t0_) {
    stand_still();
  } else if (!fixed_) {
    next_h_ = initial_step();
  }
  while (!done_) {
    stop_if_interrupted();
    if (++attempts_ > options_.max_steps) {
      fail("t1 = " + number(t1_) + " was not reached in " + std::to_string(options_.max_steps) + " steps",
           "raise max_steps, or loosen rtol (now " + number(options_.rtol) + ")" + hint());
    }
    if (attempt())
      accept();
    else
      ++solution_.counts.rejected;
  }
  tr.t1 = t_;
  tr.final = x_;
  emit(true);
  solution_.integral = options_.running ? x_[n_ - 1] : 0.0;
  solution_.events = tr.events;
  const Stepper::Counts& c = stepper_->counts();
  solution_.counts.rhs += c.rhs;
  solution_.counts.jacobians = c.jacobians;
  solution_.counts.factorisations = c.factorisations;
  solution_.counts.newton_iterations = c.newton_iterations;
  solution_.trajectory_ = trajectory_;
  return std::move(solution_);
}

Solution solve(const VectorField& field, TimeSpan span, const std::vector<double>& y0,
               const std::vector<double>& p, const Options& options) {
  return Integration(field, span, y0, p, options).run();
}

}  // namespace costate::ode
