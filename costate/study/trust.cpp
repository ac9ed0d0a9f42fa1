#include "costate/study/trust.h"

#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/core/philox.h"

namespace costate::study {
namespace {

double along(const std::vector<double>& gradient, const std::vector<double>& direction) {
  double sum = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) sum += gradient[i] * direction[i];
  return sum;
}

void to_unit_length(std::vector<double>& direction) {
  const double norm = std::sqrt(along(direction, direction));
  for (double& x : direction) x /= norm;
}

}  // namespace

check::Trust trust(Study& study, const std::vector<double>& z, double loss,
                   const std::vector<double>& gradient, const check::TrustOptions& options) {
  check::Trust result{"variables", options.longest, options.longest, options.longest};
  const double norm = std::sqrt(along(gradient, gradient)),
               usual = norm / std::sqrt(double(std::max<std::size_t>(1, z.size()))),
               noise = 10 * study.stencil().noise * std::abs(loss);
  if (!(norm > 0)) return {"variables", 0, 0, options.longest};
  const auto radius = [&](std::vector<double> direction) {
    to_unit_length(direction);
    const auto losses = [&](std::span<const double> lengths) {
      std::vector<double> values;
      for (const double h : lengths) {
        std::vector<double> to = z;
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += h * direction[i];
        try {
          values.push_back(study.value(to));
        } catch (const Error&) {  // a mass below zero, or a run that diverges
          values.push_back(std::numeric_limits<double>::quiet_NaN());
        }
      }
      return values;
    };
    return check::trust_radius(loss, along(gradient, direction), usual, noise, 2, losses, options);
  };
  std::vector<double> direction = gradient;
  for (double& x : direction) x = -x;
  result.along_gradient = radius(direction);
  for (int k = 0; k < options.directions; ++k) {
    for (std::size_t i = 0; i < z.size(); ++i)
      direction[i] = normal(options.seed + std::uint64_t(k), std::uint32_t(i), 2);
    result.random = std::min(result.random, radius(direction));
  }
  if (options.directions == 0) result.random = std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace costate::study
