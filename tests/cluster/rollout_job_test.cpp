#include "costate/cluster/rollout_job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "costate/cluster/processes.h"
#include "costate/cluster/simulated.h"
#include "costate/cluster/threads.h"
#include "costate/core/parallel.h"
#include "costate/optim/adam.h"
#include "tests/cluster/problems.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"

namespace costate::cluster::test {
namespace {

using costate::test::expect_error;

// y = x - dt k x^3 + s xi(seed, world, step): a decay with noise.
class Noisy final : public System<double> {
 public:
  Noisy() { fields_.state("x", 1).parameter("k", 1.0).parameter("s", 0.1).parameter("dt", 0.1); }
  const Signature& signature() const override { return fields_; }
  void step(const StepContext& at, const Inputs<double>& in, double* y, double*, Workspace&) const override {
    y[0] = in.x[0] - in.p[2] * in.p[0] * std::pow(in.x[0], 3) + in.p[1] * xi(at);
  }
  void step_vjp(const StepContext& at, const Inputs<double>& in, const double*, const double* y_bar,
                const Cotangents<double>& bar, const Activity&, Workspace&) const override {
    bar.x[0] = y_bar[0] * (1 - 3 * in.p[2] * in.p[0] * in.x[0] * in.x[0]);
    if (!bar.p) return;
    bar.p[0] -= in.p[2] * std::pow(in.x[0], 3) * y_bar[0];
    bar.p[1] += xi(at) * y_bar[0];
    bar.p[2] -= in.p[0] * std::pow(in.x[0], 3) * y_bar[0];
  }

 private:
  static double xi(const StepContext& at) {
    return normal(at.seed, std::uint32_t(at.world), std::uint64_t(at.k));
  }
  Signature fields_;
};

struct Noisies {
  std::int64_t worlds = 50;
  std::shared_ptr<const System<double>> system = std::make_shared<Noisy>();
  RolloutOptions options{.steps = 8, .worlds = 50, .active = {"k", "s"}, .seed = 11};
  Arguments<double> arguments;
  ObjectivePtr<double> loss;
  std::vector<double> theta{0.7, 0.2};

