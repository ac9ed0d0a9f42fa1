// Laws of many bodies: a sum over atoms, each with the atoms within reach of it.
//
//   U = sum_i e_i(bonds of i),   d = x_j - x_i - images box   (nearest image),   r = |d|,   near: r < reach
//
//   struct Law {
//     template <class T> struct OwnBond : Bond<T>;
//     template <class T> struct Scratch { explicit Scratch(const Law&); };   // what atom() works in
//     T reach(p);
//     void begin(p, scratch);             // before all atoms
//     void enter(bond, p, scratch);       // fills what the law adds to a bond
//     T atom(i, bonds, p, p_bar, scratch, shares);   // returns e_i; adds dU/dp and to the bonds' bars
//     void end(scratch, p_bar);           // after all atoms
//     int other_slot(j);                  // where a bond's other_bar goes among the parameters; -1: nowhere
//   };
//
// An atom leaves in its bonds what the others receive: x_bar_j += b, x_bar_i -= b, box_bar -= images b with
// b = d_bar + (r_bar / r) d; other_bar, for a number of atom j; other_energy, the part of the energy that
// atom j has.
//
// Of a large world the atoms come from a Verlet list, and what is out of reach is dropped, so the list does
// not show. Atoms are shared out among threads in parts whose number depends on the model alone. A bond is
// met from both of its ends: each atom gathers from its neighbours' bonds what they have left for it, in the
// order of their numbers, and nothing is scattered.
// Tests: tests/md/many_body_test.cpp.
#pragma once

#include <algorithm>

#include "costate/core/parallel.h"
#include "costate/md/neighbour/verlet_list.h"
#include "costate/md/potential/radial.h"
#include "costate/md/potential/whole_term.h"

namespace costate::md {

template <class T>
struct Bond {
  int j;  // the other atom
  Point<T> d, images, d_bar;
  T r, r_bar, other_bar, other_energy;
  mask_t<T> near;
};

template <class Law, class T>
class Surroundings {
  using OwnBond = typename Law::template OwnBond<T>;
  using Scratch = typename Law::template Scratch<T>;
  static constexpr int kMostParts = 64, kFewParts = 16, kManyParameters = 20'000;

  // What one thread works in.
  struct Part {
    explicit Part(const Law& law) : scratch(law) {}
    Scratch scratch;
    std::vector<OwnBond> bonds;
    std::vector<T> p_bar;  // of large worlds
    T energy;
  };
  // What the bond of an atom with another one leaves for that one.
  struct Left {
    int j;
    Point<T> bar;
    T other_bar, other_energy;
  };

 public:
  explicit Surroundings(const Law& law)
      : law_(law),
        sites_(law.sites),
        list_(sites_.atoms, sites_.dimensions, {}),
        box_(sites_.box < 0 ? 0 : 3) {
    const int most = sites_.parameters > kManyParameters ? kFewParts : kMostParts;
    const int parts = sites_.every_pair ? std::min(most, (sites_.atoms + 15) / 16) : 1;
    for (int k = 0; k < parts; ++k) {
      parts_.emplace_back(law);
      parts_.back().bonds.reserve(std::size_t(std::min(sites_.atoms, 256)));
      if (sites_.every_pair) parts_.back().p_bar.resize(std::size_t(sites_.parameters));
    }
    if (sites_.every_pair) left_.resize(std::size_t(sites_.atoms));
  }

  // The sum over all atoms, with its slopes.
  T sum(const T* x, const T* p, T* x_bar, T* p_bar, const Shares<T>& shares) {
    reach_ = law_.reach(p);
    if constexpr (lanes_of<T> == 1) {
      if (sites_.every_pair) return sum_of_many(x, p, x_bar, p_bar, shares);
    }
    Part& part = parts_[0];
    T u(0);
    law_.begin(p, part.scratch);
    for (int i = 0; i < sites_.atoms; ++i) {
      enter_all(i, x, p, part);
      const T own = law_.atom(i, part.bonds, p, p_bar, part.scratch, shares);
      u += own;
      for (const OwnBond& b : part.bonds) {
        const Point<T> bar = pull(b, p_bar);
        for (int k = 0; k < 3; ++k) {
          x_bar[3 * b.j + k] += bar[k];
          x_bar[3 * i + k] -= bar[k];
        }
        if (const int slot = law_.other_slot(b.j); slot >= 0) p_bar[slot] += b.other_bar;
        shares.add(b.j, b.other_energy);
      }
    }
    law_.end(part.scratch, p_bar);
    return u;
  }

