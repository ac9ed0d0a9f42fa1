// Boxes on boxes under hard contact: loads that several points share, points that carry nothing, and steps in
// which a point's mode is within rounding of another. Both modes of differentiation must be of the same piece
// at every state, whatever the Rollout did before.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "costate/io/model/load_model.h"
#include "tests/rigid/contact/rigid_impacts.h"

namespace costate::rigid {
namespace {

SystemOptions with(ContactModel contact) { return {.contact = contact}; }

Model two_boxes() {
  return compile(io::parse_mjcf(
      "<mujoco><option timestep='0.004'/><worldbody><geom name='floor' type='plane' size='5 5 0.1'/>"
      "<body name='a'><freejoint/><geom name='a' type='box' size='0.1 0.08 0.06' friction='0.5'/></body>"
      "<body name='b' pos='0 0 0.12'><freejoint/>"
      "<geom name='b' type='box' size='0.07 0.06 0.05' friction='0.4'/></body></worldbody></mujoco>"));
}
Model box_stack() { return load(std::string(COSTATE_SCENES) + "/box_stack.xml"); }

// The lower box slides flat on three of its corners. The fourth lies on the floor and carries nothing.
const std::vector<double> kThreeCorners = {0,
                                           0,
                                           0.0600250512,
                                           1,
                                           0,
                                           0,
                                           0,
                                           0,
                                           0,
                                           0.169065088,
                                           0.999649048,
                                           7.09393935e-4,
                                           6.07420108e-4,
                                           1.21963451e-4,
                                           0.170453906,
                                           0.168476671,
                                           -0.0580956265,
                                           0.0954444259,
                                           -0.218343943,
                                           0.0819711313,
                                           -0.23289223,
                                           0.577228665,
                                           -0.154938415,
                                           0.199035451,
                                           -0.030056007,
                                           0.299977601};

template <class Real>
Arguments<Real> still(const Rollout<Real>& rollout) {
  Arguments<Real> d = rollout.arguments();
  std::fill(d.x0.begin(), d.x0.end(), Real(0));
  std::fill(d.controls.begin(), d.controls.end(), Real(0));
  for (std::size_t f = 0; f < rollout.system().signature().fields(Role::parameter).size(); ++f) {
    for (Real& value : d.parameters.values(f)) value = 0;
  }
  return d;
}

// Random states around x, moved on by some steps.
class States {
 public:
  States(const Model& model, std::vector<double> x, double noise, std::int64_t settle)
      : system_(make_system<double>(model, with(ContactModel::hard))),
        rollout_(system_, {.steps = std::max<std::int64_t>(settle, 1), .active = {}}),
        x_(std::move(x)),
        noise_(noise),
        settle_(settle) {}

  std::vector<double> next() {
    std::vector<double> x = x_;
    for (double& value : x) value += noise_ * normal_(random_);
    if (settle_ == 0) return x;
    Arguments<double> at = rollout_.arguments();
    at.x0 = x;
    return rollout_.simulate(at).final_state;
  }
  std::vector<double> direction(std::size_t size) {
    std::vector<double> d(size);
    for (double& value : d) value = normal_(random_);
    return d;
  }
  const std::shared_ptr<System<double>>& system() const { return system_; }

