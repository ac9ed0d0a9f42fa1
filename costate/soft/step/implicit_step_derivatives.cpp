// Tangent and transpose of implicit_step.cpp: the same equations, from inputs to z and from z back to inputs.
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/soft/step/carried_scratch.h"
#include "costate/soft/step/implicit_step.h"

namespace costate::soft {

void ImplicitStep::factor_at_solution(const Numbers& m, StepScratch& s) const {
  if (s.factored) return;
  if (c_.self) c_.self->find(s.z.data(), nullptr, m.at.p, s.contact);
  matrix(m, s.z.data(), false, s);
  // Large bodies: half of the time, and refinement makes up for the digits.
  // A robot's forces are found with this factor as it is.
  const bool refined = !s.carried || !touching(s);
  s.single = c_.n >= kManyVertices && refined && factor_single(s);
  if (!s.single) factor_exactly(s);
  s.factored = true;
}

void ImplicitStep::factor_exactly(StepScratch& s) const {
  s.single = false;
  if (!factor(s, 0))
    throw Error(
        {"the state after this step is not a minimum of its energy (the matrix of second derivatives is not "
         "positive definite), so that it has no derivative",
         {},
         "a body is about to buckle: reduce dt, or perturb the start"},
        Error::Kind::numerics);
}

// s.refine = s.d - H x, summed up in long double: what is left of a solution to double's last digit can only
// be seen with more digits than that.
void ImplicitStep::exact_residual(const double* x, StepScratch& s) const {
  std::vector<long double>& sum = s.exact;
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = s.d[k];
  const auto subtract = [&](const double* b, int i, int j, bool both) {
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) {
        const long double h = b[3 * r + c];
        sum[std::size_t(3 * i + r)] -= h * x[3 * j + c];
        if (both) sum[std::size_t(3 * j + c)] -= h * x[3 * i + r];
      }
  };
  const double* block = s.blocks.data();
  for (int i = 0; i < c_.n; ++i, block += 9) subtract(block, i, i, false);
  const auto& pairs = c_.self ? s.pairs : c_.assembly->pairs();
  for (const Assembly::Pair& p : pairs) subtract(block, p[0], p[1], true), block += 9;
  for (std::size_t k = 0; k < sum.size(); ++k) s.refine[k] = c_.free[k / 3] ? double(sum[k]) : 0;
}

// b <- H^-1 b over free vertices, refined until corrections are rounding: tangent and transpose then agree to
// their digits however stiff the barriers are. Where the step itself is solved to fewer digits, so is this:
// to a ten-thousandth of its tolerance.
void ImplicitStep::solve_refined(double* b, StepScratch& s) const {
  const auto n3 = std::size_t(3 * c_.n);
  for (std::size_t k = 0; k < n3; ++k)
    if (!c_.free[k / 3]) b[k] = 0;
  std::copy(b, b + n3, s.d.begin());
  const auto solve = [&](double* x) {
    s.single ? s.preconditioner->solve_single(x, s.solve_work.data()) : solve_with_factor(x, s);
  };
  const auto norm = [&](const double* v) {
    double sum = 0;
    for (std::size_t k = 0; k < n3; ++k) sum += v[k] * v[k];
    return std::sqrt(sum);
  };
  solve(b);
  const double given = norm(s.d.data());
  double change = 1, left = 1;
  constexpr double kSeen = 1e-9;  // of b: double sees as much of what single precision leaves
  const double enough = std::max(1e-16, 1e-4 * c_.model.tolerance);
  for (int round = 0; round < (s.single ? 8 : 3) && left > enough; ++round) {
    if (s.single && (change > kSeen || enough >= 0.1 * kSeen)) {
      multiply(b, s.refine.data(), s);
      for (std::size_t k = 0; k < n3; ++k) s.refine[k] = c_.free[k / 3] ? s.d[k] - s.refine[k] : 0;
    } else {
      exact_residual(b, s);
    }
    s.adjoint_residual = given > 0 ? norm(s.refine.data()) / given : 0;
    solve(s.refine.data());
    const double size = norm(b);
    const double before = change;
    change = size > 0 ? norm(s.refine.data()) / size : 0;
    left = change * std::min(1.0, 10 * change / before);  // errors shrink by as much once more
    for (std::size_t k = 0; k < n3; ++k) b[k] += s.refine[k];
  }
  if (!s.single || left < std::max(1e-14, enough)) return;
  factor_exactly(s);  // too stiff for single precision
  s.factored = false;
  std::copy(s.d.begin(), s.d.end(), b);
  solve_refined(b, s);
}

