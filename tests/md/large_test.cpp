// One large world with neighbour lists: against all pairs, to the bit against other lists, and the contract.
#include <algorithm>
#include <cmath>

#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/md/compile.h"
#include "costate/md/neighbour/verlet_list.h"
#include "tests/md/models.h"
#include "tests/system/contract.h"

namespace costate::md {
namespace {

using costate::test::expect_contract;
using costate::test::same_bits;

// A fluid on a disturbed lattice of cells^3 atoms at density 0.8. A kind may be followed by "_of_species":
// then its numbers are tables of three species.
test::Sample fluid(int cells, const std::string& word, const std::string& what = "lennard_jones") {
  const std::size_t end = what.find("_of_species");
  const std::string kind = what.substr(0, end);
  test::Sample s;
  const int n = cells * cells * cells;
  const double edge = std::cbrt(n / 0.8);
  s.model = {.masses = std::vector<double>(std::size_t(n), 1.0),
             .box = {edge, edge, edge},
             .integrator = word,
             .dt = 0.002};
  s.model.kT = 0.7;
  for (int i = 0; i < n; ++i) {
    const int at[3] = {i % cells, i / cells % cells, i / cells / cells};
    for (int k = 0; k < 3; ++k)
      s.x.push_back((at[k] + 0.5) * edge / cells +
                    0.05 * normal<double>(7, std::uint32_t(i), 0, std::uint32_t(k)));
    s.model.masses[std::size_t(i)] = 1 + 0.1 * (i % 5);
  }
  Potential p{.kind = kind};
  if (kind != "wca") p.options = {{"cutoff", std::min(2.5, 0.49 * edge)}};
  if (kind == "lennard_jones") p.options["switch_from"] = 1.6;
  if (kind == "lennard_jones_mixture") {
    p.parameters["epsilon"] = p.parameters["sigma"] = {};
    for (int i = 0; i < n; ++i) {
      p.parameters["epsilon"].push_back(1 + 0.02 * (i % 7));
      p.parameters["sigma"].push_back(1 - 0.01 * (i % 3));
    }
  }
  if (kind == "pair_formula") {
    p.formula = "A*exp(-r/rho) - C/r^6";
    p.parameters = {{"A", {90}}, {"rho", {0.25}}, {"C", {1.1}}};
    p.options["switch_from"] = 1.6;
  }
  if (kind == "coulomb")
    for (int i = 0; i < n; ++i) p.parameters["charge"].push_back(i % 2 == 0 ? 0.5 : -0.5);
  if (end != std::string::npos) {
    for (int i = 0; i < n; ++i) p.species.push_back(i * i % 3);  // 0 and 1, and
    p.species[7] = p.species[8] = p.species[100] = 2;
    p.parameters = {{"epsilon", {1, 0.8, 1.1, 0.9, 1.2, 0.7}}, {"sigma", {1, 0.95, 0.9, 1.05, 0.97, 1.1}}};
  }
  s.model.potentials = {p};
  return s;
}

// Positions of all atoms and parameters, at which a term is asked.
struct At {
  Compiled compiled;
  std::vector<double> p;
  explicit At(const Model& model) : compiled(compile(model)) {
    for (const Field& field : compiled.signature.fields(Role::parameter))
      p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  }
};

class EveryListedPotential : public testing::TestWithParam<std::string> {};

TEST_P(EveryListedPotential, IsTheSumOverAllPairs) {
  const test::Sample s = fluid(6, "BAB", GetParam());
  Model pairs = s.model;  // the same with its pairs written out, which have no list
  for (int i = 0; i < s.model.atoms(); ++i)
    for (int j = i + 1; j < s.model.atoms(); ++j)
      pairs.potentials[0].atoms.insert(pairs.potentials[0].atoms.end(), {i, j});
  const At listed(s.model), written(pairs);
  ASSERT_TRUE(listed.compiled.potentials[0].sites.every_pair);
  const auto a = make_terms<double>(listed.compiled), b = make_terms<double>(written.compiled);
  const auto scratch = a[0]->make_scratch();
  const std::size_t n = s.x.size(), np = listed.p.size();
  std::vector<double> f_bar(n);
  for (std::size_t i = 0; i < n; ++i) f_bar[i] = std::sin(double(i));
  const double u = a[0]->energy(s.x.data(), listed.p.data(), scratch.get());
  EXPECT_NEAR(u, b[0]->energy(s.x.data(), listed.p.data(), nullptr), 1e-12 * std::abs(u));
  const auto compare = [&](const auto& call, const char* what) {
    std::vector<double> x1(n), x2(n), p1(np), p2(np);
    call(*a[0], x1.data(), p1.data(), scratch.get());
    call(*b[0], x2.data(), p2.data(), nullptr);
    double scale = 0;
    for (std::size_t i = 0; i < n; ++i) scale = std::max(scale, std::abs(x2[i]));
    EXPECT_GT(scale, 0);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(x1[i], x2[i], 1e-12 * scale) << what << " x " << i;
    scale = 0;
    for (std::size_t i = 0; i < np; ++i) scale = std::max(scale, std::abs(p2[i]));
    for (std::size_t i = 0; i < np; ++i) EXPECT_NEAR(p1[i], p2[i], 1e-12 * scale) << what << " p " << i;
  };
  compare([&](const Term<double>& t, double* x, double*,
              TermScratch* w) { t.force(s.x.data(), listed.p.data(), x, w); },
          "force");
  compare([&](const Term<double>& t, double* x, double* p,
              TermScratch* w) { t.force_vjp(s.x.data(), listed.p.data(), f_bar.data(), x, p, w); },
          "force_vjp");
  compare([&](const Term<double>& t, double* x, double* p,
              TermScratch* w) { t.energy_vjp(s.x.data(), listed.p.data(), 1.5, x, p, w); },
          "energy_vjp");
  compare([&](const Term<double>& t, double* x, double* p,
              TermScratch* w) { t.virial_vjp(s.x.data(), listed.p.data(), 1.5, x, p, w); },
          "virial_vjp");
  compare([&](const Term<double>& t, double* x, double*,
              TermScratch* w) { t.energies(s.x.data(), listed.p.data(), x, w); },
          "energies");
  compare([&](const Term<double>& t, double* x, double* p,
              TermScratch* w) { t.energies_vjp(s.x.data(), listed.p.data(), f_bar.data(), x, p, w); },
          "energies_vjp");
  const double w = a[0]->virial(s.x.data(), listed.p.data(), scratch.get());
  EXPECT_NEAR(w, b[0]->virial(s.x.data(), listed.p.data(), nullptr), 1e-12 * std::abs(u));
}
INSTANTIATE_TEST_SUITE_P(Md, EveryListedPotential,
                         testing::Values("lennard_jones", "lennard_jones_mixture", "wca", "coulomb",
                                         "lennard_jones_of_species", "wca_of_species", "pair_formula"),
                         [](const auto& one) { return one.param; });

// Skins from none (a new list in every step) to a large one.
TEST(Large, ResultsDoNotDependOnTheListToTheBit) {
  const auto run = [](double skin, auto real, const char* kind = "lennard_jones") {
    using Real = decltype(real);
    test::Sample s = fluid(6, "ABA", kind);
    s.model.potentials[0].options["cutoff"] = 2.0;
    s.model.potentials[0].options["skin"] = skin;
    const auto system = make_system<Real>(s.model);
    Rollout<Real> rollout(system, {.steps = 60});
    const auto loss = loss::final<Real>(system->signature(), "x", {});
    return rollout.value_and_gradient(test::start(s, rollout, 3), *loss);
  };
  const auto first = run(0.0, 0.0);
  const auto in_float = run(0.0, 0.0F);
  for (const double skin : {0.05, 0.3, 0.8}) {
    const auto other = run(skin, 0.0);
    EXPECT_EQ(other.value, first.value);
    EXPECT_TRUE(same_bits(other.x0, first.x0)) << skin;
    EXPECT_TRUE(same_bits(other.parameters, first.parameters)) << skin;
    EXPECT_TRUE(same_bits(run(skin, 0.0F).x0, in_float.x0)) << skin;
  }
  for (const char* kind : {"lennard_jones_of_species", "pair_formula"}) {
    const auto tables = run(0.0, 0.0F, kind), other = run(0.3, 0.0F, kind);
    EXPECT_TRUE(same_bits(other.x0, tables.x0)) << kind;
    EXPECT_TRUE(same_bits(other.parameters, tables.parameters)) << kind;
  }
}

TEST(Large, KeepsTheContract) {
  for (const auto& [word, kind] : {std::pair{"ABA", "lennard_jones_mixture"},
                                   {"BAOAB", "lennard_jones_mixture"},
                                   {"ABA", "lennard_jones_of_species"},
                                   {"ABA", "pair_formula"}}) {
    SCOPED_TRACE(kind);
    const test::Sample s = fluid(6, word, kind);
    const auto states = [&](const auto& rollout, unsigned seed) {
      return test::start(s, rollout, seed, 1e-3);
    };
    expect_contract(make_system<double>(s.model),
                    {.states = states, .steps = 3, .long_steps = 6, .seeds = 1, .smooth = false});
    expect_contract(
        make_system<float>(s.model),
        {.states = states, .steps = 4, .long_steps = 0, .seeds = 1, .transpose_gate = 1e-4, .smooth = false});
  }
}

// A chain of 700 atoms in a box: bonds, angles and torsions go to threads, however many there are.
class EveryBondedPotential : public testing::TestWithParam<std::string> {};

TEST_P(EveryBondedPotential, ThreadsAddWhatOneLoopAdds) {
  const PotentialKind& kind = find_potential(GetParam());
  constexpr int kChain = 700;
  Model model{.masses = std::vector<double>(kChain, 1.0), .box = {20, 21, 22}, .integrator = "BAB"};
  Potential potential{.kind = GetParam()};
  for (int i = 0; i + kind.atoms <= kChain; ++i)
    for (int a = 0; a < kind.atoms; ++a) potential.atoms.push_back(i + a);
  model.potentials = {potential};
  std::vector<double> x, f_bar;
  for (int i = 0; i < kChain; ++i)
    for (const double axis : {std::cos(1.1 * i), std::sin(1.1 * i), 0.4 * i}) {
      x.push_back(axis + 0.05 * normal<double>(3, std::uint32_t(x.size()), 0));
      f_bar.push_back(normal<double>(4, std::uint32_t(x.size()), 0));
    }
  const At at(model);
  const auto terms = make_terms<double>(at.compiled);
  const Term<double>& term = *terms[0];
  const auto scratch = term.make_scratch();
  ASSERT_TRUE(scratch);
  const auto all = [&](TermScratch* work) {
    std::vector<double> to(4 * x.size() + 3 * at.p.size());
    double *xs = to.data(), *ps = xs + 4 * x.size();
    const auto n = std::ptrdiff_t(x.size()), np = std::ptrdiff_t(at.p.size());
    term.force(x.data(), at.p.data(), xs, work);
    term.force_vjp(x.data(), at.p.data(), f_bar.data(), xs + n, ps, work);
    term.energy_vjp(x.data(), at.p.data(), 0.7, xs + 2 * n, ps + np, work);
    term.virial_vjp(x.data(), at.p.data(), 0.7, xs + 3 * n, ps + 2 * np, work);
    to.push_back(term.energy(x.data(), at.p.data(), work));
    to.push_back(term.virial(x.data(), at.p.data(), work));
    return to;
  };
  const auto one_loop = all(nullptr);
  EXPECT_GT(std::count_if(one_loop.begin(), one_loop.end(), [](double t) { return t != 0; }), 4 * kChain);
  set_thread_count(1);
  const auto alone = all(scratch.get());
  set_thread_count(3);
  EXPECT_TRUE(same_bits(all(scratch.get()), alone));
  set_thread_count(0);
  // One loop adds a product as it is made, where threads keep it first: all but the last bits are the same.
  double scale = 0;
  for (const double t : one_loop) scale = std::max(scale, std::abs(t));
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], one_loop[i], 1e-14 * scale) << i;
}
INSTANTIATE_TEST_SUITE_P(Md, EveryBondedPotential,
                         testing::Values("harmonic_bond", "morse_bond", "harmonic_angle", "torsion"),
                         [](const auto& one) { return one.param; });

