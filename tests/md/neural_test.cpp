// The neural potential: its sums written out, what it does not depend on, and a fit of its weights.
// (Its derivatives: potential_test.cpp and integrator_test.cpp.)
#include <cmath>

#include "costate/md/compile.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"

namespace costate::md {
namespace {

struct Cluster {
  Model model;
  std::vector<double> x;
};
// Atoms on a disturbed cubic lattice with edge 1.1, in a box.
Cluster cluster(int edge) {
  Cluster c;
  c.model.box = std::vector<double>(3, 1.1 * edge + 1.8);
  c.model.dt = 0.002;
  Potential p{.kind = "neural",
              .options = {{"cutoff", 1.9}, {"radial", 3}, {"angular", 3}, {"hidden", 4}, {"layers", 2}}};
  for (int i = 0; i < edge * edge * edge; ++i) {
    const int at[3] = {i % edge, i / edge % edge, i / edge / edge};
    for (const int k : at) c.x.push_back(1.1 * k + 0.15 * normal<double>(3, 0, c.x.size()));
    c.model.masses.push_back(1);
    p.parameters["species"].push_back(i % 2 == 0 ? 1.0 : 0.6);
  }
  c.model.potentials = {p};
  return c;
}

std::vector<double> parameters_of(const Compiled& c) {
  std::vector<double> p;
  for (const Field& field : c.signature.fields(Role::parameter))
    p.insert(p.end(), field.defaults.begin(), field.defaults.end());
  return p;
}
double energy_of(const Cluster& cluster) {
  const Compiled c = compile(cluster.model);
  const auto term = make_terms<double>(c);
  return term[0]->energy(cluster.x.data(), parameters_of(c).data(), term[0]->make_scratch().get());
}

// The head of neural.cpp, line by line.
double written_out(const Cluster& cluster) {
  const Compiled c = compile(cluster.model);
  const std::vector<double> p = parameters_of(c);
  const auto value = [&](const std::string& name, int i) {
    const Field& f = c.signature.find(Role::parameter, "neural/" + name);
    return p[std::size_t(f.offset) + std::size_t(f.size > 1 ? i : 0)];
  };
  const int n = int(cluster.x.size()) / 3, sizes[] = {7, 4, 4, 1};
  const double cutoff = 1.9;
  double u = 0;
  for (int i = 0; i < n; ++i) {
    struct Near {
      double d[3], r, s;
    };
    std::vector<Near> near;
    for (int j = 0; j < n; ++j) {
      Near one{{0, 0, 0}, 0, value("species", j)};
      for (int k = 0; k < 3; ++k) {
        const double L = cluster.model.box[std::size_t(k)];
        one.d[k] = cluster.x[std::size_t(3 * j + k)] - cluster.x[std::size_t(3 * i + k)];
        one.d[k] -= L * std::round(one.d[k] / L);
        one.r += one.d[k] * one.d[k];
      }
      one.r = std::sqrt(one.r);
      if (j != i && one.r < cutoff) near.push_back(one);
    }
    const auto f = [&](double r) { return std::pow(1 - std::pow(r / cutoff, 2), 3); };
    const auto h = [&](double r) { return std::exp(-value("angular_eta", 0) * r * r) * f(r); };
    std::vector<double> G(7, 0.0);
    for (int k = 0; k < 3; ++k)
      for (const Near& a : near)
        G[std::size_t(k)] +=
            a.s * std::exp(-value("eta", 0) * std::pow(a.r - value("centre", k), 2)) * f(a.r);
    const double y[] = {1, -1, 1}, z[] = {1, 1, 2};
    for (int m = 0; m < 3; ++m)
      for (std::size_t a = 0; a < near.size(); ++a)
        for (std::size_t b = a + 1; b < near.size(); ++b) {
          const Near &one = near[a], &two = near[b];
          const double cosine =
              (one.d[0] * two.d[0] + one.d[1] * two.d[1] + one.d[2] * two.d[2]) / (one.r * two.r);
          G[std::size_t(3 + m)] +=
              std::pow(2, 1 - z[m]) * one.s * two.s * std::pow(1 + y[m] * cosine, z[m]) * h(one.r) * h(two.r);
        }
    G[6] = value("species", i);
    int w = 0;
    for (int l = 1; l < 4; ++l) {
      std::vector<double> next;
      for (int o = 0; o < sizes[l]; ++o) {
        double sum = value("weights", w + sizes[l] * sizes[l - 1] + o);
        for (int k = 0; k < sizes[l - 1]; ++k)
          sum += value("weights", w + o * sizes[l - 1] + k) * G[std::size_t(k)];
        next.push_back(l < 3 ? std::tanh(sum) : sum);
      }
      w += sizes[l] * (sizes[l - 1] + 1);
      G = next;
    }
    u += G[0];
  }
  return u;
}

TEST(Neural, IsItsSumsWrittenOut) {
  for (const int edge : {2, 6}) {  // in lanes, and a large world
    const Cluster c = cluster(edge);
    const double expected = written_out(c);
    EXPECT_NEAR(energy_of(c), expected, 1e-12 * std::abs(expected));
  }
}

TEST(Neural, DoesNotSeeOrderOrAxes) {
  const Cluster c = cluster(2);
  Cluster other = c;
  auto& species = other.model.potentials[0].parameters["species"];
  for (std::size_t k = 0; k < 3; ++k) std::swap(other.x[k], other.x[9 + k]);
  std::swap(species[0], species[3]);
  for (std::size_t i = 0; i < other.x.size(); i += 3) std::swap(other.x[i], other.x[i + 2]);
  EXPECT_NEAR(energy_of(other), energy_of(c), 1e-12);
  species[0] *= 1.1;
  EXPECT_GT(std::abs(energy_of(other) - energy_of(c)), 1e-4);
}

TEST(Neural, OfALargeWorldHasItsTranspose) {
  const Cluster c = cluster(6);
  const auto system = make_system<double>(c.model);
  EXPECT_EQ(system->lanes(), 1);
  Rollout<double> rollout(system, {.steps = 2});
  auto at = rollout.arguments();
  std::copy(c.x.begin(), c.x.end(), at.x0.begin());
  const auto result = check::dot_product(rollout, at);
  EXPECT_TRUE(result.passed()) << result.name;
}

TEST(Neural, SaysWhatIsWrong) {
  const auto refuse = [](const std::map<std::string, double>& options, const char* why, const char* advice) {
    Model model = cluster(2).model;
    model.potentials[0].options = options;
    costate::test::expect_error([&] { return make_system<double>(model); }, why, advice);
  };
  refuse({{"radial", 3}}, "neural has no cutoff", "give options cutoff");
  refuse({{"cutoff", 1.5}, {"radial", 2.5}}, "neural: radial is 2.5", "a whole number from 1 to 64");
  refuse({{"cutoff", 1.5}, {"layers", 0}}, "neural: layers is 0", "from 1 to 4");
  Model model = cluster(2).model;
  model.potentials[0].parameters["weights"] = {1, 2};
  costate::test::expect_error([&] { return make_system<double>(model); }, "neural/weights has 2 numbers",
                              "give 57");
}

}  // namespace
}  // namespace costate::md
