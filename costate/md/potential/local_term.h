// LocalTerm: a Term that is a sum over instances (atoms, pairs, angles, ...) of one small law.
//
// A law is a function of a few displacements d_j = x_b - x_a, one per link, and of a few numbers:
//
//   struct Law {
//     static constexpr int kAtoms, kParameters;
//     static constexpr std::array<Link, n> kLinks;            // from -1: the position itself
//     explicit Law(const Sites&);                              // its constants
//     template <class T> T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const;
//   };                                                         // returns U, writes dU/dd and dU/dp
//
// In a periodic box d is the nearest image, d = x_b - x_a - n box with n whole, so that dU/dbox is
// -sum n dU/dd. The transpose of the force is the tangent of the law along f_bar (term.h): that of a Dual, or
// what a law of the distance alone has written by hand (Slopes).
// Tests: tests/md/potential_test.cpp.
#pragma once

#include <array>

#include "costate/md/potential/term.h"

namespace costate::md {

template <class T>
using Point = Vec<T, 3>;

struct Link {
  int from, to;
};

// What the tangent of a law U(s, p) of s = |d|^2 needs: U_s, U_ss and U_sp.
template <class T, int n>
struct Slopes {
  T s, ss, sp[n];
};
// A law of one displacement has them by `Slopes<T, kParameters> slopes(const T& s, const T* p) const`.
template <class Law, class T>
concept HasSlopes = requires(const Law& law, const T& s, const T* p) {
  law.slopes(s, p);
};

// Rates of dU/dd and dU/dp of a law whose displacements move along t. With slopes:
//   dU/dd = 2 U_s d has the rate 2 U_s t + 2 U_ss s_rate d,   dU/dp the rate U_sp s_rate,   s_rate = 2 d.t
template <class Law, class T>
COSTATE_INLINE void gradient_rate(const Law& law, const Point<T>* d, const Point<T>* t, const T* p,
                                  Point<T>* d_rate, T* p_rate) {
  constexpr int kLinks = int(Law::kLinks.size()), kParameters = Law::kParameters;
  if constexpr (HasSlopes<Law, T>) {
    const auto u = law.slopes(dot(d[0], d[0]), p);
    const T s_rate = 2 * dot(d[0], t[0]), along = 2 * u.ss * s_rate, across = 2 * u.s;
    for (int k = 0; k < 3; ++k) d_rate[0][k] = across * t[0][k] + along * d[0][k];
    for (int k = 0; k < kParameters; ++k) p_rate[k] = u.sp[k] * s_rate;
  } else {
    Point<Dual<T>> moving[kLinks], d_bar[kLinks];
    Dual<T> numbers[kParameters > 0 ? kParameters : 1], p_bar[kParameters > 0 ? kParameters : 1];
    for (int j = 0; j < kLinks; ++j)
      for (int k = 0; k < 3; ++k) moving[j][k] = Dual<T>(d[j][k], t[j][k]);
    for (int k = 0; k < kParameters; ++k) numbers[k] = Dual<T>(p[k]);
    law(moving, numbers, d_bar, p_bar);
    for (int j = 0; j < kLinks; ++j)
      for (int k = 0; k < 3; ++k) d_rate[j][k] = d_bar[j][k].d[0];
    for (int k = 0; k < kParameters; ++k) p_rate[k] = p_bar[k].d[0];
  }
}

template <class Law, class S>
class LocalTerm final : public Term<S> {
  static constexpr int kAtoms = Law::kAtoms, kParameters = Law::kParameters;
  static constexpr int kLinks = int(Law::kLinks.size());
  static constexpr int kRoom = kParameters > 0 ? kParameters : 1;

  // What a law is given and what it returns.
  template <class T>
  struct At {
    Point<T> d[kLinks], d_bar[kLinks];
    T p[kRoom], p_bar[kRoom];
  };

