// One step of masses and springs, and its transpose: the same stages backwards.
//
//   spring forces   F = sum of +-f                                    spring_force.h
//   kick            v1 = E v + dt (F/m + g),  E = e^{-drag dt}
//   planes          (b, v) = (x, v1), through each plane in turn       plane_contact.h
//   drift           x' = b + dt v'          (Contact::end_of_step: x' = x + dt v1, and planes change v alone)
//
// Worlds are lanes of S; the topology is the same in all of them and known at run time. Numbers lie in arrays
// of S, mass by mass.
// Tests: tests/soft/mass_spring_test.cpp.
#pragma once

#include <vector>

#include "costate/soft/mass_spring.h"
#include "costate/soft/plane_contact.h"
#include "costate/soft/spring_force.h"

namespace costate::soft {

// Where a field's first number lies among the parameters.
struct ParameterOffsets {
  int mass, rest, stiffness, damping, strength, drag, gravity, friction, offset, dt;
};

struct Topology {
  int masses = 0;
  std::vector<Spring> springs;
  std::vector<Plane> planes;
  bool split = true;
  double softening = 0;
  ParameterOffsets p = {};
};

// Scratch of a step: forces, springs as the transpose finds them, and the states between planes.
template <class S, int D>
struct StepScratch {
  explicit StepScratch(const Topology& m)
      : force(m.masses),
        kicked(m.masses),
        force_bar(m.masses),
        springs(m.springs.size()),
        between(m.planes.size() + 1) {}
  std::vector<Vec<S, D>> force, kicked, force_bar;
  std::vector<StretchedSpring<S, D>> springs;
  std::vector<Moving<S, D>> between;
};

template <class S, int D>
COSTATE_INLINE Vec<S, D> vec_at(const S* from, int i) {
  Vec<S, D> r;
  for (int k = 0; k < D; ++k) r[k] = from[i * D + k];
  return r;
}
template <class S, int D>
COSTATE_INLINE void put(S* to, int i, const Vec<S, D>& a) {
  for (int k = 0; k < D; ++k) to[i * D + k] = a[k];
}
template <class S, int D>
COSTATE_INLINE Vec<S, D> normal_of(const Plane& plane) {
  Vec<S, D> n;
  for (int k = 0; k < D; ++k) n[k] = S(value_t<S>(plane.normal[k]));
  return n;
}
template <class S>
COSTATE_INLINE SpringNumbers<S> numbers_of(const Topology& m, int s, const S* u, const S* p) {
  const int muscle = m.springs[s].muscle;
  return {p[m.p.rest + s], p[m.p.stiffness + s], p[m.p.damping + s], p[m.p.strength + s],
          muscle < 0 ? S(0) : u[muscle]};
}
template <class S>
COSTATE_INLINE S plane_offset(const Topology& m, int i, const S* p) {
  return m.split ? p[m.p.offset + i] : S(value_t<S>(m.planes[i].offset));
}

// --- stages ------------------------------------------------------------------------------------------------

template <class S, int D>
COSTATE_INLINE StretchedSpring<S, D> stretched(const Topology& m, int s, const S* x, const S* u, const S* p) {
  const auto [a, b] = std::pair(m.springs[s].a, m.springs[s].b);
  const S* v = x + m.masses * D;
  return {vec_at<S, D>(x, a) - vec_at<S, D>(x, b), vec_at<S, D>(v, a) - vec_at<S, D>(v, b),
          numbers_of(m, s, u, p), m.softening};
}

// `keep(s, spring)` is shown every stretched spring: the transpose wants them again.
template <class S, int D, class Keep>
void spring_forces(const Topology& m, const S* x, const S* u, const S* p, std::vector<Vec<S, D>>& force,
                   const Keep& keep) {
  for (auto& f : force) f = Vec<S, D>::zero();
  for (int s = 0; s < int(m.springs.size()); ++s) {
    const Spring& spring = m.springs[s];
    const StretchedSpring<S, D> at = stretched<S, D>(m, s, x, u, p);
    const Vec<S, D> f = spring_force(at);
    force[spring.a] = force[spring.a] - f;
    force[spring.b] += f;
    keep(s, at);
  }
}

// Adds to x_bar (positions and velocities), u_bar and p_bar.
template <class S, int D>
void spring_forces_vjp(const Topology& m, const std::vector<StretchedSpring<S, D>>& springs, const S* u,
                       const S* p, const std::vector<Vec<S, D>>& force_bar, S* x_bar, S* u_bar, S* p_bar) {
  const int velocities = m.masses * D;
  for (int s = int(m.springs.size()) - 1; s >= 0; --s) {
    const Spring& spring = m.springs[s];
    const auto [a, b] = std::pair(spring.a, spring.b);
    Vec<S, D> d_bar = Vec<S, D>::zero(), w_bar = Vec<S, D>::zero();
    SpringNumbers<S> bar{S(0), S(0), S(0), S(0), S(0)};
    spring_force_vjp(springs[s], numbers_of(m, s, u, p), force_bar[b] - force_bar[a], d_bar, w_bar, bar);
    for (int k = 0; k < D; ++k) {
      x_bar[a * D + k] += d_bar[k];
      x_bar[b * D + k] -= d_bar[k];
      x_bar[velocities + a * D + k] += w_bar[k];
      x_bar[velocities + b * D + k] -= w_bar[k];
    }
    p_bar[m.p.rest + s] += bar.rest;
    p_bar[m.p.stiffness + s] += bar.stiffness;
    p_bar[m.p.damping + s] += bar.damping;
    p_bar[m.p.strength + s] += bar.strength;
    if (spring.muscle >= 0) u_bar[spring.muscle] += bar.act;
  }
}

template <class S, int D>
void kick(const Topology& m, const S* x, const S* p, const std::vector<Vec<S, D>>& force,
          std::vector<Vec<S, D>>& kicked) {
  using costate::exp;
  const S dt = p[m.p.dt], decay = exp(-p[m.p.drag] * dt);
  const Vec<S, D> g = vec_at<S, D>(p + m.p.gravity, 0);
  for (int i = 0; i < m.masses; ++i) {
    kicked[i] = decay * vec_at<S, D>(x, m.masses + i) + dt * (S(1) / p[m.p.mass + i] * force[i] + g);
  }
}

// Adds to the velocities' part of x_bar and to p_bar; writes force_bar.
template <class S, int D>
void kick_vjp(const Topology& m, const S* x, const S* p, const std::vector<Vec<S, D>>& force,
              const std::vector<Vec<S, D>>& kicked_bar, std::vector<Vec<S, D>>& force_bar, S* x_bar,
              S* p_bar) {
  using costate::exp;
  const S dt = p[m.p.dt], drag = p[m.p.drag], decay = exp(-drag * dt);
  const Vec<S, D> g = vec_at<S, D>(p + m.p.gravity, 0);
  S decay_bar(0);
  for (int i = 0; i < m.masses; ++i) {
    const Vec<S, D>& bar = kicked_bar[i];
    const S inverse = S(1) / p[m.p.mass + i];
    const Vec<S, D> acceleration = inverse * force[i];
    decay_bar += dot(vec_at<S, D>(x, m.masses + i), bar);
    p_bar[m.p.dt] += dot(acceleration + g, bar);
    p_bar[m.p.mass + i] -= dt * inverse * dot(acceleration, bar);
    force_bar[i] = (dt * inverse) * bar;
    for (int k = 0; k < D; ++k) {
      x_bar[(m.masses + i) * D + k] += decay * bar[k];
      p_bar[m.p.gravity + k] += dt * bar[k];
    }
  }
  p_bar[m.p.drag] -= dt * decay * decay_bar;
  p_bar[m.p.dt] -= drag * decay * decay_bar;
}

// Mass i through all planes: `between` holds (b, v) before each of them and after the last. Returns the
// position at the end.
template <class S, int D>
COSTATE_INLINE Vec<S, D> planes_and_drift(const Topology& m, const Moving<S, D>& in, const S* p,
                                          std::vector<Moving<S, D>>& between) {
  const S dt = p[m.p.dt];
  const Vec<S, D> straight = in.b + dt * in.v;
  between[0] = in;
  for (std::size_t j = 0; j < m.planes.size(); ++j) {
    const Moving<S, D>& now = between[j];
    const PlaneContact<S, D> at(normal_of<S, D>(m.planes[j]), plane_offset(m, int(j), p),
                                p[m.p.friction + int(j)], now, m.split ? now.b + dt * now.v : straight);
    between[j + 1] = any(at.touching) ? meet_plane(at, now, m.split) : now;
  }
  const Moving<S, D>& out = between[m.planes.size()];
  return m.split ? out.b + dt * out.v : straight;
}

// From the cotangents of position and velocity at the end to those of (b, v) before the planes; adds to
// p_bar.
template <class S, int D>
COSTATE_INLINE Moving<S, D> planes_and_drift_vjp(const Topology& m, const std::vector<Moving<S, D>>& between,
                                                 const S* p, const Vec<S, D>& y_bar, const Vec<S, D>& w_bar,
                                                 S* p_bar) {
  const S dt = p[m.p.dt];
  const std::size_t planes = m.planes.size();
  const Vec<S, D>& drifted = between[m.split ? planes : 0].v;
  p_bar[m.p.dt] += dot(drifted, y_bar);
  Moving<S, D> bar{y_bar, w_bar};
  if (m.split) bar.v += dt * y_bar;
  const Vec<S, D> straight = between[0].b + dt * between[0].v;
  for (std::size_t j = planes; j-- > 0;) {
    const Moving<S, D>& now = between[j];
    const PlaneContact<S, D> at(normal_of<S, D>(m.planes[j]), plane_offset(m, int(j), p),
                                p[m.p.friction + int(j)], now, m.split ? now.b + dt * now.v : straight);
    if (!any(at.touching)) continue;
    S offset_bar(0);
    meet_plane_vjp(at, m.split, bar, p_bar[m.p.friction + int(j)], offset_bar);
    if (m.split) p_bar[m.p.offset + int(j)] += offset_bar;
  }
  if (!m.split) bar.v += dt * y_bar;
  return bar;
}

// --- the step ----------------------------------------------------------------------------------------------

template <class S, int D>
void mass_spring_step(const Topology& m, const S* x, const S* u, const S* p, S* y, StepScratch<S, D>& work) {
  spring_forces<S, D>(m, x, u, p, work.force, [](int, const auto&) {});
  kick<S, D>(m, x, p, work.force, work.kicked);
  for (int i = 0; i < m.masses; ++i) {
    put(y, i, planes_and_drift<S, D>(m, {vec_at<S, D>(x, i), work.kicked[i]}, p, work.between));
    put(y, m.masses + i, work.between.back().v);
  }
}

// Writes x_bar; adds to u_bar and p_bar.
template <class S, int D>
void mass_spring_step_vjp(const Topology& m, const S* x, const S* u, const S* p, const S* y_bar, S* x_bar,
                          S* u_bar, S* p_bar, StepScratch<S, D>& work) {
  spring_forces<S, D>(m, x, u, p, work.force, [&](int s, const auto& at) { work.springs[s] = at; });
  kick<S, D>(m, x, p, work.force, work.kicked);
  for (int i = 0; i < m.masses; ++i) {
    planes_and_drift<S, D>(m, {vec_at<S, D>(x, i), work.kicked[i]}, p, work.between);
    const Moving<S, D> bar = planes_and_drift_vjp<S, D>(m, work.between, p, vec_at<S, D>(y_bar, i),
                                                        vec_at<S, D>(y_bar, m.masses + i), p_bar);
    put(x_bar, i, bar.b);
    put(x_bar, m.masses + i, Vec<S, D>::zero());
    work.kicked[i] = bar.v;  // from here on its cotangent
  }
  kick_vjp<S, D>(m, x, p, work.force, work.kicked, work.force_bar, x_bar, p_bar);
  spring_forces_vjp<S, D>(m, work.springs, u, p, work.force_bar, x_bar, u_bar, p_bar);
}

}  // namespace costate::soft
