// Flows that several tests look at, and the energy of a flow as a loss.
#pragma once

#include <cmath>
#include <numbers>
#include <span>

#include "costate/core/philox.h"
#include "costate/fluid/flow.h"
#include "costate/fluid/grid/field.h"
#include "costate/system/rollout.h"

namespace costate::fluid::test {

// h^2 sum |u|^2 / 2 over all faces of the last state.
template <class Real>
ObjectivePtr<Real> energy(const Signature& signature, double volume) {
  std::vector<ObjectivePtr<Real>> parts;
  for (const Field& f : signature.fields(Role::state))
    if (f.name.size() == 1) parts.push_back(loss::final<Real>(signature, f.name, {}, volume));
  return loss::sum<Real>(parts);
}

inline double sum(std::span<const double> values) {
  double total = 0;
  for (const double x : values) total += x;
  return total;
}

// Speeds of order 0.3 everywhere, not free of divergence; sides and pushes of order 0.1.
template <class Real>
Arguments<Real> stirred(const Rollout<Real>& rollout, unsigned seed) {
  auto a = rollout.arguments();
  std::uint32_t drawn = 0;
  const auto random = [&](double scale) { return Real(scale * (2 * uniform(seed, 5, drawn++) - 1)); };
  for (Real& x : a.x0) x = random(0.3);
  for (Real& u : a.controls) u = random(0.1);
  return a;
}

}  // namespace costate::fluid::test
