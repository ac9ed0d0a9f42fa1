#include "costate/fluid/grid/sides.h"

namespace costate::fluid {

template <class S>
void Sides::wrap(const Plane<value_t<S>>& field, int faces) const {
  Box box = faces < 0 ? shape.all_cells() : shape.faces(faces);
  box = shape.widened(box);
  for (int a = 0; a < shape.dim; ++a) {
    const auto axis = std::size_t(a);
    if (!shape.periodic[axis]) continue;
    const Index n = shape.n[axis], s = shape.stride[axis];
    each_line(box, a, [&](Index at, Index) {
      for (Index m = 0; m < shape.reach; ++m) {
        store<S>(field, at - (m + 1) * s, load<S>(field, at + (n - 1 - m) * s));
        store<S>(field, at + (n + m) * s, load<S>(field, at + m * s));
      }
    });
    box.lo[axis] -= shape.reach, box.hi[axis] += shape.reach;
  }
}

template <class S>
void Sides::set_faces(const Speeds<value_t<S>>& u, const SideSpeeds<value_t<S>>& side) const {
  for (int a = 0; a < shape.dim; ++a)
    for (int end = 0; end < 2; ++end) set_across<S>(a, end, u[std::size_t(a)], side);
}

template <class S>
void Sides::set_sides(const Speeds<value_t<S>>& u, const SideSpeeds<value_t<S>>& side) const {
  set_faces<S>(u, side);
  for (int c = 0; c < shape.dim; ++c) {
    for (int a = 0; a < shape.dim; ++a)
      for (int end = 0; end < 2; ++end) set_beyond<S>(a, end, c, u[std::size_t(c)], side);
    carry_on<S>(u[std::size_t(c)], c);
    wrap<S>(u[std::size_t(c)], c);
  }
}

template <class S>
void Sides::set_sides_vjp(const Speeds<value_t<S>>& u_bar, const SideSpeeds<value_t<S>>& side_bar) const {
  for (int c = 0; c < shape.dim; ++c) {
    carry_on_vjp<S>(u_bar[std::size_t(c)], c);
    for (int a = 0; a < shape.dim; ++a)
      for (int end = 0; end < 2; ++end) set_beyond_vjp<S>(a, end, c, u_bar[std::size_t(c)], side_bar);
  }
  set_faces_vjp<S>(u_bar, side_bar);
}

template <class S>
void Sides::set_faces_vjp(const Speeds<value_t<S>>& u_bar, const SideSpeeds<value_t<S>>& side_bar) const {
  for (int a = 0; a < shape.dim; ++a)
    for (int end = 0; end < 2; ++end) set_across_vjp<S>(a, end, u_bar[std::size_t(a)], side_bar);
}

template <class S>
void Sides::carry_on(const Plane<value_t<S>>& f, int faces) const {
  each_second(faces, [&](Index out, Index near, Index next) {
    store<S>(f, out, value_t<S>(2) * load<S>(f, near) - load<S>(f, next));
  });
}

template <class S>
void Sides::carry_on_vjp(const Plane<value_t<S>>& f_bar, int faces) const {
  each_second(faces, [&](Index out, Index near, Index next) {
    const S bar = load<S>(f_bar, out);
    store<S>(f_bar, out, S(0));
    store<S>(f_bar, near, load<S>(f_bar, near) + value_t<S>(2) * bar);
    store<S>(f_bar, next, load<S>(f_bar, next) - bar);
  });
}

template <class S>
void Sides::set_still(const Plane<value_t<S>>& u, int c) const {
  each_crossing(c, [&](Index at, Index outside, Index inside, Beyond side) {
    const S within = load<S>(u, at + inside);
    store<S>(u, at + outside, side == Beyond::zero ? S(0) : side == Beyond::odd ? -within : within);
  });
  wrap<S>(u, c);
}

template <class S>
void Sides::set_nothing_beyond(const Plane<value_t<S>>& u, int c) const {
  each_crossing(c, [&](Index at, Index outside, Index, Beyond) { store<S>(u, at + outside, S(0)); });
}

template <class S>
void Sides::set_pressure(const Plane<value_t<S>>& p) const {
  beyond_pressure<S>(p, value_t<S>(-1));
  wrap<S>(p, -1);
}

template <class S>
void Sides::set_nothing(const Plane<value_t<S>>& p) const {
  beyond_pressure<S>(p, value_t<S>(0));
  wrap<S>(p, -1);
}

template <class S>
void Sides::scale_open_faces(const Speeds<value_t<S>>& u, double factor) const {
  for (int a = 0; a < shape.dim; ++a) {
    for (int end = 0; end < 2; ++end) {
      if (!open(a, end)) continue;
      const Index offset = end ? shape.n[std::size_t(a)] * shape.stride[std::size_t(a)] : 0;
      const Plane<value_t<S>>& f = u[std::size_t(a)];
      each_line(shape.faces(a), a, [&](Index at, Index) {
        store<S>(f, at + offset, load<S>(f, at + offset) * value_t<S>(factor));
      });
    }
  }
}

template <class S>
void Sides::extend(const Plane<value_t<S>>& f) const {
  each_extension([&](Index outside, Index inside) { store<S>(f, outside, load<S>(f, inside)); }, false);
  wrap<S>(f, -1);
}

template <class S>
void Sides::extend_vjp(const Plane<value_t<S>>& f_bar) const {
  each_extension(
      [&](Index outside, Index inside) {
        store<S>(f_bar, inside, load<S>(f_bar, inside) + load<S>(f_bar, outside));
        store<S>(f_bar, outside, S(0));
      },
      true);
}

#define COSTATE_SIDES_OF(S)                                                                              \
  template void Sides::wrap<S>(const Plane<value_t<S>>&, int) const;                                     \
  template void Sides::set_faces<S>(const Speeds<value_t<S>>&, const SideSpeeds<value_t<S>>&) const;     \
  template void Sides::set_sides<S>(const Speeds<value_t<S>>&, const SideSpeeds<value_t<S>>&) const;     \
  template void Sides::set_sides_vjp<S>(const Speeds<value_t<S>>&, const SideSpeeds<value_t<S>>&) const; \
  template void Sides::set_faces_vjp<S>(const Speeds<value_t<S>>&, const SideSpeeds<value_t<S>>&) const; \
  template void Sides::carry_on<S>(const Plane<value_t<S>>&, int) const;                                 \
  template void Sides::carry_on_vjp<S>(const Plane<value_t<S>>&, int) const;                             \
  template void Sides::set_still<S>(const Plane<value_t<S>>&, int) const;                                \
  template void Sides::set_nothing_beyond<S>(const Plane<value_t<S>>&, int) const;                       \
  template void Sides::set_pressure<S>(const Plane<value_t<S>>&) const;                                  \
  template void Sides::set_nothing<S>(const Plane<value_t<S>>&) const;                                   \
  template void Sides::scale_open_faces<S>(const Speeds<value_t<S>>&, double) const;                     \
  template void Sides::extend<S>(const Plane<value_t<S>>&) const;                                        \
  template void Sides::extend_vjp<S>(const Plane<value_t<S>>&) const;
COSTATE_SIDES_OF(float)
COSTATE_SIDES_OF(double)
COSTATE_SIDES_OF(Dual<float>)
COSTATE_SIDES_OF(Dual<double>)
#undef COSTATE_SIDES_OF

}  // namespace costate::fluid
