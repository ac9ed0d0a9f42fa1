#include "costate/soft/contact/obstacle_term.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/ad/dual.h"
#include "costate/ad/dual_functions.h"
#include "costate/core/mat3.h"
#include "costate/soft/contact/barrier.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
using M = Mat3<double>;
// Derivatives with respect to x, the obstacle's place, its radius, and five numbers: stiffness, reach,
// friction, slip speed, dt.
constexpr int kInputs = 12;
using D = Dual<double, kInputs>;

template <class S>
struct Distance {
  S d;
  Vec3<S> n;
};

class ObstacleTerm final : public Term {
 public:
  ObstacleTerm(const Obstacle& obstacle, std::vector<int> vertices, const ObstaclePlaces& places)
      : ball_(obstacle.shape == Obstacle::Shape::ball), at_(places) {
    groups_ = {1, std::move(vertices)};
    const V n{obstacle.normal[0], obstacle.normal[1], obstacle.normal[2]};
    normal_ = normalized(n);
  }

  void energy(const At& at, double* values) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Numbers<double> m = numbers(e, at);
      const V z = point(e, at.z);
      const double d = distance(z, m).d;
      values[e] = d > 0 ? m.stiffness * barrier(d, m.reach).value : std::numeric_limits<double>::infinity();
      if (d <= 0 || at.rate == 0) continue;
      const Lag<double> lag = lagged(point(e, at.x), m);
      if (lag.force > 0)
        values[e] += m.friction * lag.force * slip(norm(tangent(lag, z - point(e, at.x))), m.e).value;
    }
  }
  void residual(const At& at, double* slots) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e)
      put(force<double>(point(e, at.z), point(e, at.x), numbers(e, at), at.rate != 0), slots + 3 * e);
  }
  void matrix(const At& at, double* blocks) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Numbers<double> m = numbers(e, at);
      const V z = point(e, at.z);
      const Distance<double> now = distance(z, m);
      const Barrier<double> b = barrier(now.d, m.reach);
      const M nn = outer(now.n, now.n);
      M H = (m.stiffness * b.curve) * nn;
      if (ball_ && !at.convex) H += (m.stiffness * b.slope / (now.d + m.radius)) * (M::identity() - nn);
      const Lag<double> lag = at.rate == 0 ? Lag<double>{} : lagged(point(e, at.x), m);
      if (lag.force > 0) {
        const V u = tangent(lag, z - point(e, at.x));
        const Slip<double> s = slip(norm(u), m.e);
        const double k = m.friction * lag.force;
        H += (k * s.over) * (M::identity() - outer(lag.n, lag.n)) + (k * s.over_slope) * outer(u, u);
      }
      std::copy(&H.e[0][0], &H.e[0][0] + 9, blocks + 9 * e);
    }
  }

  // Both derivatives go through the twelve inputs of a vertex: few vertices touch.
  void residual_jvp(const At& at, const AtDot& dot, double* slots) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      V sum = V::zero();
      if (touches(e, at)) {
        double in[kInputs] = {};
        for (int i = 0; i < 3; ++i) in[i] = dot.x ? dot.x[3 * vertex(e) + i] : 0;
        for (int i = 3; dot.p && i < kInputs; ++i) in[i] = i == 6 && !ball_ ? 0 : dot.p[place(i)];
        if (at.areas)
          in[7] = in[7] * at.areas[vertex(e)] + (dot.areas ? at.p[at_.stiffness] * dot.areas[vertex(e)] : 0);
        const Vec3<D> r = seeded(e, at);
        for (int i = 0; i < kInputs; ++i) sum += in[i] * V{r.x.d[i], r.y.d[i], r.z.d[i]};
      }
      put(sum, slots + 3 * e);
    }
  }
  void residual_vjp(const At& at, const double* mu, AtBar& bar) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      for (double* slots : {bar.x, bar.w, bar.rest})
        if (slots) std::fill(slots + 3 * e, slots + 3 * e + 3, 0.0);
      if (!touches(e, at)) continue;
      const Vec3<D> r = seeded(e, at);
      const V m = point(e, mu);
      for (int i = 0; i < kInputs; ++i) {
        const double in_bar = m.x * r.x.d[i] + m.y * r.y.d[i] + m.z * r.z.d[i];
        if (i < 3)
          bar.x[3 * e + i] = in_bar;
        else if (i == 7 && at.areas)
          bar.p[at_.stiffness] += at.areas[vertex(e)] * in_bar,
              bar.areas[vertex(e)] += at.p[at_.stiffness] * in_bar;
        else if (i != 6 || ball_)
          bar.p[place(i)] += in_bar;
      }
    }
  }

  double longest(const At& at, const double* step) const override {
    double longest = 1;
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Numbers<double> m = numbers(e, at);
      const V z = point(e, at.z), s = point(e, step);
      const double d = distance(z, m).d;
      if (norm(s) < d) continue;
      double hit = 2;
      if (!ball_) {
        const double towards = -costate::dot(normal_, s);
        if (towards > 0) hit = d / towards;
      } else {
        // |z + t s - c| = R
        const V q = z - m.place;
        const double a = costate::dot(s, s), b = costate::dot(q, s), c = d * (d + 2 * m.radius),
                     root = b * b - a * c;
        if (b < 0 && root >= 0) hit = c / (-b + std::sqrt(root));
      }
      longest = std::min(longest, 0.9 * hit);
    }
    return longest;
  }
  std::int64_t undefined(const At& at) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e)
      if (!(distance(point(e, at.z), numbers(e, at)).d > 0)) return e;
    return -1;
  }
  std::string complaint(std::int64_t e) const override {
    return "vertex " + std::to_string(vertex(e)) + " is inside this obstacle";
  }

 private:
  template <class S>
  struct Numbers {
    Vec3<S> place;
    S radius, stiffness, reach, friction, e;
  };
  template <class S>
  struct Lag {
    S force = S(0);
    Vec3<S> n = Vec3<S>::zero();
  };

  int vertex(std::int64_t e) const { return groups_.vertex[std::size_t(e)]; }
  V point(std::int64_t e, const double* y) const {
    const double* at = y + 3 * vertex(e);
    return {at[0], at[1], at[2]};
  }
  static void put(const V& v, double* to) { to[0] = v.x, to[1] = v.y, to[2] = v.z; }
  // Where input i of a vertex lies among the parameters.
  std::int64_t place(int i) const {
    const std::int64_t all[kInputs] = {0,
                                       0,
                                       0,
                                       at_.place,
                                       at_.place + 1,
                                       at_.place + 2,
                                       at_.radius,
                                       at_.stiffness,
                                       at_.reach,
                                       at_.friction,
                                       at_.slip_speed,
                                       at_.dt};
    return all[i];
  }
  Numbers<double> numbers(std::int64_t e, const At& at) const {
    const double* p = at.p;
    return {{p[at_.place], p[at_.place + 1], p[at_.place + 2]},
            ball_ ? p[at_.radius] : 0,
            stiffness(e, at),
            p[at_.reach],
            p[at_.friction],
            p[at_.slip_speed] * p[at_.dt]};
  }

  template <class S>
  Distance<S> distance(const Vec3<S>& z, const Numbers<S>& m) const {
    const Vec3<S> q = z - m.place;
    if (!ball_) {
      const Vec3<S> n{S(normal_.x), S(normal_.y), S(normal_.z)};
      return {costate::dot(n, q), n};
    }
    using costate::sqrt;
    const S l = sqrt(costate::dot(q, q));
    return {l - m.radius, (1.0 / l) * q};
  }
  template <class S>
  Lag<S> lagged(const Vec3<S>& x, const Numbers<S>& m) const {
    const Distance<S> start = distance(x, m);
    if (!(start.d < m.reach) || !(start.d > S(0))) return {};
    return {-m.stiffness * barrier(start.d, m.reach).slope, start.n};
  }
  template <class S>
  static Vec3<S> tangent(const Lag<S>& lag, const Vec3<S>& u) {
    return u - costate::dot(lag.n, u) * lag.n;
  }
  template <class S>
  Vec3<S> force(const Vec3<S>& z, const Vec3<S>& x, const Numbers<S>& m, bool moves) const {
    const Distance<S> now = distance(z, m);
    Vec3<S> r = (m.stiffness * barrier(now.d, m.reach).slope) * now.n;
    if (!moves) return r;
    const Lag<S> lag = lagged(x, m);
    if (!(lag.force > S(0))) return r;
    const Vec3<S> u = tangent(lag, z - x);
    return r + (m.friction * lag.force * slip(norm(u), m.e).over) * u;
  }
  double stiffness(std::int64_t e, const At& at) const {
    return at.areas ? at.areas[vertex(e)] * at.p[at_.stiffness] : at.p[at_.stiffness];
  }
  bool touches(std::int64_t e, const At& at) const {
    const Numbers<double> m = numbers(e, at);
    return distance(point(e, at.z), m).d < m.reach || distance(point(e, at.x), m).d < m.reach;
  }
  Vec3<D> seeded(std::int64_t e, const At& at) const {
    const auto number = [&](int i) {
      if (i < 3) return D::variable(at.x[3 * vertex(e) + i], i);
      if (i == 7) return D::variable(stiffness(e, at), i);
      return i == 6 && !ball_ ? D(0.0) : D::variable(at.p[place(i)], i);
    };
    const V z = point(e, at.z);
    const Numbers<D> m{{number(3), number(4), number(5)},
                       number(6),
                       number(7),
                       number(8),
                       number(9),
                       number(10) * number(11)};
    return force<D>({D(z.x), D(z.y), D(z.z)}, {number(0), number(1), number(2)}, m, at.rate != 0);
  }

  bool ball_;
  V normal_;
  ObstaclePlaces at_;
};

}  // namespace

std::unique_ptr<Term> obstacle_term(const Obstacle& obstacle, std::vector<int> vertices,
                                    const ObstaclePlaces& places) {
  return std::make_unique<ObstacleTerm>(obstacle, std::move(vertices), places);
}

}  // namespace costate::soft
