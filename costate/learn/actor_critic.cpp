#include "costate/learn/actor_critic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "costate/core/philox.h"
#include "costate/learn/streams.h"

namespace costate::learn {

void ActorCritic::Adam::step(std::vector<double>& x, const std::vector<double>& gradient, double rate,
                             const LearnOptions& options) {
  k[0] += 1;
  const optim::AdamOptions adam{.beta1 = options.beta1, .beta2 = options.beta2};
  optim::adam_moments(adam, gradient, m, v);
  optim::adam_step(adam, k[0], rate, m, v, x, x);
}

ActorCritic::ActorCritic(const Task& task, const LearnOptions& options)
    : Learner(task, options),
      worlds_(options.worlds),
      variation_(task, options.worlds),
      critic_(layers(functions_.observations(), options.critic, 1)),
      moments_(options.horizon) {
  critic_weights_ = critic_.first_weights(stream(options.seed, kCritic), 0.1);
  follower_ = critic_weights_;
  policy_adam_.m.assign(policy_.parameters.size(), 0.0), policy_adam_.v = policy_adam_.m;
  critic_adam_.m.assign(critic_weights_.size(), 0.0), critic_adam_.v = critic_adam_.m;
  policy_adam_.k.assign(1, 0.0), critic_adam_.k.assign(1, 0.0);
  for (auto* of_world : {&elapsed_, &episode_, &return_}) of_world->assign(std::size_t(worlds_), 0.0);
  if (adapts()) duals_.assign(std::size_t(options.longest), 0.0), reaching_ = {double(options.horizon)};
  x_.resize(std::size_t(worlds_ * n_)), h_.resize(std::size_t(worlds_ * options.memory));
  for (std::int64_t w = 0; w < worlds_; ++w) start(w);
}

void ActorCritic::start(std::int64_t w) {
  const std::vector<double> x = start_of(task_, options_.seed, w, std::int64_t(episode_[w]));
  std::copy(x.begin(), x.end(), x_.begin() + w * n_);
  variation_.draw(stream(options_.seed, kStarts) + kVariation, w, std::int64_t(episode_[w]));
  std::fill_n(h_.begin() + w * options_.memory, options_.memory, 0.0);
  episode_[w] += 1;
  elapsed_[w] = return_[w] = 0;
}

std::vector<double> ActorCritic::observed(const std::vector<double>& x) {
  const std::int64_t rows = std::int64_t(x.size()) / n_;
  std::vector<double> o(std::size_t(rows * functions_.observations()));
  functions_.observe(rows, x.data(), o.data());
  return o;
}
std::vector<double> ActorCritic::normalised(const std::vector<double>& o) const {
  std::vector<double> n(o.size());
  policy_.seen.apply(o.data(), std::int64_t(o.size()) / functions_.observations(), n.data());
  return n;
}

void ActorCritic::act(Moment& at) {
  at.x = x_;
  at.o = observed(at.x);
  at.n = normalised(at.o);
  at.z.resize(std::size_t(worlds_ * m_));
  at.e.resize(at.z.size()), at.u.resize(at.z.size());
  policy_.forward(worlds_, at.n.data(), h_, at.z.data(), at.pass);
  for (std::int64_t k = 0; k < worlds_ * m_; ++k) {
    const std::int64_t i = k % m_;
    at.e[k] = normal(stream(options_.seed, kNoise), std::uint32_t(k / m_), std::uint64_t(steps_ / worlds_),
                     std::uint32_t(i));
    at.z[k] += std::exp(policy_.log_noise(i)) * at.e[k];
    at.u[k] = policy_.middle(i) + policy_.half(i) * std::tanh(at.z[k]);
  }
}

void ActorCritic::advance(std::int64_t t) {
  Moment& at = moments_[t];
  Rollout<double>& rollout = rollouts_[needs_gradients() ? t : 0];
  Arguments<double> arguments = rollout.arguments();
  arguments.x0 = at.x;
  arguments.controls = at.u;
  arguments.parameters = variation_.parameters();
  const Trajectory<double> to = needs_gradients() ? rollout.forward(arguments) : rollout.simulate(arguments);
  at.y = to.final_state;
  at.r.resize(std::size_t(worlds_)), at.alive.resize(at.r.size()), at.end.assign(at.r.size(), 0.0);
  for (const std::int64_t w : to.diverged)  // ends where it stood
    std::copy_n(at.x.begin() + w * n_, n_, at.y.begin() + w * n_);
  functions_.alive(worlds_, at.y.data(), at.alive.data());
  for (const std::int64_t w : to.diverged) at.alive[w] = 0;
  functions_.reward(worlds_, at.x.data(), at.u.data(), at.y.data(), at.alive.data(), at.r.data());
  x_ = at.y;
  for (std::int64_t w = 0; w < worlds_; ++w) {
    elapsed_[w] += 1;
    return_[w] += at.r[w];
    if (at.alive[w] > 0 && elapsed_[w] < double(task_.decisions)) continue;
    at.end[w] = 1;
    episode_ended(return_[w], elapsed_[w]);
    start(w);
  }
  steps_ += worlds_;
}

void ActorCritic::collect() {
  if (adapts()) moments_.resize(std::size_t(std::llround(reaching_[0])));
  const RolloutOptions options{.steps = task_.hold,
                               .worlds = worlds_,
                               .hold = task_.hold,
                               .active = {},
                               .on_divergence = OnDivergence::mask_world};
  while (std::int64_t(rollouts_.size()) < (needs_gradients() ? horizon() : 1))
    rollouts_.emplace_back(task_.plant, options);
  for (std::int64_t t = 0; t < horizon(); ++t) {
    act(moments_[t]);
    advance(t);
  }
  std::fill(moments_.back().end.begin(), moments_.back().end.end(), 1.0);
}

void ActorCritic::evaluate_critics() {
  NetworkPass<double> pass;
  for (Moment& at : moments_) {
    at.value.resize(std::size_t(worlds_)), at.beyond.resize(std::size_t(worlds_));
    critic_.forward(critic_weights_, worlds_, at.n.data(), at.value.data(), pass);
    const std::vector<double> n = normalised(observed(at.y));
    critic_.forward(follower_, worlds_, n.data(), at.beyond.data(), pass);
    for (double& v : at.value) v /= 1 - options_.discount;
    for (double& v : at.beyond) v /= 1 - options_.discount;
    at.next = at.beyond;
    for (std::int64_t w = 0; w < worlds_; ++w) at.next[w] *= at.alive[w];
  }
}

void ActorCritic::find_weights() {
  weights_.assign(std::size_t(horizon() * worlds_), 1.0 / double(horizon() * worlds_));
  for (std::int64_t t = 1; t < horizon(); ++t) {
    for (std::int64_t w = 0; w < worlds_; ++w)
      if (moments_[t - 1].end[w] == 0)
        weights_[t * worlds_ + w] = options_.discount * weights_[(t - 1) * worlds_ + w];
  }
}

double ActorCritic::objective() const {
  double sum = 0;
  for (std::size_t t = 0; t < moments_.size(); ++t) {
    const Moment& at = moments_[t];
    for (std::int64_t w = 0; w < worlds_; ++w)
      sum += weights_[t * std::size_t(worlds_) + w] *
             (at.r[w] + (at.end[w] > 0 ? options_.discount * at.next[w] : 0));
  }
  return sum;
}

std::vector<double> ActorCritic::targets() const {
  const double gamma = options_.discount, lambda = options_.lambda;
  std::vector<double> all(moments_.size() * std::size_t(worlds_));
  for (std::int64_t t = std::int64_t(moments_.size()) - 1; t >= 0; --t) {
    const Moment& at = moments_[t];
    for (std::int64_t w = 0; w < worlds_; ++w) {
      const double later =
          at.end[w] > 0 ? at.next[w] : (1 - lambda) * at.next[w] + lambda * all[(t + 1) * worlds_ + w];
      all[t * worlds_ + w] = at.r[w] + gamma * later;
    }
  }
  return all;
}

double ActorCritic::train_critic(const std::vector<double>& targets) {
  const std::int64_t size = functions_.observations(), count = std::int64_t(targets.size());
  const std::int64_t batch = (count + options_.critic_batches - 1) / options_.critic_batches;
  std::vector<double> n, out, bar, gradient;
  NetworkPass<double> pass;
  double error = 0;
  for (int p = 0; p < options_.critic_passes; ++p) {
    error = 0;
    // A stride that has no factor in common with the number of samples visits each of them once.
    std::int64_t stride = 1 + std::int64_t(uniform(stream(options_.seed, kShuffle), std::uint32_t(p),
                                                   std::uint64_t(iteration_)) *
                                           double(count - 1));
    while (std::gcd(stride, count) != 1) ++stride;
    for (std::int64_t first = 0; first < count; first += batch) {
      const std::int64_t rows = std::min(batch, count - first);
      n.resize(std::size_t(rows * size)), out.resize(std::size_t(rows)), bar.resize(std::size_t(rows));
      const auto sample = [&](std::int64_t i) { return (first + i) * stride % count; };
      for (std::int64_t i = 0; i < rows; ++i) {
        const Moment& at = moments_[sample(i) / worlds_];
        std::copy_n(at.n.begin() + sample(i) % worlds_ * size, size, n.begin() + i * size);
      }
      critic_.forward(critic_weights_, rows, n.data(), out.data(), pass);
      for (std::int64_t i = 0; i < rows; ++i) {
        const double off = out[i] - targets[sample(i)] * (1 - options_.discount);
        bar[i] = 2 * off / double(rows);
        error += off * off;
      }
      gradient.assign(critic_weights_.size(), 0.0);
      critic_.backward(critic_weights_, bar.data(), nullptr, gradient.data(), pass);
      critic_adam_.step(critic_weights_, gradient, rate_now(options_.critic_rate), options_);
    }
  }
  for (std::size_t i = 0; i < follower_.size(); ++i)
    follower_[i] = options_.target * follower_[i] + (1 - options_.target) * critic_weights_[i];
  return std::sqrt(error / double(count)) / (1 - options_.discount);
}

void ActorCritic::move(std::vector<double>& gradient) {
  double square = 0;
  for (const double g : gradient) square += g * g;
  gradient_norm_ = std::sqrt(square);
  if (!std::isfinite(gradient_norm_)) return;  // a step without meaning is not taken
  if (gradient_norm_ > options_.gradient_limit)
    for (double& g : gradient) g *= options_.gradient_limit / gradient_norm_;
  policy_adam_.step(policy_.parameters, gradient, rate_now(options_.rate), options_);
}

Learned ActorCritic::iterate() {
  collect();
  const std::int64_t of_horizon = horizon();
  evaluate_critics();
  find_weights();
  std::vector<double> gradient = improve();
  if (!gradient.empty()) move(gradient);
  const double error = train_critic(targets());
  for (const Moment& at : moments_) policy_.seen.see(at.o);
  ++iteration_;
  return record({.objective = objective(),
                 .critic_error = error,
                 .gradient_norm = gradient_norm_,
                 .horizon = of_horizon});
}

std::int64_t ActorCritic::iterations() const {
  const std::int64_t each = options_.worlds * horizon(),
                     left = std::max<std::int64_t>(0, options_.steps - steps_);
  return iteration_ + (left + each - 1) / each;
}

template <class Self, class Visit>
void ActorCritic::visit(Self& s, const Visit& visit) {
  for (auto* v :
       {&s.policy_.parameters, &s.policy_.seen.mean, &s.policy_.seen.square, &s.critic_weights_, &s.follower_,
        &s.policy_adam_.m, &s.policy_adam_.v, &s.policy_adam_.k, &s.critic_adam_.m, &s.critic_adam_.v,
        &s.critic_adam_.k, &s.x_, &s.h_, &s.elapsed_, &s.episode_, &s.return_, &s.duals_, &s.reaching_})
    visit(*v);
}

std::vector<double> ActorCritic::memory() const {
  std::vector<double> all = head();
  visit(*this, [&](const std::vector<double>& v) { all.insert(all.end(), v.begin(), v.end()); });
  return all;
}

void ActorCritic::restore(const std::vector<double>& memory) {
  std::size_t size = 0, at = head_size(memory);
  visit(*this, [&](const std::vector<double>& v) { size += v.size(); });
  if (memory.size() != at + size) refuse_memory();
  restore_head(memory);
  visit(*this, [&](std::vector<double>& v) {
    std::copy_n(memory.begin() + std::ptrdiff_t(at), v.size(), v.begin());
    at += v.size();
  });
  for (std::int64_t w = 0; w < worlds_; ++w)  // as the episode that goes on began
    variation_.draw(stream(options_.seed, kStarts) + kVariation, w, std::int64_t(episode_[w]) - 1);
}

}  // namespace costate::learn
