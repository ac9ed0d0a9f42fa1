// Implicit differentiation where a System without noise comes to rest: x = step(x, p).
//
//   dL/dp = l_p + (step_p)' lambda,   lambda = l_x + (step_x)' lambda
//
// The steps of the rollout lead there; lambda is iterated with the transpose of the one step at the end, so
// the memory is that of one state. Nothing of the way there is differentiated.
#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/scored_system.h"

namespace costate::estimate {

template <class Real>
Sampled fixed_point(const Question<Real>& q) {
  const auto* scored = dynamic_cast<const ScoredSystem<Real>*>(q.system.get());
  if (scored && scored->no_score("").empty())
    refuse("a system with noise never comes to rest", "use reinforce for its equilibrium");
  if (q.objective.next(0, q.options.steps) != q.options.steps)
    refuse("the loss has terms before the last step", "use a loss of the final state");
  const System<Real>& system = *q.system;
  BlockWalk<Real> walk(system, q.options, q.at, 1);
  walk.begin(0);
  while (walk.k() < q.options.steps) walk.step();
  walk.require_finite();

  const std::int64_t n = system.state_size(), np = system.parameter_size();
  const int lanes = walk.lanes();
  const Activity active{std::vector<bool>(system.signature().fields(Role::parameter).size(), true), true};
  AlignedBuffer<Real> y(n), l_x(n), lambda(n), next(n), p_bar(np), dropped(np);
  const StepContext at{q.options.steps, 0, q.options.seed};
  Inputs<Real> in = walk.in();
  system.step(at, in, y.data(), nullptr, walk.work());
  double apart = 0, scale = 0;
  for (std::int64_t i = 0; i < n; i += lanes) {
    apart = std::max(apart, std::abs(double(y.data()[i]) - double(in.x[i])));
    scale = std::max(scale, std::abs(double(in.x[i])));
  }
  const double gate = (sizeof(Real) == 8 ? 1e-9 : 1e-4) * std::max(1.0, scale);
  if (apart > gate)
    throw Error({"the state still moves by " + number(apart, 3) + " per step after " +
                     std::to_string(q.options.steps) + " steps: it is not a fixed point",
                 "estimate::gradient", "take more steps"},
                Error::Kind::numerics);
  std::vector<double> value(std::size_t(lanes), 0.0);
  std::fill_n(l_x.data(), n, Real(0));
  std::fill_n(p_bar.data(), np, Real(0));
  q.objective.value(walk.at(), value.data());
  q.objective.vjp(walk.at(), {l_x.data(), nullptr, p_bar.data()});
  std::copy_n(l_x.data(), n, lambda.data());
  constexpr int kMost = 200'000;
  double change = 1, size = 1;
  int iterations = 0;
  for (; iterations < kMost && change > 1e-14 * size; ++iterations) {
    std::fill_n(dropped.data(), np, Real(0));
    system.step_vjp(at, in, nullptr, lambda.data(), {next.data(), nullptr, dropped.data()}, active,
                    walk.work());
    change = 0, size = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Real updated = l_x.data()[i] + next.data()[i];
      change = std::max(change, std::abs(double(updated) - double(lambda.data()[i])));
      size = std::max(size, std::abs(double(updated)));
      lambda.data()[i] = updated;
    }
    if (!std::isfinite(size)) break;
  }
  if (!std::isfinite(size) || change > 1e-8 * std::max(size, 1e-300))
    throw Error({"the adjoint of the fixed point does not converge: a step there is not a contraction",
                 "estimate::gradient", "add friction, or use pathwise"},
                Error::Kind::numerics);
  system.step_vjp(at, in, nullptr, lambda.data(), {next.data(), nullptr, p_bar.data()}, active, walk.work());
  Sampled out{.method = Method::implicit, .value = value[0], .names = q.wanted.names, .samples = 1};
  out.effective_samples = 1;
  for (const std::int64_t number_of : q.wanted.numbers)
    out.gradient.push_back(double(p_bar.data()[number_of * lanes]));
  out.standard_error.assign(q.wanted.size(), 0.0);
  out.label =
      "a fixed point; exact there, whatever the way to it (" + std::to_string(iterations) + " iterations)";
  return out;
}

template Sampled fixed_point(const Question<float>&);
template Sampled fixed_point(const Question<double>&);

}  // namespace costate::estimate
