#include "costate/ode/adjoints/forward_sensitivity.h"

#include <algorithm>
#include <numeric>

#include "costate/core/error.h"
#include "costate/ode/fields/linear_control.h"

namespace costate::ode {
namespace {

// One pass over the steps with several tangents: the stages of a step are computed once for all of them.
class Pass {
 public:
  Pass(const Trajectory& trajectory, const std::vector<InputTangent>& directions,
       const std::vector<double>& times, TangentTrace* trace);
  std::vector<OutputTangent> run();

 private:
  struct Direction {
    std::vector<double> rows_dot;  // of Trajectory::parameters; empty: zero
    const double* p_dot;           // its row in this segment
    double t0, t1;
    double from, to;           // rates of the segment's ends; of `to` where no event decides it
    double t = 0, h = 0;       // of the current step
    std::vector<double> x, y;  // at its start and end
    OutputTangent out;
  };
  void enter(const Segment& segment);
  void set_times(const Segment& segment, long k);
  void event_step(long k, const StepInput& in);
  void samples_of(long k, const StepInput& in);
  StepTangent tangent(const Direction& d) const { return {d.t, d.h, d.x.data(), d.p_dot}; }

  const Trajectory& tr_;
  Replay replay_;
  const int n_;
  std::vector<SamplePlace> samples_;
  std::size_t next_sample_ = 0;
  std::vector<Direction> directions_;
  std::vector<double> step_h_, g_x_, scratch_;
  TangentTrace* trace_;
};

Pass::Pass(const Trajectory& trajectory, const std::vector<InputTangent>& directions,
           const std::vector<double>& times, TangentTrace* trace)
    : tr_(trajectory), replay_(trajectory), n_(trajectory.width()), trace_(trace) {
  samples_ = place_samples(replay_, trajectory, times);
  step_h_.resize(n_);
  g_x_.resize(n_);
  std::size_t scratch = 0;
  for (const Event& e : trajectory.guards) {
    scratch = std::max({scratch, e.guard->scratch_size(), e.jump ? e.jump->scratch_size() : 0});
  }
  scratch_.resize(scratch);
  for (const InputTangent& in : directions) {
    if ((!in.y0.empty() && int(in.y0.size()) != trajectory.user_states) ||
        (!in.p.empty() && in.p.size() != trajectory.parameters.parameters()) ||
        (!in.controls.empty() && in.controls.size() != trajectory.parameters.control_values())) {
      throw Error({"a direction does not fit the solution", "ode::sensitivities",
                   "y0: one per state, p: one per parameter, controls: one per value, or empty"});
    }
    Direction d{.rows_dot = trajectory.parameters.tangent(in.p.empty() ? nullptr : in.p.data(),
                                                          in.controls.empty() ? nullptr : in.controls.data(),
                                                          in.t0, in.t1),
                .p_dot = nullptr,
                .t0 = in.t0,
                .t1 = in.t1,
                .from = in.t0,
                .to = in.t1,
                .x = in.y0,
                .y = {},
                .out = {}};
    d.x.resize(n_, 0.0);
    d.y.resize(n_, 0.0);
    directions_.push_back(std::move(d));
  }
}

void Pass::enter(const Segment& segment) {
  for (Direction& d : directions_) {
    d.to = (1 - segment.fraction) * d.t0 + segment.fraction * d.t1;
    if (!d.rows_dot.empty()) d.p_dot = d.rows_dot.data() + segment.row * tr_.parameters.width();
  }
}

void Pass::set_times(const Segment& segment, long k) {
  const StepRecord& step = tr_.steps[k];
  const bool restarted = tr_.dt > 0 && segment.starts_at_event;
  for (Direction& d : directions_) {
    if (segment.ends_in_event || restarted) {
      d.t = d.from;
      d.h = restarted && !segment.ends_in_event && k == segment.last ? d.to - d.from : 0.0;
    } else {
      const double length = segment.to - segment.from;
      // An empty span: h is t1 - t0 itself.
      const double s = length != 0 ? (step.t - segment.from) / length : 0,
                   w = length != 0 ? step.h / length : 1;
      d.t = (1 - s) * d.from + s * d.to;
      d.h = w * (d.to - d.from);
    }
  }
}

void Pass::event_step(long k, const StepInput& in) {
  const EventRecord& record = tr_.events[tr_.steps[k].event];
  const Event& event = tr_.guards[record.event];
  const double* y = record.before.data();
  replay_.step_jvp(in, {0, 1, nullptr, nullptr}, step_h_.data());
  double g_t = 0;
  const double one = 1;
  std::fill(g_x_.begin(), g_x_.end(), 0.0);
  event.guard->vjp(record.t, y, in.p, &one, &g_t, g_x_.data(), nullptr, scratch_.data());
  const double G_h = g_t + std::inner_product(g_x_.begin(), g_x_.end(), step_h_.begin(), 0.0);
  if (G_h == 0) {
    throw Error({"the guard of event \"" + event.name + "\" has no rate at t = " + std::to_string(record.t),
                 "ode::sensitivities", "the event grazes; move away from tangency"},
                Error::Kind::numerics);
  }
  for (Direction& d : directions_) {
    double g_dot = 0;
    event.guard->jvp(record.t, y, in.p, d.t, d.y.data(), d.p_dot, &g_dot, scratch_.data());
    d.h = -g_dot / G_h;
    for (int i = 0; i < n_; ++i) d.y[i] += d.h * step_h_[i];
    d.out.event_times.push_back(d.t + d.h);
  }
}

void Pass::samples_of(long k, const StepInput& in) {
  for (; next_sample_ < samples_.size() && samples_[next_sample_].step == k; ++next_sample_) {
    const double theta = samples_[next_sample_].theta;
    for (Direction& d : directions_) {
      if (in.h == 0) {
        std::copy_n(d.x.begin(), n_, step_h_.begin());
      } else {
        const double theta_dot = -(d.t + theta * d.h) / in.h;
        replay_.stepper().interpolate_jvp(in, tangent(d), theta, theta_dot, step_h_.data());
      }
      d.out.samples.insert(d.out.samples.end(), step_h_.begin(), step_h_.begin() + tr_.user_states);
    }
  }
}

std::vector<OutputTangent> Pass::run() {
  std::vector<double> after(n_);
  for (const Segment& segment : segments_of(tr_)) {
    enter(segment);
    for (long k = segment.first; k <= segment.last; ++k) {
      const StepInput in = replay_.input(k);
      set_times(segment, k);
      for (Direction& d : directions_) replay_.step_jvp(in, tangent(d), d.y.data());
      const bool at_event = tr_.steps[k].event >= 0;
      if (at_event) event_step(k, in);
      if (trace_) {
        trace_->steps.push_back({directions_[0].t, directions_[0].h});
        trace_->start.insert(trace_->start.end(), directions_[0].x.begin(), directions_[0].x.end());
        if (at_event) trace_->events.push_back({directions_[0].out.event_times.back(), directions_[0].y});
      }
      samples_of(k, in);
      for (Direction& d : directions_) {
        std::swap(d.x, d.y);
        if (!at_event) continue;
        const EventRecord& record = tr_.events[tr_.steps[k].event];
        const Event& event = tr_.guards[record.event];
        d.from = d.out.event_times.back();
        if (!event.jump) continue;
        event.jump->jvp(record.t, record.before.data(), in.p, d.from, d.x.data(), d.p_dot, after.data(),
                        scratch_.data());
        std::copy_n(after.begin(), tr_.user_states, d.x.begin());
      }
    }
    if (segment.ends_in_event) continue;
    for (Direction& d : directions_) d.from = d.to;
  }
  const bool ended_by_event = !tr_.steps.empty() && tr_.steps.back().event >= 0;
  std::vector<OutputTangent> out;
  if (trace_) trace_->final = directions_[0].x;
  for (Direction& d : directions_) {
    d.out.end_time = ended_by_event ? d.out.event_times.back() : d.t1;
    if (tr_.quadrature) d.out.integral = d.x[tr_.states() - 1];
    d.out.final.assign(d.x.begin(), d.x.begin() + tr_.user_states);
    out.push_back(std::move(d.out));
  }
  return out;
}

}  // namespace

std::vector<OutputTangent> sensitivities(const Solution& solution,
                                         const std::vector<InputTangent>& directions,
                                         const std::vector<double>& sample_times) {
  return Pass(solution.trajectory(), directions, sample_times, nullptr).run();
}

TangentTrace trace_tangent(const Solution& solution, const InputTangent& direction,
                           const std::vector<double>& sample_times) {
  TangentTrace trace;
  const std::vector<InputTangent> directions = {direction};
  trace.output = Pass(solution.trajectory(), directions, sample_times, &trace).run()[0];
  return trace;
}

std::vector<double> parameters_at(const Solution& solution, double t) {
  const ParameterRows& rows = solution.trajectory().parameters;
  const double* row = rows.row(rows.row_at(t));
  if (!rows.linear()) return {row, row + rows.width()};
  std::vector<double> p(rows.parameters() + rows.controls());
  linear_control_of(rows).value(t, row, p.data());
  return p;
}

std::vector<double> parameter_tangent_at(const Solution& solution, const InputTangent& in, double t) {
  const ParameterRows& rows = solution.trajectory().parameters;
  const std::vector<double> table = rows.tangent(
      in.p.empty() ? nullptr : in.p.data(), in.controls.empty() ? nullptr : in.controls.data(), in.t0, in.t1);
  if (table.empty()) return {};
  const int k = rows.row_at(t);
  const double* row_dot = table.data() + k * rows.width();
  if (!rows.linear()) return {row_dot, row_dot + rows.width()};
  std::vector<double> p_dot(rows.parameters() + rows.controls());
  linear_control_of(rows).jvp(t, rows.row(k), 0, row_dot, p_dot.data());
  return p_dot;
}

namespace {

std::vector<InputTangent> unit_directions(const Trajectory& tr) {
  std::vector<InputTangent> directions;
  for (int i = 0; i < tr.user_states; ++i) {
    InputTangent d;
    d.y0.assign(tr.user_states, 0.0);
    d.y0[i] = 1;
    directions.push_back(d);
  }
  for (std::size_t i = 0; i < tr.parameters.parameters(); ++i) {
    InputTangent d;
    d.p.assign(tr.parameters.parameters(), 0.0);
    d.p[i] = 1;
    directions.push_back(d);
  }
  for (std::size_t i = 0; i < tr.parameters.control_values(); ++i) {
    InputTangent d;
    d.controls.assign(tr.parameters.control_values(), 0.0);
    d.controls[i] = 1;
    directions.push_back(d);
  }
  return directions;
}

}  // namespace

std::vector<double> final_state_jacobian(const Solution& solution) {
  const Trajectory& tr = solution.trajectory();
  const std::vector<OutputTangent> columns = sensitivities(solution, unit_directions(tr));
  std::vector<double> jacobian(tr.user_states * columns.size());
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (int i = 0; i < tr.user_states; ++i) jacobian[i * columns.size() + j] = columns[j].final[i];
  }
  return jacobian;
}

