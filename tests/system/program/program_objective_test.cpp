#include "costate/system/program/program_objective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "costate/ode/lanes/fixed_step_systems.h"
#include "tests/expect_error.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using costate::test::expect_error;

template <class Real>
struct Pendulums {
  std::shared_ptr<System<Real>> system = ode::pendulum<Real>(ode::Integrator::rk4, 0.02);
  const Signature& signature = system->signature();
  Rollout<Real> rollout{system, {.steps = 60, .worlds = 21, .hold = 7}};
  Arguments<Real> at = rollout.arguments();
  Pendulums() {
    at.x0.clear();
    std::vector<Real> length;
    for (int w = 0; w < 21; ++w) {
      at.x0.insert(at.x0.end(), {Real(0.1 + 0.02 * w), Real(-0.3)});
      length.push_back(Real(0.8 + 0.01 * w));
    }
    for (std::size_t i = 0; i < at.controls.size(); ++i)
      at.controls[i] = Real(0.3 * std::sin(0.7 * double(i)));
    at.parameters.set("length", length);
  }
};

template <class Real>
void expect_same(Pendulums<Real>& p, const ObjectivePtr<Real>& a, const ObjectivePtr<Real>& b, double gate) {
  const auto g = p.rollout.value_and_gradient(p.at, *a), h = p.rollout.value_and_gradient(p.at, *b);
  EXPECT_NEAR(g.value, h.value, gate * std::abs(h.value));
  for (std::size_t w = 0; w < h.values.size(); ++w) EXPECT_NEAR(g.values[w], h.values[w], gate);
  for (std::size_t i = 0; i < h.x0.size(); ++i) EXPECT_NEAR(g.x0[i], h.x0[i], gate) << i;
  for (std::size_t i = 0; i < h.controls.size(); ++i)
    EXPECT_NEAR(g.controls[i], h.controls[i], 10 * gate) << i;
  for (const char* name : {"length", "gravity", "dt"}) {
    for (std::size_t i = 0; i < h.parameters[name].size(); ++i)
      EXPECT_NEAR(g.parameters[name][i], h.parameters[name][i],
                  100 * gate * std::max(1.0, std::abs(double(h.parameters[name][i]))))
          << name;
  }
  const auto d = check::random_direction(p.rollout, p.at, 3);
  const auto left = p.rollout.hessian_vector(p.at, d, *a).product,
             right = p.rollout.hessian_vector(p.at, d, *b).product;
  for (std::size_t i = 0; i < right.x0.size(); ++i) EXPECT_NEAR(left.x0[i], right.x0[i], 10 * gate);
  for (std::size_t i = 0; i < right.controls.size(); ++i)
    EXPECT_NEAR(left.controls[i], right.controls[i], 10 * gate);
}

TEST(ProgramObjective, AnExpressionEqualsTheBuiltInLoss) {
  Pendulums<double> p;
  expect_same<double>(p, loss::expression<double>(p.signature, "0.5*(q - 0.4)^2"),
                      loss::final<double>(p.signature, "q", {0.4}), 1e-12);
  expect_same<double>(p, loss::expression<double>(p.signature, "0.05*torque^2 + 0*q", loss::each_step()),
                      loss::effort<double>(p.signature, 0.1), 1e-12);
  expect_same<double>(p, loss::expression<double>(p.signature, "0.5*(v - 1)^2", loss::at_steps({0, 20, 60})),
                      loss::track<double>(p.signature, "v", {0, 20, 60}, {1, 1, 1}), 1e-12);
  Pendulums<float> f;
  expect_same<float>(f, loss::expression<float>(f.signature, "0.5*(q - 0.4)^2"),
                     loss::final<float>(f.signature, "q", {0.4f}), 2e-5);
}

