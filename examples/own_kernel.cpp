// A physics of one's own with a hand-written transpose (plugin/bead.h), run and checked.
#include <costate/costate.h>

#include <cstdio>

#include "plugin/bead.h"

int main() {
  using namespace costate;
  // [use]
  const Signature fields = bead_fields();
  const auto bead = std::make_shared<LaneSystem<Bead, double>>(fields);

  Rollout<double> rollout(bead, {.steps = 300, .worlds = 64, .hold = 30});
  auto at = rollout.arguments();
  at.x0 = {1.0, 0.0};
  const auto objective = loss::final<double>(fields, "q", {0.25});
  const auto g = rollout.value_and_gradient(at, *objective);
  std::printf("loss %.6f, d/d strength %.6f, d/d friction %.6f\n", g.value, g.parameters["strength"][0],
              g.parameters["friction"][0]);

  // The engine's own tests, on your physics.
  for (const auto& result : {check::dot_product(rollout, at), check::stencil(rollout, at, *objective),
                             check::taylor(rollout, at, *objective)}) {
    std::printf("%s  %s\n", result.passed() ? "pass" : "FAIL", result.name.c_str());
    if (!result.passed()) return 1;
  }
  // [/use]
}
