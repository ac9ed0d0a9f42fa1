// Displacements and memory of velocities: a free particle with friction in closed form.
#include "costate/md/observable/motion.h"

#include <cmath>

#include "costate/core/philox.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"

namespace costate::md {
namespace {

// v_(k+1) = c v_k + noise, x_(k+1) = x_k + dt (v_k + v_(k+1)) / 2 with c = e^(-friction dt): from equilibrium
// <v_k v_0> = kT/m c^k.
struct FreeParticle {
  double dt = 0.1, kT = 0.6, mass = 2, friction = 1.5;
  std::int64_t worlds = 1 << 16, steps = 30;
  Model model{
      .dimensions = 3, .masses = {mass}, .integrator = "BAOAB", .dt = dt, .kT = kT, .friction = friction};
  std::vector<double> start() const {
    std::vector<double> states(std::size_t(worlds) * 6, 0.0);
    for (std::size_t w = 0; w < std::size_t(worlds); ++w)
      for (std::size_t k = 0; k < 3; ++k)
        states[6 * w + 3 + k] = std::sqrt(kT / mass) * normal<double>(9, std::uint32_t(w), k);
    return states;
  }
};

TEST(Motion, OfAFreeParticleIsThatOfItsFriction) {
  const FreeParticle f;
  const double c = std::exp(-f.friction * f.dt), v2 = f.kT / f.mass, n = double(f.worlds);
  const auto system = make_system<double>(f.model);
  Rollout<double> rollout(system, {.steps = f.steps, .worlds = f.worlds, .seed = 5});
  auto at = rollout.arguments();
  at.x0 = f.start();
  const auto ask = [&](ObserveMotion what) {
    what.start = at.x0;
    for (double& w : what.weights) w /= n;
    return rollout.value_and_gradient(at, *observe<double>(f.model, what));
  };
  const auto memory = ask({.of = Motion::velocity, .steps = {6}, .weights = {1.0}});
  EXPECT_NEAR(memory.value, 3 * v2 * std::pow(c, 6), 0.03 * 3 * v2);
  EXPECT_NEAR(memory.parameters["friction"][0], -6 * f.dt * 3 * v2 * std::pow(c, 6), 0.03 * 3 * v2);

  std::vector<std::int64_t> every(std::size_t(f.steps) + 1);
  for (std::size_t k = 0; k < every.size(); ++k) every[k] = std::int64_t(k);
  const auto D = ask({.of = Motion::velocity, .steps = every, .weights = green_kubo(f.steps, f.dt, 3)});
  double exact = 0, slope = 0;
  const std::vector<double> weights = green_kubo(f.steps, f.dt, 3);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    exact += weights[k] * 3 * v2 * std::pow(c, double(k));
    slope -= weights[k] * 3 * v2 * std::pow(c, double(k)) * double(k) * f.dt;
  }
  EXPECT_NEAR(D.value, exact, 0.03 * exact);
  EXPECT_NEAR(exact, f.kT / (f.mass * f.friction), 0.02 * exact);  // Einstein
  EXPECT_NEAR(D.parameters["friction"][0], slope, 0.06 * std::abs(slope));

  const auto far = ask({.of = Motion::displacement, .weights = {1.0}});
  // sum over j, k of trapezoid weights times c^|j - k|
  double sum = 0;
  for (std::int64_t j = 0; j <= f.steps; ++j)
    for (std::int64_t k = 0; k <= f.steps; ++k)
      sum += (j % f.steps ? 1 : 0.5) * (k % f.steps ? 1 : 0.5) * std::pow(c, double(std::abs(j - k)));
  EXPECT_NEAR(far.value, 3 * v2 * f.dt * f.dt * sum, 0.03 * 3 * v2 * f.dt * f.dt * sum);
}

TEST(Motion, HasItsGradient) {
  const test::Sample s = test::sample("lennard_jones_mixture", "BAOAB");
  const auto system = make_system<double>(s.model);
  Rollout<double> rollout(system, {.steps = 12});
  const auto at = test::start(s, rollout, 3);
  for (const Motion of : {Motion::displacement, Motion::velocity}) {
    const auto loss = observe<double>(s.model, ObserveMotion{.of = of,
                                                             .start = {at.x0.begin(), at.x0.end()},
                                                             .steps = {3, 12},
                                                             .weights = {0.4, 1.1},
                                                             .atoms = {0, 2}});
    const auto result = check::stencil(rollout, at, *loss, {.step = 1e-4});
    EXPECT_LT(result.error, 1e-8) << result.name;
  }
}

TEST(Motion, SaysWhatIsWrong) {
  const Model model = test::sample("lennard_jones").model;
  const auto refuse = [&](const Model& m, const ObserveMotion& what, const char* why, const char* advice) {
    costate::test::expect_error([&] { return observe<double>(m, what); }, why, advice);
  };
  const std::vector<double> start(24, 0.0);
  refuse(model, {.start = {1, 2}}, "the start has 2 numbers", "give 24 of one world");
  refuse(model, {.start = start, .steps = {1, 2}, .weights = {1, 2, 3}}, "3 weights of 2 steps",
         "one per step");
  refuse(model, {.start = start, .atoms = {4}}, "there is no atom 4", "0 to 3");
  Model still = model;
  still.integrator = "overdamped";
  refuse(still, {.of = Motion::velocity, .start = start}, "needs velocities", "A and B");
}

}  // namespace
}  // namespace costate::md
