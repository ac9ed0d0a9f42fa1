// Tune the barrier of a double well until more walkers cross it: a chance of 0.35 instead of 0.25 to be on
// the right after three units of time. The chance jumps with every path, so its derivative along paths is
// zero and pathwise gradients go nowhere; the path score knows it.
//
//   md_tune_barrier                                     prints both descents
//   md_tune_barrier docs/images/md_tune_barrier.svg     and draws them
#include <costate/costate.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "examples/figure.h"

using namespace costate;

namespace {

constexpr double kWanted = 0.35;
constexpr int kSteps = 60, kIterations = 12;

struct Descent {
  std::vector<figure::Point> barrier, chance;
};

// [descent]
// Newton's method on one number: a -= (P - wanted) / (dP/da), no further than 0.3 at a time.
Descent tune(estimate::Method method) {
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "double_well"}},
                                               .integrator = "overdamped",
                                               .dt = 0.05,
                                               .kT = 0.5});
  const auto right = loss::expression<double>(system->signature(), "0.5 + 0.5*sign(x)");
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-1};
  Descent path;
  double a = 1;
  for (int i = 0; i <= kIterations; ++i) {
    at.parameters.set("double_well/a", a);
    const auto g =
        estimate::gradient<double>(system, {.steps = kSteps, .seed = std::uint64_t(i)}, at, *right,
                                   {.method = method, .samples = 50'000, .parameters = {"double_well/a"}});
    path.barrier.push_back({double(i), a});
    path.chance.push_back({double(i), g.value});
    const double slope = g.gradient[0];
    if (slope != 0) a -= std::clamp((g.value - kWanted) / slope, -0.3, 0.3);
  }
  return path;
}
// [/descent]

}  // namespace

int main(int argc, char** argv) {
  const Descent pathwise = tune(estimate::Method::pathwise), score = tune(estimate::Method::girsanov);
  std::printf("%9s  %22s  %22s\n%9s  %10s  %10s  %10s  %10s\n", "", "pathwise", "path score", "iteration",
              "barrier", "chance", "barrier", "chance");
  for (std::size_t i = 0; i < score.chance.size(); i += 3)
    std::printf("%9zu  %10.2f  %10.2f  %10.2f  %10.2f\n", i, pathwise.barrier[i].y, pathwise.chance[i].y,
                score.barrier[i].y, score.chance[i].y);
  if (argc > 1) {
    figure::Figure picture;
    figure::Panel& chance = picture.panel("iteration", "chance to be on the right");
    chance.line({{0, kWanted}, {double(kIterations), kWanted}}, figure::kGrey, "wanted", 1, true);
    chance.line(pathwise.chance, figure::kOrange, "pathwise");
    chance.line(score.chance, figure::kBlue, "path score");
    figure::Panel& barrier = picture.panel("iteration", "barrier a");
    barrier.line(pathwise.barrier, figure::kOrange, "pathwise");
    barrier.line(score.barrier, figure::kBlue, "path score");
    picture.write(argv[1]);
  }
  return std::abs(score.chance.back().y - kWanted) < 0.01 && pathwise.barrier.back().y == 1 ? 0 : 1;
}
