#include "costate/learn/dense_network.h"

#include <algorithm>
#include <cmath>

#include "costate/ad/dense_tanh.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/learn/sample_blocks.h"

namespace costate::learn {
template <class Real>
DenseNetwork<Real>::DenseNetwork(std::vector<int> sizes) : sizes_(std::move(sizes)), offsets_(1, 0) {
  if (sizes_.size() < 2) throw Error("a network needs inputs and outputs");
  for (const int size : sizes_) {
    if (size < 1) throw Error("a layer of " + std::to_string(size) + " numbers: it needs at least one");
    widest_ = std::max(widest_, size);
  }
  for (int l = 0; l < layers(); ++l) offsets_.push_back(bias(l) + sizes_[l + 1]);
}

template <class Real>
std::vector<Real> DenseNetwork<Real>::first_weights(std::uint64_t seed, double last) const {
  std::vector<Real> w(weights(), Real(0));
  for (int l = 0; l < layers(); ++l) {
    const double scale = (l + 1 == layers() ? last : 1) / std::sqrt(double(sizes_[l]));
    for (std::int64_t i = offsets_[l]; i < bias(l); ++i)
      w[i] = Real(scale * normal(seed, 0, std::uint64_t(l), std::uint32_t(i - offsets_[l])));
  }
  return w;
}

template <class Real>
void DenseNetwork<Real>::forward(std::span<const Real> weights, std::int64_t count, const Real* in, Real* out,
                                 NetworkPass<Real>& pass) const {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t blocks = blocks_of(count, lanes);
  pass.count = count;
  pass.h.resize(sizes_.size());
  pass.columns.resize(layers());
  for (std::size_t l = 0; l < sizes_.size(); ++l) pass.h[l].reserve(blocks * sizes_[l] * lanes);
  for (int l = 0; l < layers(); ++l) {
    const int rows = sizes_[l + 1], columns = sizes_[l];
    pass.columns[l].reserve(std::int64_t(rows) * (columns + lanes));
    Real *const b = pass.columns[l].data(), *const to = b + std::int64_t(rows) * lanes;
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) to[j * rows + i] = weights[offsets_[l] + i * columns + j];
    }
    for (int i = 0; i < rows; ++i) std::fill_n(b + i * lanes, lanes, weights[bias(l) + i]);
  }
  parallel_for(blocks, kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      to_lanes(in, block * lanes, count, sizes_[0], pass.h[0].data() + block * sizes_[0] * lanes);
      for (int l = 0; l < layers(); ++l) {
        const int rows = sizes_[l + 1], columns = sizes_[l];
        const Real* const b = pass.columns[l].data();
        const ad::LaneWeights<Real> w{weights.data() + offsets_[l], b + std::int64_t(rows) * lanes, nullptr,
                                      0, 0};
        Real* const h = pass.h[l + 1].data() + block * rows * lanes;
        ad::multiply(w, rows, columns, lanes, pass.h[l].data() + block * columns * lanes, h);
        if (l + 1 < layers()) {
          ad::bias_tanh(static_cast<const Real*>(h), b, false, rows, lanes, h);
        } else {
          for (int i = 0; i < rows * lanes; ++i) h[i] += b[i];
        }
      }
      from_lanes(pass.h[layers()].data() + block * outputs() * lanes, block * lanes, count, outputs(), out);
    }
  });
}

template <class Real>
void DenseNetwork<Real>::backward(std::span<const Real> weights, const Real* out_bar, Real* in_bar,
                                  Real* weights_bar, NetworkPass<Real>& pass) const {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t blocks = blocks_of(pass.count, lanes), chunks = (blocks + kChunk - 1) / kChunk;
  const std::int64_t bars = kChunk * widest_ * lanes;  // cotangents of one layer of a chunk
  std::int64_t largest = 0;
  for (int l = 0; l < layers(); ++l)
    largest = std::max(largest, std::int64_t(sizes_[l]) * sizes_[l + 1] * lanes);
  pass.scratch.resize(std::max<std::size_t>(pass.scratch.size(), std::size_t(chunks)));
  parallel_for(chunks, 1, [&](std::int64_t chunk, std::int64_t) {
    const std::int64_t begin = chunk * kChunk, n = std::min(kChunk, blocks - begin);
    AlignedBuffer<Real>& scratch = pass.scratch[chunk];
    scratch.reserve(2 * bars + largest + this->weights());
    Real *z = scratch.data(),
         *h_bar = z + bars, *const lane_sums = h_bar + bars, *const own = lane_sums + largest;
    for (std::int64_t b = 0; b < n; ++b)
      to_lanes(out_bar, (begin + b) * lanes, pass.count, outputs(), z + b * outputs() * lanes);
    for (int l = layers() - 1; l >= 0; --l) {
      const int rows = sizes_[l + 1], columns = sizes_[l];
      const Real* const below = pass.h[l].data() + begin * columns * lanes;
      if (weights_bar) {
        sum_of_products(z, below, n, rows, columns, lane_sums, own + offsets_[l]);
        sum_of_lanes(z, n, rows, own + bias(l));
      }
      if (l == 0 && !in_bar) break;
      const auto transposed =
          ad::LaneWeights<Real>{weights.data() + offsets_[l],
                                pass.columns[l].data() + std::int64_t(rows) * lanes, nullptr, 0, 0}
              .transposed();
      for (std::int64_t b = 0; b < n; ++b)
        ad::multiply<Real>(transposed, columns, rows, lanes, z + b * rows * lanes,
                           h_bar + b * columns * lanes);
      if (l > 0) ad::tanh_all_vjp(below, h_bar, n * columns * lanes);
      std::swap(z, h_bar);
    }
    for (std::int64_t b = 0; in_bar && b < n; ++b)
      from_lanes(z + b * inputs() * lanes, (begin + b) * lanes, pass.count, inputs(), in_bar);
  });
  if (!weights_bar) return;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const Real* const own = pass.scratch[c].data() + 2 * bars + largest;
    for (std::int64_t i = 0; i < this->weights(); ++i) weights_bar[i] += own[i];
  }
}

template class DenseNetwork<float>;
template class DenseNetwork<double>;

}  // namespace costate::learn
