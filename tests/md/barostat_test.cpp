// The barostat: volumes of an ideal gas in closed form, the pressure of a fluid, enthalpy, and the contract.
#include <cmath>

#include "costate/md/observable/thermodynamics.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/cases.h"

namespace costate::md {
namespace {

const char* const kWord = "PBADOQDABP";

test::Sample pressed(const std::string& kind, const std::string& word) {
  test::Sample s = test::sample(kind, word);
  if (s.model.box.empty()) s.model.box.assign(std::size_t(s.model.dimensions), 6.0);
  s.model.pressure = 0.6;
  s.model.piston_mass = 40;
  s.model.piston_friction = 0.9;
  return s;
}
// A little strain, and a piston that moves.
template <class Real>
Arguments<Real> moving_start(const test::Sample& s, const Rollout<Real>& rollout, unsigned seed) {
  Arguments<Real> at = test::start(s, rollout, seed, 1e-3);
  const Signature& signature = rollout.system().signature();
  at.x0[std::size_t(signature.find(Role::state, "strain").offset)] = Real(0.02);
  at.x0[std::size_t(signature.find(Role::state, "piston").offset)] = Real(0.15);
  return at;
}

TEST(Barostat, KeepsTheContractWithEveryPotential) {
  for (const PotentialKind& kind : potential_kinds()) {
    for (const char* word : {kWord, "NPBADABPN"}) {
      SCOPED_TRACE(kind.name + " " + word);
      const test::Sample s = pressed(kind.name, word);
      test::expect_short_contract(
          s, [&](const auto& rollout, unsigned seed) { return moving_start(s, rollout, seed); });
    }
  }
}

TEST(Barostat, KeepsTheContract) {
  const test::Sample s = pressed("lennard_jones_mixture", kWord);
  const auto states = [&](const auto& rollout, unsigned seed) { return moving_start(s, rollout, seed); };
  costate::test::expect_contract(make_system<double>(s.model), {.states = states,
                                                                .steps = 20,
                                                                .long_steps = 200,
                                                                .stencil_step = 1e-4,
                                                                .taylor_step = 3e-4,
                                                                .second_order_step = 1e-4});
  costate::test::expect_contract(make_system<float>(s.model),
                                 {.states = states, .steps = 20, .long_steps = 50});
}

TEST(Barostat, RunsBackwardsToWhereItStarted) {
  const test::Sample s = pressed("lennard_jones_mixture", kWord);
  const auto system = make_system<double>(s.model);
  ASSERT_TRUE(system->capabilities().reversible);
  Rollout<double> stored(system, {.steps = 60});
  Rollout<double> reversed(system, {.steps = 60, .checkpoints = reversible()});
  const auto at = moving_start(s, stored, 2);
  const auto loss = loss::final<double>(system->signature(), "x", {});
  const auto a = stored.value_and_gradient(at, *loss), b = reversed.value_and_gradient(at, *loss);
  for (std::size_t i = 0; i < a.x0.size(); ++i)
    EXPECT_NEAR(a.x0[i], b.x0[i], 1e-10 * (1 + std::abs(a.x0[i])));
}

// K + U + pressure V + W s^2 / 2 without friction.
TEST(Barostat, ItsEnthalpyErrorIsOfOrderTwo) {
  test::Sample s = pressed("lennard_jones_mixture", "PBADABP");
  s.model.box = {9, 9, 9};  // far from other images
  s.model.pressure = 0.003;
  EXPECT_NEAR(test::energy_order(s, 0.01, [&](const auto& rollout) { return moving_start(s, rollout, 3); }),
              2, 0.1);
}

struct Average {
  double mean = 0, error = 0;
};
// f(state) after the first quarter of the time, averaged; every world is one sample.
template <class F>
Average average(const Trajectory<double>& path, std::size_t worlds, std::size_t states, const F& f) {
  Average all;
  double square = 0;
  const std::size_t first = path.kept.size() / 4;
  for (std::size_t w = 0; w < worlds; ++w) {
    double sum = 0;
    for (std::size_t k = first; k < path.kept.size(); ++k) sum += f(&path.states[(k * worlds + w) * states]);
    sum /= double(path.kept.size() - first);
    all.mean += sum / double(worlds), square += sum * sum / double(worlds);
  }
  all.error = std::sqrt((square - all.mean * all.mean) / double(worlds - 1));
  return all;
}

// V^N e^(-pressure V / kT): <V> = (N + 1) kT / pressure, and the variance is <V> kT / pressure.
TEST(Barostat, OfAnIdealGasHasItsVolumes) {
  const double kT = 0.8, pressure = 0.05;
  const std::size_t worlds = 1024;
  const Model model{.masses = {1, 2, 1, 3},
                    .box = {5, 4, 4},
                    .integrator = "barostat",
                    .dt = 0.05,
                    .kT = kT,
                    .pressure = pressure,
                    .piston_mass = 12,
                    .piston_friction = 1};
  const auto system = make_system<double>(model);
  Rollout<double> rollout(
      system, {.steps = 3000, .worlds = std::int64_t(worlds), .keep = 20, .active = {}, .seed = 3});
  const auto path = rollout.simulate(rollout.arguments());
  const auto volume = [](const double* x) { return 80 * std::exp(3 * x[24]); };
  const Average V = average(path, worlds, 26, volume);
  const double mean = 5 * kT / pressure;
  EXPECT_LT(V.error, 0.01 * mean);  // 4 kT / pressure is far away
  EXPECT_NEAR(V.mean, mean, 4 * V.error);
  const Average square = average(path, worlds, 26, [&](const double* x) { return volume(x) * volume(x); });
  EXPECT_NEAR(square.mean, mean * mean + mean * kT / pressure, 4 * square.error);
  // Every degree of freedom has its share.
  const Average kinetic = average(path, worlds, 26, [](const double* x) { return 12 * x[25] * x[25]; });
  EXPECT_NEAR(kinetic.mean, kT, 4 * kinetic.error + 0.002 * kT);
  const Average heavy = average(path, worlds, 26, [](const double* x) { return 3 * x[21] * x[21]; });
  EXPECT_NEAR(heavy.mean, kT, 4 * heavy.error + 0.002 * kT);
}

// The mean of the instantaneous pressure is the pressure of the barostat.
TEST(Barostat, HoldsThePressureOfAFluid) {
  const double pressure = 1.5;
  Model model{.potentials = {{.kind = "wca"}},
              .box = {3.2, 3.2, 3.2},
              .integrator = "barostat",
              .dt = 0.005,
              .kT = 1,
              .pressure = pressure,
              .piston_mass = 10,
              .piston_friction = 2};
  model.masses.assign(16, 1.0);
  std::vector<double> x0;
  for (int i = 0; i < 16; ++i) {  // 2 x 2 x 4, and every other layer is moved
    const double moved = 0.8 * (i / 4 % 2);
    x0.insert(x0.end(), {1.6 * (i % 2) + moved, 1.6 * (i / 2 % 2) + moved, 0.8 * (i / 4)});
  }
  const std::int64_t worlds = 256, steps = 3000;
  const auto system = make_system<double>(model);
  std::vector<std::int64_t> when;
  for (std::int64_t k = 800; k <= steps; k += 10) when.push_back(k);
  const double count = double(when.size());
  Rollout<double> rollout(system, {.steps = steps, .worlds = worlds, .active = {}, .seed = 5});
  auto at = rollout.arguments();
  std::copy(x0.begin(), x0.end(), at.x0.begin());
  const auto loss =
      observe<double>(model, Observe{.quantity = Quantity::pressure, .steps = when, .weight = 1 / count});
  const auto values = rollout.values(at, *loss);
  double mean = 0, square = 0;
  for (const double value : values) mean += value / double(worlds), square += value * value / double(worlds);
  const double error = std::sqrt((square - mean * mean) / double(worlds - 1));
  EXPECT_LT(error, 0.01 * pressure);
  EXPECT_NEAR(mean, pressure, 4 * error);
}

// Gradients of what is observed, with a box that moves.
TEST(Barostat, ObservablesHaveTheirGradients) {
  const test::Sample s = pressed("lennard_jones_mixture", kWord);
  const auto system = make_system<double>(s.model);
  Rollout<double> rollout(system, {.steps = 10});
  const auto at = moving_start(s, rollout, 2);
  for (const char* name : {"potential_energy", "pressure"}) {
    const auto loss = observe<double>(s.model, {.quantity = quantity_by_name(name), .steps = {3, 10}});
    const auto result = check::stencil(rollout, at, *loss, {.step = 1e-5});
    EXPECT_TRUE(result.passed()) << name << ": " << result.error;
  }
}

// A large world: a list that was made in another box shows nothing, and the transpose is the transpose.
TEST(Barostat, OfALargeWorldDoesNotSeeItsList) {
  Model model{.potentials = {{.kind = "lennard_jones", .options = {{"cutoff", 1.8}, {"switch_from", 1.5}}}},
              .box = {6.6, 6.6, 6.6},
              .integrator = "barostat",
              .dt = 0.004,
              .kT = 0.7,
              .pressure = 4,
              .piston_mass = 300};
  model.masses.assign(216, 1.0);
  std::vector<double> end;
  for (const double skin : {0.0, 0.3, 0.7}) {
    model.potentials[0].options["skin"] = skin;
    const auto system = make_system<double>(model);
    EXPECT_EQ(system->lanes(), 1);
    Rollout<double> rollout(system, {.steps = 40, .seed = 2});
    auto at = rollout.arguments();
    for (int i = 0; i < 216; ++i)
      for (int k = 0; k < 3; ++k) {
        const int place = k == 0 ? i % 6 : k == 1 ? i / 6 % 6 : i / 36;
        at.x0[std::size_t(3 * i + k)] =
            1.1 * place + 0.05 * normal<double>(7, std::uint32_t(i), std::uint64_t(k));
      }
    const auto path = rollout.simulate(at);
    if (end.empty()) end = path.final_state;
    EXPECT_GT(std::abs(end[1296]), 1e-4);  // the box has moved
    for (std::size_t i = 0; i < end.size(); ++i) ASSERT_EQ(path.final_state[i], end[i]) << skin;
    if (skin != 0.3) continue;
    Rollout<double> two(system, {.steps = 2});
    const auto result = check::dot_product(two, at);
    EXPECT_TRUE(result.passed()) << result.name;
  }
}

TEST(Barostat, SaysWhatIsWrong) {
  const auto refuse = [](const Model& model, const char* why, const char* advice) {
    costate::test::expect_error([&] { return make_system<double>(model); }, why, advice);
  };
  Model m = pressed("lennard_jones", kWord).model;
  m.piston_mass = 0;
  refuse(m, "needs a piston_mass", "kT t^2");
  m = pressed("lennard_jones", "ADA").model;
  refuse(m, "needs both letters, P and D", "PBADOQDABP");
  m = pressed("lennard_jones", kWord).model;
  m.box = {};
  refuse(m, "a barostat needs a box", "give the model a box");
  m = pressed("lennard_jones", kWord).model;
  m.rigid_bonds = {0, 1}, m.rigid_lengths = {1};
  refuse(m, "has letters that do not keep rigid bonds", "A, B, O and N");
  // A box that shrinks to less than two cutoffs is an error, not a wrong force.
  const test::Sample s = pressed("lennard_jones", kWord);
  Rollout<double> rollout(make_system<double>(s.model), {.steps = 200});
  auto at = moving_start(s, rollout, 1);
  at.x0[25] = -3;
  costate::test::expect_error([&] { return rollout.simulate(at).final_state[0]; },
                              "the box has become shorter than two cutoffs", "a heavier piston");
}

}  // namespace
}  // namespace costate::md
