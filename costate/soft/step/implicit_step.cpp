#include "costate/soft/step/implicit_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/text.h"
#include "costate/soft/step/carried_scratch.h"

namespace costate::soft {

StepScratch::StepScratch(const Compiled& c) {
  const auto n3 = std::size_t(3 * c.n);
  for (auto* v : {&z, &y, &w, &r, &d, &trial, &wind, &zero, &mu, &refine, &x_bar, &w_bar, &rest_bar, &y_bar,
                  &coupling, &held_x, &held_v, &crease_bar})
    v->assign(n3, 0.0);
  massed.reserve(std::size_t(c.signature.parameters()));
  solve_work.assign(2 * n3, 0.0);
  kept.assign(std::size_t(c.kept), 0.0);
  if (c.areas) areas.assign(std::size_t(c.areas->count()), 0.0), areas_bar = areas;
  exact.assign(n3, 0.0L);
  mass.assign(std::size_t(c.n), 0), mass_bar = mass;
  std::int64_t most = 0;
  for (const auto& term : c.terms) most = std::max(most, term->groups().count());
  values.resize(std::size_t(most));
  sums.resize(std::size_t(kMostSums * (most / kGroupGrain + 1)));
  const auto slot_count = std::size_t(3 * std::max(c.assembly->slots(), c.wind_assembly->slots()));
  slots.resize(slot_count), slots_w.resize(slot_count), slots_rest.resize(slot_count);
  block_slots.resize(std::size_t(9 * c.assembly->block_slots()));
  blocks.resize(std::size_t(9 * c.assembly->blocks()));
  cholesky.analyse(c.n, c.assembly->pairs(), c.model.rest, c.free, c.n >= kManyVertices);
  if (c.model.carrier) carried = std::make_unique<CarriedScratch>(c);
}
StepScratch::~StepScratch() = default;

void StepScratch::forget() {
  factored = prepared = false;
  if (carried) carried->linearised = false;
}

template <class Real>
void StepScratch::save(Real* tape) const {
  std::copy(z.begin(), z.end(), tape);
  if (carried) std::copy(carried->forces.begin(), carried->forces.end(), tape + z.size());
}
template <class Real>
void StepScratch::restore(const Real* tape) {
  std::copy(tape, tape + z.size(), z.begin());
  if (carried) std::copy_n(tape + z.size(), carried->forces.size(), carried->forces.begin());
  forget();
}
template void StepScratch::save<float>(float*) const;
template void StepScratch::save<double>(double*) const;
template void StepScratch::restore<float>(const float*);
template void StepScratch::restore<double>(const double*);

ImplicitStep::Numbers ImplicitStep::numbers(const In& in, const StepScratch& s) const {
  Numbers m;
  const double* p = in.p;
  const std::ptrdiff_t n3 = 3 * c_.n;
  m.scheme = scheme_of(c_.model.integrator, in.k == 0);
  m.dt = p[c_.dt];
  m.a = m.scheme.A / (m.dt * m.dt);
  m.rate = m.scheme.R / m.dt;
  m.drag = p[c_.drag];
  m.gravity = {p[c_.gravity], p[c_.gravity + 1], p[c_.gravity + 2]};
  m.wind = {p[c_.wind], p[c_.wind + 1], p[c_.wind + 2]};
  if (c_.wind_control >= 0)
    for (int d = 0; d < 3; ++d) m.wind[d] += in.u[c_.wind_control + d];
  m.wind_drag = p[c_.wind_drag];
  m.x = in.x, m.v = in.x + n3;
  m.x_old = c_.copies == 4 ? in.x + 2 * n3 : in.x, m.v_old = c_.copies == 4 ? in.x + 3 * n3 : m.v;
  m.at = {nullptr, m.x, s.w.data(), p, in.u, m.rate, s.kept.data()};
  m.at.crease = in.x + c_.crease_x();
  m.at.areas = c_.areas ? s.areas.data() : nullptr;
  return m;
}

// The masses, and what terms keep of the rest shape: steps of one run share them.
void ImplicitStep::masses(const double* p, StepScratch& s) const {
  if (!s.massed.empty() && std::equal(s.massed.begin(), s.massed.end(), p)) return;
  std::fill(s.mass.begin(), s.mass.end(), 0.0);
  double* slot = s.slots.data();
  for (const auto& term : c_.terms) {
    if (!term->mass(p, slot)) std::fill(slot, slot + term->groups().slots(), 0.0);
    slot += term->groups().slots();
  }
  c_.assembly->add(s.slots.data(), 1, s.mass.data());
  for (const auto& term : c_.terms) term->keep(p, s.kept.data());
  if (c_.areas) c_.areas->of(p + c_.rest, s.areas.data());
  s.massed.assign(p, p + c_.signature.parameters());
}

ImplicitStep::Numbers ImplicitStep::prepare(const In& in, StepScratch& s) const {
  Numbers m = numbers(in, s);
  if (s.prepared) return m;
  const double* p = in.p;
  const std::ptrdiff_t n3 = 3 * c_.n;
  const Scheme& h = m.scheme;
  for (std::ptrdiff_t i = 0; i < n3; ++i) {
    s.y[std::size_t(i)] = h.y1 * m.x[i] + h.y2 * m.x_old[i] + m.dt * (h.y3 * m.v[i] + h.y4 * m.v_old[i]);
    s.w[std::size_t(i)] = h.w1 * m.x[i] + h.w2 * m.x_old[i];
  }
  masses(p, s);
  std::fill(s.wind.begin(), s.wind.end(), 0.0);
  c_.windy.force(m.x, m.wind, m.wind_drag, s.slots.data());
  c_.wind_assembly->add(s.slots.data(), 3, s.wind.data());
  if (!c_.self) return m;
  double fastest = 0;
  for (std::ptrdiff_t k = 0; k < n3; ++k) fastest = std::max(fastest, std::abs(m.v[k]));
  c_.self->lag(m.at, m.dt * fastest, s.contact);
  return m;
}

void ImplicitStep::set_held(const In& in, const Numbers& m, double* z, StepScratch& s) const {
  c_.held.move(m.x, in.u, m.dt, s.held_x.data(), s.held_v.data());
  const double hold = m.scheme.hold;
  for (int k = 0; k < 3 * c_.n; ++k) {
    if (c_.follows[std::size_t(k / 3)]) continue;
    const double end = s.held_x[std::size_t(k)];
    z[k] = hold == 1 ? end : m.x[k] + hold * (end - m.x[k]);
  }
}

double ImplicitStep::potential(const Numbers& m, const double* z, StepScratch& s) const {
  At at = m.at;
  at.z = z;
  double sum = 0;
  for (const auto& term : c_.terms) {
    term->energy(at, s.values.data());
    const std::int64_t count = term->groups().count();
    for (std::int64_t e = 0; e < count; ++e) sum += s.values[std::size_t(e)];
  }
  if (c_.self) sum += c_.self->energy(at, s.contact);
  for (int i = 0; i < c_.n; ++i)
    for (int d = 0; d < 3; ++d) {
      const auto k = std::size_t(3 * i + d);
      const double q = z[k] - s.y[k], v = z[k] - s.w[k], mass = s.mass[std::size_t(i)];
      sum += mass * (0.5 * (m.a * q * q + m.drag * m.rate * v * v) - m.gravity[d] * z[k]) - s.wind[k] * z[k];
    }
  return sum;
}

double ImplicitStep::residual(const Numbers& m, const double* z, StepScratch& s) const {
  At at = m.at;
  at.z = z;
  double* slot = s.slots.data();
  for (const auto& term : c_.terms) {
    term->residual(at, slot);
    slot += 3 * term->groups().slots();
  }
  double squares = 0;
  for (const double* f = s.slots.data(); f < slot; ++f) squares += *f * *f;
  for (int i = 0; i < c_.n; ++i)
    for (int d = 0; d < 3; ++d) {
      const auto k = std::size_t(3 * i + d);
      const double mass = s.mass[std::size_t(i)];
      const double inertia = mass * (m.a * (z[k] - s.y[k]) + m.drag * m.rate * (z[k] - s.w[k])),
                   load = mass * m.gravity[d] + s.wind[k];
      s.r[k] = inertia - load;
      squares += inertia * inertia + load * load;
    }
  c_.assembly->add(s.slots.data(), 3, s.r.data());
  if (c_.self) squares += c_.self->residual(at, s.r.data(), s.contact);
  return std::sqrt(squares);
}

void ImplicitStep::matrix(const Numbers& m, const double* z, bool convex, StepScratch& s) const {
  At at = m.at;
  at.z = z;
  at.convex = convex;
  double* slot = s.block_slots.data();
  for (const auto& term : c_.terms) {
    term->matrix(at, slot);
    slot += 9 * term->groups().blocks();
  }
  s.blocks.resize(std::size_t(9 * c_.assembly->blocks()));
  c_.assembly->gather_blocks(s.block_slots.data(), s.blocks.data());
  for (int i = 0; i < c_.n; ++i)
    for (int d = 0; d < 3; ++d)
      s.blocks[std::size_t(9 * i + 4 * d)] += s.mass[std::size_t(i)] * (m.a + m.drag * m.rate);
  if (!c_.self) return;
  c_.self->matrix(at, s.contact);
  s.pairs.assign(c_.assembly->pairs().begin(), c_.assembly->pairs().end());
  const std::vector<double>& from = s.contact.blocks;
  const auto add = [&](std::int64_t to, std::size_t k) {
    for (std::size_t c = 0; c < 9; ++c) s.blocks[std::size_t(9 * to) + c] += from[9 * k + c];
  };
  for (std::size_t k = 0; k < s.contact.pairs.size(); ++k) {
    std::int64_t to = c_.assembly->find(s.contact.pairs[k][0], s.contact.pairs[k][1]);
    if (to < 0) {
      to = c_.n + std::int64_t(s.pairs.size());
      s.pairs.push_back(s.contact.pairs[k]);
      s.blocks.resize(s.blocks.size() + 9, 0.0);
    }
    add(to, k);
  }
  for (int i = 0; i < c_.n; ++i) add(i, s.contact.pairs.size() + std::size_t(i));
}

bool ImplicitStep::touching(const StepScratch& s) const {
  return c_.self && s.pairs.size() > c_.assembly->pairs().size();
}

// The order of elimination follows from what touches now, never from what touched before.
solve::BlockCholesky& ImplicitStep::cholesky_of(StepScratch& s) const {
  if (!touching(s)) return s.cholesky;
  if (s.analysed != s.pairs) {
    s.contact_cholesky.analyse(c_.n, s.pairs, c_.model.rest, c_.free, c_.n >= kManyVertices);
    s.analysed = s.pairs;
  }
  return s.contact_cholesky;
}

bool ImplicitStep::factor(StepScratch& s, double shift) const {
  return cholesky_of(s).factor(s.blocks.data(), shift);
}
bool ImplicitStep::factor_single(StepScratch& s) const {
  solve::BlockCholesky& cholesky = cholesky_of(s);
  s.preconditioner = &cholesky;
  return cholesky.factor_single(s.blocks.data());
}

void ImplicitStep::multiply(const double* x, double* y, const StepScratch& s) const {
  c_.assembly->multiply(s.blocks.data(), x, y);
  for (std::size_t k = c_.assembly->pairs().size(); c_.self && k < s.pairs.size(); ++k) {
    const double* b = s.blocks.data() + 9 * (std::size_t(c_.n) + k);
    const int i = 3 * s.pairs[k][0], j = 3 * s.pairs[k][1];
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) y[i + r] += b[3 * r + c] * x[j + c], y[j + c] += b[3 * r + c] * x[i + r];
  }
}

