// Stillinger and Weber's potential of silicon [1]: pairs, and triples that prefer one angle.
//
//   U = sum_(i<j) A epsilon (B (sigma/r)^4 - 1) h(1, r_ij)
//     + sum_i sum_(j<k) lambda epsilon (cos theta_jik - cosine)^2 h(gamma, r_ij) h(gamma, r_ik)
//   h(g, r) = e^(g sigma / (r - a sigma))  for r < a sigma, and 0 beyond: smooth, with all derivatives
//
// The defaults are those of [1] in units of epsilon and sigma: the well of a pair is at r = 2^(1/6) sigma and
// epsilon deep, and the diamond lattice has -2 epsilon per atom.
//
// Of displacements u = x_j - x_i, v = x_k - x_i with c = u.v / (|u| |v|): dc/du = (v/|v| - c u/|u|) / |u|.
// [1] Stillinger, Weber: Computer simulation of local order in condensed phases of silicon, Phys. Rev. B 31
//     (1985), equations 2.3 to 2.7.
// Tests: tests/md/many_body_test.cpp (diamond, and the sum written out).
#include "costate/md/neighbour/verlet_list.h"
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/local_term.h"
#include "costate/md/potential/radial.h"
#include "costate/md/potential/whole_term.h"

namespace costate::md {
namespace {

struct StillingerWeber {
  // Numbers, in the order of the kind's parameters.
  enum { epsilon, sigma, A, B, a, lambda, gamma, cosine, kNumbers };

  explicit StillingerWeber(const Sites& where) : sites(where) {}

  // One bond of an atom: to j, with its displacement and what that receives.
  template <class T>
  struct Bond {
    int j;
    Point<T> d, images, d_bar;
    T r, h, h_bar, r_bar;  // h(gamma, r)
    mask_t<T> near;
  };
  template <class T>
  struct Room {
    explicit Room(const StillingerWeber& law)
        : list(law.sites.atoms, law.sites.dimensions, {}), box(law.sites.box < 0 ? 0 : 3) {
      bonds.reserve(std::size_t(law.sites.atoms));
    }
    VerletList list;  // of a large world
    std::vector<double> box;
    std::vector<Bond<T>> bonds;
  };

  template <class T>
  T operator()(const T* x, const T* p, T* x_bar, T* p_bar, Room<T>& room) const {
    T q[kNumbers], q_bar[kNumbers], u(0);
    for (std::size_t k = 0; k < kNumbers; ++k) q[k] = p[sites.numbers[k].offset], q_bar[k] = T(0);
    if (sites.every_pair) update(x, p, q, room);
    for (int i = 0; i < sites.atoms; ++i) {
      find_bonds(i, x, p, q, room);
      for (std::size_t b = 0; b < room.bonds.size(); ++b) {
        if (room.bonds[b].j > i) u += pair(room.bonds[b], q, q_bar);
        for (std::size_t c = b + 1; c < room.bonds.size(); ++c)
          u += triple(room.bonds[b], room.bonds[c], q, q_bar);
      }
      for (Bond<T>& bond : room.bonds) scatter(i, bond, q, q_bar, x_bar, p_bar);
    }
    for (std::size_t k = 0; k < kNumbers; ++k) p_bar[sites.numbers[k].offset] += q_bar[k];
    return u;
  }

 private:
  template <class T>
  void update(const T* x, const T* p, const T* q, Room<T>& room) const {
    using V = value_t<T>;
    if constexpr (lanes_of<T> == 1) {
      for (std::size_t k = 0; k < room.box.size(); ++k) room.box[k] = double(number(p[sites.box + int(k)]));
      room.list.update(reinterpret_cast<const V*>(x), int(sizeof(T) / sizeof(V)), room.box,
                       double(number(q[a])) * double(number(q[sigma])), sites.skin);
    }
  }
  template <class T>
  static value_t<T> number(const T& t) {
    if constexpr (is_dual<T>)
      return number(t.v);
    else
      return lane(t, 0);
  }

