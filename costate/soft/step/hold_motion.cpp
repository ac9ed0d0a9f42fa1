#include "costate/soft/step/hold_motion.h"

#include "costate/ad/dual.h"
#include "costate/ad/dual_functions.h"
#include "costate/core/mat3.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
using D = Dual<double, 3>;

V read(const double* a, int vertex) { return {a[3 * vertex], a[3 * vertex + 1], a[3 * vertex + 2]}; }
V read_or_zero(const double* a, int place) {
  return a && place >= 0 ? V{a[place], a[place + 1], a[place + 2]} : V::zero();
}
void put(const V& v, double* a, int vertex) {
  for (int d = 0; d < 3; ++d) a[3 * vertex + d] = v[d];
}
void add(const V& v, double* a, int place) {
  for (int d = 0; d < 3; ++d) a[place + d] += v[d];
}
V mean(const HeldGroup& g, const double* x) {
  V sum = V::zero();
  for (const int i : g.vertices) sum += read(x, i);
  return (1.0 / double(g.vertices.size())) * sum;
}

// sin(a)/a and (1 - cos(a))/a^2 of a = |t|.
template <class S>
Vec3<S> turn(const Vec3<S>& t, const Vec3<S>& q) {
  using costate::cos, costate::sin, costate::sqrt;
  const S s = dot(t, t);
  S first, second;
  if (s < S(1e-3)) {
    first = 1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0 * (1.0 - s / 72.0)));
    second = 0.5 - s / 24.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0 * (1.0 - s / 90.0)));
  } else {
    const S a = sqrt(s);
    first = sin(a) / a;
    second = (1.0 - cos(a)) / s;
  }
  const Vec3<S> tq = cross(t, q);
  return q + first * tq + second * cross(t, tq);
}

// y = R(t) q, its derivative with respect to t (columns).
struct Turned {
  V y, by_t[3];
};
Turned turned(const V& t, const V& q) {
  const Vec3<D> y =
      turn<D>({D::variable(t.x, 0), D::variable(t.y, 1), D::variable(t.z, 2)}, {D(q.x), D(q.y), D(q.z)});
  Turned r{{y.x.v, y.y.v, y.z.v}, {}};
  for (int k = 0; k < 3; ++k) r.by_t[k] = {y.x.d[k], y.y.d[k], y.z.d[k]};
  return r;
}

}  // namespace

void HoldMotion::move(const double* x, const double* u, double dt, double* x_end, double* v_end) const {
  for (const HeldGroup& g : groups) {
    const V speed = read_or_zero(u, g.velocity), spin = read_or_zero(u, g.spin);
    const V c = g.spin >= 0 ? mean(g, x) : V::zero();
    for (const int i : g.vertices) {
      if (g.spin < 0) {
        put(read(x, i) + dt * speed, x_end, i), put(speed, v_end, i);
        continue;
      }
      const V y = turn(dt * spin, read(x, i) - c);
      put(c + dt * speed + y, x_end, i);
      put(speed + cross(spin, y), v_end, i);
    }
  }
}

void HoldMotion::move_jvp(const double* x, const double* u, double dt, const double* x_dot,
                          const double* u_dot, double dt_dot, double* x_end_dot, double* v_end_dot) const {
  for (const HeldGroup& g : groups) {
    const V speed = read_or_zero(u, g.velocity), spin = read_or_zero(u, g.spin),
            speed_dot = read_or_zero(u_dot, g.velocity), spin_dot = read_or_zero(u_dot, g.spin);
    const V c = g.spin >= 0 ? mean(g, x) : V::zero(),
            c_dot = g.spin >= 0 && x_dot ? mean(g, x_dot) : V::zero();
    const V moved = dt * speed_dot + dt_dot * speed, t_dot = dt * spin_dot + dt_dot * spin;
    for (const int i : g.vertices) {
      const V own = x_dot ? read(x_dot, i) : V::zero();
      if (g.spin < 0) {
        put(own + moved, x_end_dot, i), put(speed_dot, v_end_dot, i);
        continue;
      }
      const Turned r = turned(dt * spin, read(x, i) - c);
      const V y_dot =
          turn(dt * spin, own - c_dot) + t_dot.x * r.by_t[0] + t_dot.y * r.by_t[1] + t_dot.z * r.by_t[2];
      put(c_dot + moved + y_dot, x_end_dot, i);
      put(speed_dot + cross(spin_dot, r.y) + cross(spin, y_dot), v_end_dot, i);
    }
  }
}

void HoldMotion::move_vjp(const double* x, const double* u, double dt, const double* x_end_bar,
                          const double* v_end_bar, double* x_bar, double* u_bar, double& dt_bar) const {
  for (const HeldGroup& g : groups) {
    const V speed = read_or_zero(u, g.velocity), spin = read_or_zero(u, g.spin);
    const V c = g.spin >= 0 ? mean(g, x) : V::zero();
    V speed_bar = V::zero(), spin_bar = V::zero(), c_bar = V::zero();
    for (const int i : g.vertices) {
      const V xb = read(x_end_bar, i), vb = read(v_end_bar, i);
      if (g.velocity >= 0) {
        speed_bar += dt * xb + vb;
        dt_bar += dot(speed, xb);
      }
      if (g.spin < 0) {
        add(xb, x_bar, 3 * i);
        continue;
      }
      const Turned r = turned(dt * spin, read(x, i) - c);
      const V y_bar = xb + cross(vb, spin), q_bar = turn(-dt * spin, y_bar),
              t_bar{dot(r.by_t[0], y_bar), dot(r.by_t[1], y_bar), dot(r.by_t[2], y_bar)};
      spin_bar += cross(r.y, vb) + dt * t_bar;
      dt_bar += dot(spin, t_bar);
      add(q_bar, x_bar, 3 * i);
      c_bar += xb - q_bar;
    }
    if (g.velocity >= 0) add(speed_bar, u_bar, g.velocity);
    if (g.spin < 0) continue;
    add(spin_bar, u_bar, g.spin);
    const V share = (1.0 / double(g.vertices.size())) * c_bar;
    for (const int i : g.vertices) add(share, x_bar, 3 * i);
  }
}

}  // namespace costate::soft
