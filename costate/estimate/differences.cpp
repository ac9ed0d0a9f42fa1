// Central differences with common random numbers: (L(p + h) - L(p - h)) / 2h of every sample, both with the
// same noise. The honest baseline: it needs no derivative, and its bias and variance are plain.
#include "costate/core/text.h"
#include "costate/estimate/samples.h"
#include "costate/system/ranges.h"

namespace costate::estimate {

template <class Real>
Sampled differences(const Question<Real>& q) {
  const std::size_t width = q.wanted.size();
  RolloutOptions options = q.options;
  options.worlds = q.sampling.samples;
  options.active = {};
  options.keep = 0;
  options.spot_check = options.time_step_check = false;
  Rollout<Real> rollout(q.system, options);
  const std::vector<double> values = rollout.values(q.at, q.objective);
  std::vector<double> rows(values.size() * width);
  std::size_t column = 0;
  const AcrossRanges across;
  for (const std::size_t f : q.wanted.fields) {
    const std::size_t size = q.at.parameters.values(f).size();
    for (std::size_t i = 0; i < size; ++i, ++column) {
      Arguments<Real> up = q.at, down = q.at;
      const Real centre = q.at.parameters.values(f)[i];
      const Real h = Real(q.sampling.difference * (centre != 0 ? std::abs(double(centre)) : 1.0));
      Real& above = up.parameters.values(f)[i];
      Real& below = down.parameters.values(f)[i];
      above = centre + h, below = centre - h;
      const double span = double(above) - double(below);
      const std::vector<double> a = rollout.values(up, q.objective), b = rollout.values(down, q.objective);
      for (std::size_t s = 0; s < values.size(); ++s) rows[s * width + column] = (a[s] - b[s]) / span;
    }
  }
  Sampled out{.method = Method::differences};
  fill(out, q.wanted, values, rows);
  out.label = "finite horizon; bias O(h^2) at relative step " + number(q.sampling.difference, 3) +
              "; common random numbers";
  return out;
}

template Sampled differences(const Question<float>&);
template Sampled differences(const Question<double>&);

}  // namespace costate::estimate
