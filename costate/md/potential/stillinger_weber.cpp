// Stillinger and Weber's potential of silicon [1]: pairs, and triples that prefer one angle.
//
//   U = sum_(i<j) A epsilon (B (sigma/r)^4 - 1) h(1, r_ij)
//     + sum_i sum_(j<k) lambda epsilon (cos theta_jik - cosine)^2 h(gamma, r_ij) h(gamma, r_ik)
//   h(g, r) = e^(g sigma / (r - a sigma))  for r < a sigma, and 0 beyond: smooth, with all derivatives
//
// The defaults are those of [1] in units of epsilon and sigma: the well of a pair is at r = 2^(1/6) sigma and
// epsilon deep, and the diamond lattice has -2 epsilon per atom.
//
// Of a triple's energy all is the atom's in the middle, i. A pair's is shared out evenly.
//
// Of displacements u = x_j - x_i, v = x_k - x_i with c = u.v / (|u| |v|): dc/du = (v/|v| - c u/|u|) / |u|.
// [1] Stillinger, Weber: Computer simulation of local order in condensed phases of silicon, Phys. Rev. B 31
//     (1985), equations 2.3 to 2.7.
// Tests: tests/md/many_body_test.cpp (diamond, and the sum written out).
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/surroundings.h"

namespace costate::md {
namespace {

struct StillingerWeber {
  // Numbers, in the order of the kind's parameters.
  enum { epsilon, sigma, A, B, a, lambda, gamma, cosine, kNumbers };

  explicit StillingerWeber(const Sites& where) : sites(where) {}

  template <class T>
  struct OwnBond : Bond<T> {
    T h, h_bar;  // h(gamma, r)
  };
  template <class T>
  struct Scratch {
    explicit Scratch(const StillingerWeber&) {}
    T q[kNumbers], q_bar[kNumbers];
  };
  template <class T>
  using Room = Surroundings<StillingerWeber, T>;

  template <class T>
  T operator()(const T* x, const T* p, T* x_bar, T* p_bar, Room<T>& room, Shares<T> shares = {}) const {
    return room.sum(x, p, x_bar, p_bar, shares);
  }

  template <class T>
  T reach(const T* p) const {
    return p[sites.numbers[a].offset] * p[sites.numbers[sigma].offset];
  }
  template <class T>
  void begin(const T* p, Scratch<T>& numbers) const {
    for (std::size_t k = 0; k < kNumbers; ++k)
      numbers.q[k] = p[sites.numbers[k].offset], numbers.q_bar[k] = T(0);
  }
  template <class T>
  void enter(OwnBond<T>& b, const T*, const Scratch<T>& numbers) const {
    using costate::exp;
    const T* q = numbers.q;
    const T gap = select(b.near, b.r - q[a] * q[sigma], T(-1));
    b.h = select(b.near, exp(q[gamma] * q[sigma] / gap), T(0));
    b.h_bar = T(0);
  }
  // A pair belongs to the atom with the smaller number, and half of its energy to the other one.
  template <class T>
  T atom(int i, std::vector<OwnBond<T>>& bonds, const T*, T*, Scratch<T>& numbers,
         const Shares<T>& shares) const {
    const T *q = numbers.q, half = T(value_t<T>(0.5));
    T* q_bar = numbers.q_bar;
    T u(0), own(0);
    for (std::size_t b = 0; b < bonds.size(); ++b) {
      OwnBond<T>& bond = bonds[b];
      if (bond.j > i) {
        const T weight = half * (shares.weight_of(i) + shares.weight_of(bond.j));
        const T energy = pair(bond, q, q_bar, weight);
        bond.other_energy = half * energy;
        own += bond.other_energy;
        u += energy;
      }
      for (std::size_t c = b + 1; c < bonds.size(); ++c) {
        const T energy = triple(bond, bonds[c], q, q_bar, shares.weight_of(i));
        u += energy;
        own += energy;
      }
    }
    shares.add(i, own);
    for (OwnBond<T>& bond : bonds) distances(bond, q, q_bar);
    return u;
  }
  template <class T>
  void end(const Scratch<T>& numbers, T* p_bar) const {
    for (std::size_t k = 0; k < kNumbers; ++k) p_bar[sites.numbers[k].offset] += numbers.q_bar[k];
  }
  static int other_slot(int) { return -1; }

