#include "costate/geometry/broad_phase.h"

#include <algorithm>

#include "costate/geometry/convex.h"
#include "costate/geometry/heightfield.h"

namespace costate::geometry {

namespace {

constexpr double kEverywhere = 1e300;

}  // namespace

template <class S>
S bounding_radius(ShapeType type, const Shape<S>& s) {
  using T = value_t<S>;
  switch (type) {
    case ShapeType::sphere:
      return s.size[0];
    case ShapeType::capsule:
      return s.size[0] + s.size[1];
    case ShapeType::ellipsoid:
      return max(max(s.size[0], s.size[1]), s.size[2]);
    case ShapeType::cylinder:
      return sqrt(s.size[0] * s.size[0] + s.size[1] * s.size[1]);
    case ShapeType::box:
      return norm(Vec3<S>{s.size[0], s.size[1], s.size[2]});
    case ShapeType::mesh:
      return S(T(s.mesh->bounding_radius));
    case ShapeType::heightfield:
      return S(T(s.heights->bounding_radius()));
    case ShapeType::plane:
      break;
  }
  return S(T(kFar));
}

template <class S>
mask_t<S> may_touch(ShapeType first_type, ShapeType second_type, const Shape<S>& first,
                    const Shape<S>& second, const S& margin) {
  // Rounding must not hide a contact that is just within the margin.
  const S slack(value_t<S>(sizeof(value_t<S>) == 8 ? 1 + 1e-12 : 1 + 1e-5));
  const Vec3<S> offset = second.x - first.x;
  const S reach2 = slack * bounding_radius(second_type, second) + margin;
  if (first_type == ShapeType::plane) return dot(first.R.column(2), offset) <= reach2;
  const S reach = slack * bounding_radius(first_type, first) + reach2;
  return squared_norm(offset) <= reach * reach;
}

template <class S>
Bounds bounds_of(ShapeType type, const Shape<S>& shape, const S& margin) {
  Bounds b;
  if (type == ShapeType::plane) {
    for (int k = 0; k < 3; ++k) {
      b.low[k] = -kEverywhere;
      b.high[k] = kEverywhere;
    }
    return b;
  }
  const auto reach = primal(bounding_radius(type, shape)) + primal(margin) / value_t<S>(2);
  for (int k = 0; k < 3; ++k) {
    const auto centre = primal(shape.x[k]);
    b.low[k] = kEverywhere;
    b.high[k] = -kEverywhere;
    for (int l = 0; l < lanes_of<S>; ++l) {
      b.low[k] = std::min<double>(b.low[k], lane(centre, l) - lane(reach, l));
      b.high[k] = std::max<double>(b.high[k], lane(centre, l) + lane(reach, l));
    }
  }
  return b;
}

SweepAndPrune::SweepAndPrune(int shapes) {
  for (int i = 0; i < shapes; ++i) order_.push_back(i);
}

int SweepAndPrune::sort(const Bounds* bounds) {
  int axis = 0;
  double widest = -1;
  for (int k = 0; k < 3; ++k) {
    double sum = 0, squares = 0, count = 0;
    for (int i : order_) {
      const double middle = 0.5 * (bounds[i].low[k] + bounds[i].high[k]);
      if (bounds[i].high[k] >= kEverywhere) continue;
      sum += middle;
      squares += middle * middle;
      count += 1;
    }
    const double spread = count > 0 ? squares / count - (sum / count) * (sum / count) : 0;
    if (spread > widest) {
      widest = spread;
      axis = k;
    }
  }
  for (std::size_t i = 1; i < order_.size(); ++i) {
    const int moving = order_[i];
    std::size_t at = i;
    for (; at > 0 && bounds[order_[at - 1]].low[axis] > bounds[moving].low[axis]; --at)
      order_[at] = order_[at - 1];
    order_[at] = moving;
  }
  return axis;
}

#define COSTATE_INSTANTIATE(S)                                                                    \
  template S bounding_radius(ShapeType, const Shape<S>&);                                         \
  template mask_t<S> may_touch(ShapeType, ShapeType, const Shape<S>&, const Shape<S>&, const S&); \
  template Bounds bounds_of(ShapeType, const Shape<S>&, const S&)
COSTATE_GEOMETRY_SCALARS(COSTATE_INSTANTIATE);

}  // namespace costate::geometry
