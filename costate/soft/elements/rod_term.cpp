#include "costate/soft/elements/rod_term.h"

#include <cmath>
#include <limits>

#include "costate/ad/dual.h"
#include "costate/ad/dual_functions.h"
#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/soft/elements/rod_shape.h"

namespace costate::soft {
namespace {

constexpr std::int64_t kGrain = 32;

// K: RodSegment or RodJoint.
template <class K>
class RodTerm final : public Term, RodShape<K> {
  using Shape = RodShape<K>;
  using Shape::add, Shape::along, Shape::curved, Shape::gradients, Shape::pulled, Shape::pulls, Shape::spread,
      Shape::vectors;
  using typename Shape::Gradients, typename Shape::Nodes, typename Shape::Pulls, typename Shape::Vectors;

 public:
  RodTerm(std::vector<int> vertices, std::vector<int> segments, const RodLaw& law, const CellPlaces& places)
      : segments_(std::move(segments)), law_(law), at_(places) {
    groups_ = {K::kNodes, std::move(vertices)};
  }

  std::int64_t kept() const override { return 2 * kStrains * groups_.count(); }
  void keep(const double* p, double* kept) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Vectors X = vectors(e, p + at_.rest);
      // Controls may change the numbers, so only what is of the rest shape alone is kept.
      double s[kStrains], one[kStrains], share[kStrains];
      K::strains(X.q, s);
      K::stiffness(X.q, RodStiffness<double>{1, 1, 1, 1, 1, 1, 1}, one, share);
      for (int i = 0; i < kStrains; ++i) {
        kept[kept_at_ + 2 * kStrains * e + i] = one[i];
        kept[kept_at_ + 2 * kStrains * e + kStrains + i] = s[i];
      }
    }
  }

