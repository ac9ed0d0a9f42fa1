// CMA-ES on the weights of a policy (optim/cma_es.h): a generation of policies is drawn about a mean, each
// plays whole episodes without noise, and the mean follows those that came furthest. It asks neither for
// gradients nor for rewards of single decisions: the yardstick for methods that do.
//
//   score of policy k = mean return of `worlds`/population episodes (one at least), the same starts for all
//
// The policy that is kept is the mean. Its covariance is full, so networks must be small: hidden = [8]. What
// the policies saw moves the statistics of observations after each generation, as in [1].
//
// [1] Mania, Guy, Recht: Simple random search provides a competitive approach to reinforcement learning,
//     NeurIPS 2018.
// Tests: tests/learn/evolution_test.cpp.
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/learn/learner.h"
#include "costate/learn/streams.h"
#include "costate/optim/cma_es.h"

namespace costate::learn {
namespace {

constexpr std::size_t kMostWeights = 1000;  // roots of their covariance take seconds beyond

class Evolution final : public Learner {
 public:
  Evolution(const Task& task, const LearnOptions& options) : Learner(task, options) {
    if (searched(policy_).size() > kMostWeights)
      throw Error({"cma_es keeps a covariance of all weights, and this policy has " +
                       std::to_string(searched(policy_).size()),
                   "", "give it a smaller network: hidden = [8]"});
  }

  bool done() const override { return ended_ || Learner::done(); }
  std::int64_t iterations() const override {
    if (done()) return iteration_;
    if (steps_ == 0) return 1;
    const double left = double(options_.steps - steps_), each = double(steps_) / double(iteration_);
    return iteration_ + std::int64_t(std::ceil(left / each));
  }

  Learned iterate() override {
    const optim::CmaEsOptions options{
        .sigma = options_.noise,
        .population = options_.population,
        .seed = stream(options_.seed, kNoise),
        .stopping = {.max_iterations = state_.iteration + 1, .gradient_tolerance = 0}};
    Normaliser seen = policy_.seen;
    const optim::ValuesOfPoints play_all = [&](const double* points, int count, double* values) {
      play_generation(points, count, values, seen);
    };
    const optim::Result found = optim::minimize(play_all, searched(policy_), options, &state_);
    ended_ = found.stop != optim::Stop::iterations;
    put(state_.x.data(), policy_);
    policy_.seen = seen;
    ++iteration_;
    return record({.objective = -state_.value, .horizon = task_.decisions});
  }

  std::vector<double> memory() const override {
    std::vector<double> all = head();
    all.insert(all.end(), {state_.value, state_.best_value, state_.sigma, double(state_.iteration),
                           double(state_.evaluations)});
    visit(*this, [&](const std::vector<double>& v) {
      all.push_back(double(v.size()));
      all.insert(all.end(), v.begin(), v.end());
    });
    return all;
  }

  void restore(const std::vector<double>& memory) override {
    std::size_t at = head_size(memory);
    const auto next = [&] {
      if (at >= memory.size()) refuse_memory();
      return memory[at++];
    };
    optim::CmaEsState state = state_;
    state.value = next(), state.best_value = next(), state.sigma = next();
    state.iteration = int(next()), state.evaluations = long(next());
    std::vector<std::vector<double>> parts;
    visit(*this, [&](const std::vector<double>&) {
      const double size = next();
      if (!(size >= 0 && size <= double(memory.size() - at))) refuse_memory();
      const auto from = memory.begin() + std::ptrdiff_t(at);
      parts.emplace_back(from, from + std::ptrdiff_t(size));
      at += std::size_t(size);
    });
    const auto fits = [&](std::size_t i, const std::vector<double>& now) {
      return parts[i].size() == now.size();
    };
    if (at != memory.size() || !fits(0, policy_.parameters) || !fits(1, policy_.seen.mean) ||
        !fits(2, policy_.seen.square))
      refuse_memory();
    restore_head(memory);
    state_ = state;
    std::size_t i = 0;
    visit(*this, [&](std::vector<double>& v) { v = parts[i++]; });
  }

 private:
  // What is searched: all parameters but the noise, which no episode here has.
  static std::vector<double> searched(const Policy& policy) {
    std::vector<double> w = policy.parameters;
    const auto noise = w.begin() + policy.network.weights();
    w.erase(noise, noise + policy.controls());
    return w;
  }
  static void put(const double* w, Policy& policy) {
    const std::int64_t network = policy.network.weights(), after = network + policy.controls();
    std::copy_n(w, network, policy.parameters.begin());
    std::copy(w + network, w + std::ptrdiff_t(policy.parameters.size()) - policy.controls(),
              policy.parameters.begin() + after);
  }

  void play_generation(const double* points, int count, double* values, Normaliser& seen) {
    const std::int64_t each = std::max<std::int64_t>(1, options_.worlds / count),
                       size = functions_.observations();
    const std::size_t width = policy_.parameters.size() - std::size_t(m_);
    std::vector<Policy> policies(std::size_t(count), policy_);
    for (int k = 0; k < count; ++k) put(points + std::size_t(k) * width, policies[std::size_t(k)]);
    std::vector<std::vector<double>> h(policies.size(),
                                       std::vector<double>(std::size_t(each * policy_.remembered())));
    const Act act = [&](const std::vector<double>& o, const std::vector<double>& running) {
      std::vector<double> u, of_running;
      for (std::size_t k = 0; k < policies.size(); ++k) {
        const auto rows = o.begin() + std::ptrdiff_t(k) * each * size;
        const std::vector<double> its = policies[k].act({rows, rows + each * size}, h[k]);
        u.insert(u.end(), its.begin(), its.end());
      }
      for (std::size_t w = 0; w < running.size(); ++w)
        if (running[w] > 0)
          of_running.insert(of_running.end(), o.begin() + std::ptrdiff_t(w) * size,
                            o.begin() + std::ptrdiff_t(w + 1) * size);
      seen.see(of_running);
      return u;
    };
    const Scores scores =
        play(task_, {.worlds = count * each, .different = each, .seed = options_.seed, .episode = iteration_},
             act);
    std::fill_n(values, count, 0.0);
    for (std::int64_t w = 0; w < count * each; ++w) {
      values[w / each] -= scores.returns[std::size_t(w)] / double(each);
      steps_ += std::int64_t(scores.lengths[std::size_t(w)]);
      episode_ended(scores.returns[std::size_t(w)], scores.lengths[std::size_t(w)]);
    }
  }

  template <class Self, class Visit>
  static void visit(Self& s, const Visit& visit) {
    for (auto* v : {&s.policy_.parameters, &s.policy_.seen.mean, &s.policy_.seen.square, &s.state_.x,
                    &s.state_.gradient, &s.state_.best_x, &s.state_.sigma_path, &s.state_.covariance_path,
                    &s.state_.covariance, &s.state_.recent})
      visit(*v);
  }

  optim::CmaEsState state_;
  bool ended_ = false;  // the cloud has shrunk to nothing
};

}  // namespace

std::unique_ptr<Learner> make_cma_es(const Task& task, const LearnOptions& options) {
  return std::make_unique<Evolution>(task, options);
}

}  // namespace costate::learn
