// The inner loops of the interpreter: one instruction over one strip. K is the number of packs in a strip,
// known to the compiler so that the loops unroll; K = 0 is a strip of `packs` packs, the last one of a run.
#pragma once

#include <algorithm>
#include <span>

#include "costate/ad/executable.h"
#include "costate/ad/strip_functions.h"
#include "costate/core/functions.h"
#include "costate/core/pack.h"

namespace costate::ad {

inline constexpr int kLongStrip = 16;
inline constexpr int kShortStrip = 8;

template <class T, int K>
class StripLoops {
 public:
  using P = NativePack<T>;
  static constexpr int lanes = P::lanes;

  explicit StripLoops(int packs) : packs_(packs) {}

  template <class F>
  COSTATE_INLINE void unary(T* out, Strip<T> a, const F& f) const {
    each([&](int i) { f(at(a, i)).store(out + i * lanes); });
  }

  // An operand that is the same for all worlds is loaded once.
  template <class F>
  COSTATE_INLINE void binary(T* out, Strip<T> a, Strip<T> b, const F& f) const {
    if (a.step == 0) {
      const P x = P::load(a.data);
      each([&](int i) { f(x, at(b, i)).store(out + i * lanes); });
    } else if (b.step == 0) {
      const P y = P::load(b.data);
      each([&](int i) { f(packed(a, i), y).store(out + i * lanes); });
    } else {
      each([&](int i) { f(packed(a, i), packed(b, i)).store(out + i * lanes); });
    }
  }

  template <class F>
  COSTATE_INLINE void ternary(T* out, Strip<T> a, Strip<T> b, Strip<T> c, const F& f) const {
    if (a.step != 0 && b.step != 0 && c.step != 0) {
      each([&](int i) { f(packed(a, i), packed(b, i), packed(c, i)).store(out + i * lanes); });
    } else if (a.step == 0 && b.step != 0 && c.step != 0) {
      const P x = P::load(a.data);
      each([&](int i) { f(x, packed(b, i), packed(c, i)).store(out + i * lanes); });
    } else if (b.step == 0 && a.step != 0 && c.step != 0) {
      const P y = P::load(b.data);
      each([&](int i) { f(packed(a, i), y, packed(c, i)).store(out + i * lanes); });
    } else {
      alignas(kAlignment) T kept[3][lanes];
      const Strip<T> x = keep(a, kept[0]), y = keep(b, kept[1]), z = keep(c, kept[2]);
      each([&](int i) { f(at(x, i), at(y, i), at(z, i)).store(out + i * lanes); });
    }
  }

  // A pack that all worlds share is read again after the first store, which may be to its own register: keeps
  // a copy.
  static COSTATE_INLINE Strip<T> keep(Strip<T> s, T* copy) {
    if (s.step != 0) return s;
    P::load(s.data).store(copy);
    return {copy, 0};
  }

 private:
  static COSTATE_INLINE P packed(Strip<T> s, int i) { return P::load(s.data + i * lanes); }
  static COSTATE_INLINE P at(Strip<T> s, int i) { return P::load(s.data + i * s.step); }

  template <class F>
  COSTATE_INLINE void each(const F& f) const {
    if constexpr (K > 0) {
#pragma GCC unroll 16
      for (int i = 0; i < K; ++i) f(i);
    } else {
      for (int i = 0; i < packs_; ++i) f(i);
    }
  }

