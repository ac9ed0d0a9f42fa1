// Tangent and transpose of implicit_step.cpp: the same equations, from inputs to z and from z back to inputs.
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/soft/step/implicit_step.h"

namespace costate::soft {

void ImplicitStep::factor_at_solution(const Numbers& m, StepScratch& s) const {
  if (c_.self) c_.self->find(s.z.data(), nullptr, m.at.p, s.contact);
  matrix(m, s.z.data(), false, s);
  if (!factor(s, 0))
    throw Error(
        {"the state after this step is not a minimum of its energy (the matrix of second derivatives is not "
         "positive definite), so that it has no derivative",
         {},
         "a body is about to buckle: reduce dt, or perturb the start"},
        Error::Kind::numerics);
}

// b <- H^-1 b over free vertices, with one step of refinement.
void ImplicitStep::solve_refined(double* b, StepScratch& s) const {
  const auto n3 = std::size_t(3 * c_.n);
  for (std::size_t k = 0; k < n3; ++k)
    if (!c_.free[k / 3]) b[k] = 0;
  std::copy(b, b + n3, s.d.begin());
  solve_with_factor(b, s);
  double residual = 0, given = 0;
  for (int round = 0; round < 2; ++round) {
    multiply(b, s.refine.data(), s);
    residual = given = 0;
    for (std::size_t k = 0; k < n3; ++k) {
      s.refine[k] = c_.free[k / 3] ? s.d[k] - s.refine[k] : 0;
      residual += s.refine[k] * s.refine[k];
      given += s.d[k] * s.d[k];
    }
    if (round == 1) break;
    solve_with_factor(s.refine.data(), s);
    for (std::size_t k = 0; k < n3; ++k) b[k] += s.refine[k];
  }
  s.adjoint_residual = given > 0 ? std::sqrt(residual / given) : 0;
}

void ImplicitStep::jvp(const In& in, const In& dot, StepScratch& s, double* y_dot) const {
  const Numbers m = prepare(in, s);
  const Scheme& h = m.scheme;
  const std::ptrdiff_t n3 = 3 * c_.n;
  const double* p_dot = dot.p;
  const double dt_dot = p_dot ? p_dot[c_.dt] : 0, a_dot = -2 * m.a / m.dt * dt_dot,
               rate_dot = -m.rate / m.dt * dt_dot, drag_dot = p_dot ? p_dot[c_.drag] : 0;
  const auto x_dot = [&](std::ptrdiff_t k) { return dot.x ? dot.x[k] : 0; };
  const std::ptrdiff_t old = c_.copies == 4 ? 2 * n3 : 0;

  // y, w and the mass.
  std::vector<double>&yd = s.y_bar, &wd = s.w_bar, &zd = s.mu;
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    yd[std::size_t(k)] = h.y1 * x_dot(k) + h.y2 * x_dot(old + k) +
                         m.dt * (h.y3 * x_dot(n3 + k) + h.y4 * x_dot(old + n3 + k)) +
                         dt_dot * (h.y3 * m.v[k] + h.y4 * m.v_old[k]);
    wd[std::size_t(k)] = h.w1 * x_dot(k) + h.w2 * x_dot(old + k);
  }
  std::fill(s.mass_bar.begin(), s.mass_bar.end(), 0.0);
  if (p_dot) {
    double* slot = s.slots.data();
    for (const auto& term : c_.terms) {
      if (!term->mass_jvp(in.p, p_dot, slot)) std::fill(slot, slot + term->groups().slots(), 0.0);
      slot += term->groups().slots();
    }
    c_.assembly->add(s.slots.data(), 1, s.mass_bar.data());
  }

