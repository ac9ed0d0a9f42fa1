// The smoothed loss: the parameters are drawn from a normal density around where they are, and the average of
// the loss over it is differentiated (costate/system/estimators.h has the formulas). It needs neither noise
// in the system nor a score, and is bounded where trajectories part.
//
//   first_order    the derivative of every sample's own trajectory: blind to jumps
//   zeroth_order   from values alone
//   mixed_order    both, weighted by their variances where they agree
//
// Where the system has noise of its own, it is averaged over too.
#include <limits>

#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/estimators.h"

namespace costate::estimate {

template <class Real>
Sampled smoothed(const Question<Real>& q, Method method) {
  if (std::int64_t(q.at.x0.size()) != q.system->signature().states())
    refuse("smoothed estimates take one start for all samples", "use pathwise");
  if (!(q.sampling.sigma > 0) || !std::isfinite(q.sampling.sigma))
    refuse("sigma is " + number(q.sampling.sigma), "give a positive number, relative to the parameters");
  const std::int64_t samples = std::max<std::int64_t>(4, q.sampling.samples / 2 * 2);
  if (samples > std::numeric_limits<int>::max()) refuse("these are too many samples of a smoothed loss");
  const Order order = method == Method::first_order    ? Order::first
                      : method == Method::zeroth_order ? Order::zeroth
                                                       : Order::mixed;
  const Estimate<Real> e = smoothed_gradient<Real>(q.system, q.options, q.at, q.objective,
                                                   {.sigma = q.sampling.sigma,
                                                    .samples = int(samples),
                                                    .seed = q.options.seed,
                                                    .controls = false,
                                                    .parameters = q.sampling.parameters},
                                                   order);
  Sampled out{.method = method};
  out.value = e.gradient.value, out.value_error = e.value_error;
  out.names = q.wanted.names;
  for (const std::size_t f : q.wanted.fields)
    for (const Real g : e.gradient.parameters.values(f)) out.gradient.push_back(double(g));
  out.standard_error = e.errors;
  out.samples = samples;
  out.effective_samples = double(samples);
  out.memory_bytes = e.gradient.report.memory_bytes;
  out.growth_rate = e.gradient.report.growth_rate;
  out.advice = e.gradient.report.advice;
  out.label =
      "finite horizon, of the loss smoothed by sigma " + number(q.sampling.sigma, 3) + "; bias O(sigma^2)";
  if (order == Order::first) out.label += "; unbiased where the loss has no jumps";
  if (order == Order::mixed) out.label += "; " + number(e.first_order_share, 3) + " of it by first order";
  return out;
}

template Sampled smoothed(const Question<float>&, Method);
template Sampled smoothed(const Question<double>&, Method);

}  // namespace costate::estimate
