// ActorCritic: what SHAC and PPO share. Worlds that act and start again, a critic that is trained towards
// TD(lambda) targets, and Adam.
//
//   V(o) = critic(n(o))/(1 - gamma)                                      so that the network stays near 1
//   T_t  = r_t + gamma ((1 - lambda) V'(y_t) + lambda T_{t+1})           V' of a critic that follows slowly;
//          r_t + gamma V'(y_t) at the last step of a piece;  r_t where the episode ended
//
// How a method improves the policy is its own file: shac.cpp, ppo.cpp.
// Tests: tests/learn/learner_test.cpp.
#pragma once

#include "costate/learn/learner.h"
#include "costate/learn/variation.h"
#include "costate/optim/adam_step.h"
#include "costate/system/rollout.h"

namespace costate::learn {

class ActorCritic : public Learner {
 public:
  Learned iterate() override;
  std::int64_t iterations() const override;  // at the present horizon
  std::vector<double> memory() const override;
  void restore(const std::vector<double>& memory) override;

 protected:
  ActorCritic(const Task& task, const LearnOptions& options);

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

  std::int64_t worlds_;
  Variation variation_;
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
};

}  // namespace costate::learn
