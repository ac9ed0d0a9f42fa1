// DenseNetwork: layers over many samples at once, with its transpose: what learns beside a simulation
// (critics, and policies that are the same for all worlds).
//
//   h_0 = in,   h_l = tanh(W_l h_{l-1} + b_l) for l < L,   out = W_L h_{L-1} + b_L
//
// Transpose, last layer first, summed over samples:
//
//   z_L_ = out_,  z_l_ = (1 - h_l^2) h_l_;    b_l_ += z_l_,  W_l_ += z_l_ h_{l-1}',  h_{l-1}_ = W_l' z_l_
//
// A sample is a lane: the products are those of ad/dense_lanes.h. Weights lie layer by layer, W_l row by row,
// then b_l. Sums over samples have the same bits for any number of threads.
// Tests: tests/learn/dense_network_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costate/core/aligned_buffer.h"

namespace costate::learn {

// What a pass forward leaves for its transpose. Kept from call to call, so that memory is asked for once.
template <class Real>
struct NetworkPass {
  std::int64_t count = 0;                    // samples
  std::vector<AlignedBuffer<Real>> h;        // of each layer: block x size x lane
  std::vector<AlignedBuffer<Real>> columns;  // of each layer: b once per lane, then W column by column
  std::vector<AlignedBuffer<Real>> scratch;  // of each chunk
};

template <class Real>
class DenseNetwork {
 public:
  // Inputs, hidden layers, outputs. Throws Error where one is not positive.
  explicit DenseNetwork(std::vector<int> sizes);

  int inputs() const { return sizes_.front(); }
  int outputs() const { return sizes_.back(); }
  const std::vector<int>& sizes() const { return sizes_; }
  std::int64_t weights() const { return offsets_.back(); }

  // Normal numbers of variance 1/(inputs of the layer), zero biases; those of the last layer times `last`.
  std::vector<Real> first_weights(std::uint64_t seed, double last = 1) const;

  // in: count x inputs, out: count x outputs.
  void forward(std::span<const Real> weights, std::int64_t count, const Real* in, Real* out,
               NetworkPass<Real>& pass) const;
  // After forward() with the same weights. in_bar is written, weights_bar added to; null: not wanted.
  void backward(std::span<const Real> weights, const Real* out_bar, Real* in_bar, Real* weights_bar,
                NetworkPass<Real>& pass) const;

 private:
  int layers() const { return int(sizes_.size()) - 1; }
  std::int64_t bias(int layer) const {
    return offsets_[layer] + std::int64_t(sizes_[layer]) * sizes_[layer + 1];
  }

  std::vector<int> sizes_;
  std::vector<std::int64_t> offsets_;  // of the weights of each layer, and their number
  int widest_ = 0;
};

extern template class DenseNetwork<float>;
extern template class DenseNetwork<double>;

}  // namespace costate::learn
