// Learner: a policy that gets better at a task, iteration by iteration, by one of several methods:
//
//   shac      gradients through the physics and a critic       shac.cpp, actor_critic.h
//   ppo       a critic, without gradients of the physics       ppo.cpp, actor_critic.h
//   cma_es    scores of whole episodes, nothing else           evolution.cpp
//
// They differ in how they improve the policy, and share the task, the policy and what is remembered of it.
// Randomness is a function of (seed, world, decision). Results have the same bits for any number of threads,
// and a learner that was stopped and restored goes on with the same bits.
// Tests: tests/learn/learner_test.cpp, evolution_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costate/learn/episodes.h"

namespace costate::learn {

struct LearnOptions {
  std::string method = "shac";  // shac, ppo, cma_es
  std::int64_t steps = 300000;  // decisions of all worlds together
  std::int64_t worlds = 64, horizon = 32;
  // shac: with shortest < longest the horizon begins as above and is moved between them (shac.cpp): pieces
  // get shorter where decisions stretch cotangents by more than `stretch`, and longer where they do not.
  std::int64_t shortest = 0, longest = 0;
  double stretch = 1.1, dual_rate = 0.1;
  std::vector<int> hidden = {64, 64}, critic = {64, 64};  // hidden layers
  int memory = 0;  // > 0: numbers that the policy remembers, in a gated recurrent layer (shac, cma_es)
  double discount = 0.99, lambda = 0.95;
  double rate = 2e-3, critic_rate = 2e-3;  // of Adam
  double last_rate = 0.1;                  // both rates fall to this part of them, in a straight line
  double beta1 = 0.9, beta2 = 0.95;
  double gradient_limit = 1;  // longer gradients of the policy are scaled down to this length
  double adjoint_limit = 0;   // > 0: so are, per world and step, the cotangents of a state
  // shac: > 0: so wide, in units of `alive`, gradients see the edge where episodes end (shac.cpp).
  double edge = 0;
  double noise = 0.4;  // first standard deviation: of the policy, before tanh; of cma_es: of its weights
  int critic_passes = 16, critic_batches = 4;
  double target = 0.2;           // how much of it a critic that follows keeps per iteration
  int passes = 10, batches = 8;  // ppo: over each batch of experience
  double clip = 0.2;             // ppo: of the ratio of probabilities
  int population = 0;            // cma_es: policies per generation; 0: 4 + 3 log(weights)
  std::uint64_t seed = 0;
};

// What one iteration came to. What a method does not have is zero.
struct Learned {
  std::int64_t iteration = 0, steps = 0;
  double mean_return = 0;  // of the last episodes that ended, at most a hundred; NaN: none yet
  double mean_length = 0;
  double objective = 0;      // discounted rewards of the pieces per decision, of which SHAC's gradient is; of
                             // cma_es: mean return of the best policy of the generation
  double critic_error = 0;   // root mean square, in units of the value
  double gradient_norm = 0;  // before it is limited
  std::int64_t horizon = 0;  // of this iteration
};

class Learner {
 public:
  virtual ~Learner() = default;

  virtual Learned iterate() = 0;
  virtual bool done() const { return steps_ >= options_.steps; }
  virtual std::int64_t iterations() const = 0;  // in all, as far as can be told
  const Policy& policy() const { return policy_; }
  const LearnOptions& options() const { return options_; }
  const std::vector<Learned>& history() const { return history_; }

  // All that iterate() depends on.
  virtual std::vector<double> memory() const = 0;
  // Throws Error where it is not the memory of such a learner.
  virtual void restore(const std::vector<double>& memory) = 0;

 protected:
  Learner(const Task& task, const LearnOptions& options);

  void episode_ended(double its_return, double its_length);
  const Learned& record(Learned what);  // with the counts and the means of the last episodes
  // A memory begins with the counts and the last episodes: as many numbers as head_size says, which refuses
  // what cannot be one.
  std::vector<double> head() const;
  static std::size_t head_size(const std::vector<double>& memory);
  void restore_head(const std::vector<double>& memory);
  [[noreturn]] static void refuse_memory();
  static std::vector<int> layers(std::int64_t inputs, const std::vector<int>& hidden, std::int64_t outputs);

  Task task_;
  LearnOptions options_;
  TaskFunctions functions_;
  std::int64_t n_, m_;
  Policy policy_;
  std::int64_t steps_ = 0, iteration_ = 0;

 private:
  std::vector<double> ended_returns_, ended_lengths_;  // the last hundred
  std::vector<Learned> history_;
};

// Throws Error for a method that does not exist, and for a task that does not fit.
std::unique_ptr<Learner> make_learner(const Task& task, const LearnOptions& options);
std::unique_ptr<Learner> make_shac(const Task& task, const LearnOptions& options);
std::unique_ptr<Learner> make_ppo(const Task& task, const LearnOptions& options);
std::unique_ptr<Learner> make_cma_es(const Task& task, const LearnOptions& options);

}  // namespace costate::learn
