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
  for (int a = 0; a < shape_.dim; ++a)
    if (a != without_) along(a, field, scratch, false);
}
template <class Real>
void BoxTransform<Real>::inverse(Real* field, Real* scratch) const {
  for (int a = shape_.dim - 1; a >= 0; --a)
    if (a != without_) along(a, field, scratch, true);
}

template <class Real>
void BoxTransform<Real>::along_x(Real* field, Real* scratch, bool inverse) const {
  each_block_of_rows(shape_, box_, field, scratch, [&](Index, P* x, P* y) {
    return inverse ? transform_[0].inverse(x, y) : transform_[0].forward(x, y);
  });
}

template <class Real>
void BoxTransform<Real>::along(int axis, Real* field, Real* scratch, bool inverse) const {
  if (axis == 0) return along_x(field, scratch, inverse);
  constexpr Index W = P::lanes;
  const auto a = std::size_t(axis), other = a == 1 ? std::size_t(2) : std::size_t(1);
  const Index n = count(axis), strips = (count(0) + W - 1) / W, jobs = strips * count(int(other));
  const Index grain = (jobs + kTransformChunks - 1) / kTransformChunks, buffer = (n + W) * W,
              next = shape_.stride[a];
  parallel_for(jobs, grain, [&](Index begin, Index end) {
    P* const x = reinterpret_cast<P*>(scratch + begin / grain * 2 * buffer);
    P* const y = x + (n + W);
    for (Index job = begin; job < end; ++job) {
      const Index i = job % strips * W;
      std::array<Index, 3> from = box_.lo;
      from[0] += i, from[other] += job / strips;
      Real* const column = field + shape_.at(from[0], from[1], from[2]);
      for (Index j = 0; j < n; ++j) x[j] = P::load_unaligned(column + j * next);
      const P* const done = inverse ? transform_[a].inverse(x, y) : transform_[a].forward(x, y);
      for (Index j = 0; j < n; ++j) store_lanes(column + j * next, done[j], count(0) - i);
    }
  });
}

template class BoxTransform<float>;
template class BoxTransform<double>;

}  // namespace costate::fluid
