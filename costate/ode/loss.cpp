#include "costate/ode/loss.h"

#include <algorithm>

#include "costate/core/error.h"
#include "costate/ode/fields/linear_control.h"

namespace costate::ode {

LeastSquares::LeastSquares(std::vector<double> times, std::vector<double> data, std::vector<double> weights)
    : times_(std::move(times)), data_(std::move(data)), weights_(std::move(weights)) {
  if (data_.size() != times_.size() * weights_.size()) {
    throw Error(
        {"least squares: " + std::to_string(data_.size()) + " data for " + std::to_string(times_.size()) +
             " times and " + std::to_string(weights_.size()) + " states",
         "", "give one weight per state (zero for one that is not observed) and one row of data per time"});
  }
}

double LeastSquares::value(std::size_t k, const double* x, const double*) const {
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double residual = weights_[i] * (x[i] - data_[k * weights_.size() + i]);
    sum += residual * residual;
  }
  return 0.5 * sum;
}

void LeastSquares::gradient(std::size_t k, const double* x, const double*, double* x_bar, double*) const {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    x_bar[i] += weights_[i] * weights_[i] * (x[i] - data_[k * weights_.size() + i]);
  }
}

void LeastSquares::gradient_jvp(std::size_t, const double*, const double*, const double* x_dot, const double*,
                                double* x_bar_dot, double*) const {
  if (!x_dot) return;
  for (std::size_t i = 0; i < weights_.size(); ++i) x_bar_dot[i] += weights_[i] * weights_[i] * x_dot[i];
}

std::vector<SamplePlace> place_samples(const Replay& replay, const Trajectory& trajectory,
                                       const std::vector<double>& times) {
  std::vector<SamplePlace> places;
  const double sign = trajectory.t1 >= trajectory.t0 ? 1 : -1;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const double t = times[k];
    if (sign * t < sign * trajectory.t0 || sign * t > sign * trajectory.t1 ||
        (k > 0 && sign * t < sign * times[k - 1])) {
      throw Error({"sample time " + std::to_string(t) + " is outside the solution or out of order", "",
                   "sort the times, and keep them between t0 and t1"});
    }
    const long step = replay.step_at(t);
    const StepRecord& record = trajectory.steps[step];
    places.push_back({step, record.h == 0 ? 0.0 : (t - record.t) / record.h});
  }
  return places;
}

Loss with_controls(const Loss& loss, const Trajectory& tr) {
  if (!tr.parameters.linear()) return loss;
  const LinearControl control = linear_control_of(tr.parameters);
  Loss out = loss;
  out.final = with_linear_control(loss.final, control);
  out.samples = with_linear_control(loss.samples, tr.user_states, control);
  return out;
}

LossDerivatives evaluate(const Solution& solution, const Loss& given) {
  const Trajectory& tr = solution.trajectory();
  const Loss loss = with_controls(given, tr);
  const std::size_t width = tr.parameters.width();
  const std::size_t n = tr.user_states;
  LossDerivatives out;
  out.rows_bar = tr.parameters.zeros();
  out.cotangents.final.assign(n, 0.0);
  if (loss.final) {
    if (loss.final->outputs() != 1) throw Error({"the final cost must have one output", "", ""});
    std::vector<double> scratch(loss.final->scratch_size());
    const double one = 1;
    const int last = tr.last_row();
    loss.final->value(tr.t1, tr.final.data(), tr.parameters.row(last), &out.value, scratch.data());
    loss.final->vjp(tr.t1, tr.final.data(), tr.parameters.row(last), &one, &out.cotangents.end_time,
                    out.cotangents.final.data(), out.rows_bar.data() + last * width, scratch.data());
  }
  if (tr.quadrature) {
    out.value += loss.integral_weight * solution.integral;
    out.cotangents.integral = loss.integral_weight;
  }
  if (!loss.samples) return out;
  const std::vector<double>& times = loss.samples->times();
  out.cotangents.sample_times = times;
  out.cotangents.samples.assign(times.size() * n, 0.0);
  out.sample_states.resize(times.size() * n);
  Replay replay(tr);
  std::vector<double> x(tr.states());
  const std::vector<SamplePlace> places = place_samples(replay, tr, times);
  for (std::size_t k = 0; k < times.size(); ++k) {
    const StepInput in = replay.input(places[k].step);
    replay.interpolate(in, places[k].theta, x.data());
    std::copy_n(x.begin(), n, out.sample_states.begin() + static_cast<std::ptrdiff_t>(k * n));
    const int row = tr.steps[places[k].step].row;
    out.value += loss.samples->value(k, x.data(), in.p);
    loss.samples->gradient(k, x.data(), in.p, out.cotangents.samples.data() + k * n,
                           out.rows_bar.data() + row * width);
  }
  return out;
}

}  // namespace costate::ode
