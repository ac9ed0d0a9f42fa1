// Steps and rollouts beside those that a reference from MuJoCo holds.
#pragma once

#include <gtest/gtest.h>

#include "costate/rigid/rigid_system.h"
#include "costate/system/rollout.h"
#include "tests/rigid/one_world.h"
#include "tests/rigid/reference_model.h"

namespace costate::rigid::test {

inline constexpr std::pair<const char*, Integrator> kIntegrators[] = {
    {"euler", Integrator::euler}, {"implicitfast", Integrator::implicitfast}, {"rk4", Integrator::rk4}};

// q, v and act of a state in one row.
inline std::vector<double> state_of(const Json& s) {
  std::vector<double> x = vector_of(s.at("q"));
  for (const char* part : {"v", "act"}) {
    const auto values = vector_of(s.at(part));
    x.insert(x.end(), values.begin(), values.end());
  }
  return x;
}

// From each state of `reference` that has one, `steps` steps with held controls end where its `key` says: q,
// v and act, each to `gate`.
inline void expect_rollout(const std::string& name, const Model& model, const SystemOptions& options,
                           const Json& reference, const std::string& key, std::int64_t steps, double gate) {
  if (!reference.at("states").at(0).contains(key)) return;  // refused: implicitfast in a fluid
  Rollout<double> rollout(make_system<double>(model, options), {.steps = steps, .hold = steps});
  auto at = rollout.arguments();
  int number = -1;
  for (const Json& s : reference.at("states")) {
    ++number;
    if (!s.contains(key)) continue;
    at.x0 = state_of(s);
    at.controls = vector_of(s.at("ctrl"));
    const auto end = rollout.simulate(at).final_state;
    auto from = end.begin();
    for (const char* part : {"q", "v", "act"}) {
      const auto expected = vector_of(s.at(key).at(part));
      const std::vector<double> ours(from, from + std::ptrdiff_t(expected.size()));
      EXPECT_LT(relative_error(ours, expected), gate)
          << name << " " << key << " " << part << ", state " << number;
      from += std::ptrdiff_t(expected.size());
    }
  }
}

}  // namespace costate::rigid::test
