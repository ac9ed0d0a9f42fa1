#include "costate/soft/step/riders.h"

#include <algorithm>
#include <cmath>

#include "costate/ad/dual_functions.h"

namespace costate::soft {
namespace {

using V = Vec3<double>;
using T = Carrier::Tangent;

V read(const double* y, int vertex) { return {y[3 * vertex], y[3 * vertex + 1], y[3 * vertex + 2]}; }
Vec3<T> read(const double* y, const double* y_dot, int vertex) {
  const V v = read(y, vertex), d = y_dot ? read(y_dot, vertex) : V::zero();
  return {T(v.x, d.x), T(v.y, d.y), T(v.z, d.z)};
}
void put(const V& v, double* y, int vertex) {
  for (int d = 0; d < 3; ++d) y[3 * vertex + d] = v[d];
}

}  // namespace

// R c
template <class S>
Vec3<S> Riders::arm(const Rider& rider, const Link<S>& link, const Vec3<S>& X) const {
  const Link<double>& from = start_[std::size_t(rider.link)];
  Vec3<S> c;
  for (int i = 0; i < 3; ++i) {
    c[i] = S(0.0);
    for (int j = 0; j < 3; ++j) c[i] += from.turn(j, i) * (X[j] - from.place[j]);
  }
  return link.turn * c;
}

void Riders::place(const Link<double>* links, const double* rest, double* z) const {
  for (const Rider& r : all)
    put(links[r.link].place + arm(r, links[r.link], read(rest, r.vertex)), z, r.vertex);
}

void Riders::place(const Link<T>* links, const double* rest, const double* rest_dot, double* z_dot) const {
  for (const Rider& r : all) {
    const Vec3<T> z = links[r.link].place + arm(r, links[r.link], read(rest, rest_dot, r.vertex));
    put({z.x.d[0], z.y.d[0], z.z.d[0]}, z_dot, r.vertex);
  }
}

void Riders::push(const Link<double>* links, const double* rest, const LinkVector<double>* moving,
                  double* g) const {
  for (const Rider& r : all) {
    const LinkVector<double>& m = moving[r.link];
    put(m.linear + cross(m.angular, arm(r, links[r.link], read(rest, r.vertex))), g, r.vertex);
  }
}

void Riders::wrenches(const Link<double>* links, const double* rest, const double* f,
                      LinkVector<double>* w) const {
  std::fill(w, w + start_.size(), LinkVector<double>{V::zero(), V::zero()});
  for (const Rider& r : all) {
    const V own = read(f, r.vertex);
    w[r.link].linear += own;
    w[r.link].angular += cross(arm(r, links[r.link], read(rest, r.vertex)), own);
  }
}

void Riders::wrenches(const Link<T>* links, const double* rest, const double* rest_dot, const double* f,
                      const double* f_dot, LinkVector<T>* w) const {
  std::fill(w, w + start_.size(), LinkVector<T>{Vec3<T>::zero(), Vec3<T>::zero()});
  for (const Rider& r : all) {
    const Vec3<T> own = read(f, f_dot, r.vertex);
    w[r.link].linear += own;
    w[r.link].angular += cross(arm(r, links[r.link], read(rest, rest_dot, r.vertex)), own);
  }
}

double Riders::weight(const double* f, const double* g) const {
  double sum = 0;
  for (const Rider& r : all) sum += std::abs(dot(read(f, r.vertex), read(g, r.vertex)));
  return sum;
}

// The power of f is sum f . (V + W x R c), so R c receives f x W.
void Riders::links_vjp(const Link<double>* links, const double* rest, const double* f,
                       const LinkVector<double>* moving, const double* z_bar, Link<double>* links_bar,
                       double* rest_bar) const {
  for (std::size_t b = 0; b < start_.size(); ++b)
    for (int i = 0; i < 3; ++i) {
      links_bar[b].place[i] = 0;
      for (int j = 0; j < 3; ++j) links_bar[b].turn(i, j) = 0;
    }
  for (const Rider& r : all) {
    const Link<double>& from = start_[std::size_t(r.link)];
    const V bar = read(z_bar, r.vertex), arm_bar = bar + cross(read(f, r.vertex), moving[r.link].angular),
            c = transpose_times(from.turn, read(rest, r.vertex) - from.place),
            X_bar = from.turn * transpose_times(links[r.link].turn, arm_bar);
    links_bar[r.link].place += bar;
    links_bar[r.link].turn += outer(arm_bar, c);
    for (int d = 0; d < 3; ++d) rest_bar[3 * r.vertex + d] += X_bar[d];
  }
}

}  // namespace costate::soft
