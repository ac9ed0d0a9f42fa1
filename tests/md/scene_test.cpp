// Molecules in scene files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "costate/io/scene/load_study.h"
#include "costate/md/io/structure.h"
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

// The chain with another loss than that of its file.
std::string with_loss(const std::string& loss) {
  const std::size_t from = kChain.find("[[loss]]"), to = kChain.find("[optimize]");
  return kChain.substr(0, from) + "[[loss]]\n" + loss + "\n" + kChain.substr(to);
}

// Energies, temperature, pressure and motion have names in formulas, with gradients.
TEST(MoleculesInFiles, NameWhatIsMeasured) {
  const std::string names =
      "quantities = {U = \"potential_energy\", K = \"kinetic_energy\", T = \"temperature\", "
      "P = \"pressure\", D = \"displacement\", C = \"velocity_correlation\", b = \"atom/b\"}\n";
  const auto at_start = io::parse_study(
      with_loss("formula = \"U + 10*K + 100*T + 1000*D + 1e4*C\"\nat = 0.0\n" + names), "chain.toml", {});
  const double r = std::hypot(1.1, 0.2), s6 = std::pow(r, -6);
  const double u = 15 * (r - 1) * (r - 1) + 4 * (s6 * s6 - s6), twice_kinetic = 0.01;
  EXPECT_NEAR(at_start->value(at_start->start()),
              u + 5 * twice_kinetic + 100 * twice_kinetic / 6 + 1e4 * twice_kinetic / 2, 1e-10);
  const std::string formula = "formula = \"(P - 0.3)^2 + T*U + K^2 + D - C*b[0]\"\n";
  for (const char* when : {"at = \"end\"\n", "from = 0.0\nto = 0.2\nevery = 0.05\n"}) {
    const auto study = io::parse_study(with_loss(formula + when + names), "chain.toml", {.for_check = true});
    for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
  }
  const auto breathing = [&](std::string text) {
    const std::string from = "integrator = \"verlet\"";
    return text.replace(text.find(from), from.size(), "integrator = \"barostat\"\npiston_mass = 20.0");
  };
  expect_error([&] { return io::parse_study(breathing(with_loss(formula + names)), "chain.toml", {}); },
               "displacements need a fixed box", "BAOAB");
  expect_error(
      [] {
        return io::parse_study(with_loss("formula = \"T\"\nquantities = {T = \"temperatur\"}"), "chain.toml",
                               {});
      },
      "there is no quantity 'temperatur'", "did you mean 'temperature'?");
}

TEST(MoleculesInFiles, CompareTheirDistributionWithData) {
  const std::string loss =
      "kind = \"pair_distribution\"\nradii = [1.0, 1.2]\nwidth = 0.2\nwaves = [[1, 0, 0]]\n";
  const auto study = io::parse_study(with_loss(loss + "target = [0.5, 0.4, 1.0]\nweight = 0.01\n"),
                                     "chain.toml", {.for_check = true});
  for (const auto& result : study::check_gradient(*study)) EXPECT_TRUE(result.passed()) << result.name;
  // One pair, seen from both of its atoms.
  const auto plain =
      io::parse_study(with_loss(loss + "weights = [1.0, 0.0, 10.0]\nat = 0.0\n"), "chain.toml", {});
  const double r = std::hypot(1.1, 0.2), off = (r - 1.0) / 0.2, pi = std::numbers::pi;
  const double g = 216 / (4 * pi) * std::exp(-0.5 * off * off) / (0.2 * std::sqrt(2 * pi));
  EXPECT_NEAR(plain->value(plain->start()), g + 10 * (1 + std::cos(2 * pi * 1.1 / 6)), 1e-10 * g);
  expect_error([&] { return io::parse_study(with_loss("kind = \"pair_distribution\""), "chain.toml", {}); },
               "neither radii nor waves", "radii = [");
  expect_error([&] { return io::parse_study(with_loss(loss + "target = [0.5]"), "chain.toml", {}); },
               "1 targets for 3 radii and waves");
  expect_error([&] { return io::parse_study(with_loss(loss + "from_atoms = [\"c\"]"), "chain.toml", {}); },
               "there is no atom 'c'");
  std::string half = loss;
  half.replace(half.find("[1, 0, 0]"), 9, "[1, 0.5, 0]");
  expect_error([&] { return io::parse_study(with_loss(half), "chain.toml", {}); }, "whole numbers");
}

// Frames of a run as files of other programs: atoms as they are in the state, and the box of the moment.
TEST(MoleculesInFiles, WriteTheirTrajectory) {
  std::string text = kChain;
  const std::string from = "integrator = \"verlet\"";
  text.replace(text.find(from), from.size(), "integrator = \"barostat\"\npressure = 0.1\npiston_mass = 20.0");
  const auto study = io::parse_study(text, "chain.toml", {});
  const study::Run run = study->run(study->start(), {.trajectory = ".xyz"});
  ASSERT_GT(run.recording.frames, 3);
  EXPECT_EQ(std::count(run.trajectory.begin(), run.trajectory.end(), '\n'), 4 * run.recording.frames);
  const std::size_t last = run.trajectory.rfind("2\nLattice");
  const Structure begin = parse_xyz(run.trajectory, "run"),
                  end = parse_xyz(run.trajectory.substr(last), "run");
  EXPECT_EQ(begin.elements, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(begin.x, (std::vector<double>{1, 1, 1, 2.1, 1, 1.2}));
  EXPECT_EQ(begin.v[0], 0.1);
  EXPECT_EQ(begin.box[0], 6);
  EXPECT_LT(end.box[0], 5.9);
  const study::Run again = study->run(study->start(), {.trajectory = ".dcd"});
  EXPECT_EQ(again.trajectory.substr(4, 4), "CORD");
  EXPECT_TRUE(study->run(study->start()).trajectory.empty());
  expect_error([&] { return study->run(study->start(), {.trajectory = ".pdb"}); }, "no format '.pdb'",
               ".dcd");
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
