// ListTerm: a law of pairs (local_term.h) summed over all pairs within reach of one large world.
//
//   f_i = -sum_j dU(d_ij)/dd,   d_ij = nearest image of x_i - x_j,   j within reach of i, in order
//
// Each atom gathers from its own neighbours, so that every pair is met twice and nothing is scattered: atoms
// are shared out among threads in chunks of a fixed size, and sums over atoms are added chunk by chunk. The
// neighbours run in SIMD lanes: distances to all of the list, then the law on those within reach, packed
// together. What is packed depends on the positions alone, not on the list (neighbour/verlet_list.h) nor on
// the rows that were cut from it (neighbour/short_rows.h).
//
// The transpose is the rate of the law's gradient along f_bar (local_term.h): x_bar_i collects what d_ij
// receives for every j. Numbers that all pairs share get half of every pair's part; a number of an atom gets
// what it has as the first of the two; numbers of pairs of species get theirs lane by lane, in the order of
// the neighbours.
// Tests: tests/md/large_test.cpp.
#pragma once

#include <algorithm>
#include <array>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/md/neighbour/lanes.h"
#include "costate/md/neighbour/short_rows.h"
#include "costate/md/neighbour/verlet_list.h"
#include "costate/md/potential/local_term.h"

namespace costate::md {

template <class Law, class S>
class ListTerm final : public Term<S> {
  // V: a pack of neighbours of one number type; for duals one neighbour at a time.
  static constexpr bool kPlain = !is_dual<S>;
  using Real = value_t<S>;
  using V = std::conditional_t<kPlain, NativePack<Real>, S>;
  static constexpr int kWidth = kPlain ? kNativeLanes<Real> : 1;
  static constexpr int kParameters = Law::kParameters, kRoom = kParameters > 0 ? kParameters : 1;
  static constexpr int kMost = 1024;  // neighbours within reach
  static constexpr std::int64_t kGrain = 64;

  struct Scratch final : TermScratch {
    Scratch(const Sites& sites, std::size_t sums)
        : list(sites.atoms, sites.dimensions, sites.exclude),
          rows(kPlain ? sites.atoms : 0),
          partial(sums * std::size_t((sites.atoms + kGrain - 1) / kGrain)) {
      for (auto* points : {&x, &f_bar}) points->assign(4 * std::size_t(sites.atoms), S(0));
    }
    VerletList list;
    ShortRows<Real> rows;
    std::vector<double> box;
    std::vector<S> partial;   // [chunk][sum]
    std::vector<S> x, f_bar;  // four numbers per atom: three axes and nothing (neighbour/lanes.h)
  };

  // The neighbours of one atom that are within reach, packed, with room for the last pack.
  struct Packed {
    alignas(64) S x[kMost + kWidth], y[kMost + kWidth], z[kMost + kWidth];
    int j[kMost + kWidth];
    int pair[kMost + kWidth];  // place in a table of species
    int count = 0;
  };

 public:
  explicit ListTerm(const Sites& sites) : sites_(sites), law_(sites) {
    for (std::size_t k = 0; k < std::size_t(kParameters); ++k) {
      tables_[k] = sums_;
      const PairNumber& number = sites_.numbers[k];
      pairs_differ_[k] = (number.per_atom && number.which == 1) || number.per_species;
      if (!sites_.numbers[k].per_species) continue;
      sums_ += species_pairs(sites_.species_count);
      has_tables_ = true;
    }
    for (int a = 0; a < sites_.species_count; ++a)
      for (int b = 0; b < sites_.species_count; ++b)
        pair_of_species_.push_back(species_pair(a, b, sites_.species_count));
  }

  std::unique_ptr<TermScratch> make_scratch() const override {
    auto scratch = std::make_unique<Scratch>(sites_, std::size_t(sums_));
    scratch->box.resize(sites_.box < 0 ? 0 : std::size_t(sites_.dimensions));
    return scratch;
  }