 public:
  explicit LocalTerm(const Sites& sites)
      : sites_(sites), law_(sites), count_(int(sites.tuples.size()) / kAtoms) {}

  S energy(const S* x, const S* p, TermScratch*) const override {
    S sum(0);
    for (int i = 0; i < count_; ++i) {
      At<S> at;
      Point<S> images[kLinks];
      read(i, x, p, at, images);
      sum += law_(at.d, at.p, at.d_bar, at.p_bar);
    }
    return sum;
  }

  void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) add_gradient(i, x, p, u_bar, x_bar, p_bar);
  }
  // An instance's energy is shared out evenly among its atoms.
  void energies(const S* x, const S* p, S* e, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) {
      At<S> at;
      Point<S> images[kLinks];
      read(i, x, p, at, images);
      const S part = share() * law_(at.d, at.p, at.d_bar, at.p_bar);
      for (int a = 0; a < kAtoms; ++a) e[atom(i, a)] += part;
    }
  }
  void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) {
      S sum(0);
      for (int a = 0; a < kAtoms; ++a) sum += e_bar[atom(i, a)];
      add_gradient(i, x, p, S(share() * sum), x_bar, p_bar);
    }
  }

  void force(const S* x, const S* p, S* f, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) {
      At<S> at;
      Point<S> images[kLinks];
      read(i, x, p, at, images);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      for (int j = 0; j < kLinks; ++j) scatter(i, j, S(-1) * at.d_bar[j], f);
    }
  }

  void force_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) {
      At<S> at;
      Point<S> images[kLinks], moves[kLinks];
      read(i, x, p, at, images);
      for (int j = 0; j < kLinks; ++j) moves[j] = difference(i, j, f_bar);
      gradient_rate(law_, at.d, moves, at.p, at.d_bar, at.p_bar);
      hand_on(i, at, images, S(-1), x_bar, p_bar);
    }
  }

  // All displacements are scaled together: w = sum d.dU/dd.
  S virial(const S* x, const S* p, TermScratch*) const override {
    S sum(0);
    for (int i = 0; i < count_; ++i) {
      At<S> at;
      Point<S> images[kLinks];
      read(i, x, p, at, images);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      for (int j = 0; j < kLinks; ++j) sum += dot(at.d[j], at.d_bar[j]);
    }
    return sum;
  }

  void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) {
      At<S> at;
      Point<S> images[kLinks], rate[kLinks];
      read(i, x, p, at, images);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      gradient_rate(law_, at.d, at.d, at.p, rate, at.p_bar);
      for (int j = 0; j < kLinks; ++j) at.d_bar[j] += rate[j];
      hand_on(i, at, images, w_bar, x_bar, p_bar);
    }
  }

 private:
  static S share() { return S(value_t<S>(1.0 / kAtoms)); }
  int atom(int i, int which) const { return sites_.tuples[std::size_t(i * kAtoms + which)]; }
  int slot(int i, int k) const { return sites_.slots[std::size_t(i * kParameters + k)]; }

  // Of link j: `to` minus `from`, zero in dimensions that there are not.
  COSTATE_INLINE Point<S> difference(int i, int j, const S* x) const {
    const int n = sites_.dimensions;
    Point<S> d = Point<S>::zero();
    const S* to = x + atom(i, Law::kLinks[std::size_t(j)].to) * n;
    for (int k = 0; k < n; ++k) d[k] = to[k];
    if (Law::kLinks[std::size_t(j)].from >= 0) {
      const S* from = x + atom(i, Law::kLinks[std::size_t(j)].from) * n;
      for (int k = 0; k < n; ++k) d[k] = d[k] - from[k];
    }
    return d;
  }

  COSTATE_INLINE void read(int i, const S* x, const S* p, At<S>& at, Point<S>* images) const {
    using costate::round;
    for (int j = 0; j < kLinks; ++j) {
      at.d[j] = difference(i, j, x);
      images[j] = Point<S>::zero();
      if (sites_.box < 0 || Law::kLinks[std::size_t(j)].from < 0) continue;
      for (int k = 0; k < sites_.dimensions; ++k) {
        const S edge = p[sites_.box + k];
        images[j][k] = round(at.d[j][k] / edge);
        at.d[j][k] = at.d[j][k] - images[j][k] * edge;
      }
    }
    for (int k = 0; k < kParameters; ++k) {
      const int slot = this->slot(i, k);
      at.p[k] = slot < 0 ? S(0) : p[slot];
    }
  }

  // Adds u_bar times the gradient of instance i.
  void add_gradient(int i, const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar) const {
    At<S> at;
    Point<S> images[kLinks];
    read(i, x, p, at, images);
    law_(at.d, at.p, at.d_bar, at.p_bar);
    hand_on(i, at, images, u_bar, x_bar, p_bar);
  }
  // Hands on what an instance's displacements and numbers have received, times a factor.
  COSTATE_INLINE void hand_on(int i, const At<S>& at, const Point<S>* images, const S& factor, S* x_bar,
                              S* p_bar) const {
    for (int j = 0; j < kLinks; ++j) scatter(i, j, factor * at.d_bar[j], x_bar);
    for (int k = 0; k < kParameters; ++k) {
      if (const int slot = this->slot(i, k); slot >= 0) p_bar[slot] += factor * at.p_bar[k];
    }
    for (int j = 0; j < kLinks && sites_.box >= 0; ++j) add_box(j, S(-factor), images[j], at.d_bar[j], p_bar);
  }

  // Adds what link j's displacement has received to the two atoms.
  COSTATE_INLINE void scatter(int i, int j, const Point<S>& bar, S* x_bar) const {
    const int n = sites_.dimensions;
    S* to = x_bar + atom(i, Law::kLinks[std::size_t(j)].to) * n;
    for (int k = 0; k < n; ++k) to[k] += bar[k];
    if (Law::kLinks[std::size_t(j)].from >= 0) {
      S* from = x_bar + atom(i, Law::kLinks[std::size_t(j)].from) * n;
      for (int k = 0; k < n; ++k) from[k] -= bar[k];
    }
  }
  void add_box(int j, const S& factor, const Point<S>& images, const Point<S>& bar, S* p_bar) const {
    if (Law::kLinks[std::size_t(j)].from < 0) return;
    for (int k = 0; k < sites_.dimensions; ++k) p_bar[sites_.box + k] += factor * (images[k] * bar[k]);
  }

  Sites sites_;
  Law law_;
  int count_;
};

