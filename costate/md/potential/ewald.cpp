// Charges in a periodic box, all of their images, by Ewald's sum [1]. With q in units where two charges have
// the energy strength q_a q_b / r, and waves k = 2 pi n / box, n != 0:
//
//   U = strength ( sum_pairs q_a q_b erfc(alpha r) / r                                 r < cutoff
//                + 2 pi / V sum_k e^(-k^2 / (4 alpha^2)) / k^2 (C_k^2 + S_k^2)
//                - alpha / sqrt(pi) sum q^2  -  pi / (2 V alpha^2) (sum q)^2           a uniform background
//                - sum_excluded q_a q_b erf(alpha r) / r )
//   C_k = sum_i q_i cos(k.x_i),  S_k = sum_i q_i sin(k.x_i)
//
// Both sums leave out about `tolerance` of the energy: alpha = sqrt(-log(2 tolerance)) / cutoff, and
// |n_j| <= alpha box_j / pi sqrt(-log tolerance) in an ellipsoid. Which waves there are is settled by the box
// that the model is made with; where they lie moves with the box. A wave's part of U is w (C^2 + S^2):
//
//   dU/dx_i = sum_k k 2 w q_i (S cos - C sin),   dU/dq_i = sum_k 2 w (C cos + S sin)
//   dU/dbox_j = sum_k w (C^2 + S^2) (2 k_j^2 (1/k^2 + 1/(4 alpha^2)) - 1) / box_j
//             - sum_i x_ij dU/dx_ij / box_j
//
// e^(i k.x) is a product of three powers, which are tables. Of a large world the near part goes by neighbour
// lists, and waves and atoms are shared out among threads.
// [1] Frenkel, Smit: Understanding Molecular Simulation, section 12.1.
// Tests: tests/md/many_body_test.cpp (rock salt, two values of alpha, OpenMM).
#include <cmath>
#include <numbers>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/md/potential/erfc.h"
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/list_term.h"
#include "costate/md/potential/radial.h"
#include "costate/md/potential/whole_term.h"

namespace costate::md {
namespace {

constexpr double kTwoOverRootPi = 1.1283791670955126;

double alpha_of(const Sites& sites) {
  const double cutoff = sites.options[0], tolerance = sites.options[1];
  if (!(cutoff > 0))
    throw Error({"the cutoff of ewald is " + std::to_string(cutoff), "md::Model", "give a length"});
  if (!(tolerance > 0 && tolerance < 0.1))
    throw Error({"the tolerance of ewald is " + std::to_string(tolerance), "md::Model",
                 "give a number between 0 and 0.1"});
  return std::sqrt(-std::log(2 * tolerance)) / cutoff;
}

// strength q_a q_b shape(r): erfc(alpha r) / r within the cutoff, or -erf(alpha r) / r of excluded pairs.
template <bool kExcluded>
struct Screened {
  static constexpr int kAtoms = 2, kParameters = 3;  // q_a, q_b, strength
  static constexpr auto kLinks = kPair;
  explicit Screened(const Sites& sites) : cut{kExcluded ? 0 : sites.options[0]}, alpha(alpha_of(sites)) {}