void ImplicitStep::jvp(const In& in, const In& dot, StepScratch& s, double* y_dot) const {
  const Numbers m = prepare(in, s);
  Rates rates{dot.p ? dot.p[c_.dt] : 0};
  rates.a = -2 * m.a / m.dt * rates.dt;
  rates.rate = -m.rate / m.dt * rates.dt;
  predict_jvp(in, dot, m, rates, s);
  residual_jvp(dot, m, rates, s);
  solve_jvp(in, dot, m, rates, s);
  finish_jvp(dot, m, rates, s, y_dot);
  crease_jvp(dot, m, s, y_dot);
}

// y, w and the mass: to s.y_bar, s.w_bar and s.mass_bar.
void ImplicitStep::predict_jvp(const In& in, const In& dot, const Numbers& m, const Rates& rates,
                               StepScratch& s) const {
  const Scheme& h = m.scheme;
  const std::ptrdiff_t n3 = 3 * c_.n, old = c_.copies == 4 ? 2 * n3 : 0;
  const auto x_dot = [&](std::ptrdiff_t k) { return dot.x ? dot.x[k] : 0; };
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    s.y_bar[std::size_t(k)] = h.y1 * x_dot(k) + h.y2 * x_dot(old + k) +
                              m.dt * (h.y3 * x_dot(n3 + k) + h.y4 * x_dot(old + n3 + k)) +
                              rates.dt * (h.y3 * m.v[k] + h.y4 * m.v_old[k]);
    s.w_bar[std::size_t(k)] = h.w1 * x_dot(k) + h.w2 * x_dot(old + k);
  }
  std::fill(s.mass_bar.begin(), s.mass_bar.end(), 0.0);
  if (!dot.p) return;
  double* slot = s.slots.data();
  for (const auto& term : c_.terms) {
    if (!term->mass_jvp(in.p, dot.p, slot)) std::fill(slot, slot + term->groups().slots(), 0.0);
    slot += term->groups().slots();
  }
  c_.assembly->add(s.slots.data(), 1, s.mass_bar.data());
}

// dr with z held: to s.mu.
void ImplicitStep::residual_jvp(const In& dot, const Numbers& m, const Rates& rates, StepScratch& s) const {
  std::vector<double>& r_dot = s.mu;
  At at = m.at;
  at.z = s.z.data();
  AtDot at_dot{dot.x, s.w_bar.data(), dot.p, dot.u, rates.rate, dot.x ? dot.x + c_.crease_x() : nullptr};
  if (c_.areas && dot.p) {
    c_.areas->of_jvp(at.p + c_.rest, dot.p + c_.rest, s.areas_bar.data());
    at_dot.areas = s.areas_bar.data();
  }
  double* slot = s.slots.data();
  for (const auto& term : c_.terms) {
    term->residual_jvp(at, at_dot, slot);
    slot += 3 * term->groups().slots();
  }
  std::fill(r_dot.begin(), r_dot.end(), 0.0);
  c_.assembly->add(s.slots.data(), 3, r_dot.data());
  if (c_.self) {
    c_.self->find(at.z, nullptr, at.p, s.contact);
    c_.self->residual_jvp(at, at_dot, r_dot.data(), s.contact);
  }
  Vec3<double> wind_dot = Vec3<double>::zero();
  for (int d = 0; d < 3; ++d) {
    if (dot.p) wind_dot[d] += dot.p[c_.wind + d];
    if (dot.u && c_.wind_control >= 0) wind_dot[d] += dot.u[c_.wind_control + d];
  }
  c_.windy.force_jvp(m.x, dot.x, m.wind, wind_dot, m.wind_drag, dot.p ? dot.p[c_.wind_drag] : 0,
                     s.slots.data());
  std::fill(s.coupling.begin(), s.coupling.end(), 0.0);
  c_.wind_assembly->add(s.slots.data(), 3, s.coupling.data());
  const double drag_dot = dot.p ? dot.p[c_.drag] : 0;
  for (int i = 0; i < c_.n; ++i)
    for (int d = 0; d < 3; ++d) {
      const auto k = std::size_t(3 * i + d);
      const double q = s.z[k] - s.y[k], v = s.z[k] - s.w[k], mass = s.mass[std::size_t(i)];
      r_dot[k] += s.mass_bar[std::size_t(i)] * (m.a * q + m.drag * m.rate * v - m.gravity[d]) +
                  mass * (rates.a * q - m.a * s.y_bar[k] + (drag_dot * m.rate + m.drag * rates.rate) * v -
                          m.drag * m.rate * s.w_bar[k] - (dot.p ? dot.p[c_.gravity + d] : 0)) -
                  s.coupling[k];
    }
}

