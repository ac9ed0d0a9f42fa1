#include "costate/system/spot_check.h"

#include <cmath>
#include <limits>

#include "costate/system/checks.h"

namespace costate {

template <class Real>
double spot_check(Rollout<Real>& rollout, const Arguments<Real>& at, const Objective<Real>& objective,
                  const Gradient<Real>& gradient) {
  const double h = std::cbrt(double(std::numeric_limits<Real>::epsilon()));
  const Arguments<Real> direction = check::random_direction(rollout, at, 2026);
  const Arguments<Real> plus = check::moved(at, direction, h), minus = check::moved(at, direction, -h);
  // The way between the two as rounding left it: in single precision that counts.
  double expected = 0, scale = 0;
  const auto add = [&](std::span<const Real> p, std::span<const Real> m, std::span<const Real> g) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double term = double(g[i]) * (double(p[i]) - double(m[i]));
      expected += term;
      scale += std::abs(term);
    }
  };
  add(plus.x0, minus.x0, gradient.x0);
  add(plus.controls, minus.controls, gradient.controls);
  for (std::size_t f = 0; f < at.parameters.signature().fields(Role::parameter).size(); ++f)
    add(plus.parameters.values(f), minus.parameters.values(f), gradient.parameters.values(f));
  const double difference = rollout.value(plus, objective) - rollout.value(minus, objective);
  return scale > 0 ? std::abs(difference - expected) / scale : std::abs(difference);
}

template double spot_check(Rollout<float>&, const Arguments<float>&, const Objective<float>&,
                           const Gradient<float>&);
template double spot_check(Rollout<double>&, const Arguments<double>&, const Objective<double>&,
                           const Gradient<double>&);

}  // namespace costate
