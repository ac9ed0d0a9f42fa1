#include "costate/system/backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "costate/core/error.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/system/rollout.h"
#include "costate/system/run/cpu_block.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

// Runs blocks of its own size: several of the CPU's, side by side, their results laid out as one block.
struct Wide final : Backend<double> {
  static constexpr int kBlocks = 3;
  mutable std::atomic<int> made = 0;

  struct Blocks final : Block<double> {
    Blocks(const System<double>& system, const RolloutOptions& options, const Activity& activity)
        : signature(system.signature()),
          lanes(system.lanes()),
          worlds(options.worlds),
          knots((options.steps + options.hold - 1) / options.hold) {
      for (int b = 0; b < kBlocks; ++b)
        parts.push_back(std::make_unique<CpuBlock<double>>(system, options, activity));
    }
    void load(const Arguments<double>& arguments, std::int64_t first_world) override {
      results_.first_world = first_world;
      results_.lanes = kBlocks * lanes;
      results_.live_lanes = int(std::min<std::int64_t>(results_.lanes, worlds - first_world));
      for (int b = 0; b < kBlocks; ++b)
        parts[b]->load(arguments, std::min(first_world + b * lanes, worlds - 1));
    }
    void simulate(const Objective<double>* objective, Keeper<double>*) override {
      for (auto& part : parts) part->simulate(objective, nullptr);
      join();
    }
    void forward(const Objective<double>* objective, Keeper<double>*) override {
      for (auto& part : parts) part->forward(objective, nullptr);
    }
    void backward(const Objective<double>& objective) override {
      for (auto& part : parts) part->backward(objective);
      join();
    }
    void join() {
      results_.loss.clear(), results_.diverged.clear();
      results_.adjoint_norm2.assign(parts[0]->results().adjoint_norm2.size(), 0.0);
      for (int b = 0; b < kBlocks; ++b) {
        const BlockResults<double>& from = parts[b]->results();
        results_.loss.insert(results_.loss.end(), from.loss.begin(), from.loss.end());
        results_.diverged.insert(results_.diverged.end(), from.diverged.begin(), from.diverged.end());
        const bool worlds_in_it = results_.first_world + b * lanes < worlds;
        for (std::size_t i = 0; worlds_in_it && i < from.adjoint_norm2.size(); ++i)
          results_.adjoint_norm2[i] += from.adjoint_norm2[i];
      }
      results_.x0_bar = side_by_side(x_bar, &BlockResults<double>::x0_bar, signature.states());
      results_.u_bar = side_by_side(u_bar, &BlockResults<double>::u_bar, knots * signature.controls());
      results_.p_bar = side_by_side(p_bar, &BlockResults<double>::p_bar, signature.parameters());
    }
    const double* side_by_side(std::vector<double>& to, const double* BlockResults<double>::*from,
                               std::int64_t numbers) {
      if (!(parts[0]->results().*from)) return nullptr;
      to.resize(std::size_t(numbers * kBlocks * lanes));
      for (std::int64_t i = 0; i < numbers; ++i)
        for (int b = 0; b < kBlocks; ++b)
          for (int l = 0; l < lanes; ++l)
            to[std::size_t((i * kBlocks + b) * lanes + l)] = (parts[b]->results().*from)[i * lanes + l];
      return to.data();
    }
    const Signature& signature;
    const int lanes;
    const std::int64_t worlds, knots;
    std::vector<std::unique_ptr<CpuBlock<double>>> parts;
    std::vector<double> x_bar, u_bar, p_bar;
  };

  int lanes(const System<double>& system, const RolloutOptions&) const override {
    return kBlocks * system.lanes();
  }
  std::unique_ptr<Block<double>> make_block(const System<double>& system, const RolloutOptions& options,
                                            const Activity& activity) const override {
    ++made;
    return std::make_unique<Blocks>(system, options, activity);
  }
};

struct Pendulums {
  std::shared_ptr<System<double>> system = ode::pendulum<double>(ode::Integrator::rk4, 0.02);
  RolloutOptions options{.steps = 60, .worlds = 101, .hold = 10};
  std::shared_ptr<Wide> backend = std::make_shared<Wide>();
  Rollout<double> cpu{system, options}, wide{system, options, backend};
  Arguments<double> at = cpu.arguments();
  ObjectivePtr<double> objective = loss::final<double>(system->signature(), "q", {0.5});
  Pendulums() {
    at.x0.clear();
    std::vector<double> length;
    for (std::int64_t w = 0; w < options.worlds; ++w) {
      at.x0.insert(at.x0.end(), {0.1 + 0.01 * double(w), -0.3});
      length.push_back(0.8 + 0.002 * double(w));
    }
    at.parameters.set("length", length);
  }
};

// Worlds of their own have the same bits; what all share is summed over larger blocks, in another order.
TEST(Backend, RunsTheBlocksOfARollout) {
  Pendulums p;
  const Gradient<double> a = p.cpu.value_and_gradient(p.at, *p.objective),
                         b = p.wide.value_and_gradient(p.at, *p.objective);
  EXPECT_GT(p.backend->made, 0);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.x0, b.x0);
  EXPECT_TRUE(std::ranges::equal(a.parameters["length"], b.parameters["length"]));
  const double gravity = a.parameters["gravity"][0];
  EXPECT_NEAR(b.parameters["gravity"][0], gravity, 1e-13 * std::abs(gravity));
  for (std::size_t i = 0; i < a.report.adjoint_norm.size(); ++i)
    EXPECT_NEAR(b.report.adjoint_norm[i], a.report.adjoint_norm[i], 1e-13 * a.report.adjoint_norm[i]);
  EXPECT_EQ(p.cpu.values(p.at, *p.objective), p.wide.values(p.at, *p.objective));
}

TEST(Backend, WhatItDoesNotHaveIsRefused) {
  Pendulums p;
  try {
    p.wide.jvp(p.at, p.at);
    FAIL() << "it has no tangents";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("this backend has no tangents"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("device = \"cpu\""), std::string::npos);
  }
}

}  // namespace
}  // namespace costate