  template <class T>
  void find_bonds(int i, const T* x, const T* p, const T* q, Room<T>& room) const {
    room.bonds.clear();
    if (sites.every_pair) {
      const int* row = room.list.row(i);
      for (int n = 0; n < room.list.size(i); ++n) add_bond(i, row[n], x, p, q, room);
    } else {
      for (int j = 0; j < sites.atoms; ++j)
        if (j != i) add_bond(i, j, x, p, q, room);
    }
  }
  template <class T>
  void add_bond(int i, int j, const T* x, const T* p, const T* q, Room<T>& room) const {
    using costate::exp, costate::round, costate::sqrt;
    Bond<T> b;
    b.j = j;
    for (int k = 0; k < 3; ++k) {
      b.d[k] = x[3 * j + k] - x[3 * i + k];
      b.images[k] = b.d_bar[k] = T(0);
      if (sites.box >= 0) {
        b.images[k] = round(b.d[k] / p[sites.box + k]);
        b.d[k] = b.d[k] - b.images[k] * p[sites.box + k];
      }
    }
    const T s = square_of(b.d), edge = q[a] * q[sigma];
    b.near = s < edge * edge;
    if (!any(b.near)) return;
    b.r = sqrt(s);
    const T gap = select(b.near, b.r - edge, T(-1));
    b.h = select(b.near, exp(q[gamma] * q[sigma] / gap), T(0));
    b.h_bar = b.r_bar = T(0);
    room.bonds.push_back(b);
  }

  template <class T>
  static T pair(Bond<T>& b, const T* q, T* q_bar) {
    using costate::exp;
    const T gap = select(b.near, b.r - q[a] * q[sigma], T(-1)), t = q[sigma] / gap;
    const T h = select(b.near, exp(t), T(0)), w = q[sigma] / b.r, w4 = w * w * w * w;
    const T shape = q[B] * w4 - 1, front = q[A] * q[epsilon];
    const T u = front * shape * h, h_bar = front * shape, w_bar = 4 * front * h * q[B] * w4 / w;
    const T t_bar = h_bar * h, gap_bar = -(t_bar * t / gap);
    q_bar[A] += q[epsilon] * shape * h;
    q_bar[epsilon] += q[A] * shape * h;
    q_bar[B] += front * w4 * h;
    q_bar[sigma] += w_bar / b.r + t_bar / gap - gap_bar * q[a];
    q_bar[a] -= gap_bar * q[sigma];
    b.r_bar += gap_bar - w_bar * w / b.r;
    return u;
  }
  template <class T>
  static T triple(Bond<T>& b, Bond<T>& c, const T* q, T* q_bar) {
    if (!any(b.near & c.near)) return T(0);
    const T lengths = b.r * c.r, angle = dot(b.d, c.d) / lengths, off = angle - q[cosine];
    const T hh = b.h * c.h, front = q[lambda] * q[epsilon], u = front * off * off * hh;
    const T angle_bar = 2 * front * off * hh;
    q_bar[lambda] += q[epsilon] * off * off * hh;
    q_bar[epsilon] += q[lambda] * off * off * hh;
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
  // h = e^(gamma sigma / (r - a sigma)), r = |d|, d = x_j - x_i - images box
  template <class T>
  void scatter(int i, Bond<T>& b, const T* q, T* q_bar, T* x_bar, T* p_bar) const {
    const T gap = select(b.near, b.r - q[a] * q[sigma], T(-1));
    const T exponent_bar = b.h_bar * b.h, gap_bar = -(exponent_bar * q[gamma] * q[sigma] / (gap * gap));
    q_bar[gamma] += exponent_bar * q[sigma] / gap;
    q_bar[sigma] += exponent_bar * q[gamma] / gap - gap_bar * q[a];
    q_bar[a] -= gap_bar * q[sigma];
    const T along = select(b.near, (b.r_bar + gap_bar) / b.r, T(0));
    for (int k = 0; k < 3; ++k) {
      const T bar = b.d_bar[k] + along * b.d[k];
      x_bar[3 * b.j + k] += bar;
      x_bar[3 * i + k] -= bar;
      if (sites.box >= 0) p_bar[sites.box + k] -= b.images[k] * bar;
    }
  }

  Sites sites;
};

struct MakeStillingerWeber {
  template <class S>
  static std::unique_ptr<Term<S>> make(const Sites& sites) {
    return std::make_unique<WholeTerm<StillingerWeber, S>>(sites);
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
  set_makers<MakeStillingerWeber>(kind);
  return kind;
}

}  // namespace costate::md
