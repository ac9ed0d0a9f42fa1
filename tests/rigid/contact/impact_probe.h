// How a system that holds one ball over an elastic floor differentiates its bounce.
#pragma once

#include <algorithm>
#include <cmath>

#include "costate/system/rollout.h"

namespace costate::rigid::test {

struct Range {
  double least = 1e300, most = -1e300;
};

// dz(T)/dz0 of a ball that starts at z0 with velocity -speed, for 40 values of z0: 40 phases of the impact,
// which is half a second later. An elastic floor sends it back: -1. (costate_bench_impacts has 200 phases.)
template <class Real>
Range impact_slopes(const std::shared_ptr<System<Real>>& system, double dt, double T = 2, double speed = 1) {
  constexpr int kWorlds = 40;
  Rollout<Real> rollout(system,
                        {.steps = std::int64_t(std::lround(T / dt)), .worlds = kWorlds, .active = {}});
  Arguments<Real> at = rollout.arguments();
  at.parameters.set("dt", Real(dt));
  at.x0.clear();
  for (int i = 0; i < kWorlds; ++i)
    at.x0.insert(at.x0.end(), {Real(speed * (0.5 + 0.01 * i / kWorlds)), Real(-speed)});
  const auto g = rollout.value_and_gradient(at, *loss::final_value<Real>(system->signature(), "q"));
  Range r;
  for (std::size_t i = 0; i < kWorlds; ++i) {
    r.least = std::min(r.least, double(g.x0[2 * i]));
    r.most = std::max(r.most, double(g.x0[2 * i]));
  }
  return r;
}

}  // namespace costate::rigid::test
