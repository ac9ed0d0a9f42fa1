// The free energy of a dimer in a solvent: a bond with two states, short and long, among discs that push each
// other away. Which state does the solvent prefer, and by how much?
//
// A stiff spring holds the bond at a length R. The difference of free energy between neighbouring lengths is
// Bennett's, from samples of both; their sum is the profile F(R). Without solvent F is the energy of the bond
// less the entropy of its direction.
//
//   md_dimer                                prints the profile
//   md_dimer docs/images/md_dimer.svg       and draws it
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

#include "examples/figure.h"

using namespace costate;

namespace {

constexpr int kSide = 5;  // a square lattice: the dimer, a gap, and 22 solvent discs
constexpr double kEdge = 6.0, kT = 1, kFirst = 1.12, kSpacing = 0.1, kSpring = 200;
constexpr int kLengths = 13;
const double kShort = std::pow(2.0, 1.0 / 6), kWidth = 0.5, kHeight = 3;

// [model]
md::Model dimer(bool solvent) {
  const std::size_t atoms = solvent ? kSide * kSide - 1 : 2;
  md::Model model{.dimensions = 2,
                  .masses = std::vector<double>(atoms, 1.0),
                  .box = {kEdge, kEdge},
                  .integrator = "BAOAB",
                  .dt = 0.005,
                  .kT = kT,
                  .friction = 2};
  model.potentials = {{.kind = "dimer_bond",
                       .atoms = {0, 1},
                       .parameters = {{"height", {kHeight}}, {"r0", {kShort}}, {"width", {kWidth}}}},
                      {.kind = "harmonic_bond",
                       .name = "holder",
                       .atoms = {0, 1},
                       .parameters = {{"k", {kSpring}}, {"r0", {kFirst}}}}};
  if (solvent) model.potentials.push_back({.kind = "wca", .exclude = {0, 1}});
  return model;
}
// [/model]

struct Profile {
  std::vector<figure::Point> F, error;
};

Profile profile(bool solvent) {
  const md::Model model = dimer(solvent);
  const auto system = md::make_system<double>(model);
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  for (std::size_t i = 2; i < model.masses.size(); ++i) {
    at.x0[2 * i] = kEdge / kSide * double((i + 1) % kSide);
    at.x0[2 * i + 1] = kEdge / kSide * double((i + 1) / kSide);
  }
  Profile all{{{kFirst, 0}}, {{kFirst, 0}}};
  // [profile]
  for (int i = 1; i < kLengths; ++i) {
    const double R = kFirst + kSpacing * (i - 1);
    at.x0[2] = R;
    const auto f = estimate::free_energy<double>(
        system, {.steps = 2000, .seed = std::uint64_t(i)}, at,
        {.from = {{"holder/r0", {R}}}, .to = {{"holder/r0", {R + kSpacing}}}, .samples = 128, .every = 50});
    // [/profile]
    const double before = all.error.back().y;
    all.F.push_back({R + kSpacing, all.F.back().y + f.value});
    all.error.push_back({R + kSpacing, std::sqrt(before * before + f.error * f.error)});
  }
  return all;
}

// Two atoms alone: e^(-F(R) / kT) = int r e^(-(U(r) + k (r - R)^2 / 2) / kT) dr.
double alone(double R) {
  double sum = 0;
  for (double r = 0.6; r < 3; r += 1e-4) {
    const double t = (r - kShort - kWidth) / kWidth, s = 1 - t * t;
    sum += r * std::exp(-(kHeight * s * s + 0.5 * kSpring * (r - R) * (r - R)) / kT);
  }
  return -kT * std::log(sum);
}

}  // namespace

int main(int argc, char** argv) {
  const Profile vacuum = profile(false), solvent = profile(true);
  std::printf("%5s  %9s  %17s  %17s\n", "R", "alone", "alone, sampled", "in the solvent");
  std::vector<figure::Point> exact;
  bool right = true;
  for (std::size_t i = 0; i < vacuum.F.size(); ++i) {
    const double R = vacuum.F[i].x;
    exact.push_back({R, alone(R) - alone(kFirst)});
    right = right && std::abs(vacuum.F[i].y - exact[i].y) < 4 * vacuum.error[i].y + 1e-9;
    if (i % 2 == 0)
      std::printf("%5.2f  %9.3f  %8.2f +- %5.2f  %8.2f +- %5.2f\n", R, exact[i].y, vacuum.F[i].y,
                  vacuum.error[i].y, solvent.F[i].y, solvent.error[i].y);
  }
  if (argc > 1) {
    figure::Figure picture;
    figure::Panel& F = picture.panel("length of the bond R", "free energy F(R) - F(1.12)");
    F.line(exact, figure::kGrey, "alone, exact", 2, true);
    F.dots(vacuum.F, figure::kOrange, "alone, sampled");
    F.line(solvent.F, figure::kBlue, "in the solvent");
    picture.write(argv[1]);
  }
  return right ? 0 : 1;
}
