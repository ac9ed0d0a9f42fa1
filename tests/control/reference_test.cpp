#include "costate/control/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/control/plan/mpc.h"
#include "costate/system/program/program_system.h"
#include "tests/control/stencil.h"
#include "tests/expect_error.h"

namespace costate::control {
namespace {

using costate::control::test::stencil;
using costate::test::expect_error;

// A place, a quaternion, a speed; two controls. Two rows of reference.
Reference turned() {
  const double half = 0.35;
  Signature fields;
  fields.state("place").state("turn", 4).state("speed").control("push", 2);
  return {fields,
          StateSpace(6, {1}),
          {{2, 3, 4, 5, 0.5}, {0.1, 0.2}, {20, 30, 40, 50, 5}},
          {1, 1, 0, 0, 0, 0, /**/ 2, std::cos(half), 0, std::sin(half), 0, 1},
          {0.5, -0.5}};
}

constexpr int kLanes = 3;

// Lane 1 of three is the world that is meant; the others hold something else.
struct World {
  std::vector<double> x, u;
  World(const std::vector<double>& state, const std::vector<double>& control)
      : x(state.size() * kLanes, 0.25), u(control.size() * kLanes, 0.75) {
    for (std::size_t i = 0; i < state.size(); ++i) x[i * kLanes + 1] = state[i];
    for (std::size_t i = 0; i < control.size(); ++i) u[i * kLanes + 1] = control[i];
  }
  Objective<double>::At at(std::int64_t k, std::int64_t steps) const {
    Objective<double>::At a;
    a.k = k, a.steps = steps, a.lanes = kLanes, a.in = {x.data(), k < steps ? u.data() : nullptr, nullptr};
    return a;
  }
  double value(const Reference& of, std::int64_t k, std::int64_t steps) const {
    double loss[kLanes] = {};
    of.value(at(k, steps), loss);
    return loss[1];
  }
};

TEST(Reference, CostIsHalfTheWeightedSquaredDistance) {
  Reference r = turned();
  const double turn = 0.6;  // about y, from the first row
  const World w({1.5, std::cos(turn / 2), 0, std::sin(turn / 2), 0, 2}, {1.5, 0});
  const double e = 2 * std::sin(turn / 2);
  EXPECT_NEAR(w.value(r, 0, 5), 0.5 * (2 * 0.25 + 4 * e * e + 0.5 * 4 + 0.1 * 1 + 0.2 * 0.25), 1e-14);
  const World mirrored({1.5, -std::cos(turn / 2), 0, -std::sin(turn / 2), 0, 2}, {1.5, 0});
  EXPECT_NEAR(mirrored.value(r, 0, 5), w.value(r, 0, 5), 1e-14) << "q and -q are one rotation";
  // The last state has weights of its own and no control; rows move on, and the last one stays.
  const double later = 2 * std::sin((0.7 - turn) / 2);
  const double second = 0.5 * (20 * 0.25 + 40 * later * later + 5 * 1);
  EXPECT_NEAR(w.value(r, 1, 1), second, 1e-13);
  r.begin_at(1);
  EXPECT_NEAR(w.value(r, 0, 0), second, 1e-13);
  EXPECT_NEAR(w.value(r, 7, 7), second, 1e-13);
}

TEST(Reference, DerivativesMatchTheStencil) {
  const Reference r = turned();
  const std::vector<double> x = {0.3, 0.8, -0.2, 0.5, 0.4, -1}, u = {0.2, 0.9};
  const std::vector<double> x_dot = {0.5, -0.3, 0.2, 0.7, -0.1, 0.4}, u_dot = {1.1, -0.6};
  const auto moved = [&](double s) {
    std::vector<double> xs = x, us = u;
    for (std::size_t i = 0; i < x.size(); ++i) xs[i] += s * x_dot[i];
    for (std::size_t i = 0; i < u.size(); ++i) us[i] += s * u_dot[i];
    return World(xs, us);
  };
  for (const std::int64_t k : {std::int64_t(1), std::int64_t(4)}) {
    const auto gradient = [&](const World& w) {
      std::pair<std::vector<double>, std::vector<double>> g(std::vector<double>(18), std::vector<double>(6));
      r.vjp(w.at(k, 4), {g.first.data(), k < 4 ? g.second.data() : nullptr, nullptr});
      return g;
    };
    const auto g = gradient(moved(0));
    double along = 0;
    for (std::size_t i = 0; i < x.size(); ++i) along += g.first[i * kLanes + 1] * x_dot[i];
    for (std::size_t i = 0; i < u.size(); ++i) along += g.second[i * kLanes + 1] * u_dot[i];
    EXPECT_NEAR(along, stencil([&](double s) { return moved(s).value(r, k, 4); }), 1e-11);

    const World direction(x_dot, u_dot), here = moved(0);
    std::vector<double> x_bar_dot(18), u_bar_dot(6);
    r.hvp(here.at(k, 4), {direction.x.data(), direction.u.data(), nullptr},
          {x_bar_dot.data(), u_bar_dot.data(), nullptr});
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x_bar_dot[i * kLanes + 1],
                  stencil([&](double s) { return gradient(moved(s)).first[i * kLanes + 1]; }), 1e-10);
    for (std::size_t i = 0; i < u.size(); ++i)
      EXPECT_NEAR(u_bar_dot[i * kLanes + 1],
                  stencil([&](double s) { return gradient(moved(s)).second[i * kLanes + 1]; }), 1e-10);
  }
}

// A cart follows a sine that its plans see ahead of time, with the gains that its plans were made with.
TEST(Reference, AMovingReferenceIsFollowed) {
  Signature fields;
  fields.state("x").state("v").control("a");
  Problem p;
  p.system = equations_system<double>(fields, "x_dot = v; v_dot = a", rk4(0.05));
  p.parameters = Parameters<double>(p.system->signature());
  p.steps = 20;
  std::vector<double> rows;
  for (int k = 0; k < 200; ++k) rows.insert(rows.end(), {std::sin(0.05 * k), std::cos(0.05 * k)});
  const auto reference = std::make_shared<Reference>(p.system->signature(), StateSpace(),
                                                     ReferenceWeights{{100, 10}, {0.001}, {}}, rows);
  p.objective = reference;
  Mpc mpc(p, {0.0}, {.ddp = {.iterations = 1, .fresh_gains = false}});
  const Plant plant(p.system, p.parameters, p.space);
  auto block = plant.take();
  std::vector<double> x = {0.3, 0}, y(2);
  double worst = 0;
  for (int k = 0; k < 150; ++k) {
    reference->begin_at(k);
    mpc.update(x, k == 0 ? 0 : 1);
    ASSERT_EQ(mpc.latest().K.size(), std::size_t(20 * 2));
    plant.step(k, x.data(), mpc.control(x).data(), y.data(), *block);
    x = y;
    if (k > 40) worst = std::max(worst, std::abs(x[0] - std::sin(0.05 * (k + 1))));
  }
  EXPECT_LT(worst, 2e-3);
}

TEST(Reference, MistakesAreTold) {
  Signature fields;
  fields.state("x").state("v").control("a");
  const auto make = [&](ReferenceWeights weights, std::vector<double> states,
                        std::vector<double> controls = {}) {
    return Reference(fields, StateSpace(), std::move(weights), std::move(states), std::move(controls));
  };
  expect_error([&] { return make({{1, 1}}, {1, 2, 3}); }, "which are not rows of 2");
  expect_error([&] { return make({{1}}, {1, 2}); }, "1 weights of states instead of 2");
  expect_error([&] { return make({{1, -1}}, {1, 2}); }, "negative or not finite");
  expect_error([&] { return make({{1, 1}, {}, {1}}, {1, 2}); }, "1 weights of the last state");
  expect_error([&] { return make({{1, 1}, {1, 1}}, {1, 2}); }, "2 weights of controls instead of 1");
  expect_error([&] { return make({{1, 1}, {1}}, {1, 2}, {1, 2, 3}); }, "3 controls instead of 1");
  expect_error([&] { return make({{1, 1}}, {1, NAN}); }, "the reference is not finite");
  expect_error(
      [&] {
        return Reference(fields, StateSpace(3), {{1, 1, 1}}, {1, 2, 3});
      },
      "a space of 3 states for a system of 2");
}

}  // namespace
}  // namespace costate::control
