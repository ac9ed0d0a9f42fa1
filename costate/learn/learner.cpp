#include "costate/learn/learner.h"

#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/learn/streams.h"

namespace costate::learn {
namespace {

constexpr std::size_t kRemembered = 100;  // episodes

void check(const LearnOptions& o) {
  const auto expect = [](bool good, const std::string& what, const char* advice) {
    if (!good) throw Error({what, "", advice});
  };
  expect(o.worlds >= 1 && o.horizon >= 1, "learning needs worlds, and a horizon of at least one decision",
         "set worlds and horizon to 1 or more");
  expect(o.steps >= 1, "learning for no steps", "set steps to 1 or more");
  expect(o.discount > 0 && o.discount < 1, "the discount lies between 0 and 1, both excluded",
         "0.99 is usual");
  expect(o.lambda >= 0 && o.lambda <= 1, "lambda lies between 0 and 1", "0.95 is usual");
  expect(o.memory >= 0, "a memory of fewer than no numbers", "set memory to 0 for none");
  expect(o.memory == 0 || o.method != "ppo", "a memory learns by gradients through time, which ppo has not",
         "use shac, or set memory to 0");
  const bool fixed = o.shortest <= 0 && o.longest <= 0;
  expect(fixed || (o.shortest >= 1 && o.shortest <= o.horizon && o.horizon <= o.longest),
         "a horizon that is not between the shortest and the longest", "set shortest <= horizon <= longest");
  expect(o.shortest >= o.longest || o.method == "shac",
         "a horizon adapts to how cotangents grow, which " + o.method + " has not",
         "use shac, or leave shortest and longest out");
  expect(o.stretch > 0 && o.dual_rate > 0, "stretch and dual_rate are positive", "1.1 and 0.1 are usual");
  expect(o.edge >= 0, "an edge narrower than nothing",
         "set edge to 0: gradients do not see where episodes end");
  expect(o.edge == 0 || o.method == "shac", o.method + " has no gradient that could see an edge",
         "use shac, or leave edge out");
  expect(o.noise > 0, "the noise of a policy is positive", "0.4 is usual");
  expect(o.rate > 0 && o.critic_rate > 0, "rates are positive", "0.002 is usual");
  expect(o.critic_batches >= 1 && o.batches >= 1, "a pass needs at least one batch", "4 is usual");
  expect(o.target >= 0 && o.target < 1, "a critic that follows keeps a part of itself below 1",
         "0.2 is usual");
  expect(o.population == 0 || o.method == "cma_es", o.method + " has no population",
         "use cma_es, or leave population out");
  expect(o.population == 0 || o.population >= 4, "a population of fewer than 4 policies",
         "0 chooses for you");
}

double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double e : v) sum += e;
  return v.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / double(v.size());
}

}  // namespace

Learner::Learner(const Task& task, const LearnOptions& options)
    : task_(task),
      options_((check(options), options)),
      functions_(task),
      n_(task.plant->signature().states()),
      m_(task.plant->signature().controls()),
      policy_{DenseNetwork<double>(layers(functions_.observations() + options.memory, options.hidden, m_)),
              {},
              Normaliser(functions_.observations()),
              task.lower,
              task.upper} {
  policy_.parameters = policy_.network.first_weights(stream(options.seed, kPolicy), 0.1);
  policy_.parameters.resize(policy_.parameters.size() + std::size_t(m_), std::log(options.noise));
  if (options.memory > 0) {
    policy_.memory.emplace(int(functions_.observations()), options.memory);
    const std::vector<double> w = policy_.memory->first_weights(stream(options.seed, kPolicy) + kMemory);
    policy_.parameters.insert(policy_.parameters.end(), w.begin(), w.end());
  }
}

std::vector<int> Learner::layers(std::int64_t inputs, const std::vector<int>& hidden, std::int64_t outputs) {
  std::vector<int> sizes{int(inputs)};
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  sizes.push_back(int(outputs));
  return sizes;
}

void Learner::episode_ended(double its_return, double its_length) {
  ended_returns_.push_back(its_return), ended_lengths_.push_back(its_length);
  for (auto* list : {&ended_returns_, &ended_lengths_})
    if (list->size() > kRemembered) list->erase(list->begin());
}

const Learned& Learner::record(Learned what) {
  what.iteration = iteration_, what.steps = steps_;
  what.mean_return = mean(ended_returns_), what.mean_length = mean(ended_lengths_);
  history_.push_back(what);
  return history_.back();
}

std::vector<double> Learner::head() const {
  std::vector<double> all{double(steps_), double(iteration_), policy_.seen.count,
                          double(ended_returns_.size())};
  all.insert(all.end(), ended_returns_.begin(), ended_returns_.end());
  all.insert(all.end(), ended_lengths_.begin(), ended_lengths_.end());
  return all;
}

void Learner::refuse_memory() {
  throw Error(
      {"this is not the memory of such a learner", "", "resume with the task and options it was made with"});
}

std::size_t Learner::head_size(const std::vector<double>& memory) {
  const double ended = memory.size() < 4 ? -1 : memory[3];
  if (!(ended >= 0 && ended <= double(kRemembered))) refuse_memory();
  const std::size_t size = 4 + 2 * std::size_t(ended);
  if (memory.size() < size) refuse_memory();
  return size;
}

void Learner::restore_head(const std::vector<double>& memory) {
  const auto count = std::ptrdiff_t(memory[3]);
  steps_ = std::int64_t(memory[0]), iteration_ = std::int64_t(memory[1]), policy_.seen.count = memory[2];
  ended_returns_.assign(memory.begin() + 4, memory.begin() + 4 + count);
  ended_lengths_.assign(memory.begin() + 4 + count, memory.begin() + 4 + 2 * count);
}

std::unique_ptr<Learner> make_learner(const Task& task, const LearnOptions& options) {
  if (options.method == "shac") return make_shac(task, options);
  if (options.method == "ppo") return make_ppo(task, options);
  if (options.method == "cma_es") return make_cma_es(task, options);
  throw Error({"no method of learning is called " + options.method, "", "use shac, ppo or cma_es"});
}

}  // namespace costate::learn
