#include "costate/learn/gru.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costate/ad/dense_tanh.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/learn/sample_blocks.h"

namespace costate::learn {
namespace {

// columns_first of a matrix that lies row by row.
template <class Real>
void turn(const Real* rows_first, int rows, int columns, Real* to) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) to[j * rows + i] = rows_first[i * columns + j];
  }
}

}  // namespace

template <class Real>
Gru<Real>::Gru(int inputs, int size) : inputs_(inputs), size_(size) {
  if (inputs < 1 || size < 1)
    throw Error("a memory of " + std::to_string(size) + " numbers that sees " + std::to_string(inputs) +
                ": it needs at least one of each");
}

template <class Real>
std::vector<Real> Gru<Real>::first_weights(std::uint64_t seed) const {
  std::vector<Real> w(std::size_t(weights()), Real(0));
  for (std::int64_t i = 0; i < b(); ++i) {
    const double scale = 1 / std::sqrt(double(i < u() ? inputs_ : size_));
    w[std::size_t(i)] = Real(scale * normal(seed, 0, 0, std::uint32_t(i)));
  }
  for (int i = 0; i < size_; ++i) w[std::size_t(b() + size_ + i)] = 1;
  return w;
}

// From a = W x and g = U h of a block to r, z, c and q. (a is overwritten.)
template <class Real>
void Gru<Real>::gates(std::span<const Real> w, std::int64_t block, Real* a, Real* g,
                      GruPass<Real>& pass) const {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t numbers = std::int64_t(size_) * lanes, at = block * numbers;
  Real *const r = pass.r.data() + at, *const z = pass.z.data() + at, *const c = pass.c.data() + at,
              *const q = pass.q.data() + at;
  for (int i = 0; i < size_; ++i) {
    const Real b_r = w[std::size_t(b() + i)], b_z = w[std::size_t(b() + size_ + i)];
    for (int l = i * lanes; l < (i + 1) * lanes; ++l) {
      r[l] = Real(0.5) * (a[l] + g[l] + b_r);
      z[l] = Real(0.5) * (a[numbers + l] + g[numbers + l] + b_z);
      q[l] = g[2 * numbers + l] + w[std::size_t(d() + i)];
    }
  }
  ad::tanh_all(r, numbers), ad::tanh_all(z, numbers);
  for (int i = 0; i < size_; ++i) {
    const Real b_c = w[std::size_t(b() + 2 * size_ + i)];
    for (int l = i * lanes; l < (i + 1) * lanes; ++l) {
      r[l] = Real(0.5) + Real(0.5) * r[l];
      z[l] = Real(0.5) + Real(0.5) * z[l];
      c[l] = a[2 * numbers + l] + b_c + r[l] * q[l];
    }
  }
  ad::tanh_all(c, numbers);
}

template <class Real>
void Gru<Real>::gates_vjp(std::int64_t block, const Real* y_bar, Real* a_bar, Real* g_bar, Real* h_bar,
                          const GruPass<Real>& pass) const {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t numbers = std::int64_t(size_) * lanes, at = block * numbers;
  const Real *const r = pass.r.data() + at, *const z = pass.z.data() + at, *const c = pass.c.data() + at,
                    *const q = pass.q.data() + at, *const h = pass.h.data() + at;
  for (std::int64_t l = 0; l < numbers; ++l) {
    const Real a_c = (1 - c[l] * c[l]) * (1 - z[l]) * y_bar[l];
    const Real a_r = r[l] * (1 - r[l]) * q[l] * a_c, a_z = z[l] * (1 - z[l]) * (h[l] - c[l]) * y_bar[l];
    h_bar[l] = z[l] * y_bar[l];
    a_bar[l] = g_bar[l] = a_r;
    a_bar[numbers + l] = g_bar[numbers + l] = a_z;
    a_bar[2 * numbers + l] = a_c, g_bar[2 * numbers + l] = r[l] * a_c;
  }
}

