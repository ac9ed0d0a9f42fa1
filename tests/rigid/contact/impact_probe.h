// How a system that holds one ball over an elastic floor differentiates its bounce.
#pragma once

#include <algorithm>
#include <cmath>

#include "costate/system/rollout.h"

namespace costate::rigid::test {

struct Range {
  double least = 1e300, most = -1e300;
};

// dz(T)/dz0 of a ball that starts at z0 with velocity -1, for 200 values of z0: 200 phases of the impact. An
// elastic floor sends it back: -1.
inline Range impact_slopes(const std::shared_ptr<System<double>>& system, double dt, double T = 2) {
  constexpr int kWorlds = 200;
  Rollout<double> rollout(system,
                          {.steps = std::int64_t(std::lround(T / dt)), .worlds = kWorlds, .active = {}});
  Arguments<double> at = rollout.arguments();
  at.parameters.set("dt", dt);
  at.x0.clear();
  for (int i = 0; i < kWorlds; ++i) at.x0.insert(at.x0.end(), {0.5 + 0.01 * i / kWorlds, -1.0});
  const auto g = rollout.value_and_gradient(at, *loss::final_value<double>(system->signature(), "q"));
  Range r;
  for (std::size_t i = 0; i < kWorlds; ++i) {
    r.least = std::min(r.least, g.x0[2 * i]);
    r.most = std::max(r.most, g.x0[2 * i]);
  }
  return r;
}

}  // namespace costate::rigid::test
