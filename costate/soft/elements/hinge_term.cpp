#include "costate/soft/elements/hinge_term.h"

#include <algorithm>
#include <limits>
#include <map>

#include "costate/core/error.h"
#include "costate/soft/elements/crease.h"
#include "costate/soft/elements/hinge.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
using M = Mat3<double>;

// c = 3 |e|^2 / (A0 + A1) and the width h = |e|/c, with their gradients.
struct Weight {
  double c;
  V gradient[4];
  double width;
  V width_gradient[4];
};
Weight weight_of(const V (&X)[4]) {
  const V e = X[1] - X[0], n = cross(e, X[2] - X[0]), m = cross(X[3] - X[0], e);
  const double n1 = norm(n), m1 = norm(m), area = 0.5 * (n1 + m1);
  Weight r{3 * dot(e, e) / area, {V::zero(), V::zero(), V::zero(), V::zero()}, area / (3 * norm(e)), {}};
  // dA0 = n/(2|n|) . (de x a + e x da)
  const V un = (0.5 / n1) * n, um = (0.5 / m1) * m;
  const V a = X[2] - X[0], b = X[3] - X[0];
  const V e_bar = cross(a, un) + cross(um, b), a_bar = cross(un, e), b_bar = cross(e, um);
  const double k = -r.c / area;
  const V edge = (6 / area) * e + k * e_bar;
  r.gradient[1] = edge;
  r.gradient[2] = k * a_bar;
  r.gradient[3] = k * b_bar;
  r.gradient[0] = -(edge + k * a_bar + k * b_bar);
  const V along = (1 / (r.c * norm(e))) * e;  // h = |e|/c
  for (int i = 0; i < 4; ++i) r.width_gradient[i] = (-r.width / r.c) * r.gradient[i];
  r.width_gradient[1] += along, r.width_gradient[0] -= along;
  return r;
}

class HingeTerm final : public Term {
 public:
  HingeTerm(const Part& part, const HingePlaces& places) : at_(places) { groups_ = {4, hinges_of(part)}; }

