#include "costate/fluid/pressure/box_transform.h"

#include "costate/fluid/pressure/lane_transpose.h"

namespace costate::fluid {

template <class Real>
BoxTransform<Real>::BoxTransform(const Shape& shape, const Box& box, const std::array<Ends, 3>& ends,
                                 int axes)
    : shape_(shape), box_(box), axes_(axes) {
  for (int a = 0; a < axes; ++a) {
    transform_[std::size_t(a)] = Transform<Real>(ends[std::size_t(a)], count(a));
    gain_ *= transform_[std::size_t(a)].gain();
  }
}

template <class Real>
Index BoxTransform<Real>::scratch_numbers() const {
  Index longest = 0;
  for (int a = 0; a < axes_; ++a) longest = std::max(longest, count(a));
  return kChunks * 2 * (longest + P::lanes) * P::lanes;
}

template <class Real>
void BoxTransform<Real>::forward(Real* field, Real scale, Real* scratch) const {
  along_x(field, scale, scratch, false);
  for (int a = 1; a < axes_; ++a) along(a, field, scratch, false);
}
template <class Real>
void BoxTransform<Real>::inverse(Real* field, Real* scratch) const {
  for (int a = axes_ - 1; a > 0; --a) along(a, field, scratch, true);
  along_x(field, Real(1), scratch, true);
}

// P::lanes rows at a time: lane l is row l.
template <class Real>
void BoxTransform<Real>::along_x(Real* field, Real scale, Real* scratch, bool inverse) const {
  constexpr Index W = P::lanes;
  const Index n = count(0), rows = box_.rows(), height = count(1), blocks = (rows + W - 1) / W;
  const Index grain = (blocks + kChunks - 1) / kChunks, buffer = (n + W) * W;
  const auto row_at = [&](Index row) {
    row = std::min(row, rows - 1);
    return field + shape_.at(box_.lo[0], box_.lo[1] + row % height, box_.lo[2] + row / height);
  };
  parallel_for(blocks, grain, [&](Index begin, Index end) {
    P* const x = reinterpret_cast<P*>(scratch + begin / grain * 2 * buffer);
    P* const y = x + (n + W);
    for (Index block = begin; block < end; ++block) {
      std::array<Real*, std::size_t(W)> row;
      for (Index l = 0; l < W; ++l) row[std::size_t(l)] = row_at(block * W + l);
      for (Index i = 0; i < n; i += W) {
        for (Index l = 0; l < W; ++l) x[i + l] = P::load_unaligned(row[std::size_t(l)] + i);
        transpose_lanes(x + i);
        if (!inverse)
          for (Index l = 0; l < W; ++l) x[i + l] *= P(scale);
      }
      P* const done = inverse ? transform_[0].inverse(x, y) : transform_[0].forward(x, y);
      for (Index l = n; l < (n + W - 1) / W * W; ++l) done[l] = P(0);
      for (Index i = 0; i < n; i += W) {
        transpose_lanes(done + i);
        for (Index l = 0; l < std::min(W, rows - block * W); ++l)
          store_lanes(row[std::size_t(l)] + i, done[i + l], n - i);
      }
    }
  });
}

template <class Real>
void BoxTransform<Real>::along(int axis, Real* field, Real* scratch, bool inverse) const {
  constexpr Index W = P::lanes;
  const auto a = std::size_t(axis), other = a == 1 ? std::size_t(2) : std::size_t(1);
  const Index n = count(axis), strips = (count(0) + W - 1) / W, jobs = strips * count(int(other));
  const Index grain = (jobs + kChunks - 1) / kChunks, buffer = (n + W) * W, next = shape_.stride[a];
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