// What held vertices do to their neighbours, then the solve: s.mu becomes z_dot.
void ImplicitStep::solve_jvp(const In& in, const In& dot, const Numbers& m, const Rates& rates,
                             StepScratch& s) const {
  const double hold = m.scheme.hold;
  factor_at_solution(m, s);
  c_.held.move_jvp(m.x, in.u, m.dt, dot.x, dot.u, rates.dt, s.held_x.data(), s.held_v.data());
  for (std::size_t k = 0; k < s.trial.size(); ++k)
    s.trial[k] = c_.follows[k / 3] ? 0 : (1 - hold) * (dot.x ? dot.x[k] : 0) + hold * s.held_x[k];
  multiply(s.trial.data(), s.coupling.data(), s);
  for (std::size_t k = 0; k < s.mu.size(); ++k) s.mu[k] = -(s.mu[k] + s.coupling[k]);
  s.carried ? carried_jvp(in, dot, m, s) : solve_refined(s.mu.data(), s);
}

// The state after the step.
void ImplicitStep::finish_jvp(const In& dot, const Numbers& m, const Rates& rates, const StepScratch& s,
                              double* y_dot) const {
  const Scheme& h = m.scheme;
  const std::ptrdiff_t n3 = 3 * c_.n;
  const auto x_dot = [&](std::ptrdiff_t k) { return dot.x ? dot.x[k] : 0; };
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    const bool free = c_.follows[j / 3];
    y_dot[k] = free ? h.X1 * s.mu[j] + h.X2 * x_dot(k) : s.held_x[j];
    y_dot[n3 + k] = free ? h.V1 / m.dt * (s.mu[j] - s.w_bar[j] - rates.dt / m.dt * (s.z[j] - s.w[j])) +
                               h.V2 * x_dot(n3 + k)
                         : s.held_v[j];
  }
  if (c_.copies == 4)
    for (std::ptrdiff_t k = 0; k < 2 * n3; ++k) y_dot[2 * n3 + k] = x_dot(k);
  for (std::size_t k = 0; s.carried && k < s.carried->state_dot.size(); ++k)
    y_dot[std::size_t(c_.carrier_x()) + k] = s.carried->state_dot[k].d[0];
}

// --- the same stages, last one first -----------------------------------------------------------------------

void ImplicitStep::vjp(const In& in, const double* out_bar, const Bar& bar, StepScratch& s) const {
  const Numbers m = prepare(in, s);
  Rates rates_bar{};
  crease_vjp(m, out_bar, bar, s);
  finish_vjp(m, out_bar, bar, rates_bar, s);
  solve_vjp(in, m, out_bar, bar, rates_bar, s);
  inertia_vjp(m, bar, rates_bar, s);
  forces_vjp(m, bar, rates_bar, s);
  predict_vjp(m, bar, rates_bar, s);
}

// To s.mu, with the sign of mu = -H^-1 z_bar, and to what held vertices do.
void ImplicitStep::finish_vjp(const Numbers& m, const double* out_bar, const Bar& bar, Rates& rates_bar,
                              StepScratch& s) const {
  const Scheme& h = m.scheme;
  const std::ptrdiff_t n3 = 3 * c_.n;
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    const double xb = out_bar[k] + s.crease_bar[j], vb = out_bar[n3 + k];
    s.w_bar[j] = s.mu[j] = s.held_x[j] = s.held_v[j] = 0;
    if (c_.follows[j / 3]) {
      s.mu[j] = -(h.X1 * xb + h.V1 / m.dt * vb);
      bar.x[k] += h.X2 * xb;
      bar.x[n3 + k] += h.V2 * vb;
      s.w_bar[j] = -h.V1 / m.dt * vb;
      rates_bar.dt -= h.V1 / (m.dt * m.dt) * vb * (s.z[j] - s.w[j]);
    } else {
      s.held_x[j] = xb, s.held_v[j] = vb;
    }
  }
  if (c_.copies == 4)
    for (std::ptrdiff_t k = 0; k < 2 * n3; ++k) bar.x[k] += out_bar[2 * n3 + k];
}

// The solve, and what it asks of held vertices.
void ImplicitStep::solve_vjp(const In& in, const Numbers& m, const double* out_bar, const Bar& bar,
                             Rates& rates_bar, StepScratch& s) const {
  const double hold = m.scheme.hold;
  factor_at_solution(m, s);
  s.carried ? carried_vjp(in, m, out_bar, bar, rates_bar, s) : solve_refined(s.mu.data(), s);
  multiply(s.mu.data(), s.coupling.data(), s);
  for (std::size_t k = 0; k < s.mu.size(); ++k) {
    if (c_.follows[k / 3]) continue;
    bar.x[k] += (1 - hold) * s.coupling[k];
    s.held_x[k] += hold * s.coupling[k];
  }
  c_.held.move_vjp(m.x, in.u, m.dt, s.held_x.data(), s.held_v.data(), bar.x, bar.u, rates_bar.dt);
}

