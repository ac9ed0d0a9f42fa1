#include "costate/study/losses/points.h"

#include "costate/core/error.h"

namespace costate::study {

template <class Real>
PointsObjective<Real>::PointsObjective(Points points, std::vector<std::int64_t> steps)
    : loss::AtSteps<Real>(std::move(steps)), points_(std::move(points)) {
  if (points_.elements.empty()) throw Error("a loss about points looks at none");
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