  template <class T>
  T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::exp, costate::sqrt;
    using V = value_t<T>;
    const T s = square_of(d[0]), r = sqrt(s), inverse = 1 / r, near = erfc(T(V(alpha) * r));
    T shape = (kExcluded ? near - 1 : near) * inverse;
    T slope = (shape + V(kTwoOverRootPi * alpha) * exp(V(-alpha * alpha) * s)) / s;  // -shape' / r
    if constexpr (!kExcluded) {
      const auto within = cut.within(s);
      shape = select(within, shape, T(0));
      slope = select(within, slope, T(0));
    }
    return charged_pair(shape, T(-slope), d[0], p, d_bar[0], p_bar);
  }
  template <class Number>
  double reach(const Number&) const {
    return cut.cutoff;
  }
  Cutoff cut;
  double alpha;
};

// The sum over waves, the charges' own energy and the background.
struct Waves {
  // Waves that share n_0 and n_1: n_2 from `low` to `high`, at `first` among all.
  struct Row {
    int n0, n1, low, high, first;
  };
  explicit Waves(const Sites& sites)
      : atoms(sites.atoms),
        box(sites.box),
        charge(sites.numbers[0]),
        strength(sites.numbers[1].offset),
        alpha(alpha_of(sites)) {
    for (std::size_t k = 0; k < 3; ++k)
      most[k] = std::max(1, int(std::ceil(alpha * sites.edges[k] / std::numbers::pi *
                                          std::sqrt(-std::log(sites.options[1])))));
    // Half of the ellipsoid: -n has the same part as n.
    for (int a = 0; a <= most[0]; ++a)
      for (int b = -most[1]; b <= most[1]; ++b) {
        const double left = 1 - std::pow(double(a) / most[0], 2) - std::pow(double(b) / most[1], 2);
        if (left < 0 || (a == 0 && b < 0)) continue;
        const int high = int(most[2] * std::sqrt(left)), low = a == 0 && b == 0 ? 1 : -high;
        if (low > high) continue;
        rows.push_back({a, b, low, high, count});
        count += high - low + 1;
      }
    if (count > 2'000'000)
      throw Error(
          {"ewald needs " + std::to_string(count) + " waves", "md::Model", "a longer cutoff needs fewer"});
  }

  template <class T>
  struct Room {
    explicit Room(const Waves& law) {
      for (std::size_t k = 0; k < 3; ++k)
        for (auto* table : {&cos[k], &sin[k]})
          table->assign(std::size_t(law.atoms) * std::size_t(2 * law.most[k] + 1), T(0));
      for (auto* wave : {&C, &S, &energy}) wave->assign(std::size_t(law.count), T(0));
    }
    std::vector<T> cos[3], sin[3];  // of n 2 pi x / box: [atom][n from -most to most]
    std::vector<T> C, S;            // of every wave; then times 2 w
    std::vector<T> energy;          // w (C^2 + S^2)
  };

  template <class T>
  T operator()(const T* x, const T* p, T* x_bar, T* p_bar, Room<T>& room) const {
    share(atoms, 64, [&](std::int64_t begin, std::int64_t end) {
      for (int i = int(begin); i < int(end); ++i) powers(i, x, p, room);
    });
    share(std::int64_t(rows.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto r = std::size_t(begin); r < std::size_t(end); ++r) amplitudes(rows[r], p, room);
    });
    share(atoms, 16, [&](std::int64_t begin, std::int64_t end) {
      for (int i = int(begin); i < int(end); ++i) forces(i, p, x_bar, p_bar, room);
    });
    return rest(x, p, x_bar, p_bar, room);
  }
  int charge_slot(int i) const { return charge.per_atom ? charge.offset + i : -1; }

 private:
  // Small worlds run in lanes, many at a time: they are not shared out.
  template <class Body>
  void share(std::int64_t number, std::int64_t grain, const Body& body) const {
    if (atoms > 128)
      parallel_for(number, grain, body);
    else
      body(0, number);
  }
  int slot(int i) const { return charge.offset + (charge.per_atom ? i : 0); }
  template <class T>
  static T wave_number(int n, const T& edge) {
    return T(value_t<T>(2 * std::numbers::pi * n)) / edge;
  }

  template <class T>
  void powers(int i, const T* x, const T* p, Room<T>& room) const {
    using costate::sincos;
    for (std::size_t k = 0; k < 3; ++k) {
      const int m = most[k];
      T* c = room.cos[k].data() + i * (2 * m + 1) + m;
      T* s = room.sin[k].data() + i * (2 * m + 1) + m;
      const auto one = sincos(T(wave_number(1, p[box + int(k)]) * x[3 * i + int(k)]));
      c[0] = T(1), s[0] = T(0);
      for (int n = 1; n <= m; ++n) {
        c[n] = c[n - 1] * one.cos - s[n - 1] * one.sin;
        s[n] = s[n - 1] * one.cos + c[n - 1] * one.sin;
        c[-n] = c[n], s[-n] = -s[n];
      }
    }
  }
  // cos and sin of the first two factors.
  template <class T>
  COSTATE_INLINE SinCos<T> plane(const Row& row, int i, const Room<T>& room) const {
    const auto a = std::size_t(i * (2 * most[0] + 1) + most[0] + row.n0);
    const auto b = std::size_t(i * (2 * most[1] + 1) + most[1] + row.n1);
    const T &ca = room.cos[0][a], &sa = room.sin[0][a], &cb = room.cos[1][b], &sb = room.sin[1][b];
    return {sa * cb + ca * sb, ca * cb - sa * sb};
  }

