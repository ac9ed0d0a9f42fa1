#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "costate/core/text.h"
#include "costate/md/compile.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"
#include "tests/system/contract.h"

namespace costate::md {
namespace {

class EveryPotential : public testing::TestWithParam<std::string> {};

// The gradient that is written by hand against the tangent of the energy, and the force against the gradient.
TEST_P(EveryPotential, GradientIsThatOfTheEnergy) {
  using D = Dual<double>;
  const test::Sample s = test::sample(GetParam());
  const Compiled c = compile(s.model);
  const auto term = make_terms<double>(c);
  const auto tangent = make_terms<D>(c);
  const auto scratch = term[0]->make_scratch(), tangent_scratch = tangent[0]->make_scratch();
  const std::size_t n = s.x.size(), np = std::size_t(c.layout.parameters);
  std::vector<double> p;
  for (const Field& field : c.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  ASSERT_EQ(p.size(), np);
  std::vector<double> x_bar(n), p_bar(np), f(n);
  term[0]->energy_vjp(s.x.data(), p.data(), 1.0, x_bar.data(), p_bar.data(), scratch.get());
  term[0]->force(s.x.data(), p.data(), f.data(), scratch.get());
  const double scale = 1e-13 * (1 + std::abs(term[0]->energy(s.x.data(), p.data(), scratch.get())));
  int nonzero = 0;
  for (std::size_t i = 0; i < n + np; ++i) {
    std::vector<D> xd(s.x.begin(), s.x.end()), pd(p.begin(), p.end());
    (i < n ? xd[i] : pd[i - n]).d[0] = 1;
    const double slope = tangent[0]->energy(xd.data(), pd.data(), tangent_scratch.get()).d[0];
    const double by_hand = i < n ? x_bar[i] : p_bar[i - n];
    EXPECT_NEAR(by_hand, slope, scale + 1e-13 * std::abs(slope)) << GetParam() << " number " << i;
    if (i < n) {
      EXPECT_NEAR(-f[i], slope, scale + 1e-13 * std::abs(slope));
    }
    nonzero += slope != 0;
  }
  EXPECT_GE(nonzero, 4);
  // The virial: all positions and the box are scaled together.
  std::vector<D> xd, pd(p.begin(), p.end());
  for (const double x : s.x) xd.push_back(D(x, x));
  for (int k = 0; c.layout.box >= 0 && k < c.layout.dimensions; ++k) {
    D& edge = pd[std::size_t(c.layout.box + k)];
    edge.d[0] = edge.v;
  }
  const double virial = tangent[0]->energy(xd.data(), pd.data(), tangent_scratch.get()).d[0];
  EXPECT_NEAR(term[0]->virial(s.x.data(), p.data(), scratch.get()), virial, scale + 1e-12 * std::abs(virial));
}
// Parts of atoms add up to the energy, and their gradients to its gradient; the gradient of a weighted sum is
// its tangent.
TEST_P(EveryPotential, IsTheSumOfWhatAtomsHave) {
  using D = Dual<double>;
  const test::Sample s = test::sample(GetParam());
  const Compiled c = compile(s.model);
  const auto term = make_terms<double>(c);
  const auto tangent = make_terms<D>(c);
  const auto scratch = term[0]->make_scratch(), tangent_scratch = tangent[0]->make_scratch();
  const std::size_t n = s.x.size(), np = std::size_t(c.layout.parameters), atoms = s.model.masses.size();
  std::vector<double> p, e(atoms), weights, x_bar(n), p_bar(np);
  for (const Field& field : c.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  if (!term[0]->no_energies().empty()) {
    EXPECT_EQ(GetParam(), "energy_formula");
    return;
  }
  for (std::size_t i = 0; i < atoms; ++i) weights.push_back(0.4 + 0.3 * double(i * i));
  term[0]->energies(s.x.data(), p.data(), e.data(), scratch.get());
  term[0]->energies_vjp(s.x.data(), p.data(), weights.data(), x_bar.data(), p_bar.data(), scratch.get());
  const double u = term[0]->energy(s.x.data(), p.data(), scratch.get()), scale = 1e-13 * (1 + std::abs(u));
  EXPECT_NEAR(std::accumulate(e.begin(), e.end(), 0.0), u, scale);
  EXPECT_GT(std::count_if(e.begin(), e.end(), [](double part) { return part != 0; }), 1);
  for (std::size_t i = 0; i < n + np; ++i) {
    std::vector<D> xd(s.x.begin(), s.x.end()), pd(p.begin(), p.end()), ed(atoms, D(0));
    (i < n ? xd[i] : pd[i - n]).d[0] = 1;
    tangent[0]->energies(xd.data(), pd.data(), ed.data(), tangent_scratch.get());
    double slope = 0;
    for (std::size_t a = 0; a < atoms; ++a) slope += weights[a] * ed[a].d[0];
    EXPECT_NEAR(i < n ? x_bar[i] : p_bar[i - n], slope, 10 * scale + 1e-12 * std::abs(slope))
        << GetParam() << " number " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Md, EveryPotential, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const PotentialKind& kind : potential_kinds()) names.push_back(kind.name);
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

double energy_of(const Model& model, const std::vector<double>& x) {
  const Compiled c = compile(model);
  std::vector<double> p;
  for (const Field& field : c.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  double sum = 0;
  for (const auto& term : make_terms<double>(c)) sum += term->energy(x.data(), p.data(), nullptr);
  return sum;
}

TEST(MuellerBrown, HasItsThreeMinima) {
  const Model model{.dimensions = 2, .masses = {1}, .potentials = {{.kind = "mueller_brown"}}};
  const Compiled c = compile(model);
  const auto term = make_terms<double>(c);
  std::vector<double> p;
  for (const Field& field : c.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  for (const auto& [x, y, u] : {std::array{-0.5582236346, 1.4417258418, -146.69951721},
                                {0.6234994049, 0.0280377585, -108.16672412},
                                {-0.0500108230, 0.4666941049, -80.76781813}}) {
    const double at[2] = {x, y};
    double f[2] = {0, 0};
    EXPECT_NEAR(term[0]->energy(at, p.data(), nullptr), u, 5e-9);
    term[0]->force(at, p.data(), f, nullptr);
    EXPECT_NEAR(f[0], 0, 2e-6);
    EXPECT_NEAR(f[1], 0, 2e-6);
  }
}

TEST(LennardJones, KnowsItsMinimumItsImagesAndItsCutoff) {
  const double r = std::pow(2.0, 1.0 / 6);
  Model pair{.masses = {1, 1}, .potentials = {{.kind = "lennard_jones", .parameters = {{"epsilon", {0.7}}}}}};
  EXPECT_NEAR(energy_of(pair, {0, 0, 0, r, 0, 0}), -0.7, 1e-15);
  pair.box = {6, 6, 6};
  EXPECT_NEAR(energy_of(pair, {0.2, 0, 0, 6.2 - r, 12, -6}), -0.7, 1e-14);
  pair.potentials[0].options = {{"cutoff", 2.5}};
  EXPECT_EQ(energy_of(pair, {0, 0, 0, 2.6, 0, 0}), 0);
  const double at_cutoff = energy_of(pair, {0, 0, 0, 2.499999999, 0, 0});
  EXPECT_LT(at_cutoff, -0.01);
  pair.potentials[0].options["shifted"] = 1;
  EXPECT_NEAR(energy_of(pair, {0, 0, 0, 2.499999999, 0, 0}), 0, 1e-9);
  EXPECT_NEAR(energy_of(pair, {0, 0, 0, r, 0, 0}), -0.7 - at_cutoff, 1e-9);
}

// The product with the Hessian is written by hand (`slopes`): with every way to end the interaction against
// tangents of the force, which know nothing of it. Some atoms are inside the switch, some beyond the cutoff.
TEST(LennardJones, ForceProductsOfEveryCutoffMatchDual) {
  for (const char* kind : {"lennard_jones", "lennard_jones_mixture"})
    for (const double cutoff : {0.0, 1.4})
      for (const double shifted : {0.0, 1.0})
        for (const double from : {0.0, 1.0}) {
          if (cutoff == 0 && (shifted != 0 || from != 0)) continue;
          SCOPED_TRACE(testing::Message() << kind << ", cutoff " << cutoff << ", shifted " << shifted
                                          << ", switched from " << from);
          test::Sample s = test::sample(kind, "BAB");
          s.model.potentials[0].options = {{"cutoff", cutoff}, {"shifted", shifted}, {"switch_from", from}};
          const auto system = make_system<double>(s.model);
          const Rollout<double> rollout(system, {.steps = 1});
          costate::test::expect_transpose_matches_dual<double>(*system, test::start(s, rollout, 1), 1e-12);
        }
}

// A table of Lorentz-Berthelot's means is the mixture that takes them itself; its gradient too, by the chain
// rule.
TEST(Species, OfATableOfMeansAreTheMixture) {
  test::Sample s = test::sample("lennard_jones_mixture");
  const std::vector<double> epsilon = {1, 0.8}, sigma = {1, 0.9};
  const std::vector<int> species = {0, 1, 1, 0};
  Potential &mixture = s.model.potentials[0], table{.kind = "lennard_jones", .species = species};
  mixture.options = table.options = {{"cutoff", 1.5}};
  for (const char* name : {"epsilon", "sigma"}) mixture.parameters[name].clear();
  for (const int k : species) {
    mixture.parameters["epsilon"].push_back(epsilon[std::size_t(k)]);
    mixture.parameters["sigma"].push_back(sigma[std::size_t(k)]);
  }
  table.parameters = {{"epsilon", {1, std::sqrt(0.8), 0.8}}, {"sigma", {1, 0.95, 0.9}}};
  Model tabled = s.model;
  tabled.potentials = {table};
  EXPECT_NEAR(energy_of(tabled, s.x), energy_of(s.model, s.x), 1e-13);

  const auto gradient = [&](const Model& model, const char* name) {
    const auto system = make_system<double>(model);
    Rollout<double> rollout(system, {.steps = 5});
    const auto g = rollout.value_and_gradient(test::start(s, rollout, 4, 0),
                                              *loss::final<double>(system->signature(), "x", {}));
    const auto& values = g.parameters[name];
    return std::vector<double>(values.begin(), values.end());
  };
  const auto e = gradient(s.model, "lennard_jones_mixture/epsilon"),
             t = gradient(tabled, "lennard_jones/epsilon");
  ASSERT_EQ(t.size(), 3u);
  EXPECT_NEAR(e[0] + e[3], t[0] + t[1] * 0.5 * std::sqrt(0.8), 1e-12);
  EXPECT_NEAR(e[1] + e[2], t[2] + t[1] * 0.5 / std::sqrt(0.8), 1e-12);
  const auto of_sigma = gradient(s.model, "lennard_jones_mixture/sigma"),
             ts = gradient(tabled, "lennard_jones/sigma");
  EXPECT_NEAR(of_sigma[0] + of_sigma[3], ts[0] + 0.5 * ts[1], 1e-12);
  EXPECT_NEAR(of_sigma[1] + of_sigma[2], ts[2] + 0.5 * ts[1], 1e-12);
  EXPECT_GT(std::abs(ts[1]), 1e-3);
}

TEST(Species, SayWhatIsWrong) {
  Model m = test::sample("lennard_jones").model;
  const auto refuse = [&](const char* why, const char* advice) {
    costate::test::expect_error([&] { return make_system<double>(m); }, why, advice);
  };
  m.potentials[0].species = {0, 1, 1};
  refuse("lennard_jones has the species of 3 atoms, and there are 4", "one whole number per atom");
  m.potentials[0].species = {0, 1, 1, -1};
  refuse("lennard_jones has a species -1", "counted from 0");
  m.potentials[0].species = {0, 1, 1, 2};
  m.potentials[0].parameters["epsilon"] = {1, 2, 3};
  refuse("lennard_jones/epsilon has 3 numbers", "give 1, or 6: one per pair of species");
  m = test::sample("coulomb").model;
  m.potentials[0].species = {0, 1, 1, 0};
  refuse("coulomb has no numbers of pairs: `species` has no effect", "leave it out");
}

// What no cutoff says: how far the largest sigma reaches.
TEST(Wca, FitsIntoHalfOfItsBox) {
  Model m = test::sample("wca").model;  // sigma 1.2, edges from 3.1
  EXPECT_NO_THROW(make_system<double>(m));
  m.potentials[0].species = {0, 1, 1, 0};
  m.potentials[0].parameters["sigma"] = {1, 1.2, 1.4};
  costate::test::expect_error([&] { return make_system<double>(m); }, "more than half of the box's edge 3.1",
                              "a larger box or a shorter cutoff");
}

TEST(Torsion, IsThatOfTheDihedralAngle) {
  const Model model{.masses = {1, 1, 1, 1},
                    .potentials = {{.kind = "torsion",
                                    .atoms = {0, 1, 2, 3},
                                    .parameters = {{"k", {2}}, {"phase", {0.3}}},
                                    .options = {{"periodicity", 2}}}}};
  for (const double phi : {-2.5, -0.4, 0.9, 3.0}) {
    const std::vector<double> x = {1, 0, 0, 0, 0, 0, 0, 0, 1.5, std::cos(phi), std::sin(phi), 1.7};
    EXPECT_NEAR(energy_of(model, x), 2 * (1 + std::cos(2 * phi - 0.3)), 1e-14);
  }
}

TEST(Coulomb, ReactionFieldIsFlatAtTheCutoff) {
  Model pair{.masses = {1, 1},
             .potentials = {{.kind = "coulomb",
                             .parameters = {{"charge", {1, -2}}},
                             .options = {{"cutoff", 2}, {"dielectric", 1e12}}}}};
  EXPECT_NEAR(energy_of(pair, {0, 0, 0, 1.9999999, 0, 0}), 0, 1e-10);
  pair.potentials[0].options = {};
  EXPECT_NEAR(energy_of(pair, {0, 0, 0, 0, 4, 0}), -0.5, 1e-15);
}

TEST(MdModel, SaysWhatIsWrongWithIt) {
  const auto make = [](const Model& model) { return [model] { (void)make_system<double>(model); }; };
  const Model good = test::sample("lennard_jones").model;
  Model m = good;
  m.masses[2] = -1;
  costate::test::expect_error(make(m), "the mass of atom 2 must be greater than 0", "");
  m = good;
  m.potentials[0].kind = "lenard_jones";
  costate::test::expect_error(make(m), "there is no potential 'lenard_jones'",
                              "did you mean 'lennard_jones'?");
  m = good;
  m.potentials[0].parameters["epsilon"] = {1, 2, 3};
  costate::test::expect_error(make(m), "lennard_jones/epsilon has 3 numbers", "give 1, or 6");
  m = good;
  m.potentials[0].parameters["eps"] = {1};
  costate::test::expect_error(make(m), "lennard_jones has no parameter 'eps'", "epsilon");
  m = good;
  m.potentials[0].options["cutoff"] = 2;
  costate::test::expect_error(make(m), "more than half of the box's edge 3.1",
                              "a larger box or a shorter cutoff");
  // The same where a run brings its own box.
  costate::test::expect_error(
      [&] {
        Rollout<double> rollout(make_system<double>(good), {.steps = 1});
        auto at = rollout.arguments();
        at.parameters.set("box", std::vector<double>{2.7, 3.3, 3.5});
        return rollout.simulate(at);
      },
      "'box[0]' is 2.7, and must be at least 2.8", "change it");
  m = good;
  m.integrator = "verlett";
  costate::test::expect_error(make(m), "'verlett' is not an integrator", "did you mean 'verlet'?");
  m = good;
  m.integrator = "EA";
  costate::test::expect_error(make(m), "mixes overdamped letters", "use E, G, H or R alone");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  m = good;
  m.potentials[0].parameters["epsilon"] = {nan};
  costate::test::expect_error(make(m), "lennard_jones/epsilon is nan", "a finite number");
  m = good;
  m.potentials[0].options["switch_from"] = -1;
  costate::test::expect_error(make(m), "switch_from is -1", "0 for none");
  m = test::sample("coulomb").model;
  m.potentials[0].options["dielectric"] = -0.5;
  costate::test::expect_error(make(m), "the dielectric is -0.5", "a positive number");
  m = test::sample("lennard_jones_mixture").model;
  m.potentials[0].parameters["epsilon"][1] = -1;
  costate::test::expect_error(make(m), "lennard_jones_mixture/epsilon is negative", "");
  m = good;
  m.integrator = "preconditioned";
  costate::test::expect_error(make(m), "the preconditioner has 0 numbers", "12 rows of 12");
  m = good;
  m.preconditioner = {1};
  costate::test::expect_error(make(m), "has no preconditioner", "leave it out");
  m = good;
  m.potentials[0].atoms = {0, 1, 2};
  costate::test::expect_error(make(m), "acts on 2 atoms at a time, and 3 are listed", "");
  m = good;
  m.potentials[0].atoms = {0, 7};
  costate::test::expect_error(make(m), "names atom 7, and there are 4", "counted from 0");
}

}  // namespace
}  // namespace costate::md
