// Molecules in scene files.
#include <filesystem>
#include <fstream>

#include "costate/io/scene/load_study.h"
#include "costate/study/check.h"
#include "tests/expect_error.h"

namespace costate::md {
namespace {

using costate::test::expect_error;

const std::string kChain = R"(
[molecules]
integrator = "verlet"
box = [6.0, 6.0, 6.0]

[[atoms]]
name = "a"
position = [1.0, 1.0, 1.0]
velocity = [0.1, 0.0, 0.0]

[[atoms]]
name = "b"
position = [2.1, 1.0, 1.2]
mass = 2.0

[[potentials]]
kind = "harmonic_bond"
atoms = [["a", "b"]]
k = 30.0
r0 = 1.0

[[potentials]]
kind = "lennard_jones"
cutoff = 2.5
switch_from = 2.0

[run]
dt = 0.005
steps = 40

[[loss]]
kind = "position"
of = "atom/b"
target = [2.0, 1.1, 1.0]

[optimize]
variables = [{name = "parameters.harmonic_bond/k"}]
)";

TEST(MoleculesInFiles, HaveAStudyWhoseGradientIsChecked) {
  const auto study = io::parse_study(kChain, "chain.toml", {.for_check = true});
  for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
}

// Two species: numbers of each pair of them, and what is wrong with such a list.
TEST(MoleculesInFiles, MayHaveTablesOfSpecies) {
  std::string text = kChain;
  text.replace(text.find("switch_from"), 0, "species = [0, 1]\nepsilon = [1.0, 0.5, 2.0]\n");
  const std::string from = "harmonic_bond/k\"", table = "lennard_jones/epsilon[1]\"";
  text.replace(text.find("parameters." + from) + 11, from.size(), table);
  const auto study = io::parse_study(text, "chain.toml", {.for_check = true});
  for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
  text.replace(text.find("[0, 1]"), 6, "[0, 0.5]");
  expect_error([&] { return io::parse_study(text, "chain.toml", {}); }, "species are whole numbers",
               "species = [0, 1, 1]");
}

TEST(MoleculesInFiles, MayHaveAFormulaOfTheirOwn) {
  std::string text = kChain;
  const std::string from = "kind = \"harmonic_bond\"\n", bond = "parameters.harmonic_bond/k";
  text.replace(
      text.find(from), from.size(),
      "kind = \"pair_formula\"\nname = \"spring\"\nformula = \"k*(r - r0)^2/2 + c*(r - r0)^3\"\nc = 2.0\n");
  text.replace(text.find(bond), bond.size(), "parameters.spring/c");
  const auto study = io::parse_study(text, "chain.toml", {.for_check = true});
  for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
  text.replace(text.find("c*(r"), 1, "d");
  expect_error([&] { return io::parse_study(text, "chain.toml", {}); }, "'d'");
}

TEST(MoleculesInFiles, MayHaveRigidBonds) {
  std::string text = kChain;
  const std::size_t spring = text.find("[[potentials]]"), next = text.find("[[potentials]]", spring + 1);
  text.replace(spring, next - spring, "[[rigid_bonds]]\natoms = [[\"a\", \"b\"]]\n\n");
  text.replace(text.find("parameters.harmonic_bond/k"), 26, "parameters.rigid/length");
  const auto study = io::parse_study(text, "chain.toml", {.for_check = true});
  for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
  const std::string pair = "[[\"a\", \"b\"]]";
  text.replace(text.find(pair), pair.size(), "[\"a\", \"b\", \"a\"]");
  expect_error([&] { return io::parse_study(text, "chain.toml", {}); }, "rigid bonds are pairs of atoms");
}

TEST(MoleculesInFiles, MayHaveAPiston) {
  std::string text = kChain;
  const std::string from = "integrator = \"verlet\"";
  text.replace(text.find(from), from.size(),
               "integrator = \"barostat\"\npressure = 0.1\npiston_mass = 20.0\npiston_friction = 2.0");
  const auto study = io::parse_study(text, "chain.toml", {.for_check = true});
  EXPECT_NE(study->headline().find("PBADOQDABP"), std::string::npos) << study->headline();
  for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
}

TEST(MoleculesInFiles, AreReadFromXyz) {
  const auto folder = std::filesystem::temp_directory_path() / "costate_molecules";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "two.xyz") << "2\nLattice=\"8 0 0 0 8 0 0 0 8\"\nAr 0 0 0\nAr 1.2 0 0\n";
  std::ofstream(folder / "two.toml") << R"(
[molecules]
file = "two.xyz"
integrator = "langevin"
velocities_seed = 1
[[potentials]]
kind = "lennard_jones"
cutoff = 2.5
[[loss]]
kind = "position"
of = "atom/Ar1"
target = [0.0, 0.0, 0.0]
)";
  const auto study = io::load_study((folder / "two.toml").string(), {});
  EXPECT_NE(study->headline().find("2 atoms, BAOAB"), std::string::npos) << study->headline();
  std::filesystem::remove_all(folder);
}

TEST(MoleculesInFiles, SayWhatIsWrong) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kChain;
    text.replace(text.find(from), from.size(), to);
    return [text] { return io::parse_study(text, "chain.toml", {}); };
  };
  expect_error(with("\"verlet\"", "\"verlett\""), "'verlett' is not an integrator", "did you mean 'verlet'?");
  expect_error(with("\"a\", \"b\"]", "\"a\", \"c\"]"), "there is no atom 'c'");
  expect_error(with("k = 30.0", "kk = 30.0"), "kk");
  expect_error(with("\"harmonic_bond\"", "\"harmonic_bound\""), "there is no potential 'harmonic_bound'",
               "harmonic_bond");
  expect_error(with("cutoff = 2.5", "cutoff = 3.5"), "more than half of the box's edge");
}

}  // namespace
}  // namespace costate::md