  std::int64_t kept() const override { return 3 * groups_.count(); }
  void keep(const double* p, double* kept) const override {
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        const Four X = four(e, p + at_.rest);
        const Weight weight = weight_of(X.x);
        kept[kept_at_ + 3 * e] = weight.c;
        kept[kept_at_ + 3 * e + 1] = hinge_angle(X.x).theta;
        kept[kept_at_ + 3 * e + 2] = weight.width;
      }
    });
  }

  void energy(const At& at, double* values) const override {
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        const Kept rest = kept_of(e, at);
        const Yielding bent = bent_at(e, at, rest, hinge_angle(four(e, at.z).x).theta);
        values[e] = at.p[at_.bending] * rest.c * bent.energy;
        const double eta = at.p[at_.viscosity];
        if (eta == 0) continue;
        const double speed = along(hinge_angle(four(e, at.x).x), moved(e, at));
        values[e] += 0.5 * eta * at.rate * rest.c * speed * speed;
      }
    });
  }

  void residual(const At& at, double* slots) const override {
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        const Kept rest = kept_of(e, at);
        const HingeAngle now = hinge_angle(four(e, at.z).x);
        const double k = 2 * at.p[at_.bending] * rest.c * bent_at(e, at, rest, now.theta).open;
        for (int a = 0; a < 4; ++a) put(k * now.gradient[a], slots + 12 * e + 3 * a);
        const double eta = at.p[at_.viscosity];
        if (eta == 0) continue;
        const HingeAngle start = hinge_angle(four(e, at.x).x);
        const double f = eta * at.rate * rest.c * along(start, moved(e, at));
        for (int a = 0; a < 4; ++a) add(f * start.gradient[a], slots + 12 * e + 3 * a);
      }
    });
  }

  void matrix(const At& at, double* blocks) const override {
    parallel_for(groups_.count(), kGroupGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        const Kept rest = kept_of(e, at);
        const Four z = four(e, at.z);
        const HingeAngle now = hinge_angle(z.x);
        const HingeCurvature curved = hinge_curvature(z.x);
        const Yielding bent = bent_at(e, at, rest, now.theta);
        const double moment = 2 * at.p[at_.bending] * rest.c, k = moment * bent.elastic,
                     f = at.convex ? 0 : moment * bent.open;
        const double eta = at.p[at_.viscosity] * at.rate * rest.c;
        const HingeAngle start = eta == 0 ? HingeAngle{} : hinge_angle(four(e, at.x).x);
        double* to = blocks + 90 * e;
        for (int a = 0; a < 4; ++a)
          for (int b = a; b < 4; ++b, to += 9) {
            M block = f * curved.block[a][b] + k * outer(now.gradient[a], now.gradient[b]);
            if (eta != 0) block += eta * outer(start.gradient[a], start.gradient[b]);
            std::copy(&block.e[0][0], &block.e[0][0] + 9, to);
          }
      }
    });
  }

  void residual_jvp(const At& at, const AtDot& dot, double* slots) const override {
    for (std::int64_t e = 0; e < groups_.count(); ++e) {
      const Rest rest = rest_of(e, at.p);
      const HingeAngle now = hinge_angle(four(e, at.z).x);
      const double bending = at.p[at_.bending], eta = at.p[at_.viscosity];
      const Yielding bent = bent_at(e, at, kept_of(e, at), now.theta);
      const double open = bent.open;
      double bending_dot = 0, eta_dot = 0, c_dot = 0;
      const double open_dot = bent_jvp(e, at, dot, bent, rest);
      if (dot.p) {
        const Four X_dot = four(e, dot.p + at_.rest);
        bending_dot = dot.p[at_.bending], eta_dot = dot.p[at_.viscosity];
        for (int a = 0; a < 4; ++a) c_dot += costate::dot(rest.weight.gradient[a], X_dot.x[a]);
      }
      const double c = rest.weight.c;
      const double k_dot = 2 * (bending_dot * c * open + bending * c_dot * open + bending * c * open_dot);
      const HingeAngle start = hinge_angle(four(e, at.x).x);
      const Four d = moved(e, at);
      const double speed = along(start, d);
      double f_dot = (eta_dot * at.rate * c + eta * dot.rate * c + eta * at.rate * c_dot) * speed;
      V t_dot[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
      if (dot.x && eta != 0) {
        const HingeCurvature curved = hinge_curvature(four(e, at.x).x);
        const Four x_dot = four(e, dot.x);
        double speed_dot = 0;
        for (int a = 0; a < 4; ++a) {
          for (int b = 0; b < 4; ++b) t_dot[a] += curved.block[a][b] * x_dot.x[b];
          speed_dot += costate::dot(t_dot[a], d.x[a]);
        }
        f_dot += eta * at.rate * c * speed_dot;
      }
      if (dot.w) f_dot -= eta * at.rate * c * along(start, four(e, dot.w));
      const double f = eta * at.rate * c * speed;
      for (int a = 0; a < 4; ++a)
        put(k_dot * now.gradient[a] + f_dot * start.gradient[a] + f * t_dot[a], slots + 12 * e + 3 * a);
    }
  }

  void residual_vjp(const At& at, const double* mu, AtBar& bar) const override {
    double shared[4] = {};  // bending, viscosity, rate, yield curvature
    sum_groups(groups_.count(), bar.sums, shared, [&](std::int64_t e, double(&sums)[4]) {
      const Kept rest = kept_of(e, at);
      const HingeAngle now = hinge_angle(four(e, at.z).x);
      const Four m = four(e, mu);
      const Yielding bent = bent_at(e, at, rest, now.theta);
      const double bending = at.p[at_.bending], eta = at.p[at_.viscosity], c = rest.c, s = along(now, m);
      sums[0] += 2 * c * bent.open * s;
      double c_bar = 2 * bending * bent.open * s;
      const BentBar open_bar = bent_vjp(e, at, bent, rest, 2 * bending * c * s, bar.crease, sums[3]);
      V x_bar[4] = {V::zero(), V::zero(), V::zero(), V::zero()},
        w_bar[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
      const HingeAngle start = hinge_angle(four(e, at.x).x);
      const Four d = moved(e, at);
      const double to_mu = along(start, m), speed = along(start, d);
      sums[1] += at.rate * c * to_mu * speed;
      sums[2] += eta * c * to_mu * speed;
      c_bar += eta * at.rate * to_mu * speed;
      if (eta != 0) {
        const double k = eta * at.rate * c;
        const HingeCurvature curved = hinge_curvature(four(e, at.x).x);
        for (int a = 0; a < 4; ++a) {
          for (int b = 0; b < 4; ++b)
            x_bar[a] += k * (curved.block[a][b] * (speed * m.x[b] + to_mu * d.x[b]));
          w_bar[a] = (-k * to_mu) * start.gradient[a];
        }
      }
      for (int a = 0; a < 4; ++a) {
        put(x_bar[a], bar.x + 12 * e + 3 * a);
        put(w_bar[a], bar.w + 12 * e + 3 * a);
      }
      if (!bar.rest) return;
      const Rest shape = rest_of(e, at.p);
      for (int a = 0; a < 4; ++a)
        put(c_bar * shape.weight.gradient[a] + open_bar.by_rest(shape, a), bar.rest + 12 * e + 3 * a);
    });
    bar.p[at_.bending] += shared[0];
    bar.p[at_.viscosity] += shared[1];
    bar.rate += shared[2];
    if (creases()) bar.p[at_.yield_curvature] += shared[3];
  }

  // crease' = crease + o - g.
  void remember(const At& at, double* crease) const override {
    for (std::int64_t e = 0; creases() && e < groups_.count(); ++e) {
      const Kept rest = kept_of(e, at);
      const double theta = hinge_angle(four(e, at.z).x).theta;
      const Yielding bent = bent_at(e, at, rest, theta);
      crease[at_.crease + e] = bent.side == 0 ? at.crease[at_.crease + e] : theta - rest.theta - bent.open;
    }
  }
  void remember_jvp(const At& at, const AtDot& dot, const double* z_dot, double* crease_dot) const override {
    for (std::int64_t e = 0; creases() && e < groups_.count(); ++e) {
      const Rest rest = rest_of(e, at.p);
      const HingeAngle now = hinge_angle(four(e, at.z).x);
      const Yielding bent = bent_at(e, at, kept_of(e, at), now.theta);
      const double theta_dot = along(now, four(e, z_dot));
      crease_dot[at_.crease + e] = (1 - bent.elastic) * theta_dot - bent_jvp(e, at, dot, bent, rest);
      if (dot.p) crease_dot[at_.crease + e] -= along(rest.angle, four(e, dot.p + at_.rest));
    }
  }
  void remember_vjp(const At& at, const double* crease_bar, AtBar& bar) const override {
    double yield_bar = 0;
    for (std::int64_t e = 0; creases() && e < groups_.count(); ++e) {
      const Kept rest = kept_of(e, at);
      const HingeAngle now = hinge_angle(four(e, at.z).x);
      const Yielding bent = bent_at(e, at, rest, now.theta);
      const double end_bar = crease_bar[at_.crease + e];
      BentBar open_bar = bent_vjp(e, at, bent, rest, -end_bar, bar.crease, yield_bar);
      open_bar.angle -= end_bar;
      for (int a = 0; a < 4; ++a)
        put(((1 - bent.elastic) * end_bar) * now.gradient[a], bar.x + 12 * e + 3 * a);
      if (!bar.rest) continue;
      const Rest shape = rest_of(e, at.p);
      for (int a = 0; a < 4; ++a) put(open_bar.by_rest(shape, a), bar.rest + 12 * e + 3 * a);
    }
    if (creases()) bar.p[at_.yield_curvature] += yield_bar;
  }

 private:
  struct Four {
    V x[4];
  };
  struct Rest {
    Weight weight;
    HingeAngle angle;
  };
  struct Kept {
    double c, theta, width;
  };
  Kept kept_of(std::int64_t e, const At& at) const {
    const double* kept = at.kept + kept_at_ + 3 * e;
    return {kept[0], kept[1], kept[2]};
  }

  // What is elastic of the angle theta, with its derivatives but for that by theta itself (crease.h).
  bool creases() const { return at_.yield_curvature >= 0; }
  Yielding bent_at(std::int64_t e, const At& at, const Kept& rest, double theta) const {
    if (!creases()) return yielding(theta - rest.theta, std::numeric_limits<double>::infinity());
    return yielding(theta - rest.theta - at.crease[at_.crease + e], at.p[at_.yield_curvature] * rest.width);
  }
  double bent_jvp(std::int64_t e, const At& at, const AtDot& dot, const Yielding& bent,
                  const Rest& rest) const {
    double sum = 0;
    if (creases() && dot.crease) sum -= bent.elastic * dot.crease[at_.crease + e];
    if (!dot.p) return sum;
    const Four X_dot = four(e, dot.p + at_.rest);
    sum -= bent.elastic * along(rest.angle, X_dot);
    if (!creases()) return sum;
    double width_dot = 0;
    for (int a = 0; a < 4; ++a) width_dot += costate::dot(rest.weight.width_gradient[a], X_dot.x[a]);
    return sum + bent.side *
                     (dot.p[at_.yield_curvature] * rest.weight.width + at.p[at_.yield_curvature] * width_dot);
  }
  struct BentBar {
    double angle, width;  // of the rest shape
    V by_rest(const Rest& shape, int a) const {
      return angle * shape.angle.gradient[a] + width * shape.weight.width_gradient[a];
    }
  };
  BentBar bent_vjp(std::int64_t e, const At& at, const Yielding& bent, const Kept& rest, double open_bar,
                   double* crease_bar, double& yield_bar) const {
    if (!creases()) return {-bent.elastic * open_bar, 0};
    crease_bar[at_.crease + e] -= bent.elastic * open_bar;
    yield_bar += bent.side * rest.width * open_bar;
    return {-bent.elastic * open_bar, bent.side * at.p[at_.yield_curvature] * open_bar};
  }
  Four four(std::int64_t e, const double* y) const {
    Four r;
    for (int a = 0; a < 4; ++a) {
      const double* at = y + 3 * groups_.vertex[std::size_t(4 * e + a)];
      r.x[a] = {at[0], at[1], at[2]};
    }
    return r;
  }
  Four moved(std::int64_t e, const At& at) const {
    Four r = four(e, at.z);
    const Four w = four(e, at.w);
    for (int a = 0; a < 4; ++a) r.x[a] -= w.x[a];
    return r;
  }
  Rest rest_of(std::int64_t e, const double* p) const {
    const Four X = four(e, p + at_.rest);
    return {weight_of(X.x), hinge_angle(X.x)};
  }
  static double along(const HingeAngle& angle, const Four& y) {
    double sum = 0;
    for (int a = 0; a < 4; ++a) sum += dot(angle.gradient[a], y.x[a]);
    return sum;
  }
  static void put(const V& v, double* to) { to[0] = v.x, to[1] = v.y, to[2] = v.z; }
  static void add(const V& v, double* to) { to[0] += v.x, to[1] += v.y, to[2] += v.z; }

  HingePlaces at_;
};

}  // namespace