double ImplicitStep::longest(const Numbers& m, const double* z, const double* step, StepScratch& s) const {
  if (!c_.contact) return 1;
  At at = m.at;
  at.z = z;
  double longest = 1;
  for (const auto& term : c_.terms) longest = std::min(longest, term->longest(at, step));
  if (c_.self) {
    c_.self->find(z, step, at.p, s.contact);
    longest = std::min(longest, c_.self->longest(at, step, s.contact));
  }
  return longest;
}

double ImplicitStep::norm_free(const std::vector<double>& r) const {
  double sum = 0;
  for (int i = 0; i < c_.n; ++i)
    if (c_.free[std::size_t(i)])
      for (int d = 0; d < 3; ++d) sum += r[std::size_t(3 * i + d)] * r[std::size_t(3 * i + d)];
  return std::sqrt(sum);
}

std::string ImplicitStep::undefined_cell(const At& at) const {
  for (std::size_t t = 0; t < c_.terms.size(); ++t) {
    const std::int64_t e = c_.terms[t]->undefined(at);
    if (e >= 0) return "'" + c_.names[t] + "': " + c_.terms[t]->complaint(e);
  }
  return {};
}

// From where they are now, held vertices go where they are told, each time as far as nothing is in their
// way; in between, what they push gives way. Where the step ends does not depend on how it was reached, so
// nothing of this is differentiated.
void ImplicitStep::push(const In& in, const Numbers& m, StepScratch& s) const {
  constexpr int kPushes = 100, kIterations = 20;
  constexpr double kRoughly = 1e-3;
  for (int k = 0; k < kPushes; ++k) {
    std::copy(s.z.begin(), s.z.end(), s.trial.begin());
    set_held(in, m, s.trial.data(), s);
    for (std::size_t i = 0; i < s.z.size(); ++i) s.d[i] = s.trial[i] - s.z[i];
    const double step = longest(m, s.z.data(), s.d.data(), s);
    if (step == 1) {
      set_held(in, m, s.z.data(), s);
      return;
    }
    for (std::size_t i = 0; i < s.z.size(); ++i) s.z[i] += step * s.d[i];
    iterate(m, kRoughly, kIterations, s);
  }
  throw Error({"held vertices would pass through a surface in this step",
               {},
               "what they push does not give way: move them more slowly, or use a smaller dt"},
              Error::Kind::numerics);
}

