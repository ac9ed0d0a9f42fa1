#include "costate/ad/dense_tanh.h"

#include <algorithm>

#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::ad {
namespace {

template <class P>
COSTATE_INLINE P quotient_tanh(P x) {
  const P bound(7.9f);
  const P c = select(x > bound, bound, select(x < -bound, -bound, x));
  const P s = c * c;
  P above(0x1.090e38p-26f), below(0x1.cda656p-21f);
  for (const float a : {0x1.717dfep-16f, 0x1.d51b74p-9f, 0x1.13780cp-3f, 1.0f}) above = fma(above, s, P(a));
  for (const float b : {0x1.66ff76p-12f, 0x1.ad2268p-6f, 0x1.df1158p-2f, 1.0f}) below = fma(below, s, P(b));
  return c * above / below;
}

template <class T>
COSTATE_INLINE NativePack<T> tanh_pack(NativePack<T> x) {
  if constexpr (sizeof(T) == 4)
    return quotient_tanh(x);
  else
    return tanh(x);
}

// f over whole packs; the rest is filled up to a pack.
template <class T, class F>
void in_packs(T* z, const T* y, std::int64_t count, const F& f) {
  using P = NativePack<T>;
  std::int64_t i = 0;
  for (; i + P::lanes <= count; i += P::lanes)
    f(P::load_unaligned(z + i), y ? P::load_unaligned(y + i) : P(0)).store_unaligned(z + i);
  if (i == count) return;
  T rest[P::lanes] = {}, given[P::lanes] = {};
  std::copy(z + i, z + count, rest);
  if (y) std::copy(y + i, y + count, given);
  f(P::load_unaligned(rest), P::load_unaligned(given)).store_unaligned(rest);
  std::copy(rest, rest + (count - i), z + i);
}

}  // namespace

template <class T>
void bias_tanh(const T* d, const T* b, bool shared, int rows, int lanes, T* e) {
  using P = NativePack<T>;
  for (int i = 0; i < rows; ++i, d += lanes, b += lanes, e += lanes) {
    for (int l = 0; l < lanes; l += P::lanes) {
      const P bias = shared ? P(*b) : P::load(b + l);
      tanh_pack<T>(P::load(d + l) + bias).store(e + l);
    }
  }
}

template <class T>
void bias_tanh_vjp(const T* e, const T* e_bar, int rows, int lanes, T* d_bar, T* b_bar) {
  using P = NativePack<T>;
  const std::int64_t count = std::int64_t(rows) * lanes;
  for (std::int64_t i = 0; i < count; i += P::lanes) {
    const P y = P::load(e + i), z_bar = P::load(e_bar + i) * fma(-y, y, P(1));
    (P::load(d_bar + i) + z_bar).store(d_bar + i);
    if (b_bar) (P::load(b_bar + i) + z_bar).store(b_bar + i);
  }
}

template <class T>
void tanh_all(T* z, std::int64_t count) {
  using P = NativePack<T>;
  in_packs<T>(z, nullptr, count, [](P x, P) { return tanh_pack<T>(x); });
}

template <class T>
void tanh_all_vjp(const T* y, T* z_bar, std::int64_t count) {
  using P = NativePack<T>;
  in_packs<T>(z_bar, y, count, [](P bar, P value) { return bar * fma(-value, value, P(1)); });
}

template void bias_tanh(const float*, const float*, bool, int, int, float*);
template void bias_tanh(const double*, const double*, bool, int, int, double*);
template void bias_tanh_vjp(const float*, const float*, int, int, float*, float*);
template void bias_tanh_vjp(const double*, const double*, int, int, double*, double*);
template void tanh_all(float*, std::int64_t);
template void tanh_all(double*, std::int64_t);
template void tanh_all_vjp(const float*, float*, std::int64_t);
template void tanh_all_vjp(const double*, double*, std::int64_t);

}  // namespace costate::ad
