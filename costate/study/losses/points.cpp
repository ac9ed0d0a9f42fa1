#include "costate/study/losses/points.h"

#include <algorithm>

#include "costate/core/error.h"

namespace costate::study {

template <class Real>
PointsObjective<Real>::PointsObjective(Points points, std::vector<std::int64_t> steps)
    : points_(std::move(points)), steps_(std::move(steps)) {
  if (points_.elements.empty()) throw Error("a loss about points looks at none");
}

template <class Real>
void PointsObjective<Real>::check(std::int64_t steps, std::int64_t) const {
  if (!steps_.empty() && (steps_.front() < 0 || steps_.back() > steps))
    throw Error("a loss asks for step " + std::to_string(steps_.back()) + " of " + std::to_string(steps));
}

template <class Real>
std::int64_t PointsObjective<Real>::next(std::int64_t k, std::int64_t) const {
  const auto at = std::lower_bound(steps_.begin(), steps_.end(), k);
  return at == steps_.end() ? kNever : *at;
}

template <class Real>
std::int64_t PointsObjective<Real>::previous(std::int64_t k, std::int64_t) const {
  const auto at = std::upper_bound(steps_.begin(), steps_.end(), k);
  return at == steps_.begin() ? -1 : *(at - 1);
}

template <class Real>
void PointsObjective<Real>::value(const At& at, double* loss) const {
  for (int l = 0; l < at.lanes; ++l)
    loss[l] += walk(PointsView<Real>(points_, at.in.x, nullptr, at.lanes, l));
}

template <class Real>
void PointsObjective<Real>::vjp(const At& at, const Cotangents<Real>& bar) const {
  if (!bar.x) return;
  for (int l = 0; l < at.lanes; ++l) walk(PointsView<Real>(points_, at.in.x, bar.x, at.lanes, l));
}

template class PointsObjective<float>;
template class PointsObjective<double>;

}  // namespace costate::study