  template <class T>
  void amplitudes(const Row& row, const T* p, Room<T>& room) const {
    using costate::exp;
    using V = value_t<T>;
    const int number = row.high - row.low + 1;
    T *C = room.C.data() + row.first, *S = room.S.data() + row.first;
    for (int n = 0; n < number; ++n) C[n] = S[n] = T(0);
    for (int i = 0; i < atoms; ++i) {
      const T q = p[slot(i)];
      const SinCos<T> ab = plane(row, i, room);
      const T a = q * ab.cos, b = q * ab.sin;
      const auto at = std::size_t(i * (2 * most[2] + 1) + most[2] + row.low);
      const T *c = room.cos[2].data() + at, *s = room.sin[2].data() + at;
      for (int n = 0; n < number; ++n) {
        C[n] += a * c[n] - b * s[n];
        S[n] += a * s[n] + b * c[n];
      }
    }
    // Twice, because -n is left out.
    const T front = V(4 * std::numbers::pi) * p[strength] / volume(p);
    for (int n = 0; n < number; ++n) {
      const T k2 = square(row, row.low + n, p);
      const T w = front * exp(V(-0.25 / (alpha * alpha)) * k2) / k2;
      room.energy[std::size_t(row.first + n)] = w * (C[n] * C[n] + S[n] * S[n]);
      C[n] = 2 * w * C[n];
      S[n] = 2 * w * S[n];
    }
  }

  template <class T>
  void forces(int i, const T* p, T* x_bar, T* p_bar, const Room<T>& room) const {
    const T q = p[slot(i)];
    T slope[3] = {T(0), T(0), T(0)}, q_bar(0);  // with respect to the three phases 2 pi x / box
    for (const Row& row : rows) {
      const SinCos<T> ab = plane(row, i, room);
      const auto at = std::size_t(i * (2 * most[2] + 1) + most[2] + row.low);
      const T *c = room.cos[2].data() + at, *s = room.sin[2].data() + at;
      const T *C = room.C.data() + row.first, *S = room.S.data() + row.first;
      T sum(0), moment(0);
      for (int n = 0; n <= row.high - row.low; ++n) {
        const T cos = ab.cos * c[n] - ab.sin * s[n], sin = ab.cos * s[n] + ab.sin * c[n];
        const T turn = S[n] * cos - C[n] * sin;
        q_bar += C[n] * cos + S[n] * sin;
        sum += turn;
        moment += value_t<T>(row.low + n) * turn;
      }
      slope[0] += value_t<T>(row.n0) * sum;
      slope[1] += value_t<T>(row.n1) * sum;
      slope[2] += moment;
    }
    for (int k = 0; k < 3; ++k) x_bar[3 * i + k] += q * wave_number(1, p[box + k]) * slope[k];
    if (charge.per_atom) p_bar[slot(i)] += q_bar;
  }

