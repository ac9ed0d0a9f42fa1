// Potentials of all atoms at once: Ewald's sum and Stillinger-Weber, against closed forms, against sums that
// are written out, and against OpenMM. (Their derivatives: potential_test.cpp and integrator_test.cpp.)
#include <cmath>
#include <numbers>

#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/md/compile.h"
#include "costate/md/potential/erfc.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"
#include "tests/system/contract.h"

namespace costate::md {
namespace {

struct Answer {
  double energy = 0;
  std::vector<double> force = {}, charge_bar = {}, box_bar = {};
};
Answer ask(const Model& model, const std::vector<double>& x) {
  const Compiled c = compile(model);
  std::vector<double> p;
  for (const Field& field : c.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  const auto term = make_terms<double>(c);
  const auto scratch = term[0]->make_scratch();
  Answer a{.force = std::vector<double>(x.size(), 0.0)};
  std::vector<double> x_bar(x.size(), 0.0), p_bar(p.size(), 0.0);
  a.energy = term[0]->energy(x.data(), p.data(), scratch.get());
  term[0]->force(x.data(), p.data(), a.force.data(), scratch.get());
  term[0]->energy_vjp(x.data(), p.data(), 1.0, x_bar.data(), p_bar.data(), scratch.get());
  if (const auto* charge = c.signature.find_if(Role::parameter, "ewald/charge"))
    a.charge_bar.assign(p_bar.begin() + charge->offset, p_bar.begin() + charge->offset + charge->size);
  if (c.layout.box >= 0)
    a.box_bar.assign(p_bar.begin() + c.layout.box, p_bar.begin() + c.layout.box + c.layout.dimensions);
  return a;
}

TEST(Erfc, HasTheDigitsOfTheLibrary) {
  for (double z = 0; z < 20; z += 0.0371) {
    EXPECT_NEAR(erfc(z) / std::erfc(z), 1, 1e-15 * (1 + z * z)) << z;
    EXPECT_NEAR(erfc(Dual<double>(z, 2.0)).d[0], -4 / std::sqrt(std::numbers::pi) * std::exp(-z * z), 1e-15);
    EXPECT_NEAR(erfc(float(z)), std::erfc(z), 1e-6);
  }
}

// cells^3 cells of eight ions, neighbours at distance 1.
Model rock_salt(int cells, double cutoff, std::vector<double>& x) {
  Model model{.potentials = {{.kind = "ewald", .options = {{"cutoff", cutoff}, {"tolerance", 1e-11}}}},
              .box = std::vector<double>(3, 2.0 * cells)};
  for (int i = 0; i < 8 * cells * cells * cells; ++i) {
    const int n = 2 * cells, at[3] = {i % n, i / n % n, i / n / n};
    for (const int k : at) x.push_back(k + 0.25);
    model.masses.push_back(1);
    model.potentials[0].parameters["charge"].push_back((at[0] + at[1] + at[2]) % 2 == 0 ? 1 : -1);
  }
  return model;
}

TEST(Ewald, HasTheEnergyOfRockSalt) {
  constexpr double kMadelung = 1.74756459463318219;
  for (const auto& [cells, cutoff] : {std::pair{1, 0.9}, {2, 1.9}, {3, 2.8}}) {  // the last is a large world
    std::vector<double> x;
    const Model model = rock_salt(cells, cutoff, x);
    const Answer a = ask(model, x);
    EXPECT_NEAR(a.energy / double(4 * cells * cells * cells), -kMadelung, 2e-9) << cells;
    for (const double f : a.force) EXPECT_NEAR(f, 0, 1e-8);
    // U is homogeneous of degree -1: box.dU/dbox + x.dU/dx = -U.
    double virial = 0;
    for (std::size_t k = 0; k < 3; ++k) virial += model.box[k] * a.box_bar[k];
    for (std::size_t i = 0; i < x.size(); ++i) virial -= x[i] * a.force[i];
    EXPECT_NEAR(virial / a.energy, -1, 1e-8);
  }
}

// Twelve charges whose digits come from OpenMM 8 (Reference platform, Ewald with tolerance 1e-10).
Model twelve(std::vector<double>& x) {
  const double box[3] = {2.4, 2.6, 2.5};
  Model model{.masses = std::vector<double>(12, 1.0), .box = {2.4, 2.6, 2.5}};
  std::vector<double> q;
  double mean = 0;
  for (int i = 0; i < 12; ++i) {
    const double t[3] = {0.37 * i * i + 0.11 * i, 0.23 * i * i * i + 0.29 * i, 0.41 * i + 0.07 * i * i};
    for (int k = 0; k < 3; ++k) x.push_back((t[k] - std::floor(t[k])) * box[k]);
    q.push_back((0.4 + 0.05 * i) * (i % 2 == 0 ? 1 : -1));
    mean += q.back() / 12;
  }
  for (double& one : q) one -= mean;
  model.potentials = {{.kind = "ewald",
                       .parameters = {{"charge", q}, {"strength", {138.93545764438198}}},
                       .options = {{"cutoff", 1.1}, {"tolerance", 1e-10}}}};
  return model;
}
void expect_digits(const Answer& a, double energy, const std::array<double, 3>& first,
                   const std::array<double, 3>& eighth) {
  EXPECT_NEAR(a.energy, energy, 1e-7 * std::abs(energy));
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(a.force[k], first[k], 1e-7 * 250);
    EXPECT_NEAR(a.force[21 + k], eighth[k], 1e-7 * 250);
  }
}

TEST(Ewald, AndTheReactionFieldAgreeWithOpenMM) {
  std::vector<double> x;
  Model model = twelve(x);
  expect_digits(ask(model, x), -711.850670126966,
                {-225.09110903126407, 250.11220107152505, -113.94644104390734},
                {125.15814495829281, -90.41995662241773, -177.65651010999187});
  // Pairs that lie in one box: OpenMM takes excluded pairs as they are, not their nearest images.
  model.potentials[0].exclude = {1, 2, 3, 5};
  EXPECT_NEAR(ask(model, x).energy, -778.6078211684286, 1e-7 * 778);
  model.potentials[0].exclude = {7, 1};
  expect_digits(ask(model, x), -740.0774041890194,
                {-225.09110903126407, 250.11220107152505, -113.94644104390734},
                {112.78835396315128, -103.18243939518335, -172.13428198716082});
  model.potentials[0].kind = "coulomb";
  model.potentials[0].exclude = {};
  model.potentials[0].options = {{"cutoff", 1.1}, {"dielectric", 78.3}};
  expect_digits(ask(model, x), -264.7576037717201,
                {-195.0247517259403, 216.94937451713025, -145.34192654446355},
                {106.9165712885785, -31.85486067087, -145.12149503405843});
}

TEST(Ewald, DoesNotDependOnWhereItIsCut) {
  std::vector<double> x;
  Model model = twelve(x);
  model.potentials[0].exclude = {2, 5};
  model.potentials[0].parameters["charge"][0] += 0.7;  // not neutral: with its background
  const Answer one = ask(model, x);
  model.potentials[0].options["cutoff"] = 0.8;
  const Answer two = ask(model, x);
  EXPECT_NEAR(one.energy, two.energy, 1e-7);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(one.force[i], two.force[i], 1e-6);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(one.charge_bar[i], two.charge_bar[i], 1e-6);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(one.box_bar[k], two.box_bar[k], 1e-6);
}

TEST(Ewald, SaysWhatIsWrong) {
  const auto refuse = [](Model model, const char* why, const char* advice) {
    costate::test::expect_error([&] { return make_system<double>(model); }, why, advice);
  };
  Model model = test::sample("ewald").model;
  model.box = {};
  refuse(model, "ewald needs a periodic box", "give the model a box");
  model = test::sample("ewald").model;
  model.potentials[0].options.erase("cutoff");
  refuse(model, "ewald has no cutoff", "give options cutoff");
  model = test::sample("ewald").model;
  model.potentials[0].options["tolerance"] = 2;
  refuse(model, "the tolerance of ewald is 2", "between 0 and 0.1");
  model = test::sample("ewald").model;
  model.potentials[0].atoms = {0, 1};
  refuse(model, "ewald acts on all atoms", "leave out");
  model = test::sample("ewald").model;
  model.potentials[0].exclude = {0, 9};
  refuse(model, "ewald excludes atom 9, and there are 4", "counted from 0");
}

// cells^3 cells of eight atoms, neighbours at distance 2^(1/6).
Model diamond(int cells, std::vector<double>& x) {
  const double edge = 4 / std::sqrt(3.0) * std::pow(2.0, 1.0 / 6);
  Model model{.potentials = {{.kind = "stillinger_weber"}}, .box = std::vector<double>(3, edge * cells)};
  const double base[8][3] = {{0, 0, 0},       {0, .5, .5},     {.5, 0, .5},     {.5, .5, 0},
                             {.25, .25, .25}, {.25, .75, .75}, {.75, .25, .75}, {.75, .75, .25}};
  for (int cell = 0; cell < cells * cells * cells; ++cell)
    for (const auto& b : base) {
      const int at[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
      for (int k = 0; k < 3; ++k) x.push_back((at[k] + b[k]) * edge);
      model.masses.push_back(1);
    }
  return model;
}

TEST(StillingerWeber, HasMinusTwoEpsilonPerAtomOfDiamond) {
  for (const int cells : {2, 3}) {  // in lanes, and a large world
    std::vector<double> x;
    const Model model = diamond(cells, x);
    const Answer a = ask(model, x);
    EXPECT_NEAR(a.energy / double(model.masses.size()), -2, 2e-9);
    for (const double f : a.force) EXPECT_NEAR(f, 0, 1e-7);
  }
}

// The sum over pairs and triples as the paper has it.
double written_out(const Model& model, const std::vector<double>& x) {
  const int n = int(x.size()) / 3;
  const auto apart = [&](int i, int j, double* d) {
    double s = 0;
    for (int k = 0; k < 3; ++k) {
      const double L = model.box[std::size_t(k)], raw = x[std::size_t(3 * j + k)] - x[std::size_t(3 * i + k)];
      d[k] = raw - L * std::round(raw / L);
      s += d[k] * d[k];
    }
    return std::sqrt(s);
  };
  const auto h = [](double g, double r) { return r < 1.8 ? std::exp(g / (r - 1.8)) : 0.0; };
  double u = 0, a[3], b[3];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      if (j == i) continue;
      const double r = apart(i, j, a);
      if (j > i) u += 7.049556277 * (0.6022245584 / std::pow(r, 4) - 1) * h(1, r);
      for (int k = j + 1; k < n; ++k) {
        if (k == i) continue;
        const double s = apart(i, k, b), c = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) / (r * s);
        u += 21 * std::pow(c + 1.0 / 3, 2) * h(1.2, r) * h(1.2, s);
      }
    }
  return u;
}
TEST(StillingerWeber, IsTheSumOverPairsAndTriples) {
  for (const int cells : {2, 3}) {
    std::vector<double> x;
    const Model model = diamond(cells, x);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.08 * normal<double>(5, std::uint32_t(i), 0);
    const Answer a = ask(model, x);
    EXPECT_NEAR(a.energy, written_out(model, x), 1e-11 * std::abs(a.energy));
    for (const std::size_t i : {std::size_t(0), std::size_t(47), x.size() - 2}) {
      const auto moved = [&](double by) {
        std::vector<double> y = x;
        y[i] += by;
        return written_out(model, y);
      };
      const double step = 1e-4;
      const double slope =
          (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step);
      EXPECT_NEAR(-a.force[i], slope, 1e-8 * (1 + std::abs(slope)));
    }
  }
  Model small = test::sample("stillinger_weber").model;
  small.box[1] = 3.5;
  costate::test::expect_error([&] { return make_system<double>(small); },
                              "stillinger_weber: the cutoff 1.8 is more than half of the box's edge 3.5",
                              "a larger box");
}

// 216 atoms near the places of diamond, under either law of surroundings.
test::Sample surrounded(const std::string& kind) {
  test::Sample s;
  s.model = diamond(3, s.x);
  s.model.integrator = "leapfrog";
  s.model.dt = 2e-3;
  for (std::size_t i = 0; i < s.x.size(); ++i) s.x[i] += 0.08 * normal<double>(5, std::uint32_t(i), 0);
  if (kind == "stillinger_weber") return s;
  Potential p = test::sample(kind).model.potentials[0];
  p.parameters["species"].clear();
  for (int i = 0; i < s.model.atoms(); ++i) p.parameters["species"].push_back(1 + 0.1 * (i % 4));
  s.model.potentials = {p};
  return s;
}

// Each atom gathering what its neighbours have for it, against one loop over all pairs that scatters.
TEST(ManyBody, LargeWorldsGatherWhatOneLoopScatters) {
  for (const char* kind : {"stillinger_weber", "neural"}) {
    SCOPED_TRACE(kind);
    const test::Sample s = surrounded(kind);
    Compiled large = compile(s.model), plain = compile(s.model);
    ASSERT_TRUE(large.potentials[0].sites.every_pair);
    plain.potentials[0].sites.every_pair = false;
    std::vector<double> p;
    for (const Field& field : large.signature.fields(Role::parameter))
      p.insert(p.end(), field.defaults.begin(), field.defaults.end());
    const auto a = make_terms<double>(large), b = make_terms<double>(plain);
    const auto work_a = a[0]->make_scratch(), work_b = b[0]->make_scratch();
    std::vector<double> f_bar(s.x.size());
    for (std::size_t i = 0; i < f_bar.size(); ++i) f_bar[i] = std::sin(double(i));
    const auto compare = [&](const char* what, const auto& call) {
      std::vector<double> x1(s.x.size()), x2(s.x.size()), p1(p.size()), p2(p.size());
      call(*a[0], x1.data(), p1.data(), work_a.get());
      call(*b[0], x2.data(), p2.data(), work_b.get());
      double most = 0;
      for (const auto* list : {&x2, &p2})
        for (const double value : *list) most = std::max(most, std::abs(value));
      EXPECT_GT(most, 0) << what;
      for (std::size_t i = 0; i < x1.size(); ++i)
        EXPECT_NEAR(x1[i], x2[i], 1e-12 * most) << what << " x " << i;
      for (std::size_t i = 0; i < p1.size(); ++i)
        EXPECT_NEAR(p1[i], p2[i], 1e-12 * most) << what << " p " << i;
    };
    const double *x = s.x.data(), *q = p.data(), *along = f_bar.data();
    using Scratch = TermScratch;
    compare("energy",
            [&](const Term<double>& t, double* to, double*, Scratch* w) { *to = t.energy(x, q, w); });
    compare("force", [&](const Term<double>& t, double* to, double*, Scratch* w) { t.force(x, q, to, w); });
    compare("energies",
            [&](const Term<double>& t, double* to, double*, Scratch* w) { t.energies(x, q, to, w); });
    compare("energy_vjp", [&](const Term<double>& t, double* x_bar, double* p_bar, Scratch* w) {
      t.energy_vjp(x, q, 1.5, x_bar, p_bar, w);
    });
    compare("energies_vjp", [&](const Term<double>& t, double* x_bar, double* p_bar, Scratch* w) {
      t.energies_vjp(x, q, along, x_bar, p_bar, w);
    });
    compare("force_vjp", [&](const Term<double>& t, double* x_bar, double* p_bar, Scratch* w) {
      t.force_vjp(x, q, along, x_bar, p_bar, w);
    });
    compare("virial_vjp", [&](const Term<double>& t, double* x_bar, double* p_bar, Scratch* w) {
      t.virial_vjp(x, q, 1.5, x_bar, p_bar, w);
    });
  }
}

TEST(ManyBody, LargeWorldsDoNotSeeThreadsOrListsToTheBit) {
  for (const char* kind : {"stillinger_weber", "neural"}) {
    SCOPED_TRACE(kind);
    const auto run = [&](int threads, double skin) {
      set_thread_count(threads);
      test::Sample s = surrounded(kind);
      s.model.potentials[0].options["skin"] = skin;
      const auto system = make_system<double>(s.model);
      Rollout<double> rollout(system, {.steps = 5});
      const auto g = rollout.value_and_gradient(test::start(s, rollout, 3, 0),
                                                *loss::final<double>(system->signature(), "x", {}));
      set_thread_count(0);
      return g;
    };
    const auto first = run(1, 0.0);
    for (const auto& [threads, skin] : {std::pair{2, 0.0}, {3, 0.3}, {7, 0.1}}) {
      const auto other = run(threads, skin);
      EXPECT_EQ(other.value, first.value);
      EXPECT_TRUE(costate::test::same_bits(other.x0, first.x0)) << threads;
      EXPECT_TRUE(costate::test::same_bits(other.parameters, first.parameters)) << threads;
    }
  }
}

TEST(ManyBody, LargeWorldsHaveTheirTranspose) {
  for (const bool charges : {true, false}) {
    test::Sample s;
    s.model = charges ? rock_salt(3, 1.5, s.x) : diamond(3, s.x);
    s.model.integrator = "leapfrog";
    s.model.dt = 1e-3;
    if (charges) s.model.potentials[0].options["tolerance"] = 0.01;
    for (std::size_t i = 0; i < s.x.size(); ++i) s.x[i] += 0.05 * normal<double>(5, std::uint32_t(i), 0);
    const auto system = make_system<double>(s.model);
    EXPECT_EQ(system->lanes(), 1);
    Rollout<double> rollout(system, {.steps = 2});
    const auto at = test::start(s, rollout, 1, 0);
    const auto result = check::dot_product(rollout, at);
    EXPECT_TRUE(result.passed()) << result.name;
  }
}

}  // namespace
}  // namespace costate::md
