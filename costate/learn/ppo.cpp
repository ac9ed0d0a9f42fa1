// PPO: proximal policy optimisation [1], without gradients of the physics: the yardstick for those that use
// them.
//
//   A_t = d_t + gamma lambda A_{t+1},   d_t = r_t + gamma V'(y_t) - V(x_t)       generalised advantages
//   L   = -mean min(rho A, clip(rho, 1 - c, 1 + c) A),   rho = p(z | new policy)/p(z | the policy that acted)
//   log p = -sum_i [ (z_i - network_i)^2/(2 exp(2 s_i)) + s_i ] + constant           (tanh drops out of rho)
//
// [1] Schulman et al.: Proximal Policy Optimization Algorithms, arXiv 1707.06347.
// Tests: tests/learn/learner_test.cpp.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/core/philox.h"
#include "costate/learn/actor_critic.h"

namespace costate::learn {
namespace {

class Ppo final : public ActorCritic {
 public:
  Ppo(const Task& task, const LearnOptions& options) : ActorCritic(task, options) {}

 private:
  bool needs_gradients() const override { return false; }

  std::vector<double> improve() override {
    find_advantages();
    const std::int64_t count = options_.horizon * worlds_, size = functions_.observations();
    const std::int64_t batch = (count + options_.batches - 1) / options_.batches;
    for (int p = 0; p < options_.passes; ++p) {
      std::int64_t stride =
          1 + std::int64_t(uniform(options_.seed, std::uint32_t(p), std::uint64_t(iteration())) *
                           double(count - 1));
      while (std::gcd(stride, count) != 1) ++stride;
      for (std::int64_t first = 0; first < count; first += batch) {
        samples_.clear(), n_rows_.clear();
        for (std::int64_t i = first; i < std::min(first + batch, count); ++i) {
          samples_.push_back(i * stride % count);
          const Moment& at = moments_[samples_.back() / worlds_];
          const auto row = at.n.begin() + samples_.back() % worlds_ * size;
          n_rows_.insert(n_rows_.end(), row, row + size);
        }
        std::vector<double> gradient = batch_gradient();
        move(gradient);
      }
    }
    return {};
  }

  void find_advantages() {
    const std::int64_t horizon = options_.horizon;
    advantage_.assign(std::size_t(horizon * worlds_), 0.0);
    old_.assign(advantage_.size(), 0.0);
    for (std::int64_t t = horizon - 1; t >= 0; --t) {
      const Moment& at = moments_[t];
      for (std::int64_t w = 0; w < worlds_; ++w) {
        const double later = at.end[w] > 0 ? 0 : advantage_[(t + 1) * worlds_ + w];
        advantage_[t * worlds_ + w] = at.r[w] + options_.discount * at.next[w] - at.value[w] +
                                      options_.discount * options_.lambda * later;
        for (std::int64_t i = 0; i < m_; ++i)
          old_[t * worlds_ + w] -= 0.5 * at.e[w * m_ + i] * at.e[w * m_ + i] + policy_.log_noise(i);
      }
    }
    double mean = 0, square = 0;
    for (const double a : advantage_) mean += a / double(advantage_.size());
    for (const double a : advantage_) square += (a - mean) * (a - mean) / double(advantage_.size());
    for (double& a : advantage_) a = (a - mean) / (std::sqrt(square) + 1e-8);
  }

  std::vector<double> batch_gradient() {
    const std::int64_t rows = std::int64_t(samples_.size()), weights = policy_.network.weights();
    std::vector<double> out(std::size_t(rows * m_)), bar(out.size(), 0.0),
        gradient(policy_.parameters.size(), 0.0);
    const std::span<const double> w{policy_.parameters.data(), std::size_t(weights)};
    policy_.network.forward(w, rows, n_rows_.data(), out.data(), pass_);
    for (std::int64_t k = 0; k < rows; ++k) {
      const std::int64_t sample = samples_[k];
      const double* const z = moments_[sample / worlds_].z.data() + sample % worlds_ * m_;
      double log_p = 0;
      for (std::int64_t i = 0; i < m_; ++i) {
        const double e = (z[i] - out[k * m_ + i]) * std::exp(-policy_.log_noise(i));
        log_p -= 0.5 * e * e + policy_.log_noise(i);
      }
      const double ratio = std::exp(log_p - old_[sample]), a = advantage_[sample];
      const bool clipped = a > 0 ? ratio > 1 + options_.clip : ratio < 1 - options_.clip;
      if (clipped) continue;
      const double log_p_bar = -ratio * a / double(rows);
      for (std::int64_t i = 0; i < m_; ++i) {
        const double inverse = std::exp(-policy_.log_noise(i)), e = (z[i] - out[k * m_ + i]) * inverse;
        bar[k * m_ + i] = log_p_bar * e * inverse;
        gradient[weights + i] += log_p_bar * (e * e - 1);
      }
    }
    policy_.network.backward(w, bar.data(), nullptr, gradient.data(), pass_);
    return gradient;
  }

  std::vector<double> advantage_, old_, n_rows_;
  std::vector<std::int64_t> samples_;
  NetworkPass<double> pass_;
};

}  // namespace

std::unique_ptr<Learner> make_ppo(const Task& task, const LearnOptions& options) {
  return std::make_unique<Ppo>(task, options);
}

}  // namespace costate::learn
