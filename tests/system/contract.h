// Contract tests: what every System must satisfy, whatever its physics. A physics' own test calls expect_contract() on a few states.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/system/checks.h"
#include "costate/system/rollout.h"
#include "tests/allocation_guard.h"

namespace costate::test {

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

template <class Real>
bool same_bits(const Parameters<Real>& a, const Parameters<Real>& b) {
  for (std::size_t f = 0; f < a.signature().fields(Role::parameter).size(); ++f) {
    const auto x = a.values(f), y = b.values(f);
    if (!same_bits(std::vector<Real>(x.begin(), x.end()), std::vector<Real>(y.begin(), y.end())))
      return false;
  }
  return true;
}

template <class Real>
void expect_same_bits(const Gradient<Real>& a, const Gradient<Real>& b, const std::string& what) {
  EXPECT_EQ(a.value, b.value) << what;
  EXPECT_TRUE(same_bits(a.x0, b.x0)) << what;
  EXPECT_TRUE(same_bits(a.controls, b.controls)) << what;
  EXPECT_TRUE(same_bits(a.parameters, b.parameters)) << what;
}

struct ContractOptions {
  std::int64_t steps = 60, worlds = 1;
  std::int64_t hold = 7;
  double stencil_gate = 1e-9;
  double stencil_step = 1e-3;
  double taylor_step = 1e-3;
  double second_order_step = 1e-3;  // of the stencil of gradients: shorter than the way to the next corner
  std::int64_t long_steps =
      1000;  // of the dot-product test over a long rollout; 0: skip (chaotic systems say how long)
};

// Every exact schedule, 1, 2, 3 and 7 threads, three runs: the same bits.
template <class Real>
void expect_deterministic(std::shared_ptr<const System<Real>> system, const Arguments<Real>& at,
                          const Objective<Real>& objective, const ContractOptions& o) {
  Rollout<Real> reference(system, {.steps = o.steps, .worlds = o.worlds, .hold = o.hold});
  const Gradient<Real> expected = reference.value_and_gradient(at, objective);
  for (const Checkpoints& schedule :
       {store_all(), segments(), segments(7), binomial(1), binomial(4), binomial(1000)}) {
    for (int threads : {1, 2, 3, 7}) {
      set_thread_count(threads);
      Rollout<Real> rollout(system,
                            {.steps = o.steps, .worlds = o.worlds, .checkpoints = schedule, .hold = o.hold});
      expect_same_bits(rollout.value_and_gradient(at, objective), expected,
                       schedule.name() + ", " + std::to_string(threads) + " threads");
      expect_same_bits(rollout.value_and_gradient(at, objective), expected, schedule.name() + ", again");
    }
  }
  set_thread_count(0);
  // forward() then backward() is the same computation.
  reference.forward(at);
  const Gradient<Real> split = reference.backward(objective);
  EXPECT_TRUE(same_bits(split.x0, expected.x0));
  EXPECT_TRUE(same_bits(split.parameters, expected.parameters));
}

// Steps, transposes and runs allocate nothing and leave their inputs alone.
template <class Real>
void expect_pure(const System<Real>& system, const Arguments<Real>& at) {
  RolloutOptions one{.steps = 1, .worlds = 1};
  Rollout<Real> rollout(std::shared_ptr<const System<Real>>(std::shared_ptr<void>(), &system), one);
  const auto work = system.make_workspace();
  const auto spread = [&](std::span<const Real> from, AlignedBuffer<Real>& to, std::int64_t offset = 0) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (int l = 0; l < system.lanes(); ++l)
        to.data()[(offset + std::int64_t(i)) * system.lanes() + l] = from[i];
    }
  };
  AlignedBuffer<Real> x(system.state_size()), u(system.control_size() + 1), p(system.parameter_size() + 1),
      y(system.state_size()), y2(system.state_size());
  AlignedBuffer<Real> x_bar(system.state_size()), u_bar(system.control_size() + 1),
      p_bar(system.parameter_size() + 1);
  const auto first = [](std::span<const Real> rows, std::int64_t size) {
    return rows.first(static_cast<std::size_t>(size));
  };
  spread(first(at.x0, system.signature().states()), x);
  spread(first(at.controls, system.signature().controls()), u);
  const auto& fields = system.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    spread(first(at.parameters.values(f), fields[f].size), p, fields[f].offset);
  const auto copy_of = [](const AlignedBuffer<Real>& b, std::int64_t n) {
    return std::vector<Real>(b.data(), b.data() + n);
  };
  const auto x_before = copy_of(x, system.state_size()), u_before = copy_of(u, system.control_size()),
             p_before = copy_of(p, system.parameter_size());
  const Activity active{std::vector<bool>(fields.size(), true), true};
  AlignedBuffer<Real> tape(system.tape(active, {}).size * system.lanes() + 1);
  const Inputs<Real> in{x.data(), u.data(), p.data()};
  std::memset(u_bar.data(), 0, static_cast<std::size_t>(u_bar.bytes()));
  std::memset(p_bar.data(), 0, static_cast<std::size_t>(p_bar.bytes()));
  system.step({}, in, y.data(), tape.data(), *work);  // warms up what is made on first use
  system.step_vjp({}, in, tape.data(), y.data(), {x_bar.data(), u_bar.data(), p_bar.data()}, active, *work);
  {
    const AllocationGuard guard;
    system.step({}, in, y2.data(), tape.data(), *work);
    system.step_vjp({}, in, tape.data(), y.data(), {x_bar.data(), u_bar.data(), p_bar.data()}, active, *work);
    EXPECT_EQ(guard.count(), 0) << "a step allocated memory";
  }
  EXPECT_TRUE(same_bits(copy_of(y, system.state_size()), copy_of(y2, system.state_size())))
      << "a second call gave other bits";
  EXPECT_TRUE(same_bits(copy_of(x, system.state_size()), x_before)) << "a step wrote to its state";
  EXPECT_TRUE(same_bits(copy_of(u, system.control_size()), u_before)) << "a step wrote to its controls";
  EXPECT_TRUE(same_bits(copy_of(p, system.parameter_size()), p_before)) << "a step wrote to its parameters";
}