TEST(VerletList, IsMadeAgainWhenAnAtomHasMovedByHalfTheSkin) {
  const test::Sample s = fluid(6, "BAB");
  VerletList list(216, 3, {0, 1});
  std::vector<double> x = s.x;
  list.update(x.data(), 1, s.model.box, 2.0, 0.4);
  EXPECT_EQ(list.builds(), 1);
  x[30] += 0.19;
  list.update(x.data(), 1, s.model.box, 2.0, 0.4);
  EXPECT_EQ(list.builds(), 1);
  x[30] += 0.02;
  list.update(x.data(), 1, s.model.box, 2.0, 0.4);
  EXPECT_EQ(list.builds(), 2);
  int pairs = 0;
  for (int i = 0; i < 216; ++i) {
    for (int k = 0; k < list.size(i); ++k) {
      const int j = list.row(i)[k];
      EXPECT_NE(std::minmax(i, j), std::minmax(0, 1));
      if (k > 0) {
        EXPECT_LT(list.row(i)[k - 1], j);
      }
      ++pairs;
    }
  }
  EXPECT_EQ(pairs % 2, 0);
}

// A run that is walked backwards finds the lists of the way forward; those of another reach are not taken.
TEST(VerletList, KeepsTheLastListsForTheWayBack) {
  const test::Sample s = fluid(6, "BAB");
  VerletList list(216, 3, {});
  const auto at = [&](int step, double reach) {
    std::vector<double> x = s.x;
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] += 0.06 * step;
    list.update(x.data(), 1, s.model.box, reach, 0.4);
    std::vector<std::vector<int>> rows;
    for (int i = 0; i < 216; ++i) rows.emplace_back(list.row(i), list.row(i) + list.size(i));
    return rows;
  };
  for (int step = 0; step < 20; ++step) at(step, 2.0);
  const auto forward = list.builds();
  EXPECT_EQ(forward, 5);
  for (int step = 20; step-- > 0;) at(step, 2.0);
  EXPECT_EQ(list.builds(), forward);
  // What was kept is what would be made.
  VerletList fresh(216, 3, {});
  fresh.update(s.x.data(), 1, s.model.box, 2.0, 0.4);
  const auto rows = at(0, 2.0);
  for (int i = 0; i < 216; ++i)
    EXPECT_EQ(rows[std::size_t(i)], std::vector<int>(fresh.row(i), fresh.row(i) + fresh.size(i)));
  at(0, 2.1);
  EXPECT_EQ(list.builds(), forward + 1);
  for (int step = 0; step < 400; ++step) at(step, 2.0);
  const auto many = list.builds();
  at(0, 2.0);  // more lists than are kept: that of the start was the first to go
  EXPECT_EQ(list.builds(), many + 1);
}