  Sites sites;

 private:
  // Both return the energy, and add weight times its slopes.
  template <class T>
  static T pair(OwnBond<T>& b, const T* q, T* q_bar, const T& weight) {
    using costate::exp;
    const T gap = select(b.near, b.r - q[a] * q[sigma], T(-1)), t = q[sigma] / gap;
    const T h = select(b.near, exp(t), T(0)), w = q[sigma] / b.r, w4 = w * w * w * w;
    const T shape = q[B] * w4 - 1, front = q[A] * q[epsilon];
    const T u = front * shape * h, h_bar = weight * front * shape,
            w_bar = 4 * weight * front * h * q[B] * w4 / w;
    const T t_bar = h_bar * h, gap_bar = -(t_bar * t / gap);
    q_bar[A] += weight * q[epsilon] * shape * h;
    q_bar[epsilon] += weight * q[A] * shape * h;
    q_bar[B] += weight * front * w4 * h;
    q_bar[sigma] += w_bar / b.r + t_bar / gap - gap_bar * q[a];
    q_bar[a] -= gap_bar * q[sigma];
    b.r_bar += gap_bar - w_bar * w / b.r;
    return u;
  }
  template <class T>
  static T triple(OwnBond<T>& b, OwnBond<T>& c, const T* q, T* q_bar, const T& weight) {
    if (!any(b.near & c.near)) return T(0);
    const T lengths = b.r * c.r, angle = dot(b.d, c.d) / lengths, off = angle - q[cosine];
    const T hh = b.h * c.h, whole = q[lambda] * q[epsilon], u = whole * off * off * hh,
            front = weight * whole;
    const T angle_bar = 2 * front * off * hh;
    q_bar[lambda] += weight * q[epsilon] * off * off * hh;
    q_bar[epsilon] += weight * q[lambda] * off * off * hh;
    q_bar[cosine] -= angle_bar;
    b.h_bar += front * off * off * c.h;
    c.h_bar += front * off * off * b.h;
    const T by = angle_bar / lengths;
    b.d_bar += by * c.d;
    c.d_bar += by * b.d;
    b.r_bar -= angle_bar * angle / b.r;
    c.r_bar -= angle_bar * angle / c.r;
    return u;
  }
  // h = e^(gamma sigma / (r - a sigma))
  template <class T>
  static void distances(OwnBond<T>& b, const T* q, T* q_bar) {
    const T gap = select(b.near, b.r - q[a] * q[sigma], T(-1));
    const T exponent_bar = b.h_bar * b.h, gap_bar = -(exponent_bar * q[gamma] * q[sigma] / (gap * gap));
    q_bar[gamma] += exponent_bar * q[sigma] / gap;
    q_bar[sigma] += exponent_bar * q[gamma] / gap - gap_bar * q[a];
    q_bar[a] -= gap_bar * q[sigma];
    b.r_bar += gap_bar;
  }
};

}  // namespace

PotentialKind stillinger_weber_kind() {
  using Per = ParameterKind::Per;
  PotentialKind kind{.name = "stillinger_weber",
                     .formula = "pairs and triples of silicon",
                     .atoms = 3,
                     .parameters = {{"epsilon", {1}, "", Per::model},
                                    {"sigma", {1}, "", Per::model},
                                    {"A", {7.049556277}, "", Per::model},
                                    {"B", {0.6022245584}, "", Per::model},
                                    {"a", {1.8}, "", Per::model},
                                    {"lambda", {21}, "", Per::model},
                                    {"gamma", {1.2}, "", Per::model},
                                    {"cosine", {-1.0 / 3}, "", Per::model}},
                     .options = {{"skin", 0.3}},
                     .dimensions = 3,
                     .whole = true,
                     .reach = {"a", "sigma"}};
  set_makers<MakeWholeTerm<StillingerWeber>>(kind);
  return kind;
}

}  // namespace costate::md
