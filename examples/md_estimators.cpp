// One question, several estimators: how does the chance to be in the right well depend on the barrier, and
// which estimator knows it as the horizon grows?
#include <costate/costate.h>

#include <cstdio>

using namespace costate;

int main() {
  // [question]
  const auto system = md::make_system<double>({.dimensions = 1,
                                               .masses = {1},
                                               .potentials = {{.kind = "double_well"}},
                                               .integrator = "overdamped",
                                               .dt = 0.05,
                                               .kT = 0.5});
  auto at = Rollout<double>(system, {.steps = 1}).arguments();
  at.x0 = {-1};
  const auto right = loss::expression<double>(system->signature(), "0.5 + 0.5*sign(x)");
  // [/question]
  std::printf("d P(x_T > 0) / d a, 20,000 samples\n");
  std::printf("%6s  %18s  %18s  %18s\n", "T", "pathwise", "differences", "girsanov");
  for (const int steps : {10, 40, 160}) {
    std::printf("%6.1f", 0.05 * steps);
    // [estimate]
    for (const auto method :
         {estimate::Method::pathwise, estimate::Method::differences, estimate::Method::girsanov}) {
      const auto g = estimate::gradient<double>(
          system, {.steps = steps, .seed = 1}, at, *right,
          {.method = method, .samples = 20'000, .parameters = {"double_well/a"}, .difference = 0.05});
      std::printf("  %8.4f +- %6.4f", g.gradient[0], g.standard_error[0]);
    }
    // [/estimate]
    std::printf("\n");
  }
  // [automatic]
  const auto chosen = estimate::gradient<double>(system, {.steps = 60, .seed = 1}, at, *right,
                                                 {.samples = 20'000, .parameters = {"double_well/a"}});
  std::printf("\n%s", chosen.to_text().c_str());
  // [/automatic]
  return chosen.method == estimate::Method::girsanov ? 0 : 1;
}