  void energy(const At& at, double* values) const override {
    parallel_for(groups_.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        const Springs springs = springs_of(e, at);
        double s[kStrains];
        K::strains(vectors(e, at.z).q, s);
        double sum = 0;
        for (int i = 0; i < kStrains; ++i) sum += .5 * springs.k[i] * square(s[i] - springs.natural[i]);
        const double eta = at.p[at_.viscosity] * at.rate;
        if (eta != 0) {
          const Gradients start = gradients(vectors(e, at.x));
          const Nodes d = moved(e, at);
          for (int i = 0; i < kStrains; ++i) sum += .5 * eta * springs.k[i] * square(along(start.g[i], d));
        }
        values[e] = std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
      }
    });
  }

  void residual(const At& at, double* slots) const override {
    parallel_for(groups_.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        const Springs springs = springs_of(e, at);
        const Vectors z = vectors(e, at.z);
        double s[kStrains], bar[kStrains];
        K::strains(z.q, s);
        for (int i = 0; i < kStrains; ++i) bar[i] = springs.k[i] * (s[i] - springs.natural[i]);
        Nodes r = spread(pulled(z, bar));
        const double eta = at.p[at_.viscosity] * at.rate;
        if (eta != 0) {
          const Gradients start = gradients(vectors(e, at.x));
          const Nodes d = moved(e, at);
          for (int i = 0; i < kStrains; ++i) add(eta * springs.k[i] * along(start.g[i], d), start.g[i], r);
        }
        put(r, slots, e);
      }
    });
  }

  void matrix(const At& at, double* blocks) const override {
    parallel_for(groups_.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) group_matrix(e, at, blocks + 9 * kPairs * e);
    });
  }

  void residual_jvp(const At& at, const AtDot& dot, double* slots) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Springs springs = springs_of(e, at);
      const Rest rest = rest_of(e, at);
      double k_dot[kStrains] = {}, natural_dot[kStrains] = {};
      double numbers_dot[kRodStiffnesses];
      stiffness_jvp(e, at, dot, numbers_dot);
      const Vectors X_dot = dot.p ? vectors(e, dot.p + at_.rest) : Vectors::zero();
      for (int i = 0; i < kStrains; ++i) {
        double share_dot = 0, s_dot = 0;
        for (int j = 0; j < kInputs; ++j) {
          const double in = j < kSize ? X_dot.q[j / 3][j % 3] : numbers_dot[j - kSize];
          k_dot[i] += rest.k[i].d[j] * in;
          share_dot += rest.share[i].d[j] * in;
        }
        for (int v = 0; v < K::kVectors; ++v) s_dot += costate::dot(rest.by_rest.q[i][v], X_dot.q[v]);
        natural_dot[i] = share_dot * rest.s[i] + rest.share[i].v * s_dot;
      }
      const Vectors z = vectors(e, at.z);
      double s[kStrains], bar[kStrains];
      K::strains(z.q, s);
      for (int i = 0; i < kStrains; ++i)
        bar[i] = k_dot[i] * (s[i] - springs.natural[i]) - springs.k[i] * natural_dot[i];
      Nodes r = spread(pulled(z, bar));
      damping_jvp(e, at, dot, springs, k_dot, r);
      put(r, slots, e);
    }
  }

  void residual_vjp(const At& at, const double* mu, AtBar& bar) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Springs springs = springs_of(e, at);
      const Rest rest = rest_of(e, at);
      const Vectors z = vectors(e, at.z);
      const Nodes m = nodes(e, mu);
      const Gradients now = gradients(z);
      double s[kStrains], k_bar[kStrains], natural_bar[kStrains];
      K::strains(z.q, s);
      for (int i = 0; i < kStrains; ++i) {
        const double to_mu = along(now.g[i], m);
        k_bar[i] = (s[i] - springs.natural[i]) * to_mu;
        natural_bar[i] = -springs.k[i] * to_mu;
      }
      Nodes x_bar = Nodes::zero(), w_bar = x_bar;
      damping_vjp(e, at, m, springs, k_bar, x_bar, w_bar, bar);
      // k and natural, as functions of the rest shape and of the stiffness numbers.
      Vectors X_bar = Vectors::zero();
      double numbers_bar[kRodStiffnesses] = {};
      for (int i = 0; i < kStrains; ++i) {
        const double share_bar = natural_bar[i] * rest.s[i];
        for (int j = 0; j < kInputs; ++j) {
          const double part = k_bar[i] * rest.k[i].d[j] + share_bar * rest.share[i].d[j];
          (j < kSize ? X_bar.q[j / 3][j % 3] : numbers_bar[j - kSize]) += part;
        }
        for (int v = 0; v < K::kVectors; ++v)
          X_bar.q[v] += (natural_bar[i] * rest.share[i].v) * rest.by_rest.q[i][v];
      }
      stiffness_vjp(e, at, numbers_bar, bar);
      if constexpr (K::kMass) mass_vjp(e, at, bar, rest, X_bar);
      put(x_bar, bar.x, e), put(w_bar, bar.w, e);
      if (bar.rest) put(spread(X_bar), bar.rest, e);
    }
  }

  bool mass(const double* p, double* slots) const override {
    if constexpr (!K::kMass) return false;
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      double s[kStrains];
      K::strains(vectors(e, p + at_.rest).q, s);
      const double all = p[at_.density] * s[0], share = numbers_of(e, p, nullptr).gyration / (s[2] * s[2]);
      if (!(share < 1)) too_close(e);
      slots[3 * e] = slots[3 * e + 1] = .5 * all * (1 - share);
      slots[3 * e + 2] = all * share;
    }
    return true;
  }
  bool mass_jvp(const double* p, const double* p_dot, double* slots) const override {
    if constexpr (!K::kMass) return false;
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Vectors X = vectors(e, p + at_.rest), X_dot = vectors(e, p_dot + at_.rest);
      double s[kStrains], s_dot[kStrains] = {}, numbers_dot[kRodStiffnesses];
      K::strains(X.q, s);
      const Pulls by_rest = pulls(X);
      for (int i = 0; i < kStrains; ++i)
        for (int v = 0; v < K::kVectors; ++v) s_dot[i] += costate::dot(by_rest.q[i][v], X_dot.q[v]);
      const At at{nullptr, nullptr, nullptr, p, nullptr, 0, nullptr};
      stiffness_jvp(e, at, {nullptr, nullptr, p_dot, nullptr, 0}, numbers_dot);
      const double rho = p[at_.density], share = numbers_of(e, p, nullptr).gyration / (s[2] * s[2]);
      const double all_dot = p_dot[at_.density] * s[0] + rho * s_dot[0];
      const double share_dot = numbers_dot[4] / (s[2] * s[2]) - 2 * share * s_dot[2] / s[2];
      slots[3 * e] = slots[3 * e + 1] = .5 * (all_dot * (1 - share) - rho * s[0] * share_dot);
      slots[3 * e + 2] = all_dot * share + rho * s[0] * share_dot;
    }
    return true;
  }

  std::int64_t undefined(const At& at) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      double s[kStrains];
      K::strains(vectors(e, at.z).q, s);
      for (const double one : s)
        if (!std::isfinite(one)) return e;
    }
    return -1;
  }
  std::string complaint(std::int64_t group) const override {
    return K::kMass ? "segment " + std::to_string(group) + " has no length, or its frame point is on its axis"
                    : "the rod folds back onto itself at vertex " + std::to_string(node(group, 1));
  }

 private:
  static constexpr int kStrains = K::kStrains, kSize = 3 * K::kVectors,
                       kPairs = K::kNodes * (K::kNodes + 1) / 2, kInputs = kSize + kRodStiffnesses;
  using D = Dual<double, kSize>;
  using R = Dual<double, kInputs>;

  struct Springs {
    double k[kStrains], natural[kStrains];
  };
  struct Rest {  // k and share with their derivatives with respect to the rest vectors and the stiffnesses
    R k[kStrains], share[kStrains];
    double s[kStrains];
    Pulls by_rest;
  };

  static double square(double a) { return a * a; }
  int node(std::int64_t e, int a) const { return groups_.vertex[std::size_t(K::kNodes * e + a)]; }
  Nodes nodes(std::int64_t e, const double* y) const {
    Nodes r;
    for (int a = 0; a < K::kNodes; ++a) {
      const double* at = y + 3 * node(e, a);
      r.x[a] = {at[0], at[1], at[2]};
    }
    return r;
  }
  Vectors vectors(std::int64_t e, const double* y) const { return vectors(nodes(e, y)); }
  Nodes moved(std::int64_t e, const At& at) const {
    Nodes r = nodes(e, at.z);
    const Nodes w = nodes(e, at.w);
    for (int a = 0; a < K::kNodes; ++a) r.x[a] -= w.x[a];
    return r;
  }
  static void put(const Nodes& n, double* slots, std::int64_t e) {
    for (int a = 0; a < K::kNodes; ++a)
      for (int d = 0; d < 3; ++d) slots[3 * (K::kNodes * e + a) + d] = n.x[a][d];
  }

  // Numbers of the law at segment `cell`.
  void numbers_at(std::int64_t cell, const double* p, const double* u, double* c) const {
    for (std::size_t j = 0; j < at_.numbers.size(); ++j) {
      c[j] = p[at_.numbers[j] + at_.stride * cell];
      if (u && int(j) == at_.driven) c[j] += u[at_.control];
    }
  }
  // The mean of the segments of a group.
  RodStiffness<double> numbers_of(std::int64_t e, const double* p, const double* u) const {
    RodStiffness<double> r{};
    for (int side = 0; side < kSides; ++side) {
      double c[kMostRodNumbers] = {};
      numbers_at(segments_[std::size_t(kSides * e + side)], p, u, c);
      const RodStiffness<double> own = law_.stiffness(c);
      constexpr double w = 1.0 / kSides;
      r.stretch += w * own.stretch, r.bend_1 += w * own.bend_1, r.bend_2 += w * own.bend_2;
      r.twist += w * own.twist, r.gyration += w * own.gyration;
      r.natural_bend += w * own.natural_bend, r.natural_twist += w * own.natural_twist;
    }
    return r;
  }
  void stiffness_jvp(std::int64_t e, const At& at, const AtDot& dot,
                     double (&numbers_dot)[kRodStiffnesses]) const {
    for (double& n : numbers_dot) n = 0;
    for (int side = 0; side < kSides; ++side) {
      const std::int64_t cell = segments_[std::size_t(kSides * e + side)];
      double c[kMostRodNumbers] = {}, slope[kRodStiffnesses][kMostRodNumbers];
      numbers_at(cell, at.p, at.u, c);
      law_.slopes(c, slope);
      for (std::size_t j = 0; j < at_.numbers.size(); ++j) {
        double c_dot = dot.p ? dot.p[at_.numbers[j] + at_.stride * cell] : 0;
        if (dot.u && int(j) == at_.driven) c_dot += dot.u[at_.control];
        for (int i = 0; i < kRodStiffnesses; ++i) numbers_dot[i] += slope[i][j] * c_dot / kSides;
      }
    }
  }
  void stiffness_vjp(std::int64_t e, const At& at, const double (&numbers_bar)[kRodStiffnesses],
                     AtBar& bar) const {
    for (int side = 0; side < kSides; ++side) {
      const std::int64_t cell = segments_[std::size_t(kSides * e + side)];
      double c[kMostRodNumbers] = {}, slope[kRodStiffnesses][kMostRodNumbers];
      numbers_at(cell, at.p, at.u, c);
      law_.slopes(c, slope);
      for (std::size_t j = 0; j < at_.numbers.size(); ++j) {
        double c_bar = 0;
        for (int i = 0; i < kRodStiffnesses; ++i) c_bar += slope[i][j] * numbers_bar[i] / kSides;
        bar.p[at_.numbers[j] + at_.stride * cell] += c_bar;
        if (at.u && int(j) == at_.driven) bar.u[at_.control] += c_bar;
      }
    }
  }
  Springs springs_of(std::int64_t e, const At& at) const {
    const RodStiffness<double> n = numbers_of(e, at.p, at.u);
    const double* kept = at.kept + kept_at_ + 2 * kStrains * e;
    const auto stiffness = [&](int i) {
      return K::kMass ? n.stretch : i == 4 ? n.twist : i % 2 == 0 ? n.bend_1 : n.bend_2;
    };
    const auto share = [&](int i) { return K::kMass ? 1 : i == 4 ? n.natural_twist : n.natural_bend; };
    Springs r;
    for (int i = 0; i < kStrains; ++i)
      r.k[i] = stiffness(i) * kept[i], r.natural[i] = share(i) * kept[kStrains + i];
    return r;
  }
  Rest rest_of(std::int64_t e, const At& at) const {
    const Vectors X = vectors(e, at.p + at_.rest);
    const RodStiffness<double> n = numbers_of(e, at.p, at.u);
    Vec3<R> q[K::kVectors];
    for (int v = 0; v < K::kVectors; ++v)
      for (int c = 0; c < 3; ++c) q[v][c] = R::variable(X.q[v][c], 3 * v + c);
    const RodStiffness<R> numbers{
        R::variable(n.stretch, kSize),          R::variable(n.bend_1, kSize + 1),
        R::variable(n.bend_2, kSize + 2),       R::variable(n.twist, kSize + 3),
        R::variable(n.gyration, kSize + 4),     R::variable(n.natural_bend, kSize + 5),
        R::variable(n.natural_twist, kSize + 6)};
    Rest r;
    K::stiffness(q, numbers, r.k, r.share);
    K::strains(X.q, r.s);
    r.by_rest = pulls(X);
    return r;
  }

  void group_matrix(std::int64_t e, const At& at, double* to) const {
    const Springs springs = springs_of(e, at);
    const Vectors z = vectors(e, at.z);
    const Gradients now = gradients(z);
    const double eta = at.p[at_.viscosity] * at.rate;
    const Gradients start = eta != 0 ? gradients(vectors(e, at.x)) : now;
    double s[kStrains], H[kSize][kSize] = {};
    K::strains(z.q, s);
    if (!at.convex) {  // of bar . s, by a Dual of its gradient
      Vec3<D> q[K::kVectors], q_bar[K::kVectors];
      D bar[kStrains];
      for (int i = 0; i < kStrains; ++i) bar[i] = D(springs.k[i] * (s[i] - springs.natural[i]));
      for (int v = 0; v < K::kVectors; ++v)
        for (int c = 0; c < 3; ++c) q[v][c] = D::variable(z.q[v][c], 3 * v + c);
      K::pull(q, bar, q_bar);
      for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) H[i][j] = q_bar[i / 3][i % 3].d[j];
    }
    for (int a = 0; a < K::kNodes; ++a)
      for (int b = a; b < K::kNodes; ++b, to += 9)
        for (int c = 0; c < 3; ++c)
          for (int d = 0; d < 3; ++d) {
            double sum = 0;
            for (int i = 0; i < kStrains; ++i)
              sum += springs.k[i] *
                     (now.g[i].x[a][c] * now.g[i].x[b][d] + eta * start.g[i].x[a][c] * start.g[i].x[b][d]);
            for (int v = 0; v < K::kVectors; ++v)
              for (int w = 0; w < K::kVectors; ++w)
                sum += K::kFrom[v][a] * K::kFrom[w][b] * H[3 * v + c][3 * w + d];
            to[3 * c + d] = sum;
          }
  }

  void damping_jvp(std::int64_t e, const At& at, const AtDot& dot, const Springs& springs,
                   const double (&k_dot)[kStrains], Nodes& r) const {
    const double viscosity = at.p[at_.viscosity], eta = viscosity * at.rate;
    const double eta_dot = (dot.p ? dot.p[at_.viscosity] : 0) * at.rate + viscosity * dot.rate;
    if (eta == 0 && eta_dot == 0) return;
    const Vectors x = vectors(e, at.x);
    const Gradients start = gradients(x);
    const Nodes d = moved(e, at);
    for (int i = 0; i < kStrains; ++i) {
      const double speed = along(start.g[i], d);
      double f_dot = (eta_dot * springs.k[i] + eta * k_dot[i]) * speed;
      if (dot.w) f_dot -= eta * springs.k[i] * along(start.g[i], nodes(e, dot.w));
      if (dot.x) {
        const Nodes g_dot = curved(x, i, nodes(e, dot.x));
        f_dot += eta * springs.k[i] * along(g_dot, d);
        add(eta * springs.k[i] * speed, g_dot, r);
      }
      add(f_dot, start.g[i], r);
    }
  }
  void damping_vjp(std::int64_t e, const At& at, const Nodes& m, const Springs& springs,
                   double (&k_bar)[kStrains], Nodes& x_bar, Nodes& w_bar, AtBar& bar) const {
    const double viscosity = at.p[at_.viscosity], eta = viscosity * at.rate;
    if (at.rate == 0) return;
    const Vectors x = vectors(e, at.x);
    const Gradients start = gradients(x);
    const Nodes d = moved(e, at);
    for (int i = 0; i < kStrains; ++i) {
      const double speed = along(start.g[i], d), to_mu = along(start.g[i], m), work = speed * to_mu;
      bar.p[at_.viscosity] += at.rate * springs.k[i] * work;
      bar.rate += viscosity * springs.k[i] * work;
      if (eta == 0) continue;
      k_bar[i] += eta * work;
      add(eta * springs.k[i] * speed, curved(x, i, m), x_bar);
      add(eta * springs.k[i] * to_mu, curved(x, i, d), x_bar);
      add(-eta * springs.k[i] * to_mu, start.g[i], w_bar);
    }
  }

  // Controls do not change a mass.
  void mass_vjp(std::int64_t e, At at, AtBar& bar, const Rest& rest, Vectors& X_bar) const {
    at.u = nullptr;
    const double ends = .5 * (bar.mass[node(e, 0)] + bar.mass[node(e, 1)]), point = bar.mass[node(e, 2)];
    const double rho = at.p[at_.density], L = rest.s[0], beside = rest.s[2];
    const double share = numbers_of(e, at.p, nullptr).gyration / (beside * beside);
    const double all_bar = (1 - share) * ends + share * point, share_bar = rho * L * (point - ends);
    bar.p[at_.density] += L * all_bar;
    stiffness_vjp(e, at, {0, 0, 0, 0, share_bar / (beside * beside), 0, 0}, bar);
    const double L_bar = rho * all_bar, beside_bar = -2 * share * share_bar / beside;
    for (int v = 0; v < K::kVectors; ++v)
      X_bar.q[v] += L_bar * rest.by_rest.q[0][v] + beside_bar * rest.by_rest.q[2][v];
  }
  [[noreturn]] void too_close(std::int64_t e) const {
    throw Error({"the frame point of the segment of vertices " + std::to_string(node(e, 0)) + " and " +
                     std::to_string(node(e, 1)) + " is closer to its axis than its radius of gyration",
                 {},
                 "move frame points further away, such as half a segment: that changes nothing else"});
  }

  static constexpr int kSides = K::kMass ? 1 : 2;
  std::vector<int> segments_;  // of the part, kSides per group
  const RodLaw& law_;
  CellPlaces at_;
};

}  // namespace

std::unique_ptr<Term> rod_segment_term(const Part& part, const RodLaw& law, const CellPlaces& places) {
  std::vector<int> own(part.vertices.size() / 3);
  for (std::size_t s = 0; s < own.size(); ++s) own[s] = int(s);
  return std::make_unique<RodTerm<RodSegment>>(part.vertices, own, law, places);
}
std::unique_ptr<Term> rod_joint_term(const Part& part, const RodLaw& law, const CellPlaces& places) {
  RodJoints joints = joints_of(part);
  return std::make_unique<RodTerm<RodJoint>>(std::move(joints.vertices), std::move(joints.segments), law,
                                             places);
}

}  // namespace costate::soft
