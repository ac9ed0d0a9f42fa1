#include "costate/rigid/design.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "costate/io/model/load_model.h"
#include "costate/system/rollout.h"
#include "tests/expect_error.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;

// A rod that hangs from a hinge, another below it: z = length and radius of the upper one, and the stiffness
// of the lower hinge.
Spec two_rods() {
  Spec spec("two rods");
  spec.world.body("upper", {0, 0, 2})
      .hinge("shoulder", {0, 1, 0})
      .capsule("upper", {0, 0, 0}, {0, 0, -0.5}, 0.05)
      .body("lower", {0, 0, -0.5})
      .hinge("elbow", {0, 1, 0})
      .capsule("lower", {0, 0, 0}, {0, 0.05, -0.4}, 0.03);
  JointSpec& elbow = spec.joint("elbow");
  elbow.limited = true, elbow.range = {-0.3, 0.3};
  spec.options.density = 3, spec.options.viscosity = 0.1;  // air, thick enough to be felt
  return spec;
}

void edit(std::span<const double> z, Spec& spec) {
  spec.geom("upper").fromto = {0, 0, 0, 0, 0, -z[0]};
  spec.geom("upper").size[0] = z[1];
  spec.body("lower").pos = {0, 0, -z[0]};
  spec.joint("elbow").stiffness = z[2];
}

Design design() { return {two_rods(), {0.5, 0.05, 0.0}, edit}; }

TEST(Design, MassOfACapsuleFollowsItsLengthAndRadius) {
  const Design rods = design();
  Parameters<double> p(make_system<double>(rods.model(rods.start()))->signature());
  const double L = 0.6, r = 0.04, rho = 1000, pi = std::numbers::pi;
  const std::vector<double> z = {L, r, 2.0};
  rods.write(z, p);
  EXPECT_NEAR(p["body/upper/mass"][0], rho * pi * r * r * (L + 4 * r / 3), 1e-12);
  EXPECT_NEAR(p["body/lower/pos"][2], -L, 1e-15);
  EXPECT_EQ(p["joint/elbow/stiffness"][0], 2.0);

  Parameters<double> bar = p.zeros();
  bar.set("body/upper/mass", 1.0);
  const std::vector<double> by_mass = rods.gradient(z, bar);
  EXPECT_NEAR(by_mass[0], rho * pi * r * r, 1e-9);
  EXPECT_NEAR(by_mass[1], rho * pi * (2 * r * L + 4 * r * r), 1e-7);
  EXPECT_EQ(by_mass[2], 0.0);
}

// Whole steps: with parts at the limit a rollout is smooth only until their number changes (split_step.h),
// which wide differences do not leave out.
double swing(const Design& rods, const std::vector<double>& z, std::vector<double>* gradient) {
  const auto system = make_system<double>(rods.model(rods.start()), {.onset = Onset::none});
  Rollout<double> rollout(system, {.steps = 50, .worlds = std::int64_t(z.size() / 3)});
  Arguments<double> at = rollout.arguments();
  at.x0.clear();
  for (std::size_t w = 0; w < z.size() / 3; ++w) at.x0.insert(at.x0.end(), {0.7, 0.6, 1.0, -2.0});
  rods.write(z, at.parameters);
  const auto g = rollout.value_and_gradient(at, *loss::final<double>(system->signature(), "q", {0.1, 0.2}));
  if (gradient) *gradient = rods.gradient(z, g.parameters);
  return g.value;
}

// Against differences of whole rollouts of models compiled anew, the elbow at its limit: inverse weights and
// the box that the fluid sees are in it.
TEST(Design, GradientOfARolloutIsThatOfModelsCompiledAnew) {
  const Design rods = design();
  const std::vector<double> z = {0.6, 0.04, 1.5, 0.45, 0.06, 0.5};  // two worlds
  std::vector<double> gradient;
  swing(rods, z, &gradient);
  for (std::size_t i = 0; i < z.size(); ++i) {
    double sum = 0;
    for (int k = 1; k <= 3; ++k) {
      const double h = 1e-3 * z[i], weight = k == 1 ? 45 : k == 2 ? -9 : 1;
      std::vector<double> up = z, down = z;
      up[i] += k * h, down[i] -= k * h;
      sum += weight * (swing(rods, up, nullptr) - swing(rods, down, nullptr)) / (60 * h);
    }
    EXPECT_NEAR(gradient[i], sum, 1e-8 * (1 + std::abs(sum))) << i;
  }
}

TEST(Design, MistakesAreErrors) {
  const Design rods = design();
  Parameters<double> p(make_system<double>(rods.model(rods.start()))->signature());
  expect_error([&] { return rods.model(std::vector<double>{1.0}); }, "a design of 1 numbers instead of 3");
  expect_error(
      [&] {
        return rods.model(std::vector<double>{1.0, NAN, 0});
      },
      "number 1 of a design is not finite");
  expect_error([&] { return rods.write(std::vector<double>(4, 0.1), p), 0; }, "there are 4 numbers");
  expect_error([&] { return rods.gradient(std::vector<double>(6, 0.1), p); }, "for 2 designs");
  const Design changing(two_rods(), {1.0}, [](std::span<const double> z, Spec& spec) {
    spec.joint("elbow").limited = z[0] == 1.0;
  });
  expect_error([&] { return changing.write(std::vector<double>{2.0}, p), 0; },
               "a design has other parameters than the first", "edit numbers");
}

}  // namespace
}  // namespace costate::rigid
