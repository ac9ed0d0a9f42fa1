// A small neural potential [1]. What surrounds an atom becomes a list G of numbers that do not depend on how
// the atoms are ordered or turned; a network makes an energy of it; the energies of all atoms are added up.
//
//   U = sum_i E(G_i)
//   radial    G_ik = sum_j s_j e^(-eta (r_ij - centre_k)^2) f(r_ij)
//   angular   G_im = 2^(1 - z) sum_(j<l) s_j s_l (1 + y cos theta_jil)^z h_ij h_il
//             h = e^(-angular_eta r^2) f(r),  y = 1, -1, 1, -1, ...,  z = 1, 1, 2, 2, 4, 4, ...
//   species   s_i: a number of every atom, the last of G
//   f(r) = (1 - (r / cutoff)^2)^3 within the cutoff: two derivatives are continuous there
//   E(G):  h_0 = G,  h_l = tanh(W_l h_(l-1) + b_l),  E = W_L h_(L-1) + b_L
//
// `weights` lie layer by layer, W_l row by row, then b_l. Its size follows from the options `radial`,
// `angular`, `hidden` (width of a hidden layer) and `layers` (hidden layers). All numbers are differentiable,
// to second order, so the weights can be fitted through a simulation. The default weights are random.
//
// Transpose: the lines backwards (whole_term.h takes the rest from there).
// [1] Behler, Parrinello: Generalized neural-network representation of high-dimensional potential-energy
//     surfaces, Phys. Rev. Lett. 98 (2007); species as in Gastegger et al., J. Chem. Phys. 148 (2018).
// Tests: tests/md/neural_test.cpp (the sums written out).
#include <cmath>

#include "costate/core/error.h"
#include "costate/core/philox.h"
#include "costate/core/text.h"
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/surroundings.h"

namespace costate::md {
namespace {

// The sizes of all layers, from G to E.
std::vector<int> sizes_of(int radial, int angular, int hidden, int layers) {
  std::vector<int> sizes(std::size_t(layers), hidden);
  sizes.insert(sizes.begin(), radial + angular + 1);
  sizes.push_back(1);
  return sizes;
}

struct Neural {
  enum Number { weights, centre, eta, angular_eta, species };
  enum Option { kCutoff, kRadial, kAngular, kHidden, kLayers };

  explicit Neural(const Sites& where)
      : sites(where),
        cutoff(where.options[kCutoff]),
        radial(int(where.options[kRadial])),
        angular(int(where.options[kAngular])),
        sizes(sizes_of(radial, angular, int(where.options[kHidden]), int(where.options[kLayers]))) {}

  template <class T>
  struct OwnBond : Bond<T> {
    T f, f_bar, h, h_bar, s;  // s: species of the other atom; other_bar is its cotangent
  };
  template <class T>
  struct Scratch {
    explicit Scratch(const Neural& law) {
      for (const int size : law.sizes) {
        h.emplace_back(std::size_t(size));
        h_bar.emplace_back(std::size_t(size));
      }
    }
    std::vector<std::vector<T>> h, h_bar;  // of every layer; the first is G
    T species_bar;                         // of a number that all atoms share
  };
  template <class T>
  using Room = Surroundings<Neural, T>;

  template <class T>
  T operator()(const T* x, const T* p, T* x_bar, T* p_bar, Room<T>& room, Shares<T> shares = {}) const {
    return room.sum(x, p, x_bar, p_bar, shares);
  }

  template <class T>
  T reach(const T*) const {
    return T(value_t<T>(cutoff));
  }
  template <class T>
  void begin(const T*, Scratch<T>& layers) const {
    layers.species_bar = T(0);
  }
  template <class T>
  void enter(OwnBond<T>& b, const T* p, const Scratch<T>&) const {
    using costate::exp;
    const T left = 1 - b.r * b.r * over_square<T>();
    b.f = select(b.near, left * left * left, T(0));
    b.h = exp(-p[slot(angular_eta)] * b.r * b.r) * b.f;
    b.s = p[species_slot(b.j)];
    b.f_bar = b.h_bar = T(0);
  }
  template <class T>
  T atom(int i, std::vector<OwnBond<T>>& bonds, const T* p, T* p_bar, Scratch<T>& layers,
         const Shares<T>& shares) const {
    using costate::exp;
    const T c2 = over_square<T>(), sharp = p[slot(angular_eta)];
    std::vector<T>&G = layers.h[0], &G_bar = layers.h_bar[0];
    for (T& g : G) g = T(0);
    G.back() = p[species_slot(i)];
    add_radial(bonds, p, G.data());
    add_angular(bonds, G.data() + radial);
    const T energy = network(p, layers);
    shares.add(i, energy);
    network_vjp(p, p_bar, shares.weight_of(i), layers);
    p_bar[species_slot(i)] += G_bar.back();
    radial_vjp(bonds, p, G_bar.data(), p_bar);
    angular_vjp(bonds, G_bar.data() + radial);
    for (OwnBond<T>& b : bonds) {
      // h = e^(-sharp r^2) f,  f = (1 - r^2 c2)^3
      const T e = exp(-sharp * b.r * b.r), left = 1 - b.r * b.r * c2, h_share = b.h_bar * b.h;
      p_bar[slot(angular_eta)] -= h_share * b.r * b.r;
      b.f_bar += b.h_bar * e;
      b.r_bar -= 2 * sharp * b.r * h_share + select(b.near, 6 * b.f_bar * left * left * b.r * c2, T(0));
      if (!own_species()) layers.species_bar += b.other_bar;
    }
    return energy;
  }
  template <class T>
  void end(const Scratch<T>& layers, T* p_bar) const {
    if (!own_species()) p_bar[slot(species)] += layers.species_bar;
  }
  int other_slot(int atom) const { return own_species() ? slot(species) + atom : -1; }

