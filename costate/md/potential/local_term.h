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
//
// In one large world threads evaluate the instances; then each atom gathers what it receives, in the order in
// which one loop over the instances would have added it.
// Tests: tests/md/potential_test.cpp, large_test.cpp.
#pragma once

#include <array>

#include "costate/core/parallel.h"
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

  static constexpr bool kShared = std::is_arithmetic_v<S>;  // among threads: of one world
  static constexpr int kFew = 512;                          // instances that one thread evaluates
  static constexpr int kMostPerAtom = 64;                   // of more, what they receive is not kept
  static constexpr std::int64_t kGrain = 128;

  // What a law is given and what it returns.
  struct At {
    Point<S> d[kLinks], d_bar[kLinks], images[kLinks];
    S p[kRoom], p_bar[kRoom];
  };
  // What the displacements and numbers of one instance have received.
  struct Received {
    Point<S> d_bar[kLinks], images[kLinks];
    S p_bar[kRoom];
  };
  struct Shared final : TermScratch {
    std::vector<Received> of;  // every instance
    std::vector<S> energies;
  };
  // What an atom receives of link `link` of an instance; `from`: with the other sign.
  struct Part {
    int instance, link;
    bool from;
  };

 public:
  explicit LocalTerm(const Sites& sites)
      : sites_(sites), law_(sites), count_(int(sites.tuples.size()) / kAtoms) {
    if (kShared && count_ >= kFew && count_ <= kMostPerAtom * sites.atoms) sort_parts();
  }

  std::unique_ptr<TermScratch> make_scratch() const override {
    if (parts_.empty()) return nullptr;
    auto shared = std::make_unique<Shared>();
    shared->of.resize(std::size_t(count_));
    shared->energies.resize(std::size_t(count_));
    return shared;
  }

  S energy(const S* x, const S* p, TermScratch* scratch) const override {
    return sum_of(scratch, [&](int i, At& at) {
      read(i, x, p, at);
      return law_(at.d, at.p, at.d_bar, at.p_bar);
    });
  }

  void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    add(scratch, x_bar, p_bar, [&](int i, At& at) {
      read(i, x, p, at);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      return u_bar;
    });
  }
  // An instance's energy is shared out evenly among its atoms.
  void energies(const S* x, const S* p, S* e, TermScratch*) const override {
    for (int i = 0; i < count_; ++i) {
      At at;
      read(i, x, p, at);
      const S part = share() * law_(at.d, at.p, at.d_bar, at.p_bar);
      for (int a = 0; a < kAtoms; ++a) e[atom(i, a)] += part;
    }
  }
  void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar,
                    TermScratch* scratch) const override {
    add(scratch, x_bar, p_bar, [&](int i, At& at) {
      read(i, x, p, at);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      S sum(0);
      for (int a = 0; a < kAtoms; ++a) sum += e_bar[atom(i, a)];
      return S(share() * sum);
    });
  }

  void force(const S* x, const S* p, S* f, TermScratch* scratch) const override {
    add(scratch, f, nullptr, [&](int i, At& at) {
      read(i, x, p, at);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      return S(-1);
    });
  }

  void force_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar,
                 TermScratch* scratch) const override {
    add(scratch, x_bar, p_bar, [&](int i, At& at) {
      read(i, x, p, at);
      Point<S> moves[kLinks];
      for (int j = 0; j < kLinks; ++j) moves[j] = difference(i, j, f_bar);
      gradient_rate(law_, at.d, moves, at.p, at.d_bar, at.p_bar);
      return S(-1);
    });
  }

  // All displacements are scaled together: w = sum d.dU/dd.
  S virial(const S* x, const S* p, TermScratch* scratch) const override {
    return sum_of(scratch, [&](int i, At& at) {
      read(i, x, p, at);
      law_(at.d, at.p, at.d_bar, at.p_bar);
      S sum(0);
      for (int j = 0; j < kLinks; ++j) sum += dot(at.d[j], at.d_bar[j]);
      return sum;
    });
  }

  void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    add(scratch, x_bar, p_bar, [&](int i, At& at) {
      read(i, x, p, at);
      Point<S> rate[kLinks];
      law_(at.d, at.p, at.d_bar, at.p_bar);
      gradient_rate(law_, at.d, at.d, at.p, rate, at.p_bar);
      for (int j = 0; j < kLinks; ++j) at.d_bar[j] += rate[j];
      return w_bar;
    });
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

  COSTATE_INLINE void read(int i, const S* x, const S* p, At& at) const {
    using costate::round;
    for (int j = 0; j < kLinks; ++j) {
      at.d[j] = difference(i, j, x);
      at.images[j] = Point<S>::zero();
      if (sites_.box < 0 || Law::kLinks[std::size_t(j)].from < 0) continue;
      for (int k = 0; k < sites_.dimensions; ++k) {
        const S edge = p[sites_.box + k];
        at.images[j][k] = round(at.d[j][k] / edge);
        at.d[j][k] = at.d[j][k] - at.images[j][k] * edge;
      }
    }
    for (int k = 0; k < kParameters; ++k) {
      const int slot = this->slot(i, k);
      at.p[k] = slot < 0 ? S(0) : p[slot];
    }
  }

  // The sum of value(i, at) over all instances.
  template <class Value>
  COSTATE_INLINE S sum_of(TermScratch* scratch, const Value& value) const {
    S sum(0);
    if constexpr (kShared) {
      if (scratch) {
        std::vector<S>& energies = static_cast<Shared*>(scratch)->energies;
        each_instance([&](int i) {
          At at;
          energies[std::size_t(i)] = value(i, at);
        });
        for (const S& u : energies) sum += u;
        return sum;
      }
    }
    for (int i = 0; i < count_; ++i) {
      At at;
      sum += value(i, at);
    }
    return sum;
  }

  // Adds what all instances give: factor = evaluate(i, at) fills the bars of `at`. Without p_bar: to atoms
  // alone.
  template <class Evaluate>
  COSTATE_INLINE void add(TermScratch* scratch, S* x_bar, S* p_bar, const Evaluate& evaluate) const {
    const auto find = [&](int i) {
      At at;
      const S factor = evaluate(i, at);
      Received r;
      for (int j = 0; j < kLinks; ++j) r.d_bar[j] = factor * at.d_bar[j], r.images[j] = at.images[j];
      for (int k = 0; k < kParameters; ++k) r.p_bar[k] = factor * at.p_bar[k];
      return r;
    };
    if constexpr (kShared) {
      if (scratch) {
        auto& of = static_cast<Shared*>(scratch)->of;
        each_instance([&](int i) { of[std::size_t(i)] = find(i); });
        gather(of, x_bar);
        for (int i = 0; p_bar && i < count_; ++i) add_numbers(i, of[std::size_t(i)], p_bar);
        return;
      }
    }
    for (int i = 0; i < count_; ++i) {
      const Received r = find(i);
      for (int j = 0; j < kLinks; ++j) scatter(i, j, r.d_bar[j], x_bar);
      if (p_bar) add_numbers(i, r, p_bar);
    }
  }
  template <class Body>
  void each_instance(const Body& body) const {
    parallel_for(count_, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(int(i));
    });
  }
  COSTATE_INLINE void add_numbers(int i, const Received& r, S* p_bar) const {
    for (int k = 0; k < kParameters; ++k) {
      if (const int slot = this->slot(i, k); slot >= 0) p_bar[slot] += r.p_bar[k];
    }
    for (int j = 0; j < kLinks && sites_.box >= 0; ++j) {
      if (Law::kLinks[std::size_t(j)].from < 0) continue;
      for (int k = 0; k < sites_.dimensions; ++k) p_bar[sites_.box + k] -= r.images[j][k] * r.d_bar[j][k];
    }
  }

  // Every atom's parts, in the order in which scatter() meets them.
  void sort_parts() {
    first_part_.assign(std::size_t(sites_.atoms) + 1, 0);
    const auto each = [&](const auto& visit) {
      for (int i = 0; i < count_; ++i)
        for (int j = 0; j < kLinks; ++j) {
          const Link& link = Law::kLinks[std::size_t(j)];
          visit(atom(i, link.to), Part{i, j, false});
          if (link.from >= 0) visit(atom(i, link.from), Part{i, j, true});
        }
    };
    each([&](int a, const Part&) { ++first_part_[std::size_t(a) + 1]; });
    for (std::size_t a = 1; a < first_part_.size(); ++a) first_part_[a] += first_part_[a - 1];
    parts_.resize(std::size_t(first_part_.back()));
    std::vector<int> next(first_part_.begin(), first_part_.end() - 1);
    each([&](int a, const Part& part) { parts_[std::size_t(next[std::size_t(a)]++)] = part; });
  }
  void gather(const std::vector<Received>& of, S* x_bar) const {
    const int n = sites_.dimensions;
    parallel_for(sites_.atoms, 8 * kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto a = std::size_t(begin); a < std::size_t(end); ++a)
        for (int q = first_part_[a]; q < first_part_[a + 1]; ++q) {
          const Part& part = parts_[std::size_t(q)];
          const Point<S>& bar = of[std::size_t(part.instance)].d_bar[part.link];
          for (int k = 0; k < n; ++k) {
            S& to = x_bar[a * std::size_t(n) + std::size_t(k)];
            to = part.from ? to - bar[k] : to + bar[k];
          }
        }
    });
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
  Sites sites_;
  Law law_;
  int count_;
  // Of large worlds: the parts of every atom, one atom after the other.
  std::vector<Part> parts_;
  std::vector<int> first_part_;
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