Gradient forward_gradient(const Solution& solution, const Loss& loss) {
  const Trajectory& tr = solution.trajectory();
  const LossDerivatives l = evaluate(solution, loss);
  std::vector<InputTangent> directions = unit_directions(tr);
  directions.push_back({.t0 = 1});
  directions.push_back({.t1 = 1});
  const std::vector<OutputTangent> tangents = sensitivities(solution, directions, l.cotangents.sample_times);
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  std::vector<double> rates;
  for (const OutputTangent& out : tangents) {
    rates.push_back(product(out.final, l.cotangents.final) + product(out.samples, l.cotangents.samples) +
                    out.integral * l.cotangents.integral + out.end_time * l.cotangents.end_time);
  }
  Gradient g = zero_gradient(tr, "forward sensitivities of " + tr.method);
  g.value = l.value;
  g.x0.assign(rates.begin(), rates.begin() + tr.user_states);
  const auto controls = rates.begin() + tr.user_states + std::ptrdiff_t(tr.parameters.parameters());
  std::copy(rates.begin() + tr.user_states, controls, g.parameters.values(0).begin());
  g.controls.assign(controls, rates.end() - 2);
  g.t0 = rates[rates.size() - 2];
  g.t1 = rates.back();
  add_rows(tr, l.rows_bar, g);
  return finite(std::move(g));
}

}  // namespace costate::ode