  // dr with z of free vertices held.
  At at = m.at;
  at.z = s.z.data();
  const AtDot at_dot{dot.x, wd.data(), p_dot, dot.u, rate_dot};
  double* slot = s.slots.data();
  for (const auto& term : c_.terms) {
    term->residual_jvp(at, at_dot, slot);
    slot += 3 * term->groups().slots();
  }
  std::fill(zd.begin(), zd.end(), 0.0);
  c_.assembly->add(s.slots.data(), 3, zd.data());
  if (c_.self) {
    c_.self->find(at.z, nullptr, at.p, s.contact);
    c_.self->residual_jvp(at, at_dot, zd.data(), s.contact);
  }
  Vec3<double> wind_dot = Vec3<double>::zero();
  for (int d = 0; d < 3; ++d) {
    if (p_dot) wind_dot[d] += p_dot[c_.wind + d];
    if (dot.u && c_.wind_control >= 0) wind_dot[d] += dot.u[c_.wind_control + d];
  }
  c_.windy.force_jvp(m.x, dot.x, m.wind, wind_dot, m.wind_drag, p_dot ? p_dot[c_.wind_drag] : 0,
                     s.slots.data());
  std::fill(s.coupling.begin(), s.coupling.end(), 0.0);
  c_.wind_assembly->add(s.slots.data(), 3, s.coupling.data());
  for (int i = 0; i < c_.n; ++i)
    for (int d = 0; d < 3; ++d) {
      const auto k = std::size_t(3 * i + d);
      const double q = s.z[k] - s.y[k], v = s.z[k] - s.w[k], mass = s.mass[std::size_t(i)];
      zd[k] += s.mass_bar[std::size_t(i)] * (m.a * q + m.drag * m.rate * v - m.gravity[d]) +
               mass * (a_dot * q - m.a * yd[k] + (drag_dot * m.rate + m.drag * rate_dot) * v -
                       m.drag * m.rate * wd[k] - (p_dot ? p_dot[c_.gravity + d] : 0)) -
               s.coupling[k];
    }

  // What held vertices do to their neighbours, then the solve.
  factor_at_solution(m, s);
  c_.held.move_jvp(m.x, in.u, m.dt, dot.x, dot.u, dt_dot, s.held_x.data(), s.held_v.data());
  for (std::ptrdiff_t k = 0; k < n3; ++k)
    s.trial[std::size_t(k)] =
        c_.free[std::size_t(k / 3)] ? 0 : (1 - h.hold) * x_dot(k) + h.hold * s.held_x[std::size_t(k)];
  multiply(s.trial.data(), s.coupling.data(), s);
  for (std::size_t k = 0; k < zd.size(); ++k) zd[k] = -(zd[k] + s.coupling[k]);
  solve_refined(zd.data(), s);

  // The state after the step.
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    const bool free = c_.free[j / 3];
    y_dot[k] = free ? h.X1 * zd[j] + h.X2 * x_dot(k) : s.held_x[j];
    y_dot[n3 + k] =
        free ? h.V1 / m.dt * (zd[j] - wd[j] - dt_dot / m.dt * (s.z[j] - s.w[j])) + h.V2 * x_dot(n3 + k)
             : s.held_v[j];
  }
  if (c_.copies == 4)
    for (std::ptrdiff_t k = 0; k < 2 * n3; ++k) y_dot[2 * n3 + k] = x_dot(k);
}

