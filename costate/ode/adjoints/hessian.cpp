#include "costate/ode/adjoints/hessian.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "costate/core/error.h"

namespace costate::ode {
namespace {

// A cotangent with its rate.
struct Moving {
  double v = 0, dot = 0;
  Moving& operator+=(const Moving& b) {
    v += b.v;
    dot += b.dot;
    return *this;
  }
};

// The reverse sweep of discrete_adjoint.cpp and its tangent, stage by stage.
class Sweep {
 public:
  Sweep(const Solution& solution, const Loss& loss, const InputTangent& direction);
  Gradient run();

 private:
  void seed(const Loss& loss);
  void enter(int row);
  void segment_to_end(const Segment& segment);
  void segment_to_event(const Segment& segment);
  void samples_of(long k, const StepInput& in, const StepTangent& in_dot);
  void event_step(long k, const StepInput& in, const StepTangent& in_dot);
  void clear_step();
  // Both transposes of step k at once, into the cotangents of the step.
  void step_transposed(const StepInput& in, const StepTangent& in_dot, const std::vector<double>& y_bar,
                       const std::vector<double>& y_bar_dot);
  StepTangent tangent_of(long k) const {
    return {trace_.steps[k].t, trace_.steps[k].h, trace_.start.data() + k * n_, p_dot_};
  }
  StepCotangent bar() { return {&t_bar_.v, &h_bar_.v, x_bar_.data(), ignored_p_.data()}; }
  double* p_bar_dot() { return rows_bar_dot_.data() + row_ * tr_.parameters.width(); }
  StepCotangent bar_dot() { return {&t_bar_.dot, &h_bar_.dot, x_bar_dot_.data(), p_bar_dot()}; }
  void finish_step() {
    std::swap(lambda_, x_bar_);
    std::swap(lambda_dot_, x_bar_dot_);
  }

  const Trajectory& tr_;
  Replay replay_;
  const int n_;
  const double* p_dot_ = nullptr;  // of the row of the segment
  InputTangent direction_;
  TangentTrace trace_;
  LossDerivatives loss_;
  std::vector<double> sample_bar_dot_;
  std::vector<SamplePlace> samples_;
  std::size_t pending_ = 0;

