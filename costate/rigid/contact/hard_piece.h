// F of hard_law.h on the piece that the modes of the points name, and its derivative there.
#pragma once

#include "costate/rigid/contact/hard_law.h"

namespace costate::rigid {

// What a slipping point's piece of F is made of.
template <class T>
struct Slip {
  T s, n[kMostRows], ratio;  // n = y / |y|, ratio = s / |y|
};
template <class T>
Slip<T> slip_of(const HardProblem<T>& p, const typename HardProblem<T>::Point& at) {
  const T r(at.step);
  const T *l = p.l.data() + at.row, *w = p.w.data() + at.row;
  Slip<T> out;
  out.s = l[0] - r * w[0];
  T square(0);
  for (int k = 1; k < at.rows; ++k) {
    out.n[k] = l[k] - r * w[k];
    square += out.n[k] * out.n[k];
  }
  const T inverse = T(1) / sqrt(square);
  for (int k = 1; k < at.rows; ++k) out.n[k] *= inverse;
  out.ratio = out.s * inverse;
  return out;
}

template <class T>
void residual(const HardProblem<T>& p, std::vector<T>& F) {
  F.resize(p.size);
  for (const auto& at : p.points) {
    const T r(at.step);
    const T *l = p.l.data() + at.row, *w = p.w.data() + at.row;
    T* f = F.data() + at.row;
    if (at.mode == HardMode::open) {
      std::copy(l, l + at.rows, f);
      continue;
    }
    f[0] = r * w[0];
    if (at.mode == HardMode::stick) {
      for (int k = 1; k < at.rows; ++k) f[k] = r * w[k];
      continue;
    }
    const Slip<T> slip = slip_of(p, at);
    for (int k = 1; k < at.rows; ++k) f[k] = l[k] - slip.s * slip.n[k];
  }
}

// G = dF/dl, with (ridge + pull) R in dw/dl.
template <class T>
void jacobian(const HardProblem<T>& p, double pull, std::vector<T>& G) {
  const int n = p.size;
  G.assign(std::size_t(n) * std::size_t(n), T(0));
  for (const auto& at : p.points) {
    const T r(at.step);
    const auto row = [&](int k) { return G.data() + std::size_t(at.row + k) * std::size_t(n); };
    const auto of_w = [&](int k, int j) {
      const T& entry = p.C[std::size_t(at.row + k) * std::size_t(n) + std::size_t(j)];
      return j == at.row + k ? entry + T((p.ridge + pull) * p.R[j]) : entry;
    };
    if (at.mode == HardMode::open) {
      for (int k = 0; k < at.rows; ++k) row(k)[at.row + k] = T(1);
      continue;
    }
    for (int j = 0; j < n; ++j) row(0)[j] = r * of_w(0, j);
    if (at.mode == HardMode::stick) {
      for (int k = 1; k < at.rows; ++k) {
        for (int j = 0; j < n; ++j) row(k)[j] = r * of_w(k, j);
      }
      continue;
    }
    // l_t - s n: ds = dl_0 - r dw_0, dn = (1 - n n') (dl_t - r dw_t) / |y|
    const Slip<T> slip = slip_of(p, at);
    for (int j = 0; j < n; ++j) {
      const auto dy = [&](int k) { return (j == at.row + k ? T(1) : T(0)) - r * of_w(k, j); };
      const T ds = dy(0);
      T along(0);
      for (int k = 1; k < at.rows; ++k) along += slip.n[k] * dy(k);
      for (int k = 1; k < at.rows; ++k)
        row(k)[j] =
            (j == at.row + k ? T(1) : T(0)) - slip.n[k] * ds - slip.ratio * (dy(k) - slip.n[k] * along);
    }
  }
}

}  // namespace costate::rigid
