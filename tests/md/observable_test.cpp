#include "costate/md/observable/thermodynamics.h"

#include <cmath>
#include <numeric>

#include "costate/md/observable/atom_energies.h"

#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"

namespace costate::md {
namespace {

// Gradients through ten steps against six-point differences, for every quantity, with and without a target.
TEST(Thermodynamics, GradientsMatchDifferences) {
  const test::Sample s = test::sample("lennard_jones_mixture", "BAB");
  const auto system = make_system<double>(s.model);
  Rollout<double> rollout(system, {.steps = 10});
  const auto at = test::start(s, rollout, 2);
  for (const char* name : {"potential_energy", "kinetic_energy", "temperature", "pressure"}) {
    for (const bool target : {false, true}) {
      Observe what{.quantity = quantity_by_name(name), .steps = {3, 10}, .weight = 0.7};
      if (target) what.target = 0.4;
      const auto result = check::stencil(rollout, at, *observe<double>(s.model, what), {.step = 1e-5});
      EXPECT_TRUE(result.passed()) << name << ": " << result.error;
    }
  }
}

// An ideal gas has P V = N T, and a pair at its minimum has no virial.
TEST(Thermodynamics, PressureOfWhatIsKnown) {
  Model model{.masses = {1, 2}, .box = {5, 5, 5}, .integrator = "BAB"};
  const auto value = [&](const std::vector<double>& x0, const char* name) {
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 0});
    auto at = rollout.arguments();
    at.x0 = x0;
    return rollout.value(at, *observe<double>(model, {.quantity = quantity_by_name(name)}));
  };
  std::vector<double> x0 = {0, 0, 0, std::pow(2.0, 1.0 / 6), 0, 0, 0.3, 0.1, -0.2, 0.4, 0.2, 0.5};
  const double temperature = value(x0, "temperature");
  EXPECT_NEAR(temperature, (0.14 + 2 * 0.45) / 6, 1e-15);
  EXPECT_NEAR(value(x0, "pressure"), 2 * temperature / 125, 1e-15);
  model.potentials = {{.kind = "lennard_jones"}};
  EXPECT_NEAR(value(x0, "pressure"), 2 * temperature / 125, 1e-14);
  EXPECT_NEAR(value(x0, "potential_energy"), -1, 1e-15);
  // Pressed together by a factor: P = 2K/(3V) - r U'(r) / (3 V).
  const double r = 1.05, slope = 4 * (-12 * std::pow(r, -13) + 6 * std::pow(r, -7));
  x0[3] = r;
  EXPECT_NEAR(value(x0, "pressure"), (6 * temperature - r * slope) / 375, 1e-13);
}

// Two pairs of three atoms, and what each atom has.
TEST(AtomEnergies, AreHalvesOfPairs) {
  const Model model{
      .masses = {1, 1, 1},
      .potentials = {
          {.kind = "harmonic_bond", .atoms = {0, 1, 1, 2}, .parameters = {{"k", {2}}, {"r0", {1}}}}}};
  const auto e = atom_energies(model, {0, 0, 0, 1.5, 0, 0, 1.5, 3, 0});
  EXPECT_EQ(e[0], 0.125);  // of 2 (0.5)^2 / 2
  EXPECT_EQ(e[2], 2);      // of 2 2^2 / 2
  EXPECT_EQ(e[1], 2.125);
}

// Through ten steps, at a constant pressure too. (Large worlds: large_test.cpp.)
TEST(AtomEnergies, GradientsMatchDifferences) {
  for (const bool barostat : {false, true}) {
    test::Sample s = test::sample("lennard_jones_mixture", barostat ? "barostat" : "BAB");
    s.model.piston_mass = 20;
    const auto system = make_system<double>(s.model);
    Rollout<double> rollout(system, {.steps = 10});
    const auto at = test::start(s, rollout, 2);
    for (const bool target : {false, true}) {
      ObserveEnergies what{.steps = {3, 10}, .weights = {0.5, -1, 2, 0.3}};
      if (target) what.target = {0.4, -0.2, 0.1, 0};
      const auto result = check::stencil(rollout, at, *observe<double>(s.model, what), {.step = 1e-5});
      EXPECT_TRUE(result.passed()) << barostat << target << ": " << result.error;
    }
  }
}

TEST(AtomEnergies, WithWeightsOfOneAreThePotentialEnergy) {
  const test::Sample s = test::sample("ewald", "BAB");
  const auto system = make_system<double>(s.model);
  Rollout<double> rollout(system, {.steps = 5});
  const auto at = test::start(s, rollout, 2);
  const auto parts = rollout.value_and_gradient(at, *observe<double>(s.model, ObserveEnergies{}));
  const auto whole = rollout.value_and_gradient(at, *observe<double>(s.model, Observe{}));
  EXPECT_NEAR(parts.value, whole.value, 1e-13);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(parts.parameters["ewald/charge"][i], whole.parameters["ewald/charge"][i], 1e-12);
}

TEST(AtomEnergies, SayWhatIsWrong) {
  const auto refuse = [](const Model& model, const ObserveEnergies& what, const char* why,
                         const char* advice) {
    costate::test::expect_error([&] { return observe<double>(model, what); }, why, advice);
  };
  Model m = test::sample("ewald").model;
  refuse(m, {.weights = {1, 2}}, "there are 2 weights of 4 atoms", "one per atom");
  refuse(m, {.target = {1}}, "there are 1 targets of 4 atoms", "one per atom");
  m.potentials[0].parameters["charge"] = {1};
  refuse(m, {}, "it has one charge for all atoms", "observe the potential energy of all");
  refuse(test::sample("energy_formula").model, {}, "atoms have no parts of the energy of energy_formula",
         "observe the potential energy of all");
}

TEST(Thermodynamics, SaysWhatItNeeds) {
  const test::Sample overdamped = test::sample("harmonic", "E"), open = test::sample("harmonic", "BAB");
  costate::test::expect_error(
      [&] { return observe<double>(overdamped.model, {.quantity = Quantity::temperature}); },
      "temperature needs velocities", "choose one with A and B");
  costate::test::expect_error([&] { return observe<double>(open.model, {.quantity = Quantity::pressure}); },
                              "pressure needs a box", "give the model a box");
  costate::test::expect_error([] { return quantity_by_name("presure"); }, "there is no quantity 'presure'",
                              "pressure");
}

}  // namespace
}  // namespace costate::md