std::vector<int> hinges_of(const Part& part) {
  struct Edge {
    int from, to, far, triangles;
  };
  std::map<std::pair<int, int>, Edge> edges;
  std::vector<int> hinges;
  for (std::size_t t = 0; t + 2 < part.vertices.size(); t += 3)
    for (std::size_t k = 0; k < 3; ++k) {
      const int p = part.vertices[t + k], q = part.vertices[t + (k + 1) % 3],
                far = part.vertices[t + (k + 2) % 3];
      const auto [at, fresh] = edges.try_emplace(std::minmax(p, q), Edge{p, q, far, 1});
      if (fresh) continue;
      Edge& edge = at->second;
      if (++edge.triangles > 2)
        throw Error({"the edge of vertices " + std::to_string(p) + " and " + std::to_string(q) +
                         " of part '" + part.name + "' belongs to three triangles",
                     {},
                     "cloth bends at edges of two triangles: cut the mesh there, or set bending = 0"});
      hinges.insert(hinges.end(), {edge.from, edge.to, edge.far, far});
    }
  return hinges;
}

bool creases(const SoftModel& model, const Part& part) {
  return part.cells == Cells::triangles && part.material >= 0 &&
         model.materials[std::size_t(part.material)].yield_curvature > 0;
}

std::unique_ptr<Term> hinge_term(const Part& part, const HingePlaces& places) {
  return std::make_unique<HingeTerm>(part, places);
}

}  // namespace costate::soft