// Against all pairs: long and short boxes (of which some are shorter than three times the list's reach), open
// space, two and one dimensions, atoms outside of the box.
TEST(VerletList, HasEveryPairWithinReachAndSkin) {
  struct Space {
    int dimensions;
    std::vector<double> box;
    double spread;
  };
  const double reach = 1.3, skin = 0.2, far = reach + skin;
  for (const Space& space : {Space{3, {21, 9, 13}, 12}, Space{3, {4, 25, 11}, 9},
                             Space{3, {30, 3.1, 3.1}, 20}, Space{3, {6, 6, 6}, 5}, Space{3, {}, 8},
                             Space{2, {14, 17}, 11}, Space{2, {}, 15}, Space{1, {160}, 100}}) {
    const int n = 500;
    const auto d = std::size_t(space.dimensions);
    std::vector<double> x;
    for (std::size_t i = 0; i < n * d; ++i)
      x.push_back(space.spread * (1.4 * uniform<double>(5, std::uint32_t(i), 0) - 0.2));
    VerletList list(n, space.dimensions, {3, 4});
    list.update(x.data(), 1, space.box, reach, skin);
    std::size_t pairs = 0;
    for (int i = 0; i < n; ++i) {
      std::vector<int> near;
      for (int j = 0; j < n; ++j) {
        double square = 0;
        for (std::size_t k = 0; k < d; ++k) {
          double apart = x[std::size_t(i) * d + k] - x[std::size_t(j) * d + k];
          if (!space.box.empty()) apart -= space.box[k] * std::round(apart / space.box[k]);
          square += apart * apart;
        }
        const bool excluded = std::minmax(i, j) == std::minmax(3, 4);
        if (j != i && !excluded && square < far * far) near.push_back(j);
      }
      const std::vector<int> row(list.row(i), list.row(i) + list.size(i));
      EXPECT_TRUE(std::is_sorted(row.begin(), row.end()));
      EXPECT_EQ(std::adjacent_find(row.begin(), row.end()), row.end());
      EXPECT_TRUE(std::includes(row.begin(), row.end(), near.begin(), near.end())) << i;
      EXPECT_LE(row.size(), near.size() + 1) << i;  // one that is out of reach by a rounding
      pairs += near.size();
    }
    EXPECT_GT(pairs, 1000u);
  }
}

// Where no edge is short: cells along x are searched no farther than the list reaches.
TEST(Large, ResultsInALongBoxDoNotDependOnTheListToTheBit) {
  const auto run = [](double skin) {
    test::Sample s = fluid(9, "ABA");
    s.model.potentials[0].options = {{"cutoff", 1.9}, {"switch_from", 1.6}, {"skin", skin}};
    const auto system = make_system<float>(s.model);
    Rollout<float> rollout(system, {.steps = 12});
    return rollout.value_and_gradient(test::start(s, rollout, 3, 1e-3),
                                      *loss::final<float>(system->signature(), "x", {}));
  };
  const auto first = run(0.0);
  for (const double skin : {0.1, 0.9}) {  // with the last one the box is short again
    const auto other = run(skin);
    EXPECT_TRUE(same_bits(other.x0, first.x0)) << skin;
    EXPECT_TRUE(same_bits(other.parameters, first.parameters)) << skin;
  }
}

}  // namespace
}  // namespace costate::md