// mu . r: inertia, drag and weight.
void ImplicitStep::inertia_vjp(const Numbers& m, const Bar& bar, Rates& rates_bar, StepScratch& s) const {
  for (int i = 0; i < c_.n; ++i) {
    const double mass = s.mass[std::size_t(i)];
    double mass_bar = 0;
    for (int d = 0; d < 3; ++d) {
      const auto k = std::size_t(3 * i + d);
      const double q = s.z[k] - s.y[k], v = s.z[k] - s.w[k], mu = s.mu[k];
      mass_bar += mu * (m.a * q + m.drag * m.rate * v - m.gravity[d]);
      rates_bar.a += mass * mu * q;
      s.y_bar[k] = -m.a * mass * mu;
      bar.p[c_.drag] += m.rate * mass * mu * v;
      rates_bar.rate += m.drag * mass * mu * v;
      s.w_bar[k] -= m.drag * m.rate * mass * mu;
      bar.p[c_.gravity + d] -= mass * mu;
    }
    s.mass_bar[std::size_t(i)] = mass_bar;
  }
}

// mu . r: wind, terms and contact.
void ImplicitStep::forces_vjp(const Numbers& m, const Bar& bar, Rates& rates_bar, StepScratch& s) const {
  std::fill(s.x_bar.begin(), s.x_bar.end(), 0.0);
  for (double& k : s.mu) k = -k;
  Vec3<double> wind_bar = Vec3<double>::zero();
  c_.windy.force_vjp(m.x, m.wind, m.wind_drag, s.mu.data(), s.slots.data(), wind_bar, bar.p[c_.wind_drag]);
  for (double& k : s.mu) k = -k;
  c_.wind_assembly->add(s.slots.data(), 3, s.x_bar.data());
  for (int d = 0; d < 3; ++d) {
    bar.p[c_.wind + d] += wind_bar[d];
    if (c_.wind_control >= 0) bar.u[c_.wind_control + d] += wind_bar[d];
  }
  At at = m.at;
  at.z = s.z.data();
  std::fill(s.areas_bar.begin(), s.areas_bar.end(), 0.0);
  std::int64_t slot = 0;
  for (const auto& term : c_.terms) {
    AtBar to{s.slots.data() + slot,
             s.slots_w.data() + slot,
             bar.rest ? s.slots_rest.data() + slot : nullptr,
             bar.p,
             bar.u,
             0,
             s.mass_bar.data(),
             s.sums.data(),
             bar.x + c_.crease_x(),
             s.areas_bar.data()};
    term->residual_vjp(at, s.mu.data(), to);
    rates_bar.rate += to.rate;
    slot += 3 * term->groups().slots();
  }
  std::fill(s.rest_bar.begin(), s.rest_bar.end(), 0.0);
  c_.assembly->add(s.slots.data(), 3, s.x_bar.data());
  c_.assembly->add(s.slots_w.data(), 3, s.w_bar.data());
  if (bar.rest) c_.assembly->add(s.slots_rest.data(), 3, s.rest_bar.data());
  if (c_.self)
    c_.self->residual_vjp(at, s.mu.data(), s.x_bar.data(), s.rest_bar.data(), s.areas_bar.data(), bar.p,
                          s.contact);
  if (c_.areas && bar.rest) c_.areas->of_vjp(at.p + c_.rest, s.areas_bar.data(), s.rest_bar.data());
}

// Inputs, through y, w and the time step.
void ImplicitStep::predict_vjp(const Numbers& m, const Bar& bar, const Rates& rates_bar,
                               const StepScratch& s) const {
  const Scheme& h = m.scheme;
  const std::ptrdiff_t n3 = 3 * c_.n, old = c_.copies == 4 ? 2 * n3 : 0;
  double dt_bar = rates_bar.dt - 2 * m.a / m.dt * rates_bar.a - m.rate / m.dt * rates_bar.rate;
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    const auto j = std::size_t(k);
    const double yb = s.y_bar[j], wb = s.w_bar[j];
    bar.p[c_.rest + k] += s.rest_bar[j];
    bar.x[k] += s.x_bar[j] + h.y1 * yb + h.w1 * wb;
    bar.x[n3 + k] += m.dt * h.y3 * yb;
    bar.x[old + k] += h.y2 * yb + h.w2 * wb;
    bar.x[old + n3 + k] += m.dt * h.y4 * yb;
    dt_bar += yb * (h.y3 * m.v[k] + h.y4 * m.v_old[k]);
  }
  bar.p[c_.dt] += dt_bar;
}

}  // namespace costate::soft
