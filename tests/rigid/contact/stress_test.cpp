// A thousand states of walkers in, on and above the floor: a finite motion has a finite gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "costate/rigid/rigid_system.h"
#include "tests/rigid/contact/states.h"

namespace costate::rigid {
namespace {

constexpr std::int64_t kWorlds = 1000, kSteps = 5;

// Everything at random; the root up to half a metre under the floor.
template <class Real>
std::vector<Real> random_states(const Model& m) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Real> r;
  for (std::int64_t w = 0; w < kWorlds; ++w) {
    std::vector<double> x(static_cast<std::size_t>(m.nq + m.nv + m.na));
    for (double& value : x) value = uniform(random);
    for (const Joint& j : m.joints) {
      double* q = x.data() + j.qpos;
      if (j.type == JointType::free) {
        q[2] = 0.5 * (uniform(random) + 0.5);
        double square = 0;
        for (int k = 3; k < 7; ++k) square += q[k] * q[k];
        for (int k = 3; k < 7; ++k) q[k] /= std::sqrt(square);
      }
    }
    for (int i = 0; i < m.nv; ++i) x[static_cast<std::size_t>(m.nq + i)] *= 4;
    r.insert(r.end(), x.begin(), x.end());
  }
  return r;
}

bool all_finite(const auto& values) {
  return std::all_of(values.begin(), values.end(), [](auto x) { return std::isfinite(x); });
}

// A start far under the floor may be thrown so hard that the next steps explode. Their states are finite
// numbers still, squares of them are not: such worlds start as the first one does. How many there were.
template <class Real>
std::int64_t replace_explosions(Rollout<Real>& rollout, Arguments<Real>& at) {
  const std::vector<Real> end = rollout.simulate(at).final_state;
  const std::size_t size = end.size() / std::size_t(rollout.options().worlds);
  std::int64_t exploded = 0;
  for (std::size_t begin = 0; begin < end.size(); begin += size) {
    const auto large = [](Real x) { return std::abs(x) > Real(1e30); };
    if (std::none_of(&end[begin], &end[begin] + size, large)) continue;
    std::copy_n(at.x0.begin(), size, at.x0.begin() + std::ptrdiff_t(begin));
    ++exploded;
  }
  return exploded;
}

template <class Real>
void finite_forward_means_finite_gradient(const std::string& name, const SystemOptions& options = {},
                                          std::int64_t worlds = kWorlds) {
  Model model = test::contact_reference(name).model;
  if (options.contact == ContactModel::hard) model.options.integrator = Integrator::euler;
  const auto system = make_system<Real>(model, options);
  Rollout<Real> rollout(system, {.steps = kSteps, .worlds = worlds, .hold = kSteps});
  auto at = rollout.arguments();
  at.x0 = random_states<Real>(model);
  at.x0.resize(std::size_t(worlds * system->signature().states()));
  ASSERT_TRUE(all_finite(rollout.simulate(at).final_state)) << name;
  EXPECT_LE(replace_explosions(rollout, at), worlds / 50) << name;
  const auto objective = loss::sum<Real>(
      {loss::final<Real>(system->signature(), "q", {}), loss::final<Real>(system->signature(), "v", {})});
  const auto g = rollout.value_and_gradient(at, *objective);
  EXPECT_TRUE(all_finite(g.x0)) << name;
  EXPECT_TRUE(all_finite(g.controls)) << name;
  for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f)
    EXPECT_TRUE(all_finite(g.parameters.values(f)))
        << name << " " << system->signature().fields(Role::parameter)[f].name;
  EXPECT_LT(g.report.adjoint_residual, sizeof(Real) == 8 ? 1e-9 : 1e-1) << name;
}

