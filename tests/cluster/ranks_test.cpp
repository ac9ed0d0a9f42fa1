// One large world over ranks as a device of Rollout: the bits of the CPU, in values too, and for any loss.
#include "costate/cluster/world/ranks.h"

#include <gtest/gtest.h>

#include <thread>

#include "costate/cluster/world/channels.h"
#include "tests/cluster/split_worlds.h"
#include "tests/expect_error.h"

namespace costate::cluster {
namespace {

using costate::test::expect_error;
using namespace cluster::test;

// A loss that no rank can compute from its own elements: the sum of the products of neighbours in memory, at
// the end and on the way.
template <class Real>
class Neighbours final : public Objective<Real> {
 public:
  Neighbours(std::int64_t count, std::int64_t step) : count_(count), step_(step) {}
  using typename Objective<Real>::At;
  void check(std::int64_t, std::int64_t) const override {}
  std::int64_t next(std::int64_t k, std::int64_t steps) const override {
    return k <= step_ ? step_ : k <= steps ? steps : kNever;
  }
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override {
    return k >= steps ? steps : k >= step_ ? step_ : -1;
  }
  void value(const At& at, double* loss) const override {
    for (std::int64_t i = 0; i + 1 < count_; ++i) *loss += double(at.in.x[i]) * double(at.in.x[i + 1]);
  }
  void vjp(const At& at, const Cotangents<Real>& bar) const override {
    for (std::int64_t i = 0; i + 1 < count_; ++i) {
      bar.x[i] += at.in.x[i + 1];
      bar.x[i + 1] += at.in.x[i];
    }
  }

 private:
  std::int64_t count_, step_;
};

template <class Real>
Answer<Real> on(const std::string& device, const World<Real>& w, Checkpoints checkpoints = store_all()) {
  register_ranks();
  Rollout<Real> rollout(w.system, {.steps = w.steps, .checkpoints = checkpoints, .device = device});
  Answer<Real> a;
  a.final_state = rollout.simulate(w.arguments).final_state;
  const auto g = rollout.value_and_gradient(w.arguments, *w.loss);
  a.value = g.value, a.x0 = g.x0, a.controls = g.controls;
  append_parameters(g.parameters, a.parameters);
  EXPECT_EQ(rollout.value(w.arguments, *w.loss), g.value);
  return a;
}

template <class Real>
void expect_the_bits_of_the_cpu(const World<Real>& w, const std::string& name, const std::vector<int>& ranks,
                                Checkpoints checkpoints = store_all()) {
  const Answer<Real> cpu = on("cpu", w, checkpoints);
  for (int count : ranks) {
    const Answer<Real> split = on("ranks:" + std::to_string(count), w, checkpoints);
    const std::string where = name + " over " + std::to_string(count);
    EXPECT_EQ(split.value, cpu.value) << where;
    EXPECT_TRUE(same_bits(split.final_state, cpu.final_state)) << where;
    EXPECT_TRUE(same_bits(split.x0, cpu.x0)) << where;
    EXPECT_TRUE(same_bits(split.controls, cpu.controls)) << where;
    EXPECT_TRUE(same_bits(split.parameters, cpu.parameters)) << where;
  }
}

TEST(RanksDevice, HasTheBitsOfTheCpu) {
  expect_the_bits_of_the_cpu(points<double>(2, 16), "a beam", {1, 2, 3});
  expect_the_bits_of_the_cpu(points<float>(2, 8), "a beam in single precision", {2});
  expect_the_bits_of_the_cpu(wave<double>(), "a wave", {1, 2, 4});
  expect_the_bits_of_the_cpu(warm_ring<double>(), "a warm ring", {3});
}

TEST(RanksDevice, AnyLossIsComputedFromTheWholeState) {
  auto beam = points<double>(2, 16);
  beam.loss = std::make_shared<Neighbours<double>>(beam.system->signature().states(), 5);
  expect_the_bits_of_the_cpu(beam, "neighbours in a beam", {2, 3});
  auto waves = wave<double>();
  waves.loss = std::make_shared<Neighbours<double>>(waves.system->signature().states(), 4);
  expect_the_bits_of_the_cpu(waves, "neighbours in a wave", {2, 4});
}

TEST(RanksDevice, EverySchedule) {
  const auto beam = points<double>(2, 16);
  expect_the_bits_of_the_cpu(beam, "binomial", {2}, binomial(3));
  expect_the_bits_of_the_cpu(beam, "segments", {3}, segments());
  expect_the_bits_of_the_cpu(beam, "truncated", {2}, store_all().truncated(5));
  expect_the_bits_of_the_cpu(wave<double>(), "a truncated wave", {3}, binomial(2).truncated(4));
}

TEST(RanksDevice, ForwardMayWaitForItsLoss) {
  register_ranks();
  const auto w = wave<double>();
  Rollout<double> cpu(w.system, {.steps = w.steps, .keep = 2}),
      split(w.system, {.steps = w.steps, .keep = 2, .device = "ranks:3"});
  std::vector<std::int64_t> seen;
  const StateObserver<double> watch{
      .every = 4, .look = [&](std::int64_t k, std::int64_t, std::span<const double>) { seen.push_back(k); }};
  const auto here = cpu.forward(w.arguments), there = split.forward(w.arguments, watch);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 4, 8}));
  EXPECT_TRUE(same_bits(here.states, there.states));
  const auto a = cpu.backward(*w.loss), b = split.backward(*w.loss);
  EXPECT_TRUE(same_bits(a.x0, b.x0));
  EXPECT_TRUE(same_bits(a.controls, b.controls));
  EXPECT_NEAR(a.report.adjoint_norm.front(), b.report.adjoint_norm.front(),
              1e-13 * a.report.adjoint_norm.front());
}