  int packs_;
};

// Runs every instruction over one strip. A register holds Stride packs. What is computed from values that all
// worlds share is shared as well: its later readers load one pack.
template <class T, int K, int Stride>
void run_code(std::span<const Instruction> code, Strip<T>* slots, T* registers, std::uint32_t first_register,
              int packs) {
  using P = NativePack<T>;
  const StripLoops<T, K> loops(packs);
  const P one(1), zero(0);
  const auto truth = [&](auto mask) { return select(mask, one, zero); };
  for (const Instruction& i : code) {
    T* const out = registers + static_cast<std::size_t>(i.out - first_register) * (Stride * P::lanes);
    const Strip<T> a = slots[i.a], b = slots[i.b];
    const Strip<T> c = slots[i.c];
    if (K != 1 && (a.step | b.step | c.step) == 0) {
      run_code<T, 1, Stride>({&i, 1}, slots, registers, first_register, 1);
      continue;
    }
    slots[i.out].step = (a.step | b.step | c.step) == 0 ? 0 : P::lanes;
    switch (i.op) {
      case Op::add:
        loops.binary(out, a, b, [](P x, P y) { return x + y; });
        break;
      case Op::sub:
        loops.binary(out, a, b, [](P x, P y) { return x - y; });
        break;
      case Op::mul:
        loops.binary(out, a, b, [](P x, P y) { return x * y; });
        break;
      case Op::div:
        loops.binary(out, a, b, [](P x, P y) { return x / y; });
        break;
      case Op::neg:
        loops.unary(out, a, [](P x) { return -x; });
        break;
      case Op::fma:
        loops.ternary(out, a, b, c, [](P x, P y, P z) { return costate::fma(x, y, z); });
        break;
      case Op::fms:
        loops.ternary(out, a, b, c, [](P x, P y, P z) { return costate::fma(x, y, -z); });
        break;
      case Op::fnma:
        loops.ternary(out, a, b, c, [](P x, P y, P z) { return costate::fma(-x, y, z); });
        break;
      case Op::sqrt:
        loops.unary(out, a, [](P x) { return costate::sqrt(x); });
        break;
      case Op::abs:
        loops.unary(out, a, [](P x) { return costate::abs(x); });
        break;
      case Op::sign:
        loops.unary(out, a, [](P x) { return costate::sign(x); });
        break;
      case Op::min:
        loops.binary(out, a, b, [](P x, P y) { return costate::min(x, y); });
        break;
      case Op::max:
        loops.binary(out, a, b, [](P x, P y) { return costate::max(x, y); });
        break;
      case Op::floor:
        loops.unary(out, a, [](P x) { return costate::floor(x); });
        break;
      case Op::lt:
        loops.binary(out, a, b, [&](P x, P y) { return truth(x < y); });
        break;
      case Op::le:
        loops.binary(out, a, b, [&](P x, P y) { return truth(x <= y); });
        break;
      case Op::gt:
        loops.binary(out, a, b, [&](P x, P y) { return truth(x > y); });
        break;
      case Op::ge:
        loops.binary(out, a, b, [&](P x, P y) { return truth(x >= y); });
        break;
      case Op::eq:
        loops.binary(out, a, b, [&](P x, P y) { return truth(x == y); });
        break;
      case Op::ne:
        loops.binary(out, a, b, [&](P x, P y) { return truth(x != y); });
        break;
      case Op::logical_and:
        loops.binary(out, a, b, [&](P x, P y) { return truth((x != zero) & (y != zero)); });
        break;
      case Op::logical_or:
        loops.binary(out, a, b, [&](P x, P y) { return truth((x != zero) | (y != zero)); });
        break;
      case Op::logical_not:
        loops.unary(out, a, [&](P x) { return truth(x == zero); });
        break;
      case Op::select:
        loops.ternary(out, a, b, c, [&](P x, P y, P z) { return select(x != zero, y, z); });
        break;
      case Op::gated_mul:  // b masked first: no 0 * infinity
        loops.binary(out, a, b, [&](P x, P y) { return x * select(x == zero, zero, y); });
        break;
      default: {
        alignas(kAlignment) T kept[2][P::lanes];
        function_strip<T>(i.op, out, loops.keep(a, kept[0]), loops.keep(b, kept[1]), i.exponent,
                          K > 0 ? K : packs);
      }
    }
  }
}

// Lanes past the end repeat the last world: what is computed there is ordinary, and thrown away.
template <class T>
void load_strip(const T* from, T* to, std::ptrdiff_t worlds) {
  using P = NativePack<T>;
  std::ptrdiff_t w = 0;
  for (; w + P::lanes <= worlds; w += P::lanes) P::load_unaligned(from + w).store(to + w);
  if (w == worlds) return;
  for (int lane = 0; lane < P::lanes; ++lane) to[w + lane] = from[std::min(w + lane, worlds - 1)];
}

template <class T>
void store_strip(Strip<T> from, T* to, std::ptrdiff_t worlds, bool add) {
  using P = NativePack<T>;
  std::ptrdiff_t w = 0;
  for (; w + P::lanes <= worlds; w += P::lanes, from.data += from.step) {
    const P value = P::load(from.data);
    (add ? P::load_unaligned(to + w) + value : value).store_unaligned(to + w);
  }
  for (int lane = 0; w < worlds; ++w, ++lane) to[w] = add ? to[w] + from.data[lane] : from.data[lane];
}

}  // namespace costate::ad