 private:
  T sum_of_many(const T* x, const T* p, T* x_bar, T* p_bar, const Shares<T>& shares) {
    using V = value_t<T>;
    for (std::size_t k = 0; k < box_.size(); ++k) box_[k] = double(number(p[sites_.box + int(k)]));
    list_.update(reinterpret_cast<const V*>(x), int(sizeof(T) / sizeof(V)), box_, double(number(reach_)),
                 sites_.skin);
    const auto atoms = std::int64_t(sites_.atoms), parts = std::int64_t(parts_.size());
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        visit(int(k * atoms / parts), int((k + 1) * atoms / parts), parts_[std::size_t(k)], x, p, shares);
    });
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (int i = int(begin * atoms / parts); i < int(end * atoms / parts); ++i)
        gather(i, x_bar, p_bar, shares);
    });
    T u(0);
    for (const Part& part : parts_) {
      u += part.energy;
      for (int k = 0; k < sites_.parameters; ++k) p_bar[k] += part.p_bar[std::size_t(k)];
    }
    return u;
  }

  void visit(int first, int last, Part& part, const T* x, const T* p, const Shares<T>& shares) {
    std::fill(part.p_bar.begin(), part.p_bar.end(), T(0));
    part.energy = T(0);
    law_.begin(p, part.scratch);
    for (int i = first; i < last; ++i) {
      enter_all(i, x, p, part);
      part.energy += law_.atom(i, part.bonds, p, part.p_bar.data(), part.scratch, shares);
      auto& left = left_[std::size_t(i)];
      left.clear();
      for (const OwnBond& b : part.bonds)
        left.push_back({b.j, pull(b, part.p_bar.data()), b.other_bar, b.other_energy});
    }
    law_.end(part.scratch, part.p_bar.data());
  }

  // Neighbours see atom i where it sees them: their bonds with it are as many as its own.
  void gather(int i, T* x_bar, T* p_bar, const Shares<T>& shares) const {
    const int slot = law_.other_slot(i);
    for (const Left& own : left_[std::size_t(i)]) {
      const auto& of_other = left_[std::size_t(own.j)];
      const auto back = std::lower_bound(of_other.begin(), of_other.end(), i,
                                         [](const Left& l, int atom) { return l.j < atom; });
      if (back == of_other.end() || back->j != i) continue;
      for (int k = 0; k < 3; ++k) x_bar[3 * i + k] += back->bar[k] - own.bar[k];
      if (slot >= 0) p_bar[slot] += back->other_bar;
      shares.add(i, back->other_energy);
    }
  }

  // What atom j receives of a bond; adds what the box does.
  Point<T> pull(const OwnBond& b, T* p_bar) const {
    const T along = select(b.near, b.r_bar / b.r, T(0));
    Point<T> bar;
    for (int k = 0; k < 3; ++k) {
      bar[k] = b.d_bar[k] + along * b.d[k];
      if (sites_.box >= 0) p_bar[sites_.box + k] -= b.images[k] * bar[k];
    }
    return bar;
  }

  void enter_all(int i, const T* x, const T* p, Part& part) const {
    part.bonds.clear();
    if (sites_.every_pair) {
      const int* row = list_.row(i);
      for (int n = 0; n < list_.size(i); ++n) enter(i, row[n], x, p, part);
    } else {
      for (int j = 0; j < sites_.atoms; ++j)
        if (j != i) enter(i, j, x, p, part);
    }
  }
  void enter(int i, int j, const T* x, const T* p, Part& part) const {
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
    b.r_bar = b.other_bar = b.other_energy = T(0);
    law_.enter(b, p, part.scratch);
    part.bonds.push_back(b);
  }
  template <class N>
  static value_t<N> number(const N& t) {
    if constexpr (is_dual<N>)
      return number(t.v);
    else
      return lane(t, 0);
  }

  const Law& law_;
  const Sites& sites_;
  VerletList list_;  // of a large world
  std::vector<double> box_;
  std::vector<Part> parts_;
  std::vector<std::vector<Left>> left_;  // of every atom, in the order of the others' numbers
  T reach_;
};

}  // namespace costate::md
