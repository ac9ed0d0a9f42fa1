#include "costate/learn/learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "costate/core/error.h"
#include "costate/core/philox.h"

namespace costate::learn {
namespace {

// Streams of random numbers of one seed.
enum Stream : std::uint64_t { kStarts, kNoise, kPolicy, kCritic, kShuffle, kStreams };
// Added to the stream of the policy's weights, and to the stream of starts.
constexpr std::uint64_t kMemory = 0x6d656d6f7279, kVariation = 0x7661727969;
std::uint64_t stream(std::uint64_t seed, Stream of) { return seed * kStreams + of; }

constexpr std::size_t kRemembered = 100;  // episodes

std::vector<int> layers(std::int64_t inputs, const std::vector<int>& hidden, std::int64_t outputs) {
  std::vector<int> sizes{int(inputs)};
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  sizes.push_back(int(outputs));
  return sizes;
}

void check(const LearnOptions& o) {
  const auto expect = [](bool good, const char* what, const char* advice) {
    if (!good) throw Error({what, "", advice});
  };
  expect(o.worlds >= 1 && o.horizon >= 1, "learning needs worlds, and a horizon of at least one decision",
         "set worlds and horizon to 1 or more");
  expect(o.steps >= 1, "learning for no steps", "set steps to 1 or more");
  expect(o.discount > 0 && o.discount < 1, "the discount lies between 0 and 1, both excluded",
         "0.99 is usual");
  expect(o.lambda >= 0 && o.lambda <= 1, "lambda lies between 0 and 1", "0.95 is usual");
  expect(o.memory >= 0, "a memory of fewer than no numbers", "set memory to 0 for none");
  expect(o.memory == 0 || o.method == "shac", "a memory learns by gradients through time, which ppo has not",
         "use shac, or set memory to 0");
  const bool fixed = o.shortest <= 0 && o.longest <= 0;
  expect(fixed || (o.shortest >= 1 && o.shortest <= o.horizon && o.horizon <= o.longest),
         "a horizon that is not between the shortest and the longest", "set shortest <= horizon <= longest");
  expect(o.shortest >= o.longest || o.method == "shac",
         "a horizon adapts to how cotangents grow, which ppo has not",
         "use shac, or leave shortest and longest out");
  expect(o.stretch > 0 && o.dual_rate > 0, "stretch and dual_rate are positive", "1.1 and 0.1 are usual");
  expect(o.edge >= 0, "an edge narrower than nothing",
         "set edge to 0: gradients do not see where episodes end");
  expect(o.edge == 0 || o.method == "shac", "ppo has no gradient that could see an edge",
         "use shac, or leave edge out");
  expect(o.noise > 0, "the noise of a policy is positive", "0.4 is usual");
  expect(o.rate > 0 && o.critic_rate > 0, "rates are positive", "0.002 is usual");
  expect(o.critic_batches >= 1 && o.batches >= 1, "a pass needs at least one batch", "4 is usual");
  expect(o.target >= 0 && o.target < 1, "a critic that follows keeps a part of itself below 1",
         "0.2 is usual");
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double e : v) sum += e;
  return v.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / double(v.size());
}

}  // namespace

std::vector<double> start_of(const Task& task, std::uint64_t seed, std::int64_t world, std::int64_t episode) {
  std::vector<double> x = task.start;
  const std::uint64_t key = stream(seed, kStarts);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](std::size_t index) { return std::uint32_t(index); };
    if (!task.uniform.empty())
      x[i] +=
          task.uniform[i] * (2 * uniform(key, std::uint32_t(world), std::uint64_t(episode), at(2 * i)) - 1);
    if (!task.normal.empty())
      x[i] += task.normal[i] * normal(key, std::uint32_t(world), std::uint64_t(episode), at(2 * i + 1));
  }
  return x;
}

void Learner::Adam::step(std::vector<double>& x, const std::vector<double>& gradient, double rate,
                         const LearnOptions& options) {
  k[0] += 1;
  const optim::AdamOptions adam{.beta1 = options.beta1, .beta2 = options.beta2};
  optim::adam_moments(adam, gradient, m, v);
  optim::adam_step(adam, k[0], rate, m, v, x, x);
}

