#include "costate/fluid/pressure/box_transform.h"

namespace costate::fluid {

template <class Real>
BoxTransform<Real>::BoxTransform(const Shape& shape, const Box& box, const std::array<Ends, 3>& ends,
                                 int without)
    : shape_(shape), box_(box), without_(without) {
  for (int axis = 0; axis < shape.dim; ++axis) {
    if (axis == without) continue;
    const auto a = std::size_t(axis);
    transform_[a] = shape.stretched(axis) ? Transform<Real>(stretched_modes(shape, axis, ends[a]))
                                          : Transform<Real>(ends[a], count(axis));
    gain_ *= transform_[a].gain();
  }
}

template <class Real>
Index BoxTransform<Real>::scratch_numbers() const {
  Index longest = 0;
  for (int a = 0; a < shape_.dim; ++a) longest = std::max(longest, count(a));
  return kTransformChunks * 2 * (longest + P::lanes) * P::lanes;
}

template <class Real>
void BoxTransform<Real>::forward(Real* field, Real* scratch) const {
  if (plane_by_plane()) planes(field, scratch, false);
  for (int a = plane_by_plane() ? 2 : 0; a < shape_.dim; ++a)
    if (a != without_) along(a, field, scratch, false);
}
template <class Real>
void BoxTransform<Real>::inverse(Real* field, Real* scratch) const {
  for (int a = shape_.dim - 1; a >= (plane_by_plane() ? 2 : 0); --a)
    if (a != without_) along(a, field, scratch, true);
  if (plane_by_plane()) planes(field, scratch, true);
}

template <class Real>
auto BoxTransform<Real>::line(int axis, P* x, P* y, bool inverse) const -> P* {
  const Transform<Real>& t = transform_[std::size_t(axis)];
  return inverse ? t.inverse(x, y) : t.forward(x, y);
}

template <class Real>
void BoxTransform<Real>::along(int axis, Real* field, Real* scratch, bool inverse) const {
  if (axis == 0)
    return each_block_of_rows(shape_, box_, field, scratch,
                              [&](Index, P* x, P* y) { return line(0, x, y, inverse); });
  constexpr Index W = P::lanes;
  const Index strips = (count(0) + W - 1) / W, jobs = strips * count(axis == 1 ? 2 : 1);
  const Index grain = (jobs + kTransformChunks - 1) / kTransformChunks, buffer = count(axis) + W;
  parallel_for(jobs, grain, [&](Index begin, Index end) {
    P* const x = reinterpret_cast<P*>(scratch) + begin / grain * 2 * buffer;
    columns(axis, box_, begin, end, field, x, x + buffer, inverse);
  });
}

// Strips of W columns along an axis, of a box, from `begin` to `end`.
template <class Real>
void BoxTransform<Real>::columns(int axis, const Box& box, Index begin, Index end, Real* field, P* x, P* y,
                                 bool inverse) const {
  constexpr Index W = P::lanes;
  const auto a = std::size_t(axis), other = a == 1 ? std::size_t(2) : std::size_t(1);
  const Index n = count(axis), strips = (count(0) + W - 1) / W, next = shape_.stride[a];
  for (Index job = begin; job < end; ++job) {
    const Index i = job % strips * W;
    std::array<Index, 3> from = box.lo;
    from[0] += i, from[other] += job / strips;
    Real* const column = field + shape_.at(from[0], from[1], from[2]);
    for (Index j = 0; j < n; ++j) x[j] = P::load_unaligned(column + j * next);
    const P* const done = line(axis, x, y, inverse);
    for (Index j = 0; j < n; ++j) store_lanes(column + j * next, done[j], count(0) - i);
  }
}

// Along x and y, one plane after the other: the second axis finds the plane in the cache.
template <class Real>
void BoxTransform<Real>::planes(Real* field, Real* scratch, bool inverse) const {
  constexpr Index W = P::lanes;
  const Index blocks = (count(1) + W - 1) / W, strips = (count(0) + W - 1) / W;
  const Index buffer = std::max(count(0), count(1)) + W;
  const Index grain = (count(2) + kTransformChunks - 1) / kTransformChunks;
  parallel_for(count(2), grain, [&](Index begin, Index end) {
    P* const x = reinterpret_cast<P*>(scratch) + begin / grain * 2 * buffer;
    P* const y = x + buffer;
    for (Index k = begin; k < end; ++k) {
      Box plane = box_;
      plane.lo[2] += k, plane.hi[2] = plane.lo[2] + 1;
      const auto rows = [&] {
        blocks_of_rows(shape_, plane, 0, blocks, field, x, y,
                       [&](Index, P* from, P* to) { return line(0, from, to, inverse); });
      };
      if (!inverse) rows();
      columns(1, plane, 0, strips, field, x, y, inverse);
      if (inverse) rows();
    }
  });
}

template class BoxTransform<float>;
template class BoxTransform<double>;

}  // namespace costate::fluid