void ImplicitStep::solve_with_factor(double* b, StepScratch& s) const {
  cholesky_of(s).solve(b, s.solve_work.data());
}

// Where velocities lead to a higher energy than staying does, they are no guess: stiff bodies turn back
// within a step.
void ImplicitStep::stay_where_lower(const In& in, const Numbers& m, StepScratch& s) const {
  const double there = potential(m, s.z.data(), s);
  std::copy(m.x, m.x + s.z.size(), s.trial.begin());
  set_held(in, m, s.trial.data(), s);
  if (potential(m, s.trial.data(), s) < there) s.z.swap(s.trial);
}

// Along the way s.d from x, `step` of which is free: to where energy is least among a few places; returns
// which part of the way that is. Close to a surface barriers are so steep that iterations would come back a
// little at a time.
double ImplicitStep::start_lower(const Numbers& m, double step, StepScratch& s) const {
  const double most = step < 1 ? 0.75 * step : 1;
  double least = std::numeric_limits<double>::infinity(), best = 0;
  for (const double share : {1.0, 0.5, 0.25, 0.0}) {
    for (std::size_t k = 0; k < s.z.size(); ++k) s.trial[k] = m.x[k] + share * most * s.d[k];
    const double there = potential(m, s.trial.data(), s);
    if (there < least) least = there, best = share * most;
  }
  for (std::size_t k = 0; k < s.z.size(); ++k) s.z[k] = m.x[k] + best * s.d[k];
  return best;
}