  Sites sites;
  double cutoff;
  int radial, angular;
  std::vector<int> sizes;

 private:
  bool own_species() const { return sites.numbers[std::size_t(species)].per_atom; }
  template <class T>
  T over_square() const {
    return T(value_t<T>(1 / (cutoff * cutoff)));
  }
  int slot(Number n) const { return sites.numbers[std::size_t(n)].offset; }
  int species_slot(int atom) const { return slot(species) + (own_species() ? atom : 0); }

  template <class T>
  void add_radial(const std::vector<OwnBond<T>>& bonds, const T* p, T* G) const {
    using costate::exp;
    for (const OwnBond<T>& b : bonds)
      for (int k = 0; k < radial; ++k) {
        const T t = b.r - p[slot(centre) + k];
        G[k] += b.s * exp(-p[slot(eta)] * t * t) * b.f;
      }
  }
  template <class T>
  void radial_vjp(std::vector<OwnBond<T>>& bonds, const T* p, const T* G_bar, T* p_bar) const {
    using costate::exp;
    for (OwnBond<T>& b : bonds)
      for (int k = 0; k < radial; ++k) {
        const T t = b.r - p[slot(centre) + k], e = G_bar[k] * exp(-p[slot(eta)] * t * t);
        b.other_bar += e * b.f;
        b.f_bar += e * b.s;
        const T exponent_bar = -(e * b.s * b.f), t_bar = 2 * p[slot(eta)] * t * exponent_bar;
        p_bar[slot(eta)] += t * t * exponent_bar;
        p_bar[slot(centre) + k] -= t_bar;
        b.r_bar += t_bar;
      }
  }

  // f(m, y, z, 2^(1 - z)) for every angular number.
  template <class F>
  void each_angle(const F& f) const {
    for (int m = 0; m < angular; ++m) {
      const int z = 1 << (m / 2);
      f(m, m % 2 == 0 ? 1 : -1, z, std::ldexp(1.0, 1 - z));
    }
  }
  template <class T>
  static T power(const T& base, int exponent) {
    T result(1);
    for (int k = 0; k < exponent; ++k) result = result * base;
    return result;
  }
  template <class T, class F>
  static void each_pair(std::vector<T>& bonds, const F& f) {
    for (std::size_t b = 0; b < bonds.size(); ++b)
      for (std::size_t c = b + 1; c < bonds.size(); ++c)
        if (any(bonds[b].near & bonds[c].near)) f(bonds[b], bonds[c]);
  }

  template <class T>
  void add_angular(std::vector<OwnBond<T>>& bonds, T* G) const {
    using V = value_t<T>;
    if (angular == 0) return;
    each_pair(bonds, [&](const OwnBond<T>& b, const OwnBond<T>& c) {
      const T cosine = dot(b.d, c.d) / (b.r * c.r), weight = b.s * c.s * b.h * c.h;
      each_angle([&](int m, int y, int z, double front) {
        G[m] += V(front) * power(T(1 + V(y) * cosine), z) * weight;
      });
    });
  }
  template <class T>
  void angular_vjp(std::vector<OwnBond<T>>& bonds, const T* G_bar) const {
    using V = value_t<T>;
    if (angular == 0) return;
    each_pair(bonds, [&](OwnBond<T>& b, OwnBond<T>& c) {
      const T lengths = b.r * c.r, cosine = dot(b.d, c.d) / lengths, weight = b.s * c.s * b.h * c.h;
      T weight_bar(0), cosine_bar(0);
      each_angle([&](int m, int y, int z, double front) {
        const T base = 1 + V(y) * cosine, below = power(base, z - 1), bar = V(front) * G_bar[m];
        weight_bar += bar * below * base;
        cosine_bar += V(y * z) * bar * below * weight;
      });
      b.other_bar += weight_bar * c.s * b.h * c.h;
      c.other_bar += weight_bar * b.s * b.h * c.h;
      b.h_bar += weight_bar * b.s * c.s * c.h;
      c.h_bar += weight_bar * b.s * c.s * b.h;
      const T by = cosine_bar / lengths;
      b.d_bar += by * c.d;
      c.d_bar += by * b.d;
      b.r_bar -= cosine_bar * cosine / b.r;
      c.r_bar -= cosine_bar * cosine / c.r;
    });
  }