  S energy(const S* x, const S* p, TermScratch* scratch) const override {
    Scratch& work = ready(x, p, scratch);
    each_chunk(work, p, [&](int i, const Frame& space, S* sum) {
      Packed near;
      pack<Of::nearest>(i, space, work, near);
      for_packs<Of::nearest>(i, near, space, p,
                             [&](const Pair<V>& pair, const V*, int) { sum[0] += add_lanes(pair.u); });
    });
    return S(Real(0.5)) * total(work, 0);
  }

  void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    add_gradient<false>(x, p, nullptr, u_bar, x_bar, p_bar, scratch);
  }
  // Half of a pair's energy is that of either atom.
  void energies(const S* x, const S* p, S* e, TermScratch* scratch) const override {
    Scratch& work = ready(x, p, scratch);
    each_chunk(work, p, [&](int i, const Frame& space, S*) {
      Packed near;
      pack<Of::nearest>(i, space, work, near);
      V sum(0);
      for_packs<Of::nearest>(i, near, space, p, [&](const Pair<V>& pair, const V*, int) { sum += pair.u; });
      e[i] += S(Real(0.5)) * add_lanes(sum);
    });
  }
  void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar,
                    TermScratch* scratch) const override {
    add_gradient<true>(x, p, e_bar, S(Real(0.5)), x_bar, p_bar, scratch);
  }

  void force(const S* x, const S* p, S* f, TermScratch* scratch) const override {
    if (std::any_of(pairs_differ_.begin(), pairs_differ_.end(), [](bool differ) { return differ; }))
      add_forces<true>(x, p, f, scratch);
    else
      add_forces<false>(x, p, f, scratch);
  }

  void force_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar,
                 TermScratch* scratch) const override {
    if (sites_.box >= 0 && scratch->box_asked)
      add_product<Of::image>(x, p, f_bar, x_bar, p_bar, scratch);
    else
      add_product<Of::nearest>(x, p, f_bar, x_bar, p_bar, scratch);
  }

  S virial(const S* x, const S* p, TermScratch* scratch) const override {
    Scratch& work = ready(x, p, scratch);
    each_chunk(work, p, [&](int i, const Frame& space, S* sum) {
      Packed near;
      pack<Of::nearest>(i, space, work, near);
      for_packs<Of::nearest>(i, near, space, p, [&](const Pair<V>& pair, const V*, int) {
        sum[0] += add_lanes(V(dot(pair.d, pair.d_bar)));
      });
    });
    return S(Real(0.5)) * total(work, 0);
  }

  void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    Scratch& work = ready(x, p, scratch);
    each_chunk(work, p, [&](int i, const Frame& space, S* sum) {
      Packed near;
      pack<Of::image>(i, space, work, near);
      Collected<S> bar;
      for_packs<Of::image>(i, near, space, p, [&](const Pair<V>& pair, const V* images, int first) {
        Point<V> rate;
        V numbers[kRoom];
        gradient_rate(law_, &pair.d, &pair.d, pair.p, &rate, numbers);
        rate += pair.d_bar;
        bar.template add<Of::image>(rate, numbers, images);
        if (has_tables_) add_to_tables(near, first, numbers, w_bar, sum);
      });
      hand_on(i, bar, w_bar, x_bar, p_bar, sum);
    });
    shared_numbers(work, p_bar);
  }

 private:
  static constexpr int kBox = kRoom, kSums = kRoom + 3;
  // What is packed: the displacement to the nearest image; or x_i - x_j as it is, where the box receives
  // something and the number of the image is asked for.
  enum class Of { nearest, image };

  template <class T>
  struct Pair {
    Point<T> d, d_bar;
    T p[kRoom], p_bar[kRoom], u;
  };
  // What the pairs of one atom give, lane by lane.
  template <class>
  struct Collected {
    V x[3] = {V(0), V(0), V(0)}, box[3] = {V(0), V(0), V(0)};
    std::array<V, kRoom> numbers;
    Collected() { numbers.fill(V(0)); }
    template <Of kOf>
    COSTATE_INLINE void add(const Point<V>& d_bar, const V* p_bar, const V* images) {
      for (int k = 0; k < 3; ++k) {
        x[k] += d_bar[k];
        if constexpr (kOf == Of::image) box[k] += images[k] * d_bar[k];
      }
      for (int k = 0; k < kParameters; ++k) numbers[std::size_t(k)] += p_bar[k];
    }
  };

  // kWeighted: every pair's part counts with the sum of its atoms' weights.
  template <bool kWeighted>
  void add_gradient(const S* x, const S* p, const S* weights, const S& u_bar, S* x_bar, S* p_bar,
                    TermScratch* scratch) const {
    Scratch& work = ready(x, p, scratch);
    each_chunk(work, p, [&](int i, const Frame& space, S* sum) {
      Packed near;
      pack<Of::image>(i, space, work, near);
      Collected<S> bar;
      for_packs<Of::image>(i, near, space, p, [&](Pair<V> pair, const V* images, int first) {
        if constexpr (kWeighted) {
          const V weight = V(weights[i]) + gather<V>(weights, near.j + first);
          pair.d_bar = weight * pair.d_bar;
          for (int k = 0; k < kParameters; ++k) pair.p_bar[k] = weight * pair.p_bar[k];
        }
        bar.template add<Of::image>(pair.d_bar, pair.p_bar, images);
        if (has_tables_) add_to_tables(near, first, pair.p_bar, u_bar, sum);
      });
      hand_on(i, bar, u_bar, x_bar, p_bar, sum);
    });
    shared_numbers(work, p_bar);
  }

  // The transpose of the force; with Of::image the box receives its part.
  template <Of kOf>
  void add_product(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar, TermScratch* scratch) const {
    Scratch& work = ready(x, p, scratch);
    pad(f_bar, work.f_bar);
    each_chunk(work, p, [&](int i, const Frame& space, S* sum) {
      Packed near;
      pack<kOf>(i, space, work, near);
      Collected<S> bar;
      Point<V> here;
      for (int k = 0; k < 3; ++k) here[k] = V(work.f_bar[std::size_t(4 * i + k)]);
      each_pack<kOf>(i, near, space, p, [&](Pair<V>& pair, const V* images, int first) {
        V there[3];
        fetch_points(work.f_bar.data(), near.j + first, there);
        Point<V> along;  // f_bar_i - f_bar_j
        for (int k = 0; k < 3; ++k) along[k] = here[k] - there[k];
        gradient_rate(law_, &pair.d, &along, pair.p, &pair.d_bar, pair.p_bar);
        bar.template add<kOf>(pair.d_bar, pair.p_bar, images);
        if (has_tables_) add_to_tables(near, first, pair.p_bar, S(-1), sum);
      });
      hand_on(i, bar, S(-1), x_bar, p_bar, sum);
    });
    shared_numbers(work, p_bar);
  }

  // kIndex: whether a law asks which neighbour it is.
  template <bool kIndex>
  void add_forces(const S* x, const S* p, S* f, TermScratch* scratch) const {
    Scratch& work = ready(x, p, scratch);
    const int n = sites_.dimensions;
    const Frame space = frame(p);
    parallel_for(sites_.atoms, kGrain, [&](std::int64_t begin, std::int64_t end) {
      Packed near;
      for (int i = int(begin); i < int(end); ++i) {
        pack<Of::nearest, kIndex>(i, space, work, near);
        V sum[3] = {V(0), V(0), V(0)};
        for_packs<Of::nearest>(i, near, space, p, [&](const Pair<V>& pair, const V*, int) {
          for (int k = 0; k < 3; ++k) sum[k] += pair.d_bar[k];
        });
        const S total[3] = {add_lanes(sum[0]), add_lanes(sum[1]), add_lanes(sum[2])};
        for (int k = 0; k < n; ++k) f[i * n + k] -= total[k];
      }
    });
    if (kPlain) work.rows.end();
  }

  Scratch& ready(const S* x, const S* p, TermScratch* scratch) const {
    Scratch& work = static_cast<Scratch&>(*scratch);
    for (std::size_t k = 0; k < work.box.size(); ++k) work.box[k] = double(primal(p[sites_.box + int(k)]));
    pad(x, work.x);
    const auto update = [&] {
      work.list.update(reinterpret_cast<const Real*>(x), int(sizeof(S) / sizeof(Real)), work.box, reach(p),
                       sites_.skin);
    };
    if constexpr (kPlain) {
      if (work.rows.begin(work.x, work.box, reach(p))) return work;
      update();
      work.rows.restart(work.x, margin(), work.list.capacity());
    } else {
      update();
    }
    return work;
  }
  double margin() const { return 0.25 * sites_.skin; }
  void pad(const S* from, std::vector<S>& to) const {
    const int n = sites_.dimensions;
    parallel_for(sites_.atoms, 64 * kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (int i = int(begin); i < int(end); ++i)
        for (int k = 0; k < n; ++k) to[std::size_t(4 * i + k)] = from[i * n + k];
    });
  }
  double reach(const S* p) const {
    return law_.reach([&](int k) {
      const PairNumber& number = sites_.numbers[std::size_t(k)];
      double most = double(primal(p[number.offset]));
      for (int t = 1; number.per_species && t < species_pairs(sites_.species_count); ++t)
        most = std::max(most, double(primal(p[number.offset + t])));
      return most;
    });
  }

  static COSTATE_INLINE S add_lanes(const V& v) {
    if constexpr (kWidth == 1)
      return v;
    else
      return sum_lanes(v);
  }

  // How far the law reaches and the edges of the box, in every lane; 0 along axes that have none.
  struct Frame {
    V far2, near2, edge[3], inverse[3];  // near2: of short rows
    S beyond;                            // a displacement out of reach
  };
  Frame frame(const S* p) const {
    const double far = reach(p);
    const double near = far + margin();
    Frame f{V(Real(far * far)), V(Real(near * near)), {}, {}, S(Real(10 * (1 + far)))};
    for (int k = 0; k < 3; ++k) {
      const bool periodic = k < sites_.dimensions && sites_.box >= 0;
      f.edge[k] = periodic ? V(p[sites_.box + k]) : V(0);
      f.inverse[k] = periodic ? V(1) / f.edge[k] : V(0);
    }
    return f;
  }

  // The atoms of the list that are within reach of atom i. Rows are padded to whole packs; what is packed is
  // padded with atoms that are out of reach.
  template <Of kOf, bool kIndex = true>
  COSTATE_INLINE void pack(int i, const Frame& f, Scratch& work, Packed& to) const {
    using Pass = typename ShortRows<Real>::Pass;
    const Pass pass = kPlain ? work.rows.pass() : Pass::list;
    const int size = pass == Pass::rows ? work.rows.size(i) : work.list.size(i);
    const int* row = pass == Pass::rows ? work.rows.row(i) : work.list.row(i);
    int cut = 0;  // how many are near
    V here[3];
    for (int k = 0; k < 3; ++k) here[k] = V(work.x[std::size_t(4 * i + k)]);
    int count = 0;
    for (int first = 0; first < size; first += kWidth) {
      V d[3], square(0);
      fetch_points(work.x.data(), row + first, d);
      for (int k = 0; k < 3; ++k) {
        d[k] = here[k] - d[k];
        const V nearest = d[k] - f.edge[k] * nearest_whole(d[k] * f.inverse[k]);
        square += nearest * nearest;
        if constexpr (kOf == Of::nearest) d[k] = nearest;
      }
      auto chosen = square < f.far2;
      if constexpr (kWidth > 1) {
        // Always, and not where the row ends: a branch that is told wrongly once per atom costs more.
        const auto there = lane_numbers<V>() < V(Real(size - first));
        chosen = chosen & there;
        if (pass == Pass::cut)
          cut += keep_lanes((square < f.near2) & there, row + first, work.rows.row(i) + cut);
      }
      if (count > kMost - kWidth) too_many();
      count +=
          keep<V, kIndex>(chosen, d, row + first, to.x + count, to.y + count, to.z + count, to.j + count);
    }
    if (kPlain && pass == Pass::cut) work.rows.close(i, cut);
    for (int l = 0; l < kWidth; ++l) {
      to.x[count + l] = to.y[count + l] = to.z[count + l] = kOf == Of::nearest ? f.beyond : S(0);
      to.j[count + l] = i;
    }
    if (kIndex && has_tables_) {
      const int* species = sites_.species.data();
      const int* pairs = pair_of_species_.data() + std::ptrdiff_t(species[i]) * sites_.species_count;
      for (int l = 0; l < count + kWidth; ++l) to.pair[l] = pairs[species[to.j[l]]];
    }
    to.count = count;
  }
  [[noreturn]] static void too_many() {
    throw Error(
        {"an atom has more than 1000 neighbours within reach", "neighbour list", "use a shorter cutoff"},
        Error::Kind::numerics);
  }

  // Displacement and images of the neighbours [first, first + kWidth); lanes past the last are out of reach.
  template <Of kOf>
  COSTATE_INLINE void displacement(const Packed& near, int first, const Frame& f, Point<V>& d,
                                   V* images) const {
    const S* from[3] = {near.x + first, near.y + first, near.z + first};
    for (int k = 0; k < 3; ++k) {
      if constexpr (kWidth == 1)
        d[k] = from[k][0];
      else
        d[k] = V::load(from[k]);
      images[k] = V(0);
      if constexpr (kOf == Of::nearest) continue;
      images[k] = nearest_whole(d[k] * f.inverse[k]);
      d[k] = d[k] - images[k] * f.edge[k];
    }
    if constexpr (kWidth > 1 && kOf == Of::image) {
      if (first + kWidth > near.count) {
        const auto there = lane_numbers<V>() < V(Real(near.count - first));
        for (int k = 0; k < 3; ++k) {
          d[k] = select(there, d[k], V(f.beyond));
          images[k] = select(there, images[k], V(0));
        }
      }
    }
  }
  // Number k of all pairs of atom i; of those that change from pair to pair nothing.
  COSTATE_INLINE V number_of(int k, int i, const S* p) const {
    const PairNumber& number = sites_.numbers[std::size_t(k)];
    return V(p[number.offset + (number.per_atom && number.which == 0 ? i : 0)]);
  }
  COSTATE_INLINE V number_of_pairs(int k, const Packed& near, int first, const S* p) const {
    const PairNumber& number = sites_.numbers[std::size_t(k)];
    return gather<V>(p + number.offset, (number.per_species ? near.pair : near.j) + first);
  }

  // body(pair, images, first) for every pack of neighbours of atom i: with displacement and numbers,
  template <Of kOf, class Body>
  COSTATE_INLINE void each_pack(int i, const Packed& near, const Frame& f, const S* p,
                                const Body& body) const {
    V own[kRoom];
    for (int k = 0; k < kParameters; ++k) own[k] = number_of(k, i, p);
    for (int first = 0; first < near.count; first += kWidth) {
      Pair<V> pair;
      V images[3];
      displacement<kOf>(near, first, f, pair.d, images);
      for (int k = 0; k < kParameters; ++k)
        pair.p[k] = pairs_differ_[std::size_t(k)] ? number_of_pairs(k, near, first, p) : own[k];
      body(pair, images, first);
    }
  }
  // and its energy and gradient.
  template <Of kOf, class Body>
  COSTATE_INLINE void for_packs(int i, const Packed& near, const Frame& f, const S* p,
                                const Body& body) const {
    each_pack<kOf>(i, near, f, p, [&](Pair<V>& pair, const V* images, int first) {
      pair.u = law_(&pair.d, pair.p, &pair.d_bar, pair.p_bar);
      body(pair, images, first);
    });
  }

  // body(i, frame, sums of the chunk) for all atoms, chunk by chunk.
  template <class Body>
  void each_chunk(Scratch& work, const S* p, const Body& body) const {
    const Frame space = frame(p);
    parallel_for(sites_.atoms, kGrain, [&](std::int64_t begin, std::int64_t end) {
      S* sum = work.partial.data() + begin / kGrain * sums_;
      for (int k = 0; k < sums_; ++k) sum[k] = S(0);
      for (int i = int(begin); i < int(end); ++i) body(i, space, sum);
    });
    if (kPlain) work.rows.end();
  }
  S total(const Scratch& work, int k) const {
    S sum(0);
    for (std::size_t at = std::size_t(k); at < work.partial.size(); at += std::size_t(sums_))
      sum += work.partial[at];
    return sum;
  }
  // What atom i has collected, times a factor: to its place, its own numbers, and the sums of the chunk.
  void hand_on(int i, const Collected<S>& bar, const S& factor, S* x_bar, S* p_bar, S* sum) const {
    const int n = sites_.dimensions;
    // Packs are never indexed by a variable: they would leave their registers in the loop that fills them.
    const S x[3] = {add_lanes(bar.x[0]), add_lanes(bar.x[1]), add_lanes(bar.x[2])};
    const S box[3] = {add_lanes(bar.box[0]), add_lanes(bar.box[1]), add_lanes(bar.box[2])};
    for (int k = 0; k < n; ++k) x_bar[i * n + k] += factor * x[k];
    for (int k = 0; k < kParameters; ++k) {
      const PairNumber& number = sites_.numbers[std::size_t(k)];
      if (number.per_species) continue;
      const S part = factor * add_lanes(bar.numbers[std::size_t(k)]);
      if (!number.per_atom)
        sum[k] += part;
      else if (number.which == 0)
        p_bar[number.offset + i] += part;
    }
    for (int k = 0; k < n; ++k) sum[kBox + k] -= factor * box[k];
  }
  void add_to_tables(const Packed& near, int first, const V* p_bar, const S& factor, S* sum) const {
    const int live = std::min(kWidth, near.count - first);
    for (std::size_t k = 0; k < std::size_t(kParameters); ++k) {
      if (!sites_.numbers[k].per_species) continue;
      S* table = sum + tables_[k];
      for (int l = 0; l < live; ++l) {
        if constexpr (kWidth == 1)
          table[near.pair[first]] += factor * p_bar[k];
        else
          table[near.pair[first + l]] += factor * p_bar[k][l];
      }
    }
  }
  void shared_numbers(const Scratch& work, S* p_bar) const {
    const S half(Real(0.5));  // every pair is met twice
    for (int k = 0; k < kParameters; ++k) {
      const PairNumber& number = sites_.numbers[std::size_t(k)];
      if (number.per_species) {
        for (int t = 0; t < species_pairs(sites_.species_count); ++t)
          p_bar[number.offset + t] += half * total(work, tables_[std::size_t(k)] + t);
      } else if (!number.per_atom) {
        p_bar[number.offset] += half * total(work, k);
      }
    }
    for (int k = 0; sites_.box >= 0 && k < sites_.dimensions; ++k)
      p_bar[sites_.box + k] += half * total(work, kBox + k);
  }

  Sites sites_;
  Law law_;
  int sums_ = kSums;                 // per chunk: numbers, box, tables
  std::array<int, kRoom> tables_{};  // where the table of every number begins among them
  bool has_tables_ = false;
  std::array<bool, kRoom> pairs_differ_{};  // in this number
  std::vector<int> pair_of_species_;        // place in a table, of every two species
};

}  // namespace costate::md