void ImplicitStep::vjp(const In& in, const double* out_bar, const Bar& bar, StepScratch& s) const {
  const Numbers m = prepare(in, s);
  const Scheme& h = m.scheme;
  const std::ptrdiff_t n3 = 3 * c_.n, old = c_.copies == 4 ? 2 * n3 : 0;
  double dt_bar = 0, a_bar = 0, rate_bar = 0;
  std::vector<double>&mu = s.mu, &w_bar = s.w_bar, &y_bar = s.y_bar;

  // The state after the step.
  std::fill(bar.x, bar.x + c_.copies * n3, 0.0);
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    const double xb = out_bar[k], vb = out_bar[n3 + k];
    w_bar[j] = mu[j] = s.held_x[j] = s.held_v[j] = 0;
    if (c_.free[j / 3]) {
      mu[j] = -(h.X1 * xb + h.V1 / m.dt * vb);
      bar.x[k] += h.X2 * xb;
      bar.x[n3 + k] += h.V2 * vb;
      w_bar[j] = -h.V1 / m.dt * vb;
      dt_bar -= h.V1 / (m.dt * m.dt) * vb * (s.z[j] - s.w[j]);
    } else {
      s.held_x[j] = xb, s.held_v[j] = vb;
    }
  }
  if (c_.copies == 4)
    for (std::ptrdiff_t k = 0; k < 2 * n3; ++k) bar.x[k] += out_bar[2 * n3 + k];

  // The solve, and what it asks of held vertices.
  factor_at_solution(m, s);
  solve_refined(mu.data(), s);
  multiply(mu.data(), s.coupling.data(), s);
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    if (c_.free[j / 3]) continue;
    bar.x[k] += (1 - h.hold) * s.coupling[j];
    s.held_x[j] += h.hold * s.coupling[j];
  }
  c_.held.move_vjp(m.x, in.u, m.dt, s.held_x.data(), s.held_v.data(), bar.x, bar.u, dt_bar);

  // mu . r: vertices.
  for (int i = 0; i < c_.n; ++i) {
    const double mass = s.mass[std::size_t(i)];
    double mass_bar = 0;
    for (int d = 0; d < 3; ++d) {
      const auto k = std::size_t(3 * i + d);
      const double q = s.z[k] - s.y[k], v = s.z[k] - s.w[k];
      mass_bar += mu[k] * (m.a * q + m.drag * m.rate * v - m.gravity[d]);
      a_bar += mass * mu[k] * q;
      y_bar[k] = -m.a * mass * mu[k];
      bar.p[c_.drag] += m.rate * mass * mu[k] * v;
      rate_bar += m.drag * mass * mu[k] * v;
      w_bar[k] -= m.drag * m.rate * mass * mu[k];
      bar.p[c_.gravity + d] -= mass * mu[k];
    }
    s.mass_bar[std::size_t(i)] = mass_bar;
  }

  // mu . r: wind and terms.
  std::fill(s.x_bar.begin(), s.x_bar.end(), 0.0);
  for (double& k : mu) k = -k;
  Vec3<double> wind_bar = Vec3<double>::zero();
  c_.windy.force_vjp(m.x, m.wind, m.wind_drag, mu.data(), s.slots.data(), wind_bar, bar.p[c_.wind_drag]);
  for (double& k : mu) k = -k;
  c_.wind_assembly->add(s.slots.data(), 3, s.x_bar.data());
  for (int d = 0; d < 3; ++d) {
    bar.p[c_.wind + d] += wind_bar[d];
    if (c_.wind_control >= 0) bar.u[c_.wind_control + d] += wind_bar[d];
  }
  At at = m.at;
  at.z = s.z.data();
  std::int64_t slot = 0;
  for (const auto& term : c_.terms) {
    AtBar to{s.slots.data() + slot, s.slots_w.data() + slot, s.slots_rest.data() + slot, bar.p, bar.u, 0,
             s.mass_bar.data()};
    term->residual_vjp(at, mu.data(), to);
    rate_bar += to.rate;
    slot += 3 * term->groups().slots();
  }
  std::fill(s.rest_bar.begin(), s.rest_bar.end(), 0.0);
  c_.assembly->add(s.slots.data(), 3, s.x_bar.data());
  c_.assembly->add(s.slots_w.data(), 3, w_bar.data());
  c_.assembly->add(s.slots_rest.data(), 3, s.rest_bar.data());

  if (c_.self) c_.self->residual_vjp(at, mu.data(), s.x_bar.data(), s.rest_bar.data(), bar.p, s.contact);

  // Inputs.
  dt_bar += -2 * m.a / m.dt * a_bar - m.rate / m.dt * rate_bar;
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    bar.p[c_.rest + k] += s.rest_bar[j];
    bar.x[k] += s.x_bar[j] + h.y1 * y_bar[j] + h.w1 * w_bar[j];
    bar.x[n3 + k] += m.dt * h.y3 * y_bar[j];
    bar.x[old + k] += h.y2 * y_bar[j] + h.w2 * w_bar[j];
    bar.x[old + n3 + k] += m.dt * h.y4 * y_bar[j];
    dt_bar += y_bar[j] * (h.y3 * m.v[k] + h.y4 * m.v_old[k]);
  }
  bar.p[c_.dt] += dt_bar;
}

}  // namespace costate::soft