Learner::Learner(const Task& task, const LearnOptions& options)
    : task_(task),
      options_((check(options), options)),
      functions_(task),
      n_(task.plant->signature().states()),
      m_(task.plant->signature().controls()),
      worlds_(options.worlds),
      variation_(task, options.worlds),
      policy_{DenseNetwork<double>(layers(functions_.observations() + options.memory, options.hidden, m_)),
              {},
              Normaliser(functions_.observations()),
              task.lower,
              task.upper},
      critic_(layers(functions_.observations(), options.critic, 1)),
      moments_(options.horizon) {
  policy_.parameters = policy_.network.first_weights(stream(options.seed, kPolicy), 0.1);
  policy_.parameters.resize(policy_.parameters.size() + std::size_t(m_), std::log(options.noise));
  if (options.memory > 0) {
    policy_.memory.emplace(int(functions_.observations()), options.memory);
    const std::vector<double> w = policy_.memory->first_weights(stream(options.seed, kPolicy) + kMemory);
    policy_.parameters.insert(policy_.parameters.end(), w.begin(), w.end());
  }
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

void Learner::start(std::int64_t w) {
  const std::vector<double> x = start_of(task_, options_.seed, w, std::int64_t(episode_[w]));
  std::copy(x.begin(), x.end(), x_.begin() + w * n_);
  variation_.draw(stream(options_.seed, kStarts) + kVariation, w, std::int64_t(episode_[w]));
  std::fill_n(h_.begin() + w * options_.memory, options_.memory, 0.0);
  episode_[w] += 1;
  elapsed_[w] = return_[w] = 0;
}

std::vector<double> Learner::observed(const std::vector<double>& x) {
  const std::int64_t rows = std::int64_t(x.size()) / n_;
  std::vector<double> o(std::size_t(rows * functions_.observations()));
  functions_.observe(rows, x.data(), o.data());
  return o;
}
std::vector<double> Learner::normalised(const std::vector<double>& o) const {
  std::vector<double> n(o.size());
  policy_.seen.apply(o.data(), std::int64_t(o.size()) / functions_.observations(), n.data());
  return n;
}

void Learner::act(Moment& at) {
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

void Learner::advance(std::int64_t t) {
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
    ended_returns_.push_back(return_[w]), ended_lengths_.push_back(elapsed_[w]);
    start(w);
  }
  for (auto* list : {&ended_returns_, &ended_lengths_})
    if (list->size() > kRemembered) list->erase(list->begin(), list->end() - kRemembered);
  steps_ += worlds_;
}

void Learner::collect() {
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

void Learner::evaluate_critics() {
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

void Learner::find_weights() {
  weights_.assign(std::size_t(horizon() * worlds_), 1.0 / double(horizon() * worlds_));
  for (std::int64_t t = 1; t < horizon(); ++t) {
    for (std::int64_t w = 0; w < worlds_; ++w)
      if (moments_[t - 1].end[w] == 0)
        weights_[t * worlds_ + w] = options_.discount * weights_[(t - 1) * worlds_ + w];
  }
}

double Learner::objective() const {
  double sum = 0;
  for (std::size_t t = 0; t < moments_.size(); ++t) {
    const Moment& at = moments_[t];
    for (std::int64_t w = 0; w < worlds_; ++w)
      sum += weights_[t * std::size_t(worlds_) + w] *
             (at.r[w] + (at.end[w] > 0 ? options_.discount * at.next[w] : 0));
  }
  return sum;
}

std::vector<double> Learner::targets() const {
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

double Learner::train_critic(const std::vector<double>& targets) {
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

void Learner::move(std::vector<double>& gradient) {
  double square = 0;
  for (const double g : gradient) square += g * g;
  gradient_norm_ = std::sqrt(square);
  if (!std::isfinite(gradient_norm_)) return;  // a step without meaning is not taken
  if (gradient_norm_ > options_.gradient_limit)
    for (double& g : gradient) g *= options_.gradient_limit / gradient_norm_;
  policy_adam_.step(policy_.parameters, gradient, rate_now(options_.rate), options_);
}

Learned Learner::iterate() {
  collect();
  const std::int64_t of_horizon = horizon();
  evaluate_critics();
  find_weights();
  std::vector<double> gradient = improve();
  if (!gradient.empty()) move(gradient);
  const double error = train_critic(targets());
  for (const Moment& at : moments_) policy_.seen.see(at.o);
  ++iteration_;
  history_.push_back({iteration_, steps_, mean(ended_returns_), mean(ended_lengths_), objective(), error,
                      gradient_norm_, of_horizon});
  return history_.back();
}

std::int64_t Learner::iterations() const {
  const std::int64_t each = options_.worlds * horizon(),
                     left = std::max<std::int64_t>(0, options_.steps - steps_);
  return iteration_ + (left + each - 1) / each;
}

template <class Self, class Visit>
void Learner::visit(Self& s, const Visit& visit) {
  for (auto* v :
       {&s.policy_.parameters, &s.policy_.seen.mean, &s.policy_.seen.square, &s.critic_weights_, &s.follower_,
        &s.policy_adam_.m, &s.policy_adam_.v, &s.policy_adam_.k, &s.critic_adam_.m, &s.critic_adam_.v,
        &s.critic_adam_.k, &s.x_, &s.h_, &s.elapsed_, &s.episode_, &s.return_, &s.duals_, &s.reaching_})
    visit(*v);
}

std::vector<double> Learner::memory() const {
  std::vector<double> all{double(steps_), double(iteration_), policy_.seen.count,
                          double(ended_returns_.size())};
  all.insert(all.end(), ended_returns_.begin(), ended_returns_.end());
  all.insert(all.end(), ended_lengths_.begin(), ended_lengths_.end());
  visit(*this, [&](const std::vector<double>& v) { all.insert(all.end(), v.begin(), v.end()); });
  return all;
}

void Learner::restore(const std::vector<double>& memory) {
  std::size_t size = 4, at = 4;
  visit(*this, [&](const std::vector<double>& v) { size += v.size(); });
  const double ended = memory.size() < 4 ? -1 : memory[3];
  if (!(ended >= 0 && ended <= double(kRemembered)) || memory.size() != size + 2 * std::size_t(ended))
    throw Error({"this is not the memory of such a learner", "",
                 "resume with the task and options it was made with"});
  const auto take = [&](std::vector<double>& v) {
    std::copy_n(memory.begin() + std::ptrdiff_t(at), v.size(), v.begin());
    at += v.size();
  };
  steps_ = std::int64_t(memory[0]), iteration_ = std::int64_t(memory[1]), policy_.seen.count = memory[2];
  ended_returns_.resize(std::size_t(ended)), ended_lengths_.resize(std::size_t(ended));
  take(ended_returns_), take(ended_lengths_);
  visit(*this, take);
  for (std::int64_t w = 0; w < worlds_; ++w)  // as the episode that goes on began
    variation_.draw(stream(options_.seed, kStarts) + kVariation, w, std::int64_t(episode_[w]) - 1);
}

std::unique_ptr<Learner> make_learner(const Task& task, const LearnOptions& options) {
  if (options.method == "shac") return make_shac(task, options);
  if (options.method == "ppo") return make_ppo(task, options);
  throw Error({"no method of learning is called " + options.method, "", "use shac or ppo"});
}

Scores evaluate(const Task& task, const Policy& policy, std::int64_t worlds, std::uint64_t seed) {
  TaskFunctions functions(task);
  const std::int64_t n = task.plant->signature().states();
  Rollout<double> rollout(task.plant, {.steps = task.hold,
                                       .worlds = worlds,
                                       .hold = task.hold,
                                       .active = {},
                                       .on_divergence = OnDivergence::mask_world});
  Arguments<double> at = rollout.arguments();
  at.x0.clear();
  Variation variation(task, worlds);
  for (std::int64_t w = 0; w < worlds; ++w) {
    variation.draw(stream(seed, kStarts) + kVariation, w, 0);
    const std::vector<double> x = start_of(task, seed, w, 0);
    at.x0.insert(at.x0.end(), x.begin(), x.end());
  }
  at.parameters = variation.parameters();
  Scores scores{std::vector<double>(std::size_t(worlds), 0.0), std::vector<double>(std::size_t(worlds), 0.0)};
  std::vector<double> o(std::size_t(worlds * functions.observations())), r(scores.returns), alive(r),
      running(r.size(), 1.0), h(std::size_t(worlds * policy.remembered()));
  for (std::int64_t k = 0; k < task.decisions; ++k) {
    functions.observe(worlds, at.x0.data(), o.data());
    at.controls = policy.act(o, h);
    const Trajectory<double> to = rollout.simulate(at);
    std::vector<double> y = to.final_state;
    for (const std::int64_t w : to.diverged) std::copy_n(at.x0.begin() + w * n, n, y.begin() + w * n);
    functions.alive(worlds, y.data(), alive.data());
    for (const std::int64_t w : to.diverged) alive[w] = 0;
    functions.reward(worlds, at.x0.data(), at.controls.data(), y.data(), alive.data(), r.data());
    double any = 0;
    for (std::int64_t w = 0; w < worlds; ++w) {
      scores.returns[w] += running[w] * r[w];
      scores.lengths[w] += running[w];
      running[w] *= alive[w];
      any += running[w];
    }
    if (any == 0) break;
    at.x0 = y;
  }
  return scores;
}

}  // namespace costate::learn
