// Learner: a policy that gets better at a task, iteration by iteration. Every method shares what is here:
// worlds that act and start again, a critic that is trained towards TD(lambda) targets, Adam, and memory to
// resume from.
//
//   V(o) = critic(n(o))/(1 - gamma)                                      so that the network stays near 1
//   T_t  = r_t + gamma ((1 - lambda) V'(y_t) + lambda T_{t+1})           V' of a critic that follows slowly;
//          r_t + gamma V'(y_t) at the last step of a piece;  r_t where the episode ended
//
// How a method improves the policy is its own file: shac.cpp, ppo.cpp.
// Randomness is a function of (seed, world, decision). Results have the same bits for any number of threads,
// and a learner that was stopped and restored goes on with the same bits.
// Tests: tests/learn/learner_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costate/learn/policy.h"
#include "costate/learn/task.h"
#include "costate/learn/variation.h"
#include "costate/optim/adam_step.h"
#include "costate/system/rollout.h"

namespace costate::learn {

struct LearnOptions {
  std::string method = "shac";  // shac, ppo
  std::int64_t steps = 300000;  // decisions of all worlds together
  std::int64_t worlds = 64, horizon = 32;
  // shac: with shortest < longest the horizon begins as above and is moved between them (shac.cpp): pieces
  // get shorter where decisions stretch cotangents by more than `stretch`, and longer where they do not.
  std::int64_t shortest = 0, longest = 0;
  double stretch = 1.1, dual_rate = 0.1;
  std::vector<int> hidden = {64, 64}, critic = {64, 64};  // hidden layers
  int memory = 0;  // > 0: numbers that the policy remembers, in a gated recurrent layer (shac)
  double discount = 0.99, lambda = 0.95;
  double rate = 2e-3, critic_rate = 2e-3;  // of Adam
  double last_rate = 0.1;                  // both rates fall to this part of them, in a straight line
  double beta1 = 0.9, beta2 = 0.95;
  double gradient_limit = 1;  // longer gradients of the policy are scaled down to this length
  double adjoint_limit = 0;   // > 0: so are, per world and step, the cotangents of a state
  // shac: > 0: so wide, in units of `alive`, gradients see the edge where episodes end (shac.cpp).
  double edge = 0;
  double noise = 0.4;  // first standard deviation, before tanh
  int critic_passes = 16, critic_batches = 4;
  double target = 0.2;           // how much of it a critic that follows keeps per iteration
  int passes = 10, batches = 8;  // ppo: over each batch of experience
  double clip = 0.2;             // ppo: of the ratio of probabilities
  std::uint64_t seed = 0;
};

// What one iteration came to.
struct Learned {
  std::int64_t iteration = 0, steps = 0;
  double mean_return = 0;  // of the last episodes that ended, at most a hundred; NaN: none yet
  double mean_length = 0;
  double objective = 0;      // what SHAC's gradient is of: discounted rewards of the pieces, per decision
  double critic_error = 0;   // root mean square, in units of the value
  double gradient_norm = 0;  // before it is limited
  std::int64_t horizon = 0;  // of this iteration
};

class Learner {
 public:
  virtual ~Learner() = default;

  Learned iterate();
  bool done() const { return steps_ >= options_.steps; }
  std::int64_t iterations() const;  // in all, at the present horizon
  const Policy& policy() const { return policy_; }
  const LearnOptions& options() const { return options_; }
  const std::vector<Learned>& history() const { return history_; }

  // All that iterate() depends on.
  std::vector<double> memory() const;
  // Throws Error where it is not the memory of such a learner.
  void restore(const std::vector<double>& memory);

 protected:
  Learner(const Task& task, const LearnOptions& options);

  // One decision of all worlds.
  struct Moment {
    std::vector<double> x, o, n, e, z, u, y, r, alive, end;  // n: normalised; end: 1 where a piece ends here
    std::vector<double> value, next;                         // V(x), V'(y); next is 0 where the episode ended
    std::vector<double> beyond;                              // V'(y) there, too
    PolicyPass pass;
  };
  virtual bool needs_gradients() const = 0;
  // Gradient of the loss with respect to the policy's parameters, or improvements in place (empty gradient).
  virtual std::vector<double> improve() = 0;

  std::int64_t iteration() const { return iteration_; }  // that were finished
  std::int64_t horizon() const { return std::int64_t(moments_.size()); }
  bool adapts() const { return options_.shortest < options_.longest; }
  void move(std::vector<double>& gradient);  // one step of Adam
  std::vector<double> normalised(const std::vector<double>& o) const;
  std::vector<double> observed(const std::vector<double>& x);

  Task task_;
  LearnOptions options_;
  TaskFunctions functions_;
  std::int64_t n_, m_, worlds_;
  Variation variation_;
  Policy policy_;
  DenseNetwork<double> critic_;
  std::vector<double> critic_weights_, follower_;
  std::vector<Moment> moments_;
  std::vector<Rollout<double>> rollouts_;  // one per moment where gradients are needed, otherwise one
  std::vector<double>
      weights_;  // of each moment and world: gamma^k of a decision in its piece, over all decisions
  double gradient_norm_ = 0;
  std::vector<double> duals_;     // of each decision of the longest piece; none where the horizon is fixed
  std::vector<double> reaching_;  // the horizon as a real number, one; none where it is fixed

 private:
  void start(std::int64_t world);
  void collect();
  void act(Moment& at);
  void advance(std::int64_t t);
  void evaluate_critics();
  void find_weights();
  double objective() const;
  std::vector<double> targets() const;
  double train_critic(const std::vector<double>& targets);
  double part_done() const { return double(steps_) / double(options_.steps); }
  double rate_now(double rate) const { return rate * (1 - (1 - options_.last_rate) * part_done()); }
  template <class Self, class Visit>
  static void visit(Self& self, const Visit& visit);

  struct Adam {
    std::vector<double> m, v, k;
    void step(std::vector<double>& x, const std::vector<double>& gradient, double rate,
              const LearnOptions& options);
  };
  Adam policy_adam_, critic_adam_;
  std::vector<double> x_, h_, elapsed_, episode_, return_;  // of each world
  std::vector<double> ended_returns_, ended_lengths_;       // the last hundred
  std::int64_t steps_ = 0, iteration_ = 0;
  std::vector<Learned> history_;
};

// Throws Error for a method that does not exist, and for a task that does not fit.
std::unique_ptr<Learner> make_learner(const Task& task, const LearnOptions& options);
std::unique_ptr<Learner> make_shac(const Task& task, const LearnOptions& options);
std::unique_ptr<Learner> make_ppo(const Task& task, const LearnOptions& options);

// One episode of each world, without noise.
struct Scores {
  std::vector<double> returns, lengths;
};
Scores evaluate(const Task& task, const Policy& policy, std::int64_t worlds, std::uint64_t seed);
// A state that an episode starts from.
std::vector<double> start_of(const Task& task, std::uint64_t seed, std::int64_t world, std::int64_t episode);

}  // namespace costate::learn