  // The energy, and what strength, box and charges receive of everything else.
  template <class T>
  T rest(const T* x, const T* p, const T* x_bar, T* p_bar, const Room<T>& room) const {
    using V = value_t<T>;
    T waves(0), stretch[3] = {T(0), T(0), T(0)};
    for (const Row& row : rows)
      for (int n = row.low; n <= row.high; ++n) {
        const T& e = room.energy[std::size_t(row.first + n - row.low)];
        const T more = 2 * e * (1 / square(row, n, p) + V(0.25 / (alpha * alpha)));
        const int whole[3] = {row.n0, row.n1, n};
        waves += e;
        for (int k = 0; k < 3; ++k) {
          const T component = wave_number(whole[k], p[box + k]);
          stretch[k] += more * component * component;
        }
      }
    T total(0), squares(0);
    for (int i = 0; i < atoms; ++i) {
      const T q = p[slot(i)];
      total += q, squares += q * q;
      for (int k = 0; k < 3; ++k) stretch[k] -= x[3 * i + k] * x_bar[3 * i + k];
    }
    const T own = V(-alpha / std::sqrt(std::numbers::pi)) * p[strength];
    const T even = V(-std::numbers::pi / (2 * alpha * alpha)) * p[strength] / volume(p);
    const T u = waves + own * squares + even * total * total;
    for (int k = 0; k < 3; ++k) p_bar[box + k] += (stretch[k] - waves - even * total * total) / p[box + k];
    p_bar[strength] += u / p[strength];
    for (int i = 0; i < atoms; ++i) p_bar[slot(i)] += 2 * (own * p[slot(i)] + even * total);
    if (!charge.per_atom) p_bar[charge.offset] += 2 * waves / p[charge.offset];
    return u;
  }
  template <class T>
  T volume(const T* p) const {
    return p[box] * p[box + 1] * p[box + 2];
  }
  template <class T>
  T square(const Row& row, int n, const T* p) const {
    const T a = wave_number(row.n0, p[box]), b = wave_number(row.n1, p[box + 1]),
            c = wave_number(n, p[box + 2]);
    return a * a + b * b + c * c;
  }

  int atoms, box;
  PairNumber charge;
  int strength;
  double alpha;
  int most[3] = {0, 0, 0}, count = 0;
  std::vector<Row> rows;
};

struct MakeEwald {
  // `sites` for a law of pairs: charge of the first, charge of the second, strength.
  static Sites pairs(const Sites& sites, const std::vector<int>& tuples) {
    Sites of = sites;
    const PairNumber charge = sites.numbers[0];
    const int strength = sites.numbers[1].offset;
    of.tuples = tuples;
    for (const int atom : tuples) {
      of.slots.push_back(charge.offset + (charge.per_atom ? atom : 0));
      if (of.slots.size() % 3 == 2) of.slots.push_back(strength);
    }
    of.numbers = {charge, {charge.offset, charge.per_atom, 1}, {strength, false, 0}};
    return of;
  }
  static std::vector<int> every_pair(const Sites& sites) {
    std::vector<bool> out(std::size_t(sites.atoms * sites.atoms), false);
    for (std::size_t e = 0; e + 1 < sites.exclude.size(); e += 2)
      out[std::size_t(sites.exclude[e] * sites.atoms + sites.exclude[e + 1])] =
          out[std::size_t(sites.exclude[e + 1] * sites.atoms + sites.exclude[e])] = true;
    std::vector<int> tuples;
    for (int i = 0; i < sites.atoms; ++i)
      for (int j = i + 1; j < sites.atoms; ++j)
        if (!out[std::size_t(i * sites.atoms + j)]) tuples.insert(tuples.end(), {i, j});
    return tuples;
  }

  template <class S>
  static std::unique_ptr<Term<S>> make(const Sites& sites) {
    std::vector<std::unique_ptr<Term<S>>> parts;
    if (sites.every_pair) {
      if constexpr (lanes_of<S> == 1)
        parts.push_back(std::make_unique<ListTerm<Screened<false>, S>>(pairs(sites, {})));
    } else {
      parts.push_back(std::make_unique<LocalTerm<Screened<false>, S>>(pairs(sites, every_pair(sites))));
    }
    if (!sites.exclude.empty())
      parts.push_back(std::make_unique<LocalTerm<Screened<true>, S>>(pairs(sites, sites.exclude)));
    parts.push_back(std::make_unique<WholeTerm<Waves, S>>(sites));
    return std::make_unique<SumTerm<S>>(std::move(parts));
  }
};

}  // namespace

PotentialKind ewald_kind() {
  using Per = ParameterKind::Per;
  PotentialKind kind{.name = "ewald",
                     .formula = "strength q_a q_b / r of all images",
                     .atoms = 2,
                     .parameters = {{"charge", {0}, "", Per::atom}, {"strength", {1}, "", Per::model}},
                     .options = {{"cutoff", std::nan("")}, {"tolerance", 1e-6}, {"skin", 0.3}},
                     .dimensions = 3,
                     .whole = true,
                     .periodic = true};
  set_makers<MakeEwald>(kind);
  return kind;
}

}  // namespace costate::md