// Maker::make<S> in every scalar.
template <class Maker>
void set_makers(PotentialKind& kind) {
  kind.lanes_float = Maker::template make<Lanes<float>>;
  kind.lanes_float_dual = Maker::template make<Dual<Lanes<float>>>;
  kind.lanes_double = Maker::template make<Lanes<double>>;
  kind.lanes_double_dual = Maker::template make<Dual<Lanes<double>>>;
  kind.one_float = Maker::template make<float>;
  kind.one_float_dual = Maker::template make<Dual<float>>;
  kind.one_double = Maker::template make<double>;
  kind.one_double_dual = Maker::template make<Dual<double>>;
}

template <class Law>
struct MakeLocalTerm {
  template <class S>
  static std::unique_ptr<Term<S>> make(const Sites& sites) {
    return std::make_unique<LocalTerm<Law, S>>(sites);
  }
};

// The kind of a law, in every scalar.
template <class Law>
PotentialKind local_kind(std::string name, std::string formula, std::vector<ParameterKind> parameters,
                         std::vector<OptionKind> options = {}, int dimensions = 0) {
  PotentialKind kind{std::move(name),       std::move(formula), Law::kAtoms,
                     std::move(parameters), std::move(options), dimensions};
  set_makers<MakeLocalTerm<Law>>(kind);
  return kind;
}

}  // namespace costate::md