 private:
  std::shared_ptr<System<double>> system_;
  Rollout<double> rollout_;
  std::vector<double> x_;
  double noise_;
  std::int64_t settle_;
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

double norm(const auto& x) {
  double sum = 0;
  for (const auto value : x) sum += double(value) * double(value);
  return std::sqrt(sum);
}
double dot(const auto& x, const auto& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += double(x[i]) * double(y[i]);
  return sum;
}

// J d and J' w of one step.
template <class Real>
struct Both {
  std::vector<Real> tangent, cotangent;
};
template <class Real>
Both<Real> both_modes(Rollout<Real>& rollout, const std::vector<Real>& x, const std::vector<Real>& d,
                      const std::vector<Real>& w) {
  Arguments<Real> at = rollout.arguments(), direction = still(rollout);
  at.x0 = x;
  direction.x0 = d;
  const auto objective = loss::cotangents<Real>(rollout.system().signature(), {1}, {w});
  return {rollout.jvp(at, direction).final_state_dot, rollout.value_and_gradient(at, *objective).x0};
}

// <w, J d> - <J' w, d>, relative to the larger of what is multiplied: a step loses digits of both where
// contact takes motion away.
template <class Real>
double disagreement(Rollout<Real>& rollout, const std::vector<Real>& x, const std::vector<Real>& d,
                    const std::vector<Real>& w) {
  const Both<Real> both = both_modes(rollout, x, d, w);
  return std::abs(dot(w, both.tangent) - dot(both.cotangent, d)) /
         std::max(norm(w) * norm(both.tangent), norm(d) * norm(both.cotangent));
}

// How far one rounding of the state moves the two products, relative to the same scale: no method can agree
// with itself better.
double one_rounding(Rollout<double>& rollout, const std::vector<double>& x, const std::vector<double>& d,
                    const std::vector<double>& w) {
  const Both<double> here = both_modes(rollout, x, d, w);
  const double scale = std::max(norm(w) * norm(here.tangent), norm(d) * norm(here.cotangent));
  double most = 0;
  for (unsigned trial = 0; trial < 8; ++trial) {
    std::vector<double> moved = x;
    for (std::size_t i = 0; i < x.size(); ++i)
      moved[i] = std::nextafter(x[i], ((trial >> (i % 3)) & 1) != 0 ? 1e300 : -1e300);
    const Both<double> there = both_modes(rollout, moved, d, w);
    most = std::max({most, std::abs(dot(w, there.tangent) - dot(w, here.tangent)),
                     std::abs(dot(there.cotangent, d) - dot(here.cotangent, d))});
  }
  return most / scale;
}

struct Family {
  const char* name;
  Model model;
  std::vector<double> x;
  double noise;
  std::int64_t settle;
  int count;
};
std::vector<Family> families() {
  const Model two = two_boxes(), stack = box_stack();
  return {{"three corners", two, kThreeCorners, 1e-9, 0, 100},
          {"three corners, moved", two, kThreeCorners, 1e-3, 0, 100},
          {"two boxes, settling", two, kThreeCorners, 1e-3, 8, 40},
          {"stack", stack, initial_state(stack), 0.02, 13, 16}};
}

TEST(HardStack, ForwardAndReverseModeAgreeInEveryStep) {
  for (const Family& f : families()) {
    States states(f.model, f.x, f.noise, f.settle);
    Rollout<double> rollout(states.system(), {.steps = 1, .active = {}});
    for (int i = 0; i < f.count; ++i) {
      const auto x = states.next(), d = states.direction(x.size()), w = states.direction(x.size());
      const double error = disagreement(rollout, x, d, w);
      EXPECT_LT(error, 1e-11) << f.name << ", state " << i;
      if (error < 1e-13) continue;
      EXPECT_LT(error, 3 * one_rounding(rollout, x, d, w)) << f.name << ", state " << i;
    }
  }
}

// Over a rollout <lambda_k, v_k> is the same number at every step k. Each step rounds its own product, so
// that the largest is the scale.
TEST(HardStack, ForwardAndReverseModeAgreeOverRollouts) {
  constexpr std::size_t kSteps = 10;
  for (const Family& f : families()) {
    States states(f.model, f.x, f.noise, f.settle);
    Rollout<double> one(states.system(), {.steps = 1, .active = {}}),
        all(states.system(), {.steps = kSteps, .keep = 1, .active = {}});
    for (int i = 0; i < f.count / 8; ++i) {
      Arguments<double> at = all.arguments(), direction = still(all);
      at.x0 = states.next();
      direction.x0 = states.direction(at.x0.size());
      const std::size_t n = at.x0.size();
      const auto w = states.direction(n);
      const auto trajectory = all.simulate(at);
      std::vector<std::vector<double>> x(kSteps + 1), v(kSteps + 1), lambda(kSteps + 1);
      for (std::size_t k = 0; k <= kSteps; ++k)
        x[k].assign(trajectory.states.begin() + std::ptrdiff_t(k * n),
                    trajectory.states.begin() + std::ptrdiff_t((k + 1) * n));
      v[0] = direction.x0;
      lambda[kSteps] = w;
      for (std::size_t k = 0; k < kSteps; ++k) v[k + 1] = both_modes(one, x[k], v[k], w).tangent;
      for (std::size_t k = kSteps; k > 0; --k)
        lambda[k - 1] = both_modes(one, x[k - 1], v[k - 1], lambda[k]).cotangent;
      double scale = 0;
      for (std::size_t k = 0; k <= kSteps; ++k) scale = std::max(scale, norm(lambda[k]) * norm(v[k]));
      const auto objective = loss::cotangents<double>(states.system()->signature(), {kSteps}, {w});
      const double forward = dot(all.jvp(at, direction).final_state_dot, w),
                   reverse = dot(all.value_and_gradient(at, *objective).x0, direction.x0);
      EXPECT_EQ(forward, dot(v[kSteps], w)) << "a rollout is its steps";
      EXPECT_EQ(reverse, dot(lambda[0], v[0])) << "a rollout is its steps";
      EXPECT_NEAR(forward, reverse, 1e-13 * scale) << f.name << ", state " << i;
    }
  }
}

// Differences of two lengths that agree with each other to 1e-6 are the derivative.
TEST(HardStack, ReverseModeIsTheDerivative) {
  for (const Family& f : families()) {
    States states(f.model, f.x, f.noise, f.settle);
    Rollout<double> rollout(states.system(), {.steps = 1, .active = {}});
    int measured = 0;
    for (int i = 0; i < f.count / 4; ++i) {
      Arguments<double> at = rollout.arguments();
      at.x0 = states.next();
      const std::vector<double> w = states.direction(at.x0.size()), d = states.direction(at.x0.size());
      const auto objective = loss::cotangents<double>(states.system()->signature(), {1}, {w});
      const auto g = rollout.value_and_gradient(at, *objective);
      const auto difference = [&](double h) {
        double sum = 0;
        for (const double sign : {-1.0, 1.0}) {
          Arguments<double> moved = at;
          for (std::size_t k = 0; k < d.size(); ++k) moved.x0[k] += sign * h * d[k];
          sum += sign * rollout.value(moved, *objective);
        }
        return sum / (2 * h);
      };
      const double slope = dot(g.x0, d), scale = norm(g.x0), wide = difference(1e-6),
                   narrow = difference(1e-7);
      if (std::abs(wide - narrow) > 1e-6 * scale) continue;  // a corner nearby
      ++measured;
      EXPECT_NEAR(slope, narrow, 2e-6 * scale) << f.name << ", state " << i;
    }
    EXPECT_GE(measured, f.count / 10) << f.name;
  }
}

// A box on one edge, then flat, then on the edge again; and a stack from state to state: every gradient has
// the bits of a Rollout's first one.
TEST(HardStack, ARolloutRemembersNothingOfEarlierStates) {
  const Model box = compile(io::parse_mjcf(
      "<mujoco><option timestep='0.004'/><worldbody>"
      "<geom name='floor' type='plane' size='5 5 0.1' friction='0.1'/><body name='a'><freejoint/>"
      "<geom name='a' type='box' size='0.1 0.08 0.06' friction='0.5 0.03 "
      "0.004'/></body></worldbody></mujoco>"));
  const std::vector<double> flat = {0, 0, 0.06, 1, 0, 0, 0, 0.5, 0.2, 0, 0, 0, 0};
  const std::vector<double> edge = {0, 0, 0.0616, 1, 0.02, 0.006, 0, 0.5, 0.2, -0.2, 0, 0, 0};
  const auto expect_same = [](const std::shared_ptr<System<double>>& system, std::int64_t steps,
                              const std::vector<std::vector<double>>& states) {
    Rollout<double> used(system, {.steps = steps});
    const auto objective = loss::final<double>(system->signature(), "q", {});
    for (const auto& x : states) {
      Rollout<double> fresh(system, {.steps = steps});
      Arguments<double> at = used.arguments();
      at.x0 = x;
      costate::test::expect_same_bits(used.value_and_gradient(at, *objective),
                                      fresh.value_and_gradient(at, *objective), "after another state");
      Arguments<double> direction = still(used);
      std::fill(direction.x0.begin(), direction.x0.end(), 1.0);
      EXPECT_EQ(used.jvp(at, direction).final_state_dot, fresh.jvp(at, direction).final_state_dot);
    }
  };
  const auto system = make_system<double>(box, with(ContactModel::hard));
  for (const std::int64_t steps : {1, 8}) expect_same(system, steps, {edge, flat, edge, flat});
  States stack(box_stack(), initial_state(box_stack()), 0.02, 13);
  std::vector<std::vector<double>> xs;
  for (int i = 0; i < 5; ++i) xs.push_back(stack.next());
  expect_same(stack.system(), 3, xs);
}

// Reverse mode with respect to friction, over steps in which corners come and go: forward mode is right.
TEST(HardStack, FrictionHasTheSameSlopeInBothModes) {
  const auto system = make_system<double>(box_stack(), with(ContactModel::hard));
  Rollout<double> rollout(system, {.steps = 8});
  States states(box_stack(), initial_state(box_stack()), 0.02, 5);
  const auto objective = loss::final<double>(system->signature(), "q", {});
  for (int i = 0; i < 6; ++i) {
    Arguments<double> at = rollout.arguments(), direction = still(rollout);
    at.x0 = states.next();
    direction.parameters.set("geom/second/friction", std::vector<double>{1, 0.1, 0.1});
    const double forward = rollout.jvp(at, direction, objective.get()).value_dot;
    const auto g = rollout.value_and_gradient(at, *objective);
    const auto& mu = g.parameters["geom/second/friction"];
    EXPECT_NEAR(mu[0] + 0.1 * mu[1] + 0.1 * mu[2], forward, 1e-11 * (1 + std::abs(forward))) << i;
  }
}

// The state that tangents belong to is the step's, to the bit, in each contact model and precision.
template <class Real>
void expect_the_same_states(ContactModel contact) {
  const Model model = box_stack();
  const auto system = make_system<Real>(model, with(contact));
  Rollout<Real> rollout(system, {.steps = 1, .active = {}}), longer(system, {.steps = 5, .active = {}});
  States states(model, initial_state(model), 0.02, 3);
  for (int i = 0; i < 8; ++i) {
    const std::vector<double> x = states.next();
    for (Rollout<Real>* r : {&rollout, &longer}) {
      Arguments<Real> at = r->arguments(), direction = still(*r);
      at.x0.assign(x.begin(), x.end());
      std::fill(direction.x0.begin(), direction.x0.end(), Real(1));
      EXPECT_TRUE(costate::test::same_bits(r->jvp(at, direction).final_state, r->simulate(at).final_state))
          << "model " << int(contact) << ", state " << i;
    }
  }
}
TEST(HardStack, TangentsBelongToTheStepsOwnState) {
  for (const auto contact :
       {ContactModel::hard, ContactModel::convex, ContactModel::event, ContactModel::penalty}) {
    expect_the_same_states<double>(contact);
    expect_the_same_states<float>(contact);
  }
}

// Both modes differentiate the same piece of the step. An impulse carries 300 times what is left of the
// motion: of seven digits four remain.
TEST(HardStack, BothModesAgreeInSinglePrecision) {
  const Model model = two_boxes();
  const auto system = make_system<float>(model, with(ContactModel::hard));
  Rollout<float> rollout(system, {.steps = 1, .active = {}});
  States states(model, kThreeCorners, 1e-3, 3);
  const auto single = [](const std::vector<double>& from) {
    return std::vector<float>(from.begin(), from.end());
  };
  for (int i = 0; i < 60; ++i) {
    const auto x = states.next(), d = states.direction(x.size()), w = states.direction(x.size());
    EXPECT_LT(disagreement(rollout, single(x), single(d), single(w)), 1e-4) << i;
  }
}

}  // namespace
}  // namespace costate::rigid