// From where the velocities lead, or if a law has no value there from where the bodies are.
void ImplicitStep::start(const In& in, const Numbers& m, StepScratch& s) const {
  if (c_.model.carrier) {
    start_carried(m, s);
    return push(in, m, s);
  }
  for (std::size_t k = 0; k < s.z.size(); ++k)
    s.z[k] = m.x[k] + (m.a > 0 ? m.scheme.hold * m.dt * m.v[k] : 0);
  set_held(in, m, s.z.data(), s);
  At at = m.at;
  if (c_.contact) {  // as far along that way as nothing is met
    for (std::size_t k = 0; k < s.z.size(); ++k) s.d[k] = s.z[k] - m.x[k];
    const double step = longest(m, m.x, s.d.data(), s);
    for (std::size_t k = 0; k < s.z.size(); ++k)
      if (c_.free[k / 3]) s.z[k] = m.x[k] + step * s.d[k];
    if (c_.self && start_lower(m, step, s) < 1) push(in, m, s);
  }
  at.z = s.z.data();
  if (undefined_cell(at).empty()) {
    if (!c_.contact && m.a > 0) stay_where_lower(in, m, s);
    return;
  }
  for (std::size_t k = 0; k < s.z.size(); ++k) s.z[k] = m.x[k];
  set_held(in, m, s.z.data(), s);
  const std::string cell = undefined_cell(at);
  if (cell.empty()) return;
  throw Error(
      {cell + " at the start of step " + std::to_string(in.k),
       {},
       "start from a shape that is not, move what is held more slowly, or for cells use a law that goes "
       "through inversion (neo_hookean_stable, fixed_corotated, stvk)"},
      Error::Kind::numerics);
}

// Along s.d, from s.z. On success z, the potential and the residual are those of the new place.
bool ImplicitStep::search(const Numbers& m, double& now, StepScratch& s) const {
  double slope = 0;
  for (std::size_t k = 0; k < s.z.size(); ++k) slope += s.r[k] * s.d[k];
  if (s.carried) slope += carried_slope(s);
  // Where differences of the potential are rounding, the residual decides; with a carrier, whose work is not
  // exact, one half as large as any before does, too.
  const bool fine = -slope < 1e-10 * (std::abs(now) + 1e-300);
  const double norm = s.norm;
  double step = longest(m, s.z.data(), s.d.data(), s);
  for (int halvings = 0; halvings < 40; ++halvings, step *= 0.5) {
    for (std::size_t k = 0; k < s.z.size(); ++k) s.trial[k] = s.z[k] + step * s.d[k];
    if (s.carried && !carried_trial(m, step, s)) continue;
    const double then = potential(m, s.trial.data(), s);
    if (!std::isfinite(then)) continue;
    const double work = s.carried ? carried_work(s) : 0;
    const bool lower = then + work <= now + 1e-4 * step * slope;
    if (!lower && !fine && !s.carried) continue;
    measure(m, s.trial.data(), s);
    const bool closer = (fine && s.norm < norm) || (s.carried && s.norm < 0.5 * s.carried->nearest);
    if (lower || closer) {
      s.z.swap(s.trial);
      if (s.carried) accept_carried(s);
      now = then;
      return true;
    }
    if (fine) break;
  }
  if (s.carried) carry(s.carried->forces, s.z.data(), m.at.p + c_.rest, s);
  measure(m, s.z.data(), s);
  return false;
}

