// Gru: a gated recurrent layer [1] over many samples at once, with its transpose: the memory of a policy that
// does not see everything.
//
//   r = s(W_r x + U_r h + b_r)                       how much of the memory the candidate sees
//   z = s(W_z x + U_z h + b_z)                       how much of the memory stays
//   c = tanh(W_c x + b_c + r (U_c h + d))            the candidate
//   y = (1 - z) c + z h                              the memory afterwards, which is also the output
//
// with s(a) = (1 + tanh(a/2))/2, which is 1/(1 + e^-a). Transpose, last line first, with q = U_c h + d and
// cotangents a_ of what W x is added to, g_ of U h:
//
//   z_ = (h - c) y_,  c_ = (1 - z) y_,  h_ = z y_;    a_c = (1 - c^2) c_;    r_ = q a_c,  g_c = r a_c
//   a_r = g_r = r (1 - r) r_,  a_z = g_z = z (1 - z) z_
//   x_ = W'a_,  h_ += U'g_;    W_ += a_ x',  U_ += g_ h',  b_ += a_,  d_ += g_c
//
// A sample is a lane (sample_blocks.h). Weights lie as W (r, z, c; each row by row), U, b, d. Sums over
// samples have the same bits for any number of threads.
//
// [1] Cho et al.: Learning Phrase Representations using RNN Encoder-Decoder, EMNLP 2014.
// Tests: tests/learn/gru_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costate/core/aligned_buffer.h"

namespace costate::learn {

// What a pass forward leaves for its transpose. Kept from call to call, so that memory is asked for once.
template <class Real>
struct GruPass {
  std::int64_t count = 0;                    // samples
  AlignedBuffer<Real> x, h, r, z, c, q;      // block x size x lane
  AlignedBuffer<Real> columns;               // W and U, column by column
  std::vector<AlignedBuffer<Real>> scratch;  // of each chunk
};

template <class Real>
class Gru {
 public:
  // Throws Error where a size is not positive.
  Gru(int inputs, int size);

  int inputs() const { return inputs_; }
  int size() const { return size_; }
  std::int64_t weights() const { return d() + size_; }

  // Normal numbers of variance 1/(columns), zero biases but that of z, which is 1: at first memory lasts.
  std::vector<Real> first_weights(std::uint64_t seed) const;

  // x: count x inputs; h: count x size, the memory before; y: count x size, the memory after.
  void forward(std::span<const Real> weights, std::int64_t count, const Real* x, const Real* h, Real* y,
               GruPass<Real>& pass) const;
  // After forward() with the same weights. x_bar and h_bar are written, weights_bar added to; null: not
  // wanted.
  void backward(std::span<const Real> weights, const Real* y_bar, Real* x_bar, Real* h_bar, Real* weights_bar,
                GruPass<Real>& pass) const;

 private:
  // Where U, b and d begin among the weights.
  std::int64_t u() const { return 3LL * size_ * inputs_; }
  std::int64_t b() const { return u() + 3LL * size_ * size_; }
  std::int64_t d() const { return b() + 3LL * size_; }
  void gates(std::span<const Real> weights, std::int64_t block, Real* a, Real* g, GruPass<Real>& pass) const;
  void gates_vjp(std::int64_t block, const Real* y_bar, Real* a_bar, Real* g_bar, Real* h_bar,
                 const GruPass<Real>& pass) const;

  int inputs_, size_;
};

extern template class Gru<float>;
extern template class Gru<double>;

}  // namespace costate::learn
