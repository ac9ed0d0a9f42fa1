#include <cmath>

#include "tests/md/cases.h"

namespace costate::md {
namespace {

using costate::test::expect_contract;

// Every potential with every integrator (with barostats: Barostat.KeepsTheContractWithEveryPotential).
class EveryWord : public testing::TestWithParam<std::string> {};

TEST_P(EveryWord, KeepsTheContractWithEveryPotential) {
  for (const PotentialKind& kind : potential_kinds()) {
    SCOPED_TRACE(kind.name);
    const test::Sample s = test::sample(kind.name, GetParam());
    test::expect_short_contract(
        s, [&](const auto& rollout, unsigned seed) { return test::start(s, rollout, seed, 1e-3); });
  }
}
INSTANTIATE_TEST_SUITE_P(Md, EveryWord, testing::ValuesIn(test::every_word()),
                         [](const auto& one) { return one.param; });

class EveryIntegrator : public testing::TestWithParam<std::string> {};

TEST_P(EveryIntegrator, KeepsTheContract) {
  test::expect_both_contracts(test::sample("lennard_jones_mixture", GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Md, EveryIntegrator, testing::ValuesIn(test::every_word()),
                         [](const auto& one) { return one.param; });

class EveryPotentialMoves : public testing::TestWithParam<std::string> {};

TEST_P(EveryPotentialMoves, KeepsTheContract) {
  const test::Sample s = test::sample(GetParam());
  const auto states = [&](const auto& rollout, unsigned seed) { return test::start(s, rollout, seed, 1e-3); };
  expect_contract(make_system<double>(s.model), {.states = states,
                                                 .steps = 20,
                                                 .long_steps = 100,
                                                 .stencil_step = 1e-4,
                                                 .taylor_step = 3e-4,
                                                 .second_order_step = 1e-4});
}
INSTANTIATE_TEST_SUITE_P(Md, EveryPotentialMoves, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const PotentialKind& kind : potential_kinds()) names.push_back(kind.name);
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

// L = |x_N|^2 of a harmonic well in the plane; the digits are by complex step of the same scheme.
struct NoseHooverDigits {
  double mass, Q, value, dkT, dmass, dQ, dk;
};
TEST(NoseHoover, HasTheDerivativesOfItsScheme) {
  for (const NoseHooverDigits& d :
       {NoseHooverDigits{1, 1, 1.2330460193577235, .0036410315129373717, .32864343270298274,
                         -.003228599086068978, -.32905586512985113},
        NoseHooverDigits{1.5, 2, 1.3399996235311846, .006038402037781845, .1480425594767533,
                         -.0025024781704975287, -.22309728491191655}}) {
    const auto system = make_system<double>({.dimensions = 2,
                                             .masses = {d.mass},
                                             .potentials = {{.kind = "harmonic"}},
                                             .integrator = "nose_hoover",
                                             .dt = 0.01,
                                             .kT = 1,
                                             .thermostat_masses = {d.Q}});
    Rollout<double> rollout(system, {.steps = 50});
    auto at = rollout.arguments();
    at.x0 = {1, 0.5, 0, 0.5, 0};
    const auto loss = loss::final<double>(system->signature(), "x", {}, 2);
    const auto g = rollout.value_and_gradient(at, *loss);
    const double gate = 1e-12;
    EXPECT_NEAR(g.value, d.value, gate);
    EXPECT_NEAR(g.parameters["kT"][0], d.dkT, gate);
    EXPECT_NEAR(g.parameters["mass"][0], d.dmass, gate);
    EXPECT_NEAR(g.parameters["thermostat/mass"][0], d.dQ, gate);
    EXPECT_NEAR(g.parameters["harmonic/k"][0], d.dk, gate);
    if (d.mass != 1) continue;
    EXPECT_NEAR(g.parameters["dt"][0], -29.365471610356977, 30 * gate);
    const double first[] = {1.5069896456692335, 1.202205154124441, .8974206625796477, .7143499022605158};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(g.x0[i], first[i], gate);
  }
}

TEST(Md, InvertibleWordsRunBackwardsToWhereTheyStarted) {
  for (const std::string& word : test::every_word()) {
    const test::Sample s = test::sample("harmonic_bond", word);
    const auto system = make_system<double>(s.model);
    EXPECT_EQ(system->capabilities().reversible, word.find_first_of("EHGRK") == std::string::npos) << word;
    if (!system->capabilities().reversible) continue;
    Rollout<double> stored(system, {.steps = 60});
    Rollout<double> reversed(system, {.steps = 60, .checkpoints = reversible()});
    const auto at = test::start(s, stored, 2);
    const auto loss = loss::final<double>(system->signature(), "x", {});
    const auto a = stored.value_and_gradient(at, *loss), b = reversed.value_and_gradient(at, *loss);
    for (std::size_t i = 0; i < a.x0.size(); ++i) EXPECT_NEAR(a.x0[i], b.x0[i], 1e-10) << word;
  }
}

// Where only potentials are differentiated, a tape of places takes the place of going through steps again.
TEST(Md, GradientsOfPotentialsAloneAreThoseOfEverything) {
  for (const std::string word : {"BAB", "ABA", "BAOAB", "ABOBA", "OBABO", "NBABN"}) {
    SCOPED_TRACE(word);
    const test::Sample s = test::sample("lennard_jones_mixture", word);
    const auto system = make_system<double>(s.model);
    const auto loss = loss::final<double>(system->signature(), "x", {});
    const auto ask = [&](const std::vector<std::string>& active, const Checkpoints& checkpoints) {
      Rollout<double> rollout(system,
                              {.steps = 30, .worlds = 3, .checkpoints = checkpoints, .active = active});
      return rollout.value_and_gradient(test::start(s, rollout, 1), *loss);
    };
    const std::vector<std::string> potentials = {"lennard_jones_mixture/*"};
    const auto all = ask({"**"}, store_all()), few = ask(potentials, store_all());
    const auto binomially = ask(potentials, binomial(3));
    for (std::size_t i = 0; i < all.x0.size(); ++i) {
      EXPECT_NEAR(few.x0[i], all.x0[i], 1e-12 * (1 + std::abs(all.x0[i])));
      EXPECT_EQ(few.x0[i], binomially.x0[i]);
    }
    for (const char* name : {"lennard_jones_mixture/epsilon", "lennard_jones_mixture/sigma"})
      for (std::size_t i = 0; i < 4; ++i) {
        const double expected = all.parameters[name][i];
        EXPECT_NEAR(few.parameters[name][i], expected, 1e-12 * (1 + std::abs(expected)));
        EXPECT_EQ(few.parameters[name][i], binomially.parameters[name][i]);
      }
  }
}

// Velocity Verlet conserves the energy up to an oscillation of order dt^2.
TEST(Verlet, ItsEnergyErrorIsOfOrderTwo) {
  test::Sample s = test::sample("lennard_jones_mixture", "BAB");
  s.model.box = {};  // where an atom changes its nearest image, the energy of a box this small jumps
  EXPECT_NEAR(test::energy_order(s, 0.01, [&](const auto& rollout) { return test::start(s, rollout, 3); }), 2,
              0.1);
}

}  // namespace
}  // namespace costate::md
