// Between the packed numbers of a System's inputs and the fields of a step, in both directions. A null
// pointer stands for zeros on the way in, and for "not wanted" on the way out.
#pragma once

#include "costate/fluid/step/flow_scratch.h"

namespace costate::fluid {

template <class Real>
struct Packed {
  const Real* value = nullptr;
  const Real* tangent = nullptr;
};
template <class Real>
struct PackedOut {
  Real* value = nullptr;
  Real* tangent = nullptr;
};

// f(at, from, count): rows of a box, and where they lie in a packed array.
template <class F>
void each_packed_row(const Shape& shape, const Box& box, const F& f) {
  each_row(shape, box, [&](Index row, Index at) { f(at, row * box.width(), box.width()); });
}

template <class S>
void read_field(const Shape& shape, const Box& box, Packed<value_t<S>> from, const Plane<value_t<S>>& to) {
  using Real = value_t<S>;
  const auto copy = [&](const Real* source, Real* target) {
    each_packed_row(shape, box, [&](Index at, Index row, Index count) {
      if (source)
        std::copy_n(source + row, count, target + at);
      else
        std::fill_n(target + at, count, Real(0));
    });
  };
  copy(from.value, to.value);
  if constexpr (kIsDual<S>) copy(from.tangent, to.tangent);
}

template <class S>
void write_field(const Shape& shape, const Box& box, const Plane<value_t<S>>& from, PackedOut<value_t<S>> to,
                 bool add) {
  using Real = value_t<S>;
  const auto copy = [&](const Real* source, Real* target) {
    if (!target) return;
    each_packed_row(shape, box, [&](Index at, Index row, Index count) {
      if (!add)
        std::copy_n(source + at, count, target + row);
      else
        for (Index i = 0; i < count; ++i) target[row + i] += source[at + i];
    });
  };
  copy(from.value, to.value);
  if constexpr (kIsDual<S>) copy(from.tangent, to.tangent);
}

template <class Real>
Packed<Real> operator+(Packed<Real> from, Index offset) {
  return {from.value ? from.value + offset : nullptr, from.tangent ? from.tangent + offset : nullptr};
}
template <class Real>
PackedOut<Real> operator+(PackedOut<Real> to, Index offset) {
  return {to.value ? to.value + offset : nullptr, to.tangent ? to.tangent + offset : nullptr};
}
template <class S>
Single<S> read_number(Packed<value_t<S>> from, Index at) {
  if constexpr (kIsDual<S>)
    return Single<S>(from.value[at], from.tangent ? from.tangent[at] : value_t<S>(0));
  else
    return from.value[at];
}
template <class S>
void add_number(PackedOut<value_t<S>> to, Index at, const Single<S>& x) {
  if constexpr (kIsDual<S>) {
    to.value[at] += x.v;
    if (to.tangent) to.tangent[at] += x.d[0];
  } else {
    to.value[at] += x;
  }
}

template <class S>
void clear(const Shape& shape, const Plane<value_t<S>>& field) {
  std::fill_n(field.value, shape.size, value_t<S>(0));
  if constexpr (kIsDual<S>) std::fill_n(field.tangent, shape.size, value_t<S>(0));
}

// All components of a state, which begins at `from`.
template <class S>
void read_speeds(const FlowModel& model, Packed<value_t<S>> from, const Speeds<value_t<S>>& to) {
  const Shape& shape = model.sides.shape;
  for (int a = 0; a < shape.dim; ++a)
    read_field<S>(shape, shape.faces(a), from + model.face_offset[std::size_t(a)], to[std::size_t(a)]);
}
template <class S>
void write_speeds(const FlowModel& model, const Speeds<value_t<S>>& from, PackedOut<value_t<S>> to,
                  bool add = false) {
  const Shape& shape = model.sides.shape;
  for (int a = 0; a < shape.dim; ++a)
    write_field<S>(shape, shape.faces(a), from[std::size_t(a)], to + model.face_offset[std::size_t(a)], add);
}

}  // namespace costate::fluid
