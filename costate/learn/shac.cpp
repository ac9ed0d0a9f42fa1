// SHAC: short-horizon actor-critic [1]. The gradient of a policy through the physics, over pieces that are
// short enough for it to carry a signal; a critic says what comes after.
//
//   L = -1/(N H) sum over worlds and pieces [ sum_k gamma^k r_k + gamma^h V'(y_{h-1}) ]
//
// A piece ends with the horizon, where an episode is cut off, and where it ends: there V' = 0. Transpose,
// with lambda the cotangent of the state before decision t:
//
//   y_ = lambda_{t+1}, or gamma^h V'_y where a piece ends;      (x_, u_, y_) += gamma^k (r_x, r_u, r_y)
//   (x_, u_) += (y_x', y_u') y_     Rollout::backward
//   z_ = half (1 - tanh^2 z) u_;   s_ += exp(s) e z_;   (w_, n_) = network' z_;   x_ += o_x' n_/deviation
//
// The cotangent of a memory goes back through the decisions of a piece, and ends where the piece begins or an
// episode ended.
//
// An adaptive horizon [2] keeps gradients away from where physics is stiff. The constraint on decision t of a
// piece, with s_t the root mean square over worlds of |y_x' y_|/|y_|, and its dual variable:
//
//   s_t <= stretch;     phi_t <- phi_t + dual_rate log(s_t/stretch), between -1 and 1
//   H <- H - mean of phi_t over the decisions of the piece, between shortest and longest
//
// [2] bounds the norm of the step's Jacobian, which in its code is the contact force. Here it is measured
// where it acts, on the cotangent that comes by, which costs nothing; its logarithm is counted, and the dual
// is bounded, so that one stiff contact does not hold the horizon down for long.
//
// Where an episode ends is a jump of the return, which the derivatives above do not see: an edge, m(y) = 0 of
// the task's `alive`, with a lot on one side and nothing on the other. The expectation over starts and noise
// has a derivative there all the same, how dense the states are at the edge times how fast they move across
// it times what is lost. With a kernel of width w for the density, k = s (1 - s), s = 1/(1 + exp(-m/w)), each
// decision adds
//
//   y_ -= gamma^k (r(alive) - r(ended) + gamma V'(y)) k(m/w)/w m_y         `edge` is w; without it, none
//
// [1] Xu et al.: Accelerated Policy Learning with Parallel Differentiable Simulation, ICLR 2022.
// [2] Georgiev et al.: Adaptive Horizon Actor-Critic for Policy Learning in Contact-Rich Differentiable
//     Simulation, ICML 2024.
// Tests: tests/learn/learner_test.cpp (the gradient against differences).
#include <algorithm>
#include <cmath>

#include "costate/learn/actor_critic.h"

namespace costate::learn {
namespace {

class Shac final : public ActorCritic {
 public:
  Shac(const Task& task, const LearnOptions& options) : ActorCritic(task, options) {}

 private:
  bool needs_gradients() const override { return true; }

  std::vector<double> improve() override {
    std::vector<double> gradient(policy_.parameters.size(), 0.0), x_bar;
    h_bar_.assign(std::size_t(worlds_ * policy_.remembered()), 0.0);
    for (std::int64_t t = horizon() - 1; t >= 0; --t) x_bar = moment_vjp(t, x_bar, gradient);
    if (adapts()) adapt();
    return gradient;
  }

  void adapt() {
    double sum = 0;
    for (std::size_t t = 0; t < std::size_t(horizon()); ++t) {
      duals_[t] += options_.dual_rate * std::log(stretched_[t] / options_.stretch);
      duals_[t] = std::clamp(duals_[t], -1.0, 1.0);
      sum += duals_[t];
    }
    reaching_[0] = std::clamp(reaching_[0] - sum / double(horizon()), double(options_.shortest),
                              double(options_.longest));
  }

  // By how much a decision stretches the cotangents of its worlds.
  void measure(std::int64_t t, const std::vector<double>& y_bar, const std::vector<double>& x_bar) {
    double squares = 0, count = 0;
    for (std::int64_t w = 0; w < worlds_; ++w) {
      double before = 0, after = 0;
      for (std::int64_t i = w * n_; i < (w + 1) * n_; ++i)
        before += y_bar[i] * y_bar[i], after += x_bar[i] * x_bar[i];
      if (!(before > 0) || !std::isfinite(after)) continue;
      squares += after / before, count += 1;
    }
    stretched_.resize(std::max<std::size_t>(stretched_.size(), std::size_t(horizon())));
    stretched_[t] = count > 0 && squares > 0 ? std::sqrt(squares / count) : options_.stretch;
  }

  // From the cotangent of the states after decision t to that of the states before it.
  std::vector<double> moment_vjp(std::int64_t t, std::vector<double> y_bar, std::vector<double>& gradient) {
    Moment& at = moments_[t];
    const double* const weight = weights_.data() + t * worlds_;
    std::vector<double> x_bar(std::size_t(worlds_ * n_), 0.0), u_bar(std::size_t(worlds_ * m_), 0.0),
        r_bar(std::size_t(worlds_), 0.0);
    y_bar.resize(x_bar.size(), 0.0);
    value_vjp(t, y_bar);
    edge_vjp(t, y_bar);
    for (std::int64_t w = 0; w < worlds_; ++w) r_bar[w] = -weight[w];
    functions_.reward_vjp(worlds_, at.x.data(), at.u.data(), at.y.data(), at.alive.data(), r_bar.data(),
                          x_bar.data(), u_bar.data(), y_bar.data());
    limit(y_bar, weight);
    const Gradient<double> through =
        rollouts_[t].backward(*loss::cotangents<double>(task_.plant->signature(), {task_.hold}, {y_bar}));
    if (adapts()) measure(t, y_bar, through.x0);
    for (std::size_t i = 0; i < x_bar.size(); ++i) x_bar[i] += through.x0[i];
    for (std::size_t i = 0; i < u_bar.size(); ++i) u_bar[i] += through.controls[i];
    policy_vjp(at, u_bar, gradient, x_bar);
    return x_bar;
  }