  Noisies() {
    std::vector<double> targets, decay;
    for (int w = 0; w < worlds; ++w) {
      arguments.x0.push_back(1 + 0.02 * w);
      targets.push_back(std::sin(0.3 * w));
      decay.push_back(0.05 + 0.001 * w);
    }
    arguments.parameters = Parameters<double>(system->signature());
    arguments.parameters.set("dt", decay);  // different in every world
    loss = loss::final<double>(system->signature(), "x", targets);
  }
  std::shared_ptr<const Job> job(std::int64_t block) const {
    return rollout_job(system, options, arguments, loss, {.block = block, .variables = {"k", "s"}});
  }
};

// Processes come first: the others simulate in this process, which starts threads.
TEST(RolloutJob, EveryExecutorHasTheSameBits) {
  const costate::test::AllowFloatExceptions allow;  // of masked worlds, also in workers, which inherit it
  const Noisies noisy;
  std::vector<Problem> all = problems(std::string(COSTATE_SCENES) + "/hopper.xml");
  all.push_back({"noise", noisy.job(8), noisy.theta});
  std::map<std::string, std::string> wanted;
  const auto expect_same = [&](Pool& pool, const std::string& who) {
    for (const Problem& p : all) {
      const std::string found = all_bits(pool, p);
      EXPECT_EQ(found, wanted.emplace(p.name, found).first->second) << p.name << ", " << who;
    }
  };
  for (const int workers : {1, 2, 3, 4}) {
    Pool pool(processes(workers));
    expect_same(pool, std::to_string(workers) + " processes");
  }
  for (const int workers : {1, 2}) {
    Pool pool(threads(workers));
    expect_same(pool, std::to_string(workers) + " threads");
    const Evaluation masks = pool.value_and_grad(*all[2].job, all[2].theta);
    EXPECT_EQ(masks.report.masked_worlds, (std::vector<std::int64_t>{4, 9, 10, 11}));
    EXPECT_TRUE(std::isfinite(masks.value));
  }
  for (const std::uint64_t seed : {1, 2}) {  // blocks in another order, by workers that die
    Pool pool(simulated({.workers = 5, .seed = seed, .noise = 2, .chance_of_death = 0.1}),
              {.most_tries = 99});
    expect_same(pool, "shuffled");
  }
}

TEST(RolloutJob, IsOneLargeRolloutNoiseTargetsAndAll) {
  const Noisies p;
  Rollout<double> rollout(p.system, p.options);
  Arguments<double> at = p.arguments;
  at.parameters.set("k", p.theta[0]).set("s", p.theta[1]);
  const auto wanted = rollout.value_and_gradient(at, *p.loss);
  for (const std::int64_t block : {1, 7, 16, 50, 64}) {
    Pool pool(threads(2));
    const auto job = p.job(block);
    const Evaluation e = pool.value_and_grad(*job, p.theta);
    EXPECT_NEAR(e.value, wanted.value, 1e-13 * wanted.value) << "blocks of " << block;
    EXPECT_NEAR(e.gradient[0], wanted.parameters["k"][0], 1e-12);
    EXPECT_NEAR(e.gradient[1], wanted.parameters["s"][0], 1e-12);
    EXPECT_EQ(e.report.worlds, 50);
    ASSERT_EQ(e.report.adjoint_norm.size(), wanted.report.adjoint_norm.size());
    for (std::size_t i = 0; i < e.report.adjoint_norm.size(); ++i)
      EXPECT_NEAR(e.report.adjoint_norm[i], wanted.report.adjoint_norm[i], 1e-12);
    EXPECT_NEAR(pool.value(*job, p.theta), wanted.value, 1e-13 * wanted.value);
  }
  EXPECT_EQ(start_of(at, {"k", "s"}), p.theta);
}

TEST(RolloutJob, AWorldThatDivergesIsNamedOrMasked) {
  set_thread_count(1);
  const costate::test::AllowFloatExceptions allow;  // of this thread, in which simulated workers compute
  Noisies p;
  p.arguments.x0[37] = 1e60;
  {
    Pool pool(simulated({.workers = 3}));
    const auto job = p.job(8);
    expect_error([&] { return pool.value_and_grad(*job, p.theta); }, "world 37", "");
    expect_error([&] { return pool.value_and_grad(*job, p.theta); }, "block 4 (worlds 32 to 39)", "");
  }
  p.options.on_divergence = OnDivergence::mask_world;
  std::string one;
  for (const int workers : {1, 3}) {
    Pool pool(simulated({.workers = workers}));
    const auto job = p.job(1);  // the world has a block of its own
    const Evaluation e = pool.value_and_grad(*job, p.theta);
    EXPECT_EQ(e.report.masked_worlds, std::vector<std::int64_t>{37});
    EXPECT_TRUE(std::isfinite(e.value));
    EXPECT_NEAR(pool.value(*job, p.theta), e.value, 1e-12 * e.value);
    if (one.empty()) one = bits(e);
    EXPECT_EQ(bits(e), one);
  }
  set_thread_count(0);
}

// A loss of its own that is not a number is not a world that diverged: nothing hides it.
TEST(RolloutJob, ALossThatIsNotANumberStaysOne) {
  const costate::test::AllowFloatExceptions allow;
  set_thread_count(1);
  Noisies p;
  std::vector<double> targets(50, 0.0);
  targets[20] = std::nan("");
  p.loss = loss::final<double>(p.system->signature(), "x", targets);
  Pool pool(simulated({.workers = 2}));
  const auto job = p.job(8);
  EXPECT_TRUE(std::isnan(pool.value(*job, p.theta)));
  expect_error([&] { return pool.value_and_grad(*job, p.theta); }, "block 2 (worlds 16 to 23), step 8 of 8",
               "");
  p.options.on_divergence = OnDivergence::mask_world;  // no world diverges
  EXPECT_TRUE(std::isnan(pool.value(*p.job(8), p.theta)));
  const optim::Result r = optim::minimize(pool.objective(*job, 2), p.theta, optim::AdamOptions{});
  EXPECT_EQ(r.stop, optim::Stop::not_finite) << r.reason;
  set_thread_count(0);
}

TEST(RolloutJob, WrongInputIsRefused) {
  Noisies p;
  expect_error([&] { return p.job(0); }, "50 worlds in blocks of 0", "at least 1");
  expect_error([&] { return rollout_job(p.system, p.options, p.arguments, p.loss, {.variables = {"dt"}}); },
               "dt is different in every world", "one value");
  Pool pool(threads(1));
  expect_error([&] { return pool.value_and_grad(*p.job(8), {1}); },
               "theta has 1 numbers, the variables have 2");
}

}  // namespace
}  // namespace costate::cluster::test