  // E, with all layers kept in layers.h.
  template <class T>
  T network(const T* p, Scratch<T>& layers) const {
    using costate::tanh;
    const T* W = p + slot(weights);
    for (std::size_t l = 1; l < sizes.size(); ++l) {
      const int n = sizes[l - 1], m = sizes[l];
      const T* bias = W + n * m;
      for (int o = 0; o < m; ++o) {
        T sum = bias[o];
        for (int k = 0; k < n; ++k) sum += W[o * n + k] * layers.h[l - 1][std::size_t(k)];
        layers.h[l][std::size_t(o)] = l + 1 < sizes.size() ? tanh(sum) : sum;
      }
      W = bias + m;
    }
    return layers.h.back()[0];
  }
  // Of E_bar: adds to the cotangent of the weights, and leaves that of G in layers.h_bar[0].
  template <class T>
  void network_vjp(const T* p, T* p_bar, const T& E_bar, Scratch<T>& layers) const {
    int end = slot(weights);
    for (std::size_t l = 1; l < sizes.size(); ++l) end += (sizes[l - 1] + 1) * sizes[l];
    layers.h_bar.back()[0] = E_bar;
    for (std::size_t l = sizes.size() - 1; l > 0; --l) {
      const int n = sizes[l - 1], m = sizes[l], W = end - (n + 1) * m;
      for (T& bar : layers.h_bar[l - 1]) bar = T(0);
      for (int o = 0; o < m; ++o) {
        const T& h = layers.h[l][std::size_t(o)];
        const T& bar = layers.h_bar[l][std::size_t(o)];
        const T z_bar = l + 1 < sizes.size() ? T((1 - h * h) * bar) : bar;
        p_bar[W + n * m + o] += z_bar;
        for (int k = 0; k < n; ++k) {
          p_bar[W + o * n + k] += z_bar * layers.h[l - 1][std::size_t(k)];
          layers.h_bar[l - 1][std::size_t(k)] += z_bar * p[W + o * n + k];
        }
      }
      end = W;
    }
  }
};

// How many weights and centres there are is said by the options.
PotentialKind sized(const PotentialKind& kind, const Potential& potential) {
  PotentialKind own = kind;
  const auto option = [&](std::size_t which, double low, double high) {
    const OptionKind& of = kind.options[which];
    const auto given = potential.options.find(of.name);
    const double value = given == potential.options.end() ? of.fallback : given->second;
    if (!(value >= low && value <= high && value == std::floor(value)))
      throw Error({"neural: " + of.name + " is " + number(value), "md::Model",
                   "give a whole number from " + number(low) + " to " + number(high)});
    return int(value);
  };
  const int radial = option(Neural::kRadial, 1, 64), angular = option(Neural::kAngular, 0, 8);
  const std::vector<int> sizes =
      sizes_of(radial, angular, option(Neural::kHidden, 1, 256), option(Neural::kLayers, 1, 4));
  std::vector<double>&weights = own.parameters[Neural::weights].defaults,
  &centre = own.parameters[Neural::centre].defaults;
  weights.clear();
  for (std::size_t l = 1; l < sizes.size(); ++l) {
    for (int i = 0; i < sizes[l - 1] * sizes[l]; ++i)
      weights.push_back(normal<double>(1, std::uint32_t(l), std::uint64_t(i)) / std::sqrt(sizes[l - 1]));
    weights.insert(weights.end(), std::size_t(sizes[l]), 0.0);
  }
  const auto cutoff = potential.options.find("cutoff");
  const double reach = cutoff == potential.options.end() ? 1 : cutoff->second;
  if (!(reach > 0) || !std::isfinite(reach))
    throw Error({"neural: the cutoff is " + number(reach), "md::Model", "give a positive length"});
  centre.clear();
  for (int k = 0; k < radial; ++k) centre.push_back(reach * (k + 0.5) / radial);
  own.parameters[Neural::eta].defaults = {radial * radial / (reach * reach)};
  own.parameters[Neural::angular_eta].defaults = {1 / (reach * reach)};
  return own;
}

}  // namespace

PotentialKind neural_kind() {
  using Per = ParameterKind::Per;
  PotentialKind kind{.name = "neural",
                     .formula = "a network of what surrounds every atom",
                     .atoms = 3,
                     .parameters = {{"weights", {0}, "", Per::model},
                                    {"centre", {0}, "length", Per::model},
                                    {"eta", {1}, "1/length^2", Per::model},
                                    {"angular_eta", {1}, "1/length^2", Per::model},
                                    {"species", {1}, "", Per::atom}},
                     .options = {{"cutoff", std::nan("")},
                                 {"radial", 8},
                                 {"angular", 4},
                                 {"hidden", 16},
                                 {"layers", 2},
                                 {"skin", 0.3}},
                     .dimensions = 3,
                     .whole = true,
                     .sized = sized};
  set_makers<MakeWholeTerm<Neural>>(kind);
  return kind;
}

}  // namespace costate::md