  // Where a piece ends, what comes after is the critic's; nothing passes to the piece behind it.
  void value_vjp(std::int64_t t, std::vector<double>& y_bar) {
    Moment& at = moments_[t];
    std::vector<double> bar(std::size_t(worlds_), 0.0);
    bool any = false;
    for (std::int64_t w = 0; w < worlds_; ++w) {
      if (at.end[w] == 0) continue;
      std::fill_n(y_bar.begin() + w * n_, n_, 0.0);
      bar[w] = -weights_[t * worlds_ + w] * options_.discount * at.alive[w] / (1 - options_.discount);
      any |= bar[w] != 0;
    }
    if (!any) return;
    std::vector<double> value(bar.size()), n = normalised(observed(at.y)), n_bar(n.size());
    critic_.forward(follower_, worlds_, n.data(), value.data(), critic_pass_);
    critic_.backward(follower_, bar.data(), n_bar.data(), nullptr, critic_pass_);
    add_observed(at.y, n_bar, y_bar);
  }

  // What would be lost over the edge, or was.
  void edge_vjp(std::int64_t t, std::vector<double>& y_bar) {
    if (options_.edge == 0 || !functions_.ends()) return;
    const Moment& at = moments_[t];
    const std::size_t count = std::size_t(worlds_);
    const std::vector<double> yes(count, 1.0), no(count, 0.0);
    std::vector<double> margin(count), on(count), off(count), bar(count);
    functions_.margin(worlds_, at.y.data(), margin.data());
    functions_.reward(worlds_, at.x.data(), at.u.data(), at.y.data(), yes.data(), on.data());
    functions_.reward(worlds_, at.x.data(), at.u.data(), at.y.data(), no.data(), off.data());
    for (std::size_t w = 0; w < count; ++w) {
      const double a = std::tanh(0.5 * margin[w] / options_.edge),
                   density = 0.25 * (1 - a * a) / options_.edge,
                   lost = on[w] - off[w] + options_.discount * at.beyond[w];
      bar[w] = -weights_[std::size_t(t) * count + w] * lost * density;
    }
    functions_.margin_vjp(worlds_, at.y.data(), bar.data(), y_bar.data());
  }

  void policy_vjp(Moment& at, const std::vector<double>& u_bar, std::vector<double>& gradient,
                  std::vector<double>& x_bar) {
    std::vector<double> z_bar(u_bar.size()), n_bar(at.n.size());
    for (std::int64_t k = 0; k < worlds_ * m_; ++k) {
      const double a = std::tanh(at.z[k]);
      z_bar[k] = policy_.half(k % m_) * (1 - a * a) * u_bar[k];
      gradient[policy_.network.weights() + k % m_] +=
          std::exp(policy_.log_noise(k % m_)) * at.e[k] * z_bar[k];
    }
    const std::int64_t m = policy_.remembered();
    for (std::int64_t w = 0; w < worlds_; ++w)  // what comes after is another piece, or another episode
      if (at.end[w] > 0) std::fill_n(h_bar_.begin() + w * m, m, 0.0);
    policy_.backward(z_bar.data(), h_bar_, n_bar.data(), gradient.data(), at.pass);
    add_observed(at.x, n_bar, x_bar);
  }

  void add_observed(const std::vector<double>& x, std::vector<double>& n_bar, std::vector<double>& x_bar) {
    const std::size_t size = std::size_t(functions_.observations());
    for (std::size_t i = 0; i < n_bar.size(); ++i) n_bar[i] /= policy_.seen.deviation(i % size);
    functions_.observe_vjp(worlds_, x.data(), n_bar.data(), x_bar.data());
  }

  // Cotangents that a contact has blown up count for `adjoint_limit` times the weight of their reward.
  void limit(std::vector<double>& y_bar, const double* weight) const {
    for (std::int64_t w = 0; w < worlds_; ++w) {
      double square = 0;
      for (std::int64_t i = 0; i < n_; ++i) square += y_bar[w * n_ + i] * y_bar[w * n_ + i];
      const double norm = std::sqrt(square), most = options_.adjoint_limit * weight[w];
      if (!std::isfinite(norm)) {
        std::fill_n(y_bar.begin() + w * n_, n_, 0.0);
      } else if (most > 0 && norm > most) {
        for (std::int64_t i = 0; i < n_; ++i) y_bar[w * n_ + i] *= most / norm;
      }
    }
  }

  NetworkPass<double> critic_pass_;
  std::vector<double> h_bar_;      // of the memories after a decision
  std::vector<double> stretched_;  // of each decision
};

}  // namespace

std::unique_ptr<Learner> make_shac(const Task& task, const LearnOptions& options) {
  return std::make_unique<Shac>(task, options);
}

}  // namespace costate::learn