void ImplicitStep::fail(const Numbers& m, const StepScratch& s) const {
  throw Error(
      {"Newton's iteration stopped after " + std::to_string(s.iterations) + " iterations at a residual of " +
           scientific(s.norm / s.forces) + " (tolerance " + scientific(c_.model.tolerance) + ")",
       {},
       m.a > 0 ? "reduce dt (now " + number(m.dt) + "), or raise tolerance or max_iterations"
               : "a body without a hold, or one that buckles, has no single state of rest: hold it, load it "
                 "in smaller parts, or use integrator = euler with drag"},
      Error::Kind::numerics);
}

void ImplicitStep::measure(const Numbers& m, const double* z, StepScratch& s) const {
  s.forces = residual(m, z, s), s.norm = norm_free(s.r);
  if (s.carried) balance(m, s);
}

bool ImplicitStep::iterate(const Numbers& m, double tolerance, int most, StepScratch& s) const {
  measure(m, s.z.data(), s);
  if (s.carried) s.carried->nearest = s.norm;
  s.single_age = -1;
  double now = potential(m, s.z.data(), s), largest = 0;
  for (const double z : s.z) largest = std::max(largest, std::abs(z));
  for (s.iterations = 0; s.norm > tolerance * s.forces; ++s.iterations) {
    stop_if_interrupted();
    if (s.iterations >= most || !std::isfinite(s.norm)) return false;
    matrix(m, s.z.data(), false, s);
    if (!direction(m, tolerance, s)) return false;
    double update = 0;
    for (const double d : s.d) update = std::max(update, std::abs(d));
    const bool found = search(m, now, s);
    // The last bits of z are all that is left to change.
    if (update <= 1e-14 * largest || (!found && update <= 1e-9 * largest)) break;
    if (!found) return false;
  }
  s.residual = s.forces > 0 ? s.norm / s.forces : 0;
  return true;
}

void ImplicitStep::solve(const In& in, StepScratch& s) const {
  s.forget();
  const Numbers m = prepare(in, s);
  if (s.carried) begin_carried(in, m, s);
  start(in, m, s);
  if (!iterate(m, c_.model.tolerance, c_.model.max_iterations, s)) fail(m, s);
  s.prepared = true;
}

void ImplicitStep::finish(const In& in, const StepScratch& s, double* y) const {
  const Scheme h = scheme_of(c_.model.integrator, in.k == 0);
  const double dt = in.p[c_.dt];
  const std::ptrdiff_t n3 = 3 * c_.n;
  const double *x = in.x, *v = in.x + n3;
  for (std::ptrdiff_t k = 0; k < n3; ++k) {
    if (!c_.follows[std::size_t(k / 3)]) continue;
    y[k] = h.X1 * s.z[std::size_t(k)] + h.X2 * x[k];
    y[n3 + k] = h.V1 / dt * (s.z[std::size_t(k)] - s.w[std::size_t(k)]) + h.V2 * v[k];
  }
  c_.held.move(x, in.u, dt, y, y + n3);
  if (c_.copies == 4) std::copy(in.x, in.x + 2 * n3, y + 2 * n3);
  if (c_.creases > 0) crease(numbers(in, s), s, y);
  if (s.carried) std::copy(s.carried->state.begin(), s.carried->state.end(), y + c_.carrier_x());
}

double ImplicitStep::energy(const In& in, StepScratch& s) const {
  s.forget();
  Numbers m = prepare(in, s);
  m.a = m.rate = m.at.rate = 0;
  std::fill(s.wind.begin(), s.wind.end(), 0.0);
  double sum = potential(m, in.x, s);
  for (int i = 0; i < 3 * c_.n; ++i) sum += 0.5 * s.mass[std::size_t(i / 3)] * m.v[i] * m.v[i];
  return sum;
}

}  // namespace costate::soft
