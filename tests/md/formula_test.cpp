// Potentials as text: the numbers of those that are built in. (Every potential meets the contract with every
// integrator in integrator_test.cpp.)
#include <cmath>

#include "costate/md/own_potential.h"
#include "costate/system/check/checks.h"
#include "tests/expect_error.h"
#include "tests/md/models.h"

namespace costate::md {
namespace {

// A built-in potential and the same as text, over a rollout: states, value, gradients.
template <class Real>
void expect_same(Model built_in, const Potential& text, const std::vector<std::array<std::string, 2>>& names,
                 const std::vector<double>& x, double tolerance) {
  Model own = built_in;
  own.potentials = {text};
  const auto gradient = [&](const Model& model) {
    const auto system = make_system<Real>(model);
    Rollout<Real> rollout(system, {.steps = 50, .worlds = 3, .seed = 4});
    auto at = rollout.arguments();
    std::copy(x.begin(), x.end(), at.x0.begin());
    return rollout.value_and_gradient(at, *loss::final<Real>(system->signature(), "x", {}));
  };
  const auto a = gradient(built_in), b = gradient(own);
  EXPECT_NEAR(a.value, b.value, tolerance * std::abs(a.value));
  for (std::size_t i = 0; i < a.x0.size(); ++i)
    EXPECT_NEAR(a.x0[i], b.x0[i], tolerance * (1 + std::abs(double(a.x0[i]))));
  for (const auto& [one, two] : names)
    EXPECT_NEAR(a.parameters[one][0], b.parameters[two][0],
                tolerance * (1 + std::abs(double(a.parameters[one][0]))))
        << one;
}

TEST(Formula, OfAPairIsTheBuiltInLennardJones) {
  Model model{.masses = {1, 1, 1, 1}, .box = {3.1, 3.3, 3.5}, .dt = 0.005};
  model.potentials = {{.kind = "lennard_jones", .options = {{"cutoff", 1.5}, {"switch_from", 1.1}}}};
  const Potential text{.kind = "pair_formula",
                       .name = "mine",
                       .parameters = {{"eps", {1}}, {"sig", {1}}},
                       .options = {{"cutoff", 1.5}, {"switch_from", 1.1}},
                       .formula = "4*eps*((sig/r)^12 - (sig/r)^6)"};
  const std::vector<std::array<std::string, 2>> names = {{"lennard_jones/epsilon", "mine/eps"},
                                                         {"lennard_jones/sigma", "mine/sig"},
                                                         {"kT", "kT"},
                                                         {"box", "box"}};
  expect_same<double>(model, text, names, test::four_atoms(), 1e-11);
  expect_same<float>(model, text, names, test::four_atoms(), 2e-4);
}

TEST(Formula, OfAPositionIsTheBuiltInDoubleWell) {
  Model model{.dimensions = 1, .masses = {1}, .integrator = "E", .dt = 0.02};
  model.potentials = {{.kind = "double_well", .parameters = {{"a", {1.3}}, {"b", {0.2}}}}};
  const Potential text{.kind = "field_formula",
                       .parameters = {{"a", {1.3}}, {"b", {0.2}}},
                       .formula = "h = (x^2 - 1); a*h^2 + b*x"};
  Potential plain = text;
  plain.formula = "a*(x^2 - 1)^2 + b*x";
  expect_same<double>(model, plain,
                      {{"double_well/a", "field_formula/a"}, {"double_well/b", "field_formula/b"}}, {-0.7},
                      1e-12);
  model.potentials = {text};  // one expression, not equations
  costate::test::expect_error([&] { return make_system<double>(model); }, "formula", "");
}

// The same potentials as functions.
TEST(Formula, OfAFunctionIsTheBuiltInOne) {
  Model model{.masses = {1, 1, 1, 1}, .box = {3.1, 3.3, 3.5}, .dt = 0.005};
  model.potentials = {{.kind = "lennard_jones", .options = {{"cutoff", 1.5}, {"switch_from", 1.1}}}};
  // Named in another order than that of the alphabet.
  Potential pair = pair_potential("mine", {{"sig", {1}}, {"eps", {1}}}, [](auto r, auto p) {
    const auto q = pow(p[0] / r, 6);
    return 4 * p[1] * (q * q - q);
  });
  pair.options = {{"cutoff", 1.5}, {"switch_from", 1.1}};
  const std::vector<std::array<std::string, 2>> names = {
      {"lennard_jones/epsilon", "mine/eps"}, {"lennard_jones/sigma", "mine/sig"}, {"box", "box"}};
  expect_same<double>(model, pair, names, test::four_atoms(), 1e-11);

  model = {.dimensions = 1, .masses = {1}, .integrator = "E", .dt = 0.02};
  model.potentials = {{.kind = "double_well", .parameters = {{"a", {1.3}}, {"b", {0.2}}}}};
  const Potential well = field_potential("mine", 1, {{"a", {1.3}}, {"b", {0.2}}}, [](auto x, auto p) {
    return p[0] * pow(x[0] * x[0] - 1, 2) + p[1] * x[0];
  });
  expect_same<double>(model, well, {{"double_well/a", "mine/a"}, {"double_well/b", "mine/b"}}, {-0.7}, 1e-12);
}

// Of all atoms: springs, with one name for both stiffnesses.
TEST(Formula, OfAllAtomsIsTheBuiltInOne) {
  Model model{.masses = {1, 2, 1.5, 1}, .dt = 0.005};
  model.potentials = {
      {.kind = "harmonic_bond", .atoms = {0, 1, 1, 2}, .parameters = {{"k", {3, 5}}, {"r0", {1.1}}}}};
  const Potential springs = energy_potential("mine", 12, {{"k", {3, 5}}, {"r0", {1.1}}}, [](auto x, auto p) {
    auto u = 0 * p[0];
    for (std::size_t b = 0; b < 2; ++b) {
      auto s = 0 * p[0];
      for (std::size_t i = 0; i < 3; ++i) s += pow(x[3 * b + i] - x[3 * b + 3 + i], 2);
      u += 0.5 * p[b] * pow(sqrt(s) - p[2], 2);
    }
    return u;
  });
  const std::vector<std::array<std::string, 2>> names = {{"harmonic_bond/k", "mine/k"},
                                                         {"harmonic_bond/r0", "mine/r0"}};
  expect_same<double>(model, springs, names, test::four_atoms(), 1e-11);
  expect_same<float>(model, springs, names, test::four_atoms(), 2e-4);
}

TEST(Formula, SaysWhatIsWrong) {
  Model model{.masses = {1, 1}, .box = {5, 5, 5}};
  const auto refuse = [&](const Potential& potential, const char* why, const char* advice) {
    model.potentials = {potential};
    costate::test::expect_error([&] { return make_system<double>(model); }, why, advice);
  };
  refuse({.kind = "pair_formula"}, "has no formula", "give one");
  refuse({.kind = "wca", .formula = "r"}, "has a formula of its own", "use pair_formula");
  refuse({.kind = "pair_formula", .formula = "k*r"}, "'k'", "");
  Potential other = pair_potential("mine", {{"k", {1}}}, [](auto r, auto p) { return p[0] * r; });
  other.parameters = {{"q", {1}}};
  refuse(other, "has the arguments r, k, and the potential has r, q", "must be the same");
  other.kind = "wca";
  refuse(other, "has a formula of its own", "energy_formula");
  refuse({.kind = "pair_formula", .formula = "1/r +"}, "formula", "");
  const Model two = std::exchange(model, {.masses = std::vector<double>(3000, 1.0), .box = {5, 5, 5}});
  refuse({.kind = "pair_formula", .formula = "1/r"}, "would act on all 4498500 pairs", "neighbour lists");
  refuse({.kind = "harmonic_bond"}, "would act on all 4498500 pairs", "list its atoms");
  model = two;
  Potential many{.kind = "pair_formula", .formula = "r"};
  for (char name = 'a'; name < 'j'; ++name) many.parameters[std::string(1, name)] = {1};
  refuse(many, "has 9 parameters", "at most 8");
}

}  // namespace
}  // namespace costate::md
