// The continuous adjoint: the adjoint equation lambda' = -(df/dx)' lambda, solved backwards by steps of its
// own.
//
//   discrete (pathwise)   lambda_k = (d step / dx)(x_k)'     lambda_(k+1) + l_x(x_k)
//   continuous            lambda_k = (d step / dx)(x_(k+1))' lambda_(k+1) + l_x(x_k)
//
// A step of the adjoint equation begins at x_(k+1), so that is where an explicit method linearises. It is not
// the derivative of the steps that were taken: it differs from it by O(dt), however exact the motion is. It
// is here to be compared with, because "optimise, then discretise" is what many programs do.
#include "costate/core/text.h"
#include "costate/estimate/samples.h"

namespace costate::estimate {
namespace {

// What the terms of the loss at the state of this moment add to its value and to both cotangents.
template <class Real>
void add_terms(const Question<Real>& q, BlockWalk<Real>& walk, double* loss, Real* x_bar, Real* p_bar) {
  if (q.objective.next(walk.k(), q.options.steps) != walk.k()) return;
  if (loss) q.objective.value(walk.at(), loss);
  if (x_bar) q.objective.vjp(walk.at(), {x_bar, nullptr, p_bar});
}

}  // namespace

template <class Real>
Sampled continuous(const Question<Real>& q) {
  const System<Real>& system = *q.system;
  if (system.signature().controls() > 0)
    refuse("the continuous adjoint is that of systems without controls", "use pathwise");
  const std::size_t width = q.wanted.size();
  const std::int64_t samples = q.sampling.samples, steps = q.options.steps;
  const std::int64_t n = system.state_size(), np = system.parameter_size();
  const Activity active{std::vector<bool>(system.signature().fields(Role::parameter).size(), true), true};
  std::vector<double> values(std::size_t(samples), 0.0), rows(std::size_t(samples) * width, 0.0);
  each_block(system, q.options, q.at, samples, [&](BlockWalk<Real>& walk) {
    const int lanes = walk.lanes();
    AlignedBuffer<Real> states((steps + 1) * n), lambda(n), next(n), p_bar(np);
    std::vector<double> loss(std::size_t(lanes), 0.0);
    for (;; walk.step()) {
      std::copy_n(walk.in().x, n, states.data() + walk.k() * n);
      add_terms<Real>(q, walk, loss.data(), nullptr, nullptr);
      if (walk.k() == steps) break;
    }
    walk.require_finite();
    std::fill_n(lambda.data(), n, Real(0));
    std::fill_n(p_bar.data(), np, Real(0));
    add_terms<Real>(q, walk, nullptr, lambda.data(), p_bar.data());
    while (walk.k() > 0) {
      const Inputs<Real> in = walk.in();  // x_(k+1), where the step of lambda begins
      const StepContext at{walk.k() - 1, walk.first(), q.options.seed};
      system.step_vjp(at, in, nullptr, lambda.data(), {next.data(), nullptr, p_bar.data()}, active,
                      walk.work());
      std::swap(lambda, next);
      walk.back_to(walk.k() - 1, states.data() + (walk.k() - 1) * n);
      add_terms<Real>(q, walk, nullptr, lambda.data(), p_bar.data());
    }
    for (int l = 0; l < walk.live(); ++l) {
      const auto sample = std::size_t(walk.first() + l);
      values[sample] = loss[std::size_t(l)];
      for (std::size_t i = 0; i < width; ++i)
        rows[sample * width + i] = double(p_bar.data()[q.wanted.numbers[i] * lanes + l]);
    }
  });
  Sampled out{.method = Method::continuous};
  fill(out, q.wanted, values, rows);
  out.memory_bytes = (steps + 1) * n * std::int64_t(sizeof(Real));
  out.label = "finite horizon; biased O(dt): the adjoint equation is solved by steps of its own";
  out.advice.push_back("pathwise costs the same and is the derivative of the steps that were taken");
  return out;
}

template Sampled continuous(const Question<float>&);
template Sampled continuous(const Question<double>&);

}  // namespace costate::estimate