TEST(ProgramObjective, LambdaAndTextGiveTheSameNumbers) {
  Pendulums<double> p;
  const auto energy = [](auto x, auto u, auto q) {
    const auto lv = q[1] * x[1];
    return q[2] * (0.5 * lv * lv - q[0] * q[1] * cos(x[0])) + 0.1 * u[0] * x[0];
  };
  const char* text = "mass*(0.5*(length*v)^2 - gravity*length*cos(q)) + 0.1*torque*q";
  expect_same<double>(p, loss::lambda<double>(p.signature, energy, loss::each_step()),
                      loss::expression<double>(p.signature, text, loss::each_step()), 1e-12);
}

TEST(ProgramObjective, MeetsTheContractWithAllInputsAndTheTime) {
  Pendulums<double> p;
  const auto objective = loss::sum<double>(
      {loss::expression<double>(p.signature, "0.1*(q - sin(2*t))^2*length + 0.01*torque^2*exp(q)",
                                loss::each_step()),
       loss::lambda<double>(p.signature, [](auto x, auto, auto, auto t) { return x[1] * x[1] * t; })});
  test::expect_contract(p.system, {.states = test::starting_at(p.at), .objective = objective, .worlds = 21});
}

TEST(ProgramObjective, DirectDependenceOnTheTimeStepCounts) {
  // t_T = T dt, so d/d dt = T.
  const auto system = ode::pendulum<double>();
  Rollout<double> rollout(system, {.steps = 50, .hold = 50});
  const auto g = rollout.value_and_gradient(rollout.arguments(),
                                            *loss::expression<double>(system->signature(), "t + 0*k"));
  EXPECT_NEAR(g.value, 0.5, 1e-15);
  EXPECT_NEAR(g.parameters["dt"][0], 50, 1e-12);
}

TEST(ProgramObjective, AllocatesNothingOnceWarm) {
  const auto system = ode::pendulum<double>();
  const auto objective =
      loss::expression<double>(system->signature(), "0.5*length*q^2 + exp(v)*torque", loss::each_step());
  const int lanes = 16;
  const std::vector<double> x(2 * lanes, 0.3), u(lanes, 0.1), p(5 * lanes, 1.0);
  std::vector<double> x_bar(2 * lanes), u_bar(lanes), p_bar(5 * lanes), loss(lanes);
  const Objective<double>::At at{
      .k = 3, .steps = 10, .world = 0, .worlds = lanes, .lanes = lanes, .in = {x.data(), u.data(), p.data()}};
  const auto all = [&] {
    objective->value(at, loss.data());
    objective->vjp(at, {x_bar.data(), u_bar.data(), p_bar.data()});
    objective->hvp(at, {x.data(), nullptr, p.data()}, {x_bar.data(), u_bar.data(), p_bar.data()});
  };
  all();
  const test::AllocationGuard guard;
  all();
  EXPECT_EQ(guard.count(), 0);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ProgramObjective, MistakesAreNamed) {
  const auto system = ode::pendulum<double>();
  const Signature& s = system->signature();
  const std::string unknown = message_of([&] { loss::expression<double>(s, "q^2 + lenght"); });
  EXPECT_NE(unknown.find("unknown name 'lenght'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("did you mean 'length'"), std::string::npos) << unknown;
  EXPECT_NE(message_of([&] { loss::expression<double>(s, "torque^2"); }).find("final state"),
            std::string::npos);
  expect_error(
      [&] {
        return loss::expression<double>(s, "q", loss::at_steps({3, 2}));
      },
      "the steps of an objective must increase");
  Rollout<double> rollout(system, {.steps = 5});
  expect_error(
      [&] {
        return rollout.value(rollout.arguments(), *loss::expression<double>(s, "q", loss::at_steps({6})));
      },
      "a term at step 6, outside the rollout of 5 steps");
  expect_error(
      [&] {
        return rollout.value(rollout.arguments(),
                             *loss::expression<double>(s, "torque", loss::at_steps({5})));
      },
      "reads a control has a term at the final state", "use loss::each_step()");
}

}  // namespace
}  // namespace costate