TEST(ContactStress, AntsHaveFiniteGradients) { finite_forward_means_finite_gradient<double>("ant"); }
TEST(ContactStress, AntsInHardContactHaveFiniteGradients) {
  finite_forward_means_finite_gradient<double>(
      "ant", {.contact = ContactModel::hard, .impact = {.restitution = 0.5}});
  finite_forward_means_finite_gradient<double>(
      "ant", {.contact = ContactModel::hard, .impact = {.restitution = 0.5}, .hard = {.aware = true}}, 300);
  finite_forward_means_finite_gradient<float>("ant", {.contact = ContactModel::hard}, 300);
}
TEST(ContactStress, WalkersInEveryOtherModelHaveFiniteGradients) {
  for (const char* name : {"ant", "humanoid"}) {
    finite_forward_means_finite_gradient<double>(
        name, {.contact = ContactModel::event, .impact = {.restitution = 0.5}});
    finite_forward_means_finite_gradient<double>(
        name, {.contact = ContactModel::penalty, .penalty = {.stiffness = 1e4, .slip_speed = 0.1}});
  }
  finite_forward_means_finite_gradient<double>("humanoid", {.contact = ContactModel::hard});
}
TEST(ContactStress, SolidsInHardContactHaveFiniteGradients) {
  finite_forward_means_finite_gradient<double>("solids", {.contact = ContactModel::hard}, 100);
}
TEST(ContactStress, HumanoidsHaveFiniteGradients) {
  finite_forward_means_finite_gradient<double>("humanoid");
}
TEST(ContactStress, HumanoidsHaveFiniteGradientsInFloat) {
  finite_forward_means_finite_gradient<float>("humanoid");
}
// Bodies half a metre deep in the floor take 48 parts in every step: a few of them, and all in whole steps.
TEST(ContactStress, SolidsAndTheZooHaveFiniteGradients) {
  for (const char* name : {"solids", "zoo", "zoo_elliptic"}) {
    finite_forward_means_finite_gradient<double>(name, {.onset = Onset::none});
    finite_forward_means_finite_gradient<double>(name, {.onset = Onset::split}, 48);
  }
}

// A world's motion and gradient are its own: the same bits alone as between others that touch other things.
TEST(ContactStress, NeighboursInALaneChangeNoBit) {
  struct Case {
    const char* name;
    Onset onset;
    std::size_t worlds, alone;
  };
  for (const auto& [name, onset, worlds, alone_too] : {Case{"humanoid", Onset::none, 1000, 100},
                                                       {"zoo", Onset::none, 1000, 100},
                                                       {"zoo_elliptic", Onset::none, 1000, 100},
                                                       {"zoo", Onset::split, 32, 10},
                                                       {"zoo_elliptic", Onset::split, 32, 10}}) {
    const Model model = test::contact_reference(name).model;
    const auto system = make_system<double>(model, {.onset = onset});
    Rollout<double> many(system, {.steps = kSteps, .worlds = std::int64_t(worlds), .hold = kSteps}),
        one(system, {.steps = kSteps, .worlds = 1, .hold = kSteps});
    auto at = many.arguments();
    at.x0 = random_states<double>(model);
    at.x0.resize(worlds * std::size_t(system->signature().states()));
    const auto objective = loss::final<double>(system->signature(), "q", {});
    const auto g = many.value_and_gradient(at, *objective);
    const auto end = many.simulate(at).final_state;
    const auto n = std::size_t(system->signature().states());
    for (std::size_t w = 0; w < alone_too; ++w) {
      auto alone = one.arguments();
      const auto begin = std::ptrdiff_t(w * n);
      std::copy(at.x0.begin() + begin, at.x0.begin() + begin + std::ptrdiff_t(n), alone.x0.begin());
      const auto own = one.value_and_gradient(alone, *objective);
      const auto own_end = one.simulate(alone).final_state;
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(own_end[i], end[w * n + i]) << name << " world " << w << " state " << i;
        EXPECT_EQ(own.x0[i], g.x0[w * n + i]) << name << " world " << w << " gradient " << i;
      }
    }
  }
}

}  // namespace
}  // namespace costate::rigid
