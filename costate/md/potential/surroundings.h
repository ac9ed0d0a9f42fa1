// The atoms within reach of one atom, for laws of many bodies: pairs and triples about every atom.
//
//   d = x_j - x_i - images box   (nearest image),   r = |d|,   near: r < reach
//
// A law adds to d_bar and r_bar of its bonds; scatter() hands that on: x_bar_j += b, x_bar_i -= b,
// box_bar -= images b with b = d_bar + (r_bar / r) d.
//
// Of a large world the atoms come from a Verlet list. What is out of reach is dropped, so the list does not
// show. Bond is the law's own, derived from Bond<T>. Tests: tests/md/many_body_test.cpp.
#pragma once

#include "costate/md/neighbour/verlet_list.h"
#include "costate/md/potential/radial.h"

namespace costate::md {

template <class T>
struct Bond {
  int j;  // the other atom
  Point<T> d, images, d_bar;
  T r, r_bar;
  mask_t<T> near;
};

template <class T, class OwnBond>
class Surroundings {
 public:
  explicit Surroundings(const Sites& sites)
      : sites_(sites), list_(sites.atoms, sites.dimensions, {}), box_(sites.box < 0 ? 0 : 3) {
    bonds_.reserve(std::size_t(sites.atoms));
  }

  // Before the atoms of a state are visited.
  void update(const T* x, const T* p, const T& reach) {
    using V = value_t<T>;
    reach_ = reach;
    if constexpr (lanes_of<T> == 1) {
      if (!sites_.every_pair) return;
      for (std::size_t k = 0; k < box_.size(); ++k) box_[k] = double(number(p[sites_.box + int(k)]));
      list_.update(reinterpret_cast<const V*>(x), int(sizeof(T) / sizeof(V)), box_, double(number(reach)),
                   sites_.skin);
    }
  }

  // The bonds of atom i; finish(bond) fills what the law adds.
  template <class Finish>
  std::vector<OwnBond>& of(int i, const T* x, const T* p, const Finish& finish) {
    bonds_.clear();
    if (sites_.every_pair) {
      const int* row = list_.row(i);
      for (int n = 0; n < list_.size(i); ++n) add(i, row[n], x, p, finish);
    } else {
      for (int j = 0; j < sites_.atoms; ++j)
        if (j != i) add(i, j, x, p, finish);
    }
    return bonds_;
  }

  void scatter(int i, const OwnBond& b, T* x_bar, T* p_bar) const {
    const T along = select(b.near, b.r_bar / b.r, T(0));
    for (int k = 0; k < 3; ++k) {
      const T bar = b.d_bar[k] + along * b.d[k];
      x_bar[3 * b.j + k] += bar;
      x_bar[3 * i + k] -= bar;
      if (sites_.box >= 0) p_bar[sites_.box + k] -= b.images[k] * bar;
    }
  }

 private:
  template <class Finish>
  void add(int i, int j, const T* x, const T* p, const Finish& finish) {
    using costate::round, costate::sqrt;
    OwnBond b;
    b.j = j;
    for (int k = 0; k < 3; ++k) {
      b.d[k] = x[3 * j + k] - x[3 * i + k];
      b.images[k] = b.d_bar[k] = T(0);
      if (sites_.box >= 0) {
        b.images[k] = round(b.d[k] / p[sites_.box + k]);
        b.d[k] = b.d[k] - b.images[k] * p[sites_.box + k];
      }
    }
    const T s = square_of(b.d);
    b.near = s < reach_ * reach_;
    if (!any(b.near)) return;
    b.r = sqrt(s);
    b.r_bar = T(0);
    finish(b);
    bonds_.push_back(b);
  }
  template <class N>
  static value_t<N> number(const N& t) {
    if constexpr (is_dual<N>)
      return number(t.v);
    else
      return lane(t, 0);
  }

  const Sites& sites_;
  VerletList list_;  // of a large world
  std::vector<double> box_;
  std::vector<OwnBond> bonds_;
  T reach_;
};

}  // namespace costate::md
