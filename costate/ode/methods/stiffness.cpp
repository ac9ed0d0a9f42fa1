#include "costate/ode/methods/stiffness.h"
#include "costate/core/text.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace costate::ode {
namespace {

constexpr double kRunaway = 100;  // e-folds of the state in what is left of the span
constexpr double kOwnPace = 0.1;  // of the spectral radius: a solution that quick has no stiffness

}  // namespace

double spectral_radius(const VectorField& field, double t, const double* x, const double* p) {
  const std::size_t n = field.states();
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

std::string hint_about(const VectorField& field, const Standing& at, bool implicit) {
  std::vector<double> f(field.states()), scratch(field.scratch_size());
  field.value(at.t, at.x, at.p, f.data(), scratch.data());
  double x_size = 0, f_size = 0, xx = 0, xf = 0;
  for (int i = 0; i < at.states; ++i) {
    x_size = std::max(x_size, std::abs(at.x[i]));
    f_size = std::max(f_size, std::abs(f[i]));
  }
  if (!(x_size > 0) || !(f_size > 0) || !std::isfinite(x_size) || !std::isfinite(f_size)) return "";
  for (int i = 0; i < at.states; ++i) {
    xx += at.x[i] / x_size * (at.x[i] / x_size);
    xf += at.x[i] / x_size * (f[i] / f_size);
  }
  const double remaining = at.t1 - at.t, sign = remaining >= 0 ? 1 : -1;
  const double pace = f_size / x_size, rho = spectral_radius(field, at.t, at.x, at.p);
  const double growth = field.mass().empty() ? sign * pace * xf / xx : 0.0;  // of log |x|
  if (growth * std::abs(remaining) > kRunaway && growth > kOwnPace * rho) {
    return "; the state grows e-fold in " + number(1 / growth) +
           ": it seems to blow up near t = " + number(at.t + sign / growth);
  }
  const double product = std::abs(at.h) * rho;
  if (implicit || pace > kOwnPace * rho || (!(product > 1.5) && !(rho * std::abs(remaining) > 1e4)))
    return "";
  return "; the problem looks stiff here (h * spectral radius = " + number(product) +
         "): use rodas5p or radau5";
}

}  // namespace costate::ode
