// Values and tangents of a lane group as duals, beside Strided (policy_network.h). A null pointer to tangents
// stands for zero.
#pragma once

#include "costate/ad/dual.h"
#include "costate/learn/policy_network.h"

namespace costate::learn {

template <class S>
struct StridedDual {
  value_t<S>*value, *tangent;
  std::int64_t stride;
  Dual<S> operator[](std::int64_t i) const {
    return {load<S>(value + i * stride), tangent ? load<S>(tangent + i * stride) : S(0)};
  }
  void add(std::int64_t i, const Dual<S>& s) const {
    store<S>(value + i * stride, load<S>(value + i * stride) + s.v);
    store<S>(tangent + i * stride, load<S>(tangent + i * stride) + s.d[0]);
  }
  void set(std::int64_t i, const Dual<S>& s) const {
    store<S>(value + i * stride, s.v);
    store<S>(tangent + i * stride, s.d[0]);
  }
};

// Lanes first, first + 1, ... of a block of `lanes` worlds; a null pointer stays one.
template <class S>
Strided<S> lanes_from(int first, int lanes, const value_t<S>* block) {
  return {block ? const_cast<value_t<S>*>(block) + first : nullptr, lanes};
}
template <class S>
StridedDual<S> lanes_from(int first, int lanes, const value_t<S>* value, const value_t<S>* tangent) {
  return {value ? const_cast<value_t<S>*>(value) + first : nullptr,
          tangent ? const_cast<value_t<S>*>(tangent) + first : nullptr, lanes};
}

// Cotangents that may not be wanted.
template <class To>
struct Wanted {
  To to;
  bool wanted;
  template <class Scalar>
  void add(std::int64_t i, const Scalar& s) const {
    if (wanted) to.add(i, s);
  }
};

}  // namespace costate::learn
