// Design a cluster that assembles itself: seven discs in the plane attract each other, and each pair is as
// strong as the geometric mean of its two discs. Which strengths put disc 0 in the middle of the other six?
//
// What is wanted is an average over the equilibrium, the number of discs that touch disc 0. Its derivative is
// a covariance with the slope of the energy (`reinforce`): no derivative goes through the motion.
//
//   md_cluster                                  prints the search
//   md_cluster docs/images/md_cluster.svg       and draws it
#include <costate/costate.h>

#include <cmath>
#include <cstdio>

#include "examples/figure.h"

using namespace costate;

namespace {

constexpr int kDiscs = 7, kIterations = 15;
constexpr std::int64_t kWorlds = 256, kSteps = 6000;
constexpr double kTotal = 14;  // of all strengths

// sum_j 1 / (1 + (r_0j / 1.45)^16): about 1 for every disc that touches disc 0.
std::string touching() {
  std::string text;
  for (int j = 1; j < kDiscs; ++j) {
    const std::string x = "x[" + std::to_string(2 * j) + "]", y = "x[" + std::to_string(2 * j + 1) + "]";
    text += (j > 1 ? " + " : "") + ("1/(1 + (((" + x + " - x[0])^2 + (" + y + " - x[1])^2)/2.1025)^8)");
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const md::Model model{.dimensions = 2,
                        .masses = std::vector<double>(kDiscs, 1.0),
                        .potentials = {{.kind = "lennard_jones_mixture",
                                        .parameters = {{"epsilon", std::vector<double>(kDiscs, 2.0)}}},
                                       {.kind = "harmonic", .parameters = {{"k", {0.05}}}}},
                        .integrator = "BAOAB",
                        .dt = 0.01,
                        .kT = 0.35,
                        .friction = 1};
  const auto system = md::make_system<double>(model);
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  for (std::size_t i = 0; i < kDiscs; ++i) {  // disc 0 begins at the rim
    const double angle = 2 * M_PI * double(i) / 6;
    if (i < 6) at.x0[2 * i] = 1.15 * std::cos(angle), at.x0[2 * i + 1] = 1.15 * std::sin(angle);
  }
  const auto contacts = loss::expression<double>(system->signature(), touching());

  std::vector<double> strength(kDiscs, kTotal / kDiscs);
  std::vector<figure::Point> mean, middle, others;
  std::printf("%9s  %8s  %10s  %8s\n", "iteration", "touching", "strength 0", "others");
  for (int i = 0; i <= kIterations; ++i) {
    // [step]
    at.parameters.set("lennard_jones_mixture/epsilon", strength);
    const auto g =
        estimate::gradient<double>(system, {.steps = kSteps, .seed = std::uint64_t(i + 1)}, at, *contacts,
                                   {.method = estimate::Method::reinforce,
                                    .samples = kWorlds,
                                    .parameters = {"lennard_jones_mixture/epsilon"},
                                    .every = 50});
    // Uphill by factors (exponentiated gradient), with the sum of the strengths kept.
    double total = 0;
    std::vector<double> next = strength;
    for (std::size_t d = 0; d < kDiscs; ++d) {
      next[d] *= std::exp(0.25 * g.gradient[d]);
      total += next[d];
    }
    for (double& s : next) s *= kTotal / total;
    // [/step]
    double rest = 0;
    for (std::size_t d = 1; d < kDiscs; ++d) rest += strength[d] / (kDiscs - 1);
    mean.push_back({double(i), g.value});
    middle.push_back({double(i), strength[0]});
    others.push_back({double(i), rest});
    if (i % 3 == 0) std::printf("%9d  %8.2f  %10.2f  %8.2f\n", i, g.value, strength[0], rest);
    strength = next;
  }
  if (argc > 1) {
    figure::Figure picture;
    figure::Panel& left = picture.panel("iteration", "discs that touch disc 0");
    left.line({{0, 6}, {kIterations, 6}}, figure::kGrey, "all six", 1, true);
    left.line(mean, figure::kBlue, "mean");
    figure::Panel& right = picture.panel("iteration", "strength");
    right.line(middle, figure::kOrange, "disc 0");
    right.line(others, figure::kGreen, "the other six, mean");
    picture.write(argv[1]);
  }
  return mean.back().y > 5.2 && mean.front().y < 3.5 ? 0 : 1;
}