// An optimiser steps back from a point that cannot be simulated, and asks for the next one.
TEST(RanksDevice, GoesOnAfterAnError) {
  register_ranks();
  auto w = points<double>(2, 8);
  Rollout<double> rollout(w.system, {.steps = w.steps, .device = "ranks:3"});
  const auto before = rollout.value_and_gradient(w.arguments, *w.loss);
  const auto fast = too_fast();
  for (int turn = 0; turn < 2; ++turn) {
    auto wrong = w.arguments;
    wrong.x0 = fast.arguments.x0;
    expect_error([&] { rollout.value_and_gradient(wrong, *w.loss); }, "moves");
    const auto after = rollout.value_and_gradient(w.arguments, *w.loss);
    EXPECT_TRUE(same_bits(before.x0, after.x0));
  }
}

TEST(RanksDevice, AStateThatIsNotFiniteIsNamed) {
  register_ranks();
  auto w = wave<double>();
  const auto& fields = w.system->signature().fields(Role::state);
  std::fill(w.arguments.x0.begin() + fields[1].offset, w.arguments.x0.end(), 1.79e308);  // speeds
  w.arguments.controls.assign(std::size_t(w.system->signature().controls()), 1.7e308);
  Rollout<double> rollout(w.system, {.steps = 1, .device = "ranks:2"});
  expect_error([&] { rollout.simulate(w.arguments); }, "the state is not finite: v[5] is inf",
               "finds the step");
}

// A second rank that has read another file.
class StrangeCrew final : public Crew {
 public:
  explicit StrangeCrew(std::shared_ptr<const System<double>> other)
      : all_(channels(2)), thread_([this, other] {
          try {
            follow(*all_[1], *other);
          } catch (const Error&) {  // said by the first rank
          }
        }) {}
  ~StrangeCrew() override {
    end_following(*all_[0]);
    thread_.join();
  }
  Channel& channel() override { return *all_[0]; }
  void failed() override { ++turn_; }
  int turn() const override { return turn_; }

 private:
  int turn_ = 0;
  std::vector<std::unique_ptr<Channel>> all_;
  std::thread thread_;
};

TEST(RanksDevice, ARankWithAnotherWorldIsRefused) {
  const auto w = wave<double>();
  const auto other = grid::wave<double>({.nx = 21, .ny = 17, .damping = 0.02});
  Rollout<double> rollout(w.system, {.steps = w.steps}, split_backend<double>([&](const System<double>&) {
                            return std::make_unique<StrangeCrew>(other);
                          }));
  expect_error([&] { rollout.simulate(w.arguments); }, "a worker is refused because its job is",
               "have its files changed?");
}

TEST(RanksDevice, RefusesWhatCannotBeSplit) {
  register_ranks();
  const auto w = wave<double>();
  const auto make = [&](RolloutOptions options, std::shared_ptr<const System<double>> system = nullptr) {
    Rollout<double> rollout(system ? system : w.system, options);
    rollout.simulate(rollout.arguments());
  };
  expect_error([&] { make({.device = "ranks:0"}); }, "1 to 256 ranks", "ranks:2");
  expect_error([&] { make({.device = "ranks:many"}); }, "a ranks device is written \"ranks:2\"");
  expect_error([&] { make({.worlds = 2, .device = "ranks:2"}); }, "splits one large world", "pool");
  expect_error([&] { make({.on_divergence = OnDivergence::mask_world, .device = "ranks:2"}); }, "masked",
               "cpu");
  expect_error([&] { make({.checkpoints = reversible(), .device = "ranks:2"}); }, "exact states", "binomial");
  expect_error([&] { make({.device = "ranks:9"}); }, "too few for 9 ranks");
  auto model = beam(2);
  model.bodies = {{.name = "log", .shape = mpm::Shape::sphere(0.1), .position = {1, 1.5, 1}}};
  expect_error([&] { make({.device = "ranks:2"}, mpm::system<double>(model)); }, "bodies", "colliders");
  Rollout<double> rollout(w.system, {.device = "ranks:2"});
  expect_error([&] { rollout.jvp(rollout.arguments(), rollout.arguments()); }, "tangents", "cpu");
}

}  // namespace
}  // namespace costate::cluster