template <class Real>
void Gru<Real>::forward(std::span<const Real> w, std::int64_t count, const Real* x, const Real* h, Real* y,
                        GruPass<Real>& pass) const {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t blocks = blocks_of(count, lanes), numbers = std::int64_t(size_) * lanes;
  pass.count = count;
  pass.x.reserve(blocks * inputs_ * lanes);
  for (auto* of_block : {&pass.h, &pass.r, &pass.z, &pass.c, &pass.q}) of_block->reserve(blocks * numbers);
  pass.columns.reserve(b());
  turn(w.data(), 3 * size_, inputs_, pass.columns.data());
  turn(w.data() + u(), 3 * size_, size_, pass.columns.data() + u());
  const std::int64_t chunks = blocks_of(blocks, int(kChunk));
  pass.scratch.resize(std::max<std::size_t>(pass.scratch.size(), std::size_t(chunks)));
  parallel_for(chunks, 1, [&](std::int64_t chunk, std::int64_t) {
    AlignedBuffer<Real>& scratch = pass.scratch[std::size_t(chunk)];
    scratch.reserve(7 * numbers);
    Real *const a = scratch.data(), *const g = a + 3 * numbers, *const to = g + 3 * numbers;
    for (std::int64_t block = chunk * kChunk; block < std::min(blocks, (chunk + 1) * kChunk); ++block) {
      Real *const x_in = pass.x.data() + block * inputs_ * lanes, *const h_in =
                                                                      pass.h.data() + block * numbers;
      to_lanes(x, block * lanes, count, inputs_, x_in), to_lanes(h, block * lanes, count, size_, h_in);
      ad::multiply<Real>({w.data(), pass.columns.data(), nullptr, 0, 0}, 3 * size_, inputs_, lanes, x_in, a);
      ad::multiply<Real>({w.data() + u(), pass.columns.data() + u(), nullptr, 0, 0}, 3 * size_, size_, lanes,
                         h_in, g);
      gates(w, block, a, g, pass);
      const Real *const z = pass.z.data() + block * numbers, *const c = pass.c.data() + block * numbers;
      for (std::int64_t l = 0; l < numbers; ++l) to[l] = (1 - z[l]) * c[l] + z[l] * h_in[l];
      from_lanes(to, block * lanes, count, size_, y);
    }
  });
}

template <class Real>
void Gru<Real>::backward(std::span<const Real> w, const Real* y_bar, Real* x_bar, Real* h_bar,
                         Real* weights_bar, GruPass<Real>& pass) const {
  constexpr int lanes = kSampleLanes<Real>;
  const std::int64_t blocks = blocks_of(pass.count, lanes), chunks = blocks_of(blocks, int(kChunk));
  const std::int64_t numbers = std::int64_t(size_) * lanes, wide = std::max(inputs_, size_) * lanes;
  const std::int64_t bars = 3 * kChunk * numbers, sums = 3 * std::int64_t(size_) * wide;
  const auto W = ad::LaneWeights<Real>{w.data(), pass.columns.data(), nullptr, 0, 0}.transposed();
  const auto U = ad::LaneWeights<Real>{w.data() + u(), pass.columns.data() + u(), nullptr, 0, 0}.transposed();
  pass.scratch.resize(std::max<std::size_t>(pass.scratch.size(), std::size_t(chunks)));
  parallel_for(chunks, 1, [&](std::int64_t chunk, std::int64_t) {
    const std::int64_t begin = chunk * kChunk, n = std::min(kChunk, blocks - begin);
    AlignedBuffer<Real>& scratch = pass.scratch[std::size_t(chunk)];
    scratch.reserve(2 * bars + sums + 2 * numbers + wide + weights());
    Real *const a = scratch.data(), *const g = a + bars, *const lane_sums = g + bars,
                *const out = lane_sums + sums, *const kept = out + numbers, *const turned = kept + numbers,
                *const own = turned + wide;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t first = (begin + i) * lanes;
      Real *const a_i = a + 3 * i * numbers, *const g_i = g + 3 * i * numbers;
      to_lanes(y_bar, first, pass.count, size_, out);
      gates_vjp(begin + i, out, a_i, g_i, kept, pass);
      if (x_bar) {
        ad::multiply<Real>(W, inputs_, 3 * size_, lanes, a_i, turned);
        from_lanes(turned, first, pass.count, inputs_, x_bar);
      }
      if (!h_bar) continue;
      ad::multiply<Real>(U, size_, 3 * size_, lanes, g_i, turned);
      for (std::int64_t l = 0; l < numbers; ++l) turned[l] += kept[l];
      from_lanes(turned, first, pass.count, size_, h_bar);
    }
    if (!weights_bar) return;
    const Real *const x = pass.x.data() + begin * inputs_ * lanes, *const h = pass.h.data() + begin * numbers;
    sum_of_products(a, x, n, 3 * size_, inputs_, lane_sums, own);
    sum_of_products(g, h, n, 3 * size_, size_, lane_sums, own + u());
    sum_of_lanes(a, n, 3 * size_, own + b());
    std::fill_n(own + d(), size_, Real(0));
    for (std::int64_t i = 0; i < n; ++i) {  // of g only the part of c is d's
      sum_of_lanes(g + (3 * i + 2) * numbers, 1, size_, lane_sums);
      for (int j = 0; j < size_; ++j) own[d() + j] += lane_sums[j];
    }
  });
  for (std::int64_t chunk = 0; weights_bar && chunk < chunks; ++chunk) {
    const Real* const own = pass.scratch[std::size_t(chunk)].data() + 2 * bars + sums + 2 * numbers + wide;
    for (std::int64_t i = 0; i < weights(); ++i) weights_bar[i] += own[i];
  }
}

template class Gru<float>;
template class Gru<double>;

}  // namespace costate::learn
