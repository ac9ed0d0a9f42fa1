// Rigid bonds: the rotor in closed form, energies of a rigid triangle, and the contract.
#include <cmath>

#include "costate/system/program/program_objective.h"
#include "tests/expect_error.h"
#include "tests/md/cases.h"

namespace costate::md {
namespace {

using costate::test::expect_transpose_matches_dual;

// Four atoms: a triangle of unequal masses, and one that a spring holds to it.
test::Sample triangle(const std::string& word, bool periodic) {
  test::Sample s = test::sample("harmonic_bond", word);
  s.model.potentials[0].atoms = {2, 3, 0, 3};
  s.model.rigid_bonds = {0, 1, 1, 2, 2, 0};
  for (std::size_t b = 0; b < 3; ++b) {  // as long as they are
    double square = 0;
    for (std::size_t k = 0; k < 3; ++k) square += std::pow(s.x[3 * b + k] - s.x[3 * ((b + 1) % 3) + k], 2);
    s.model.rigid_lengths.push_back(std::sqrt(square));
  }
  if (!periodic) s.model.box = {};
  if (periodic) s.x[0] += s.model.box[0], s.x[4] -= s.model.box[1];  // other images of the same atoms
  return s;
}

TEST(RigidBonds, TransposeMatchesDual) {
  for (const char* word : {"BAB", "BAOAB", "OBABO", "NBABN"}) {
    for (const bool periodic : {false, true}) {
      SCOPED_TRACE(word);
      test::Sample s = triangle(word, periodic);
      s.model.dt = 0.03;
      const auto system = make_system<double>(s.model);
      const Rollout<double> rollout(system, {.steps = 1});
      expect_transpose_matches_dual<double>(*system, test::start(s, rollout, 1), 1e-11);
    }
  }
}

TEST(RigidBonds, KeepTheContract) {
  for (const char* word : {"BAB", "BAOAB", "NBABN"}) {
    SCOPED_TRACE(word);
    test::Sample s = triangle(word, true);
    for (const double dt : {0.02, 0.005}) {
      s.model.dt = dt;
      test::expect_both_contracts(s);  // the bonds are open at the start, by some percent
    }
  }
}

// Two atoms without forces turn about their centre by the angle asin(dt v / l) per step (v: relative speed).
TEST(RigidBonds, OfAFreeRotorHaveItsAngleAndDerivatives) {
  const double l = 1.4, v = 0.9, dt = 0.05;
  const std::int64_t steps = 200;
  const auto system = make_system<double>({.dimensions = 2,
                                           .masses = {1, 3},
                                           .integrator = "verlet",
                                           .dt = dt,
                                           .rigid_bonds = {0, 1},
                                           .rigid_lengths = {l}});
  Rollout<double> rollout(system, {.steps = steps});
  auto at = rollout.arguments();
  at.x0 = {0.75 * l, 0, -0.25 * l, 0, 0, 0.75 * v, 0, -0.25 * v};
  const auto loss = loss::expression<double>(system->signature(), "x[0] - x[2]");
  const auto g = rollout.value_and_gradient(at, *loss);
  const double n = double(steps), angle = n * std::asin(dt * v / l);
  const double rate = n / std::sqrt(1 - std::pow(dt * v / l, 2));  // of the angle with dt v / l
  EXPECT_NEAR(g.value, l * std::cos(angle), 1e-12);
  EXPECT_NEAR(g.parameters["dt"][0], -l * std::sin(angle) * rate * v / l, 1e-9);
  // One more length at the start, at rest in the rotating frame: the start scales too.
  const double with_v = -l * std::sin(angle) * rate * dt / l;
  EXPECT_NEAR(0.75 * g.x0[5] - 0.25 * g.x0[7], with_v, 1e-9);
  const double with_l = std::cos(angle) + l * std::sin(angle) * rate * dt * v / (l * l);
  EXPECT_NEAR(g.parameters["rigid/length"][0] + 0.75 * g.x0[0] - 0.25 * g.x0[2], with_l, 1e-9);
  // The bond is kept, to rounding.
  const auto end = rollout.simulate(at).final_state;
  EXPECT_NEAR(std::hypot(end[0] - end[2], end[1] - end[3]), l, 1e-13);
  EXPECT_NEAR((end[0] - end[2]) * (end[4] - end[6]) + (end[1] - end[3]) * (end[5] - end[7]), 0, 1e-13);
}

// A rigid triangle has six degrees of freedom, whatever the masses: 2 K = 6 kT.
TEST(RigidBonds, LeaveTheEnergyOfWhatCanMove) {
  const double kT = 0.8;
  const Model model{.masses = {1, 4, 2},
                    .potentials = {{.kind = "harmonic"}},
                    .integrator = "BAOAB",
                    .dt = 0.1,
                    .kT = kT,
                    .friction = 1,
                    .rigid_bonds = {0, 1, 1, 2, 2, 0},
                    .rigid_lengths = {1}};
  const std::int64_t worlds = 512;
  const auto system = make_system<double>(model);
  Rollout<double> rollout(system, {.steps = 1500, .worlds = worlds, .keep = 10, .active = {}, .seed = 11});
  auto at = rollout.arguments();
  at.x0.assign(18, 0.0);
  at.x0[3] = 1, at.x0[6] = 0.5, at.x0[7] = std::sqrt(0.75);
  const auto path = rollout.simulate(at);
  double mean = 0, square = 0;
  for (std::size_t w = 0; w < std::size_t(worlds); ++w) {
    double twice_kinetic = 0;
    const std::size_t first = path.kept.size() / 4;
    for (std::size_t k = first; k < path.kept.size(); ++k)
      for (std::size_t i = 0; i < 9; ++i)
        twice_kinetic +=
            model.masses[i / 3] * std::pow(path.states[(k * std::size_t(worlds) + w) * 18 + 9 + i], 2);
    twice_kinetic /= double(path.kept.size() - first);
    mean += twice_kinetic / double(worlds), square += twice_kinetic * twice_kinetic / double(worlds);
  }
  const double error = std::sqrt((square - mean * mean) / double(worlds - 1));
  EXPECT_LT(error, 0.01 * 6 * kT);  // 9 kT is far away
  EXPECT_NEAR(mean, 6 * kT, 4 * error + 0.01 * 6 * kT);
}

TEST(RigidBonds, SayWhatIsWrong) {
  const auto refuse = [](const Model& model, const char* why, const char* advice) {
    costate::test::expect_error([&] { return make_system<double>(model); }, why, advice);
  };
  Model m = triangle("BAB", false).model;
  m.integrator = "overdamped";
  refuse(m, "has letters that do not keep rigid bonds", "A, B, O and N");
  m = triangle("BAB", false).model;
  m.rigid_lengths = {1, 1};
  refuse(m, "there are 2 lengths of 3 rigid bonds", "one for all");
  m = triangle("BAB", false).model;
  m.rigid_bonds = {0, 1, 1, 0};
  m.rigid_lengths = {1};
  refuse(m, "atoms 1 and 0 have two rigid bonds", "");
  m.rigid_bonds = {0, 8};
  refuse(m, "names atom 8, and there are 4", "counted from 0");
}

}  // namespace
}  // namespace costate::md
