#include "costate/ode/stiffness.h"

#include <cmath>
#include <vector>

namespace costate::ode {

double spectral_radius(const VectorField& field, double t, const double* x, const double* p) {
  const auto n = static_cast<std::size_t>(field.states());
  std::vector<double> v(n), w(n), scratch(field.scratch_size());
  for (std::size_t i = 0; i < n; ++i) v[i] = 1.0 + 0.1 * static_cast<double>(i % 7);
  // Complex pairs make the growth of one iteration oscillate: take the mean over the later ones.
  double log_growth = 0;
  constexpr int kIterations = 24, kDiscarded = 8;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    double norm = 0;
    for (double value : v) norm += value * value;
    norm = std::sqrt(norm);
    if (!(norm > 0) || !std::isfinite(norm)) return 0;
    if (iteration > kDiscarded) log_growth += std::log(norm);
    for (double& value : v) value /= norm;
    field.jvp(t, x, p, 0.0, v.data(), nullptr, w.data(), scratch.data());
    v.swap(w);
  }
  return std::exp(log_growth / (kIterations - kDiscarded - 1));
}

}  // namespace costate::ode