  std::vector<double> lambda_, lambda_dot_, x_bar_, x_bar_dot_, y_bar_, y_bar_dot_, g_x_, g_x_dot_;
  std::vector<double> ignored_p_, rows_dot_, rows_bar_dot_, scratch_;
  int row_ = 0;  // of the segment
  Moving time_bar_, t_bar_, h_bar_, t0_bar_, t1_bar_;
};

Sweep::Sweep(const Solution& solution, const Loss& given, const InputTangent& direction)
    : tr_(solution.trajectory()), replay_(tr_), n_(tr_.states()), direction_(direction) {
  if (!replay_.stepper().has_second_order()) {
    throw Error({"the method " + tr_.method + " on this field has no second derivatives",
                 "ode::hessian_vector",
                 "use an explicit Runge-Kutta method and a field and running cost with has_second_order()"});
  }
  const Loss loss = with_controls(given, tr_);
  loss_ = evaluate(solution, given);
  trace_ = trace_tangent(solution, direction_, loss_.cotangents.sample_times);
  rows_dot_ = tr_.parameters.tangent(direction_.p.empty() ? nullptr : direction_.p.data(),
                                     direction_.controls.empty() ? nullptr : direction_.controls.data(),
                                     direction_.t0, direction_.t1);
  samples_ = place_samples(replay_, tr_, loss_.cotangents.sample_times);
  pending_ = samples_.size();
  const std::size_t n = n_;
  for (auto* v : {&lambda_, &lambda_dot_, &x_bar_, &x_bar_dot_, &y_bar_, &y_bar_dot_, &g_x_, &g_x_dot_})
    v->assign(n, 0.0);
  ignored_p_.assign(tr_.parameters.width(), 0.0);
  rows_bar_dot_ = tr_.parameters.zeros();
  std::size_t scratch = loss.final ? loss.final->scratch_size() : 0;
  for (const Event& e : tr_.guards) {
    scratch = std::max({scratch, e.guard->scratch_size(), e.jump ? e.jump->scratch_size() : 0});
  }
  scratch_.resize(scratch);
  seed(loss);
}

// Cotangents of the outputs, and how they move along the direction.
void Sweep::seed(const Loss& loss) {
  const OutputTangent& out = trace_.output;
  std::copy(loss_.cotangents.final.begin(), loss_.cotangents.final.end(), lambda_.begin());
  if (tr_.quadrature) lambda_.back() = loss_.cotangents.integral;
  time_bar_.v = loss_.cotangents.end_time;
  if (loss.final) {
    const double one = 1;
    enter(tr_.last_row());
    loss.final->vjp_jvp(tr_.t1, tr_.final.data(), tr_.parameters.row(row_), &one, out.end_time,
                        out.final.data(), p_dot_, nullptr, &time_bar_.dot, lambda_dot_.data(), p_bar_dot(),
                        scratch_.data());
  }
  const std::size_t n = tr_.user_states;
  sample_bar_dot_.assign(samples_.size() * n, 0.0);
  for (std::size_t k = 0; k < samples_.size(); ++k) {
    enter(tr_.steps[samples_[k].step].row);
    loss.samples->gradient_jvp(k, loss_.sample_states.data() + k * n, tr_.parameters.row(row_),
                               out.samples.data() + k * n, p_dot_, sample_bar_dot_.data() + k * n,
                               p_bar_dot());
  }
}

void Sweep::enter(int row) {
  row_ = row;
  p_dot_ = rows_dot_.empty() ? nullptr : rows_dot_.data() + row * tr_.parameters.width();
}

void Sweep::clear_step() {
  std::fill(x_bar_.begin(), x_bar_.end(), 0.0);
  std::fill(x_bar_dot_.begin(), x_bar_dot_.end(), 0.0);
  t_bar_ = h_bar_ = {};
}

void Sweep::step_transposed(const StepInput& in, const StepTangent& in_dot, const std::vector<double>& y_bar,
                            const std::vector<double>& y_bar_dot) {
  replay_.step_vjp(in, y_bar.data(), bar());
  replay_.step_vjp_jvp(in, in_dot, y_bar.data(), y_bar_dot.data(), bar_dot());
}

void Sweep::samples_of(long k, const StepInput& in, const StepTangent& in_dot) {
  const auto n = std::ptrdiff_t(tr_.user_states);
  for (; pending_ > 0 && samples_[pending_ - 1].step == k; --pending_) {
    const double theta = samples_[pending_ - 1].theta, theta_dot = -(in_dot.t + theta * in_dot.h) / in.h;
    const auto row = std::ptrdiff_t(pending_ - 1) * n;
    std::copy_n(loss_.cotangents.samples.begin() + row, n, y_bar_.begin());
    std::copy_n(sample_bar_dot_.begin() + row, n, y_bar_dot_.begin());
    if (tr_.quadrature) y_bar_.back() = y_bar_dot_.back() = 0;
    Moving theta_bar;
    replay_.stepper().interpolate_vjp(in, theta, y_bar_.data(), bar(), &theta_bar.v);
    replay_.stepper().interpolate_vjp_jvp(in, in_dot, theta, theta_dot, y_bar_.data(), y_bar_dot_.data(),
                                          bar_dot(), &theta_bar.dot);
    // t_bar -= theta_bar / h, h_bar -= theta_bar theta / h
    const double ratio = theta_bar.v / in.h, ratio_dot = (theta_bar.dot - ratio * in_dot.h) / in.h;
    t_bar_ += {-ratio, -ratio_dot};
    h_bar_ += {-ratio * theta, -ratio_dot * theta - ratio * theta_dot};
  }
}

void Sweep::segment_to_end(const Segment& segment) {
  const double length = segment.to - segment.from;
  const bool restarted = tr_.dt > 0 && segment.starts_at_event;
  Moving from_bar, to_bar = time_bar_;
  for (long k = segment.last; k >= segment.first; --k) {
    const StepInput in = replay_.input(k);
    const StepTangent in_dot = tangent_of(k);
    clear_step();
    samples_of(k, in, in_dot);
    step_transposed(in, in_dot, lambda_, lambda_dot_);
    finish_step();
    if (restarted) {
      from_bar += t_bar_;
      if (k == segment.last) {
        from_bar += {-h_bar_.v, -h_bar_.dot};
        to_bar += h_bar_;
      }
    } else {  // the fractions s and w are constants
      const double s = length != 0 ? (in.t - segment.from) / length : 0, w = length != 0 ? in.h / length : 1;
      from_bar += {(1 - s) * t_bar_.v - w * h_bar_.v, (1 - s) * t_bar_.dot - w * h_bar_.dot};
      to_bar += {s * t_bar_.v + w * h_bar_.v, s * t_bar_.dot + w * h_bar_.dot};
    }
  }
  time_bar_ = from_bar;
  const double w = segment.fraction;
  t0_bar_ += {(1 - w) * to_bar.v, (1 - w) * to_bar.dot};
  t1_bar_ += {w * to_bar.v, w * to_bar.dot};
}

void Sweep::segment_to_event(const Segment& segment) {
  Moving from_bar;
  for (long k = segment.last; k >= segment.first; --k) {
    const StepInput in = replay_.input(k);
    const StepTangent in_dot = tangent_of(k);
    clear_step();
    samples_of(k, in, in_dot);
    if (k == segment.last)
      event_step(k, in, in_dot);
    else
      step_transposed(in, in_dot, lambda_, lambda_dot_);
    finish_step();
    from_bar += t_bar_;
  }
  time_bar_ = from_bar;
}

void Sweep::event_step(long k, const StepInput& in, const StepTangent& in_dot) {
  const int index = tr_.steps[k].event;
  const EventRecord& record = tr_.events[index];
  const Event& event = tr_.guards[record.event];
  const double* y = record.before.data();
  const double te_dot = trace_.events[index].t;
  const double* y_dot = trace_.events[index].before.data();

  y_bar_ = lambda_;
  y_bar_dot_ = lambda_dot_;
  if (event.jump) {
    std::fill_n(y_bar_.begin(), tr_.user_states, 0.0);
    std::fill_n(y_bar_dot_.begin(), tr_.user_states, 0.0);
    event.jump->vjp(record.t, y, in.p, lambda_.data(), &time_bar_.v, y_bar_.data(), ignored_p_.data(),
                    scratch_.data());
    event.jump->vjp_jvp(record.t, y, in.p, lambda_.data(), te_dot, y_dot, p_dot_, lambda_dot_.data(),
                        &time_bar_.dot, y_bar_dot_.data(), p_bar_dot(), scratch_.data());
  }

  // Guard with its rate; G_h and <y_bar, step_h> as h-components of transposed steps.
  Moving g_t;
  const double one = 1;
  std::fill(g_x_.begin(), g_x_.end(), 0.0);
  std::fill(g_x_dot_.begin(), g_x_dot_.end(), 0.0);
  event.guard->vjp(record.t, y, in.p, &one, &g_t.v, g_x_.data(), ignored_p_.data(), scratch_.data());
  std::vector<double> ignored(tr_.parameters.width());
  event.guard->vjp_jvp(record.t, y, in.p, &one, te_dot, y_dot, p_dot_, nullptr, &g_t.dot, g_x_dot_.data(),
                       ignored.data(), scratch_.data());
  const auto h_component = [&](const std::vector<double>& seed, const std::vector<double>& seed_dot) {
    Moving t, h;
    std::vector<double> x(n_), x_dot(n_), p(tr_.parameters.width());
    replay_.step_vjp(in, seed.data(), {&t.v, &h.v, x.data(), p.data()});
    replay_.step_vjp_jvp(in, in_dot, seed.data(), seed_dot.data(), {&t.dot, &h.dot, x_dot.data(), p.data()});
    return h;
  };
  Moving G_h = h_component(g_x_, g_x_dot_);
  G_h += g_t;
  Moving total = h_component(y_bar_, y_bar_dot_);
  total += h_bar_;
  total += time_bar_;
  const Moving s{-total.v / G_h.v, -(total.dot - total.v / G_h.v * G_h.dot) / G_h.v};

  // y_bar += s g_x, p_bar += s g_p
  double ignored_time = 0;
  event.guard->vjp_jvp(record.t, y, in.p, &s.v, te_dot, y_dot, p_dot_, &s.dot, &ignored_time,
                       y_bar_dot_.data(), p_bar_dot(), scratch_.data());
  for (int i = 0; i < n_; ++i) y_bar_[i] += s.v * g_x_[i];
  step_transposed(in, in_dot, y_bar_, y_bar_dot_);
  t_bar_ += time_bar_;
  t_bar_ += {s.v * g_t.v, s.dot * g_t.v + s.v * g_t.dot};
}

Gradient Sweep::run() {
  const std::vector<Segment> segments = segments_of(tr_);
  for (std::size_t i = segments.size(); i-- > 0;) {
    enter(segments[i].row);
    if (segments[i].ends_in_event)
      segment_to_event(segments[i]);
    else
      segment_to_end(segments[i]);
  }
  Gradient out = zero_gradient(tr_, "tangent of the discrete adjoint of " + tr_.method);
  out.x0.assign(lambda_dot_.begin(), lambda_dot_.begin() + tr_.user_states);
  out.t0 = time_bar_.dot + t0_bar_.dot;
  out.t1 = t1_bar_.dot;
  add_rows(tr_, rows_bar_dot_, out);
  return out;
}

}  // namespace

Gradient hessian_vector(const Solution& solution, const Loss& loss, const InputTangent& direction) {
  return finite(Sweep(solution, loss, direction).run());
}

std::vector<double> hessian(const Solution& solution, const Loss& loss) {
  const Trajectory& tr = solution.trajectory();
  const std::size_t n = tr.user_states, m = n + tr.parameters.parameters(),
                    size = m + tr.parameters.control_values();
  std::vector<double> h(size * size);
  for (std::size_t j = 0; j < size; ++j) {
    InputTangent direction{.y0 = std::vector<double>(n, 0.0),
                           .p = std::vector<double>(m - n, 0.0),
                           .controls = std::vector<double>(size - m, 0.0)};
    (j < n ? direction.y0[j] : j < m ? direction.p[j - n] : direction.controls[j - m]) = 1;
    const Gradient column = hessian_vector(solution, loss, direction);
    const std::span<const double> p = column.parameters.values(0);
    for (std::size_t i = 0; i < size; ++i)
      h[i * size + j] = i < n ? column.x0[i] : i < m ? p[i - n] : column.controls[i - m];
  }
  return h;
}

}  // namespace costate::ode