// Each row of the step's Jacobian: by the transpose (hand-written) and by tangents (Dual of the primal).
template <class Real>
void expect_transpose_matches_dual(const System<Real>& system, const Arguments<Real>& at, double gate) {
  Rollout<Real> rollout(std::shared_ptr<const System<Real>>(std::shared_ptr<void>(), &system),
                        {.steps = 1, .worlds = 1});
  const std::vector<Real> jacobian = rollout.jacobian(at);
  const auto n = static_cast<std::size_t>(system.signature().states());
  const std::size_t columns = jacobian.size() / n;
  double scale = 0;
  for (Real j : jacobian) scale = std::max(scale, std::abs(double(j)));
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Real> unit(n, Real(0));
    unit[i] = 1;
    const auto g = rollout.value_and_gradient(at, *loss::cotangents<Real>(system.signature(), {1}, {unit}));
    std::vector<Real> row = g.x0;
    for (std::size_t f = 0; f < system.signature().fields(Role::parameter).size(); ++f) {
      row.insert(row.end(), g.parameters.values(f).begin(), g.parameters.values(f).end());
    }
    ASSERT_EQ(row.size(), columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const double dual = jacobian[i * columns + c];
      EXPECT_NEAR(row[c], dual, gate * std::max({std::abs(dual), 1.0, 1e-3 * scale}))
          << "d " << system.signature().describe(Role::state, std::int64_t(i)) << " / d input " << c;
    }
  }
}

// Hessian-vector product against a six-point stencil of gradients.
template <class Real>
void expect_second_order(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                         double gate, double h) {
  const Arguments<Real> d = check::random_direction(rollout, at, 5),
                        e = check::random_direction(rollout, at, 6);
  const auto slope = [&](int i) {
    return check::inner(rollout.value_and_gradient(check::moved(at, d, i * h), objective), e);
  };
  const double difference =
      (45 * (slope(1) - slope(-1)) - 9 * (slope(2) - slope(-2)) + (slope(3) - slope(-3))) / (60 * h);
  const auto hv = rollout.hessian_vector(at, d, objective);
  const double exact = check::inner(hv.product, e);
  EXPECT_NEAR(exact, difference, gate * std::max(1.0, std::abs(difference)));
  // Symmetric: <e, H d> = <d, H e>.
  const double mirrored = check::inner(rollout.hessian_vector(at, e, objective).product, d);
  EXPECT_NEAR(exact, mirrored, 1e-11 * std::max(1.0, std::abs(exact)));
}

template <class Real>
void expect_contract(std::shared_ptr<const System<Real>> system, const Arguments<Real>& at,
                     const Objective<Real>& objective, ContractOptions o = {}) {
  expect_pure(*system, at);
  expect_deterministic(system, at, objective, o);
  Rollout<Real> rollout(system, {.steps = o.steps, .worlds = o.worlds, .hold = o.hold});
  EXPECT_TRUE(check::dot_product(rollout, at, {.seed = 1, .directions = 20}).passed())
      << check::dot_product(rollout, at, {.seed = 1, .directions = 20}).to_text();
  if constexpr (sizeof(Real) == 8) {
    const auto stencil =
        check::stencil(rollout, at, objective, {.seed = 3, .directions = 3, .step = o.stencil_step});
    EXPECT_LT(stencil.error, o.stencil_gate) << stencil.to_text();
    const auto taylor = check::taylor(rollout, at, objective, {.seed = 4, .step = o.taylor_step});
    EXPECT_TRUE(taylor.passed()) << taylor.to_text();
    if (system->capabilities().second_order)
      expect_second_order(rollout, at, objective, 1e-7, o.second_order_step);
  }
}

}  // namespace costate::test
