// A step in which vertices ride on a carrier, a robot that feels what they feel (carrier.h, riders.h).
//
//   r(z)_free = 0,   z_riders = place(q+(f)),   b = f + J' w(r_riders) = 0        f forces on the dofs
//
// Soft bodies and carrier are solved for together, so the forces on both are the same numbers, those at the
// end of the step: nothing is lost or gained between them, and no light link is thrown about. The rigid step
// is a map from f to q+, whatever its integrator, limits and contacts are; A = dq+/df.
//
// Newton: with e = A df the way of the dofs, G = dz_riders/dq+ and W = H_ff^-1 H_fr G,
//
//   (1 + K A) df = -b + G' H_rf H_ff^-1 r_f,    K = G' (H_rr G - H_rf W) + C,    d_f = -H_ff^-1 r_f - W e
//
// C is what J' w changes by because J turns. A step along it lowers r's energy and what f takes along the
// way, whose gradient with respect to q+ is b. That work is known by its ends alone, exact where A is
// constant; so where |(r, b)| is half as large as ever before, a step is taken whatever the work. Dofs go
// straight, also where q+(f) has corners (carry_along), but links turn, so riders do not: the way of every
// trial step is looked along for collisions.
// [1] Nocedal, Wright: Numerical Optimization, 2nd ed., sections 3.4 and 16.2 (the elimination).
// Tangent and transpose: carried_derivatives.cpp. Tests: tests/coupled/carrier_test.cpp.
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/soft/step/carried_scratch.h"
#include "costate/soft/step/implicit_step.h"

namespace costate::soft {

void ImplicitStep::begin_carried(const In& in, const Numbers& m, StepScratch& s) const {
  s.carried->start = in.x + c_.carrier_x();
  c_.model.carrier->begin(
      CarrierInputs<double>{
          {.k = in.k}, in.x + c_.carrier_x(), in.u + c_.carrier_u, in.p + c_.carrier_p, m.gravity, m.dt},
      *s.carried->work);
}

// Riders to where these forces take them.
void ImplicitStep::carry(const std::vector<double>& forces, double* z, const double* rest,
                         StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  if (&c.now != &forces) c.now = forces;
  c_.model.carrier->move(c.now.data(), c.state.data(), c.links.data(), *c.work);
  c_.riders.place(c.links.data(), rest, z);
}

// From where velocities lead and nothing pushes the carrier; as far along that way as nothing is met. In
// between, riders are taken to be where forces that hold the carrier back leave them.
void ImplicitStep::start_carried(const Numbers& m, StepScratch& s) const {
  constexpr int kTries = 40;
  CarriedScratch& c = *s.carried;
  const double* rest = m.at.p + c_.rest;
  std::fill(c.forces.begin(), c.forces.end(), 0.0);
  carry(c.forces, s.z.data(), rest, s);
  c_.model.carrier->response(c.A.data(), *c.work);
  c_.model.carrier->way(c.state.data(), c.start, c.way.data());
  std::vector<double>& back = c.change;
  if (c.lu.factorise(c.A.data()))
    c.lu.solve(c.way.data(), back.data());
  else
    std::fill(back.begin(), back.end(), 0.0);
  c.state_now = c.state;
  double share = 1;
  std::string cell;
  for (int k = 0; k < kTries; ++k) {
    for (std::size_t i = 0; i < s.z.size(); ++i)
      s.trial[i] = m.x[i] + (c_.free[i / 3] ? share * m.dt * m.v[i] : 0);
    carry_along(1 - share, rest, s);
    for (std::size_t i = 0; i < s.z.size(); ++i) s.d[i] = s.trial[i] - m.x[i];
    At at = m.at;
    at.z = s.trial.data();
    cell = undefined_cell(at);
    const double step = longest(m, m.x, s.d.data(), s);
    if (step == 1 && cell.empty()) {
      s.z = s.trial;
      c.forces = c.now, c.state_now = c.state;
      return;
    }
    share = k == kTries - 2 ? 0 : share * (cell.empty() ? std::clamp(0.9 * step, 0.1, 0.9) : 0.5);
  }
  throw Error({cell.empty() ? "vertices that ride on the model would pass through a surface in this step"
                            : cell + " at the start of a step",
               {},
               "use a smaller dt; vertices that ride start where the model's start has them"},
              Error::Kind::numerics);
}

// The dofs go `step` along c.way. Forces in proportion to that take them there, except where a contact of the
// model opens or closes on the way: q+(f) has a corner there, and Newton's iteration on the few dofs finds
// the forces. (Energies of q+ have no corner: a step that is downhill in q+ is so on both sides.)
void ImplicitStep::carry_along(double step, const double* rest, StepScratch& s) const {
  constexpr int kCorners = 8;
  constexpr double kNear = 1e-3;
  CarriedScratch& c = *s.carried;
  const std::size_t n = c.now.size();
  for (std::size_t i = 0; i < n; ++i) c.now[i] = c.forces[i] + step * c.change[i];
  for (int k = 0;; ++k) {
    carry(c.now, s.trial.data(), rest, s);
    c_.model.carrier->way(c.state_now.data(), c.state.data(), c.out.data());
    double all = 0, missed = 0;
    for (std::size_t i = 0; i < n; ++i) {
      c.out[i] = step * c.way[i] - c.out[i];
      all = std::max(all, std::abs(step * c.way[i])), missed = std::max(missed, std::abs(c.out[i]));
    }
    if (missed <= kNear * all || k + 1 == kCorners) return;
    c_.model.carrier->response(c.K.data(), *c.work);
    if (!c.lu.factorise(c.K.data())) return;
    c.lu.solve(c.out.data(), c.balance.data());
    for (std::size_t i = 0; i < n; ++i) c.now[i] += c.balance[i];
  }
}

// s.trial, which is `step` along s.d, and the riders of it. False: something is in their way.
bool ImplicitStep::carried_trial(const Numbers& m, double step, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  carry_along(step, m.at.p + c_.rest, s);
  if (!c_.contact) return true;
  for (std::size_t i = 0; i < c.t.size(); ++i) c.t[i] = s.trial[i] - s.z[i];
  return longest(m, s.z.data(), c.t.data(), s) == 1;
}

// The latest look is where the iteration goes on.
void ImplicitStep::accept_carried(StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  c.forces = c.now, c.state_now = c.state;
  c.nearest = std::min(c.nearest, s.norm);
}

// b, and its part in s.norm and s.forces. s.r is the residual at the riders' latest places.
void ImplicitStep::balance(const Numbers& m, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  const double* rest = m.at.p + c_.rest;
  c_.riders.wrenches(c.links.data(), rest, s.r.data(), c.wrenches.data());
  c_.model.carrier->gather(c.wrenches.data(), c.balance.data(), *c.work);
  double squares = 0, norm = 0;
  for (std::size_t i = 0; i < c.balance.size(); ++i) {
    std::fill(c.unit.begin(), c.unit.end(), 0.0);
    c.unit[i] = 1;
    riders_of(c.unit.data(), rest, s);
    const double all = c_.riders.weight(s.r.data(), c.g.data());
    c.balance[i] += c.now[i];
    squares += all * all + c.now[i] * c.now[i];
    norm += c.balance[i] * c.balance[i];
  }
  s.norm = std::sqrt(s.norm * s.norm + norm);
  s.forces = std::sqrt(s.forces * s.forces + squares);
}

// What the forces take along the way from s.z to the latest look, as if they changed in proportion to it.
double ImplicitStep::carried_work(StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  c_.model.carrier->way(c.state_now.data(), c.state.data(), c.out.data());
  double sum = 0;
  for (std::size_t i = 0; i < c.now.size(); ++i) sum += 0.5 * (c.forces[i] + c.now[i]) * c.out[i];
  return sum;
}
// Beyond r . d, where riders have the part J' w.
double ImplicitStep::carried_slope(const StepScratch& s) const {
  const CarriedScratch& c = *s.carried;
  double sum = 0;
  for (std::size_t i = 0; i < c.forces.size(); ++i) sum += c.forces[i] * c.way[i];
  return sum;
}

// c.g <- G v, and zero where nothing rides.
void ImplicitStep::riders_of(const double* v, const double* rest, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  std::fill(c.g.begin(), c.g.end(), 0.0);
  c_.model.carrier->carry(v, c.moving.data(), *c.work);
  c_.riders.push(c.links.data(), rest, c.moving.data(), c.g.data());
}

// K, with H and its factor as they are; `curved`: with C.
void ImplicitStep::stiffness(const double* rest, bool curved, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  const Carrier& carrier = *c_.model.carrier;
  const std::size_t n = c.forces.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::fill(c.unit.begin(), c.unit.end(), 0.0);
    c.unit[k] = 1;
    riders_of(c.unit.data(), rest, s);
    multiply(c.g.data(), c.t.data(), s);
    for (std::size_t i = 0; i < c.t.size(); ++i)
      if (!c_.free[i / 3]) c.t[i] = 0;
    s.single ? s.preconditioner->solve_single(c.t.data(), s.solve_work.data())
             : solve_with_factor(c.t.data(), s);
    for (std::size_t i = 0; i < c.t.size(); ++i) c.g[i] -= c.t[i];
    multiply(c.g.data(), c.t.data(), s);
    c_.riders.wrenches(c.links.data(), rest, c.t.data(), c.wrenches.data());
    carrier.gather(c.wrenches.data(), c.out.data(), *c.work);
    for (std::size_t i = 0; i < n; ++i) c.K[i * n + k] = c.out[i];
  }
  for (std::size_t k = 0; curved && k < n; ++k) {
    carrier.nudge(int(k), c.links_dot.data(), *c.work);
    c_.riders.wrenches(c.links_dot.data(), rest, nullptr, c.r.data(), nullptr, c.wrenches_dot.data());
    carrier.gather(c.wrenches_dot.data(), c.out_dot.data(), *c.work);
    for (std::size_t i = 0; i < n; ++i) c.K[i * n + k] += c.out_dot[i].d[0];
  }
}

// The factor of 1 + K A.
bool ImplicitStep::factor_forces(StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  const std::size_t n = c.forces.size();
  double* M = c.lu.matrix();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      M[i * n + j] = i == j ? 1 : 0;
      for (std::size_t k = 0; k < n; ++k) M[i * n + j] += c.K[i * n + k] * c.A[k * n + j];
    }
  return c.lu.factorise();
}

bool ImplicitStep::carried_direction(const Numbers& m, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  c_.model.carrier->response(c.A.data(), *c.work);
  c.r = s.r;
  s.single = false;
  if (!exact_direction(m, s)) return false;
  if (carried_newton(m, true, s)) return true;
  // Not downhill: without the negative parts of cells and pairs, and without C, it is.
  matrix(m, s.z.data(), true, s);
  for (std::size_t k = 0; k < s.d.size(); ++k) s.d[k] = c_.free[k / 3] ? -s.r[k] : 0;
  return exact_direction(m, s) && carried_newton(m, false, s);
}

// s.d is -H_ff^-1 r_f, and becomes the step of all vertices; c.change and c.way are those of forces and dofs.
bool ImplicitStep::carried_newton(const Numbers& m, bool curved, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  const double* rest = m.at.p + c_.rest;
  const std::size_t n = c.forces.size();
  stiffness(rest, curved, s);
  if (!factor_forces(s)) return false;
  multiply(s.d.data(), c.t.data(), s);
  c_.riders.wrenches(c.links.data(), rest, c.t.data(), c.wrenches.data());
  c_.model.carrier->gather(c.wrenches.data(), c.out.data(), *c.work);
  for (std::size_t i = 0; i < n; ++i) c.out[i] = -c.balance[i] - c.out[i];
  c.lu.solve(c.out.data(), c.change.data());
  for (std::size_t i = 0; i < n; ++i) {
    c.way[i] = 0;
    for (std::size_t j = 0; j < n; ++j) c.way[i] += c.A[i * n + j] * c.change[j];
  }
  riders_of(c.way.data(), rest, s);
  multiply(c.g.data(), c.t.data(), s);
  for (std::size_t i = 0; i < c.t.size(); ++i)
    if (!c_.free[i / 3]) c.t[i] = 0;
  solve_with_factor(c.t.data(), s);
  double slope = carried_slope(s);
  for (std::size_t i = 0; i < s.d.size(); ++i) {
    s.d[i] += c.g[i] - c.t[i];
    slope += s.r[i] * s.d[i];
  }
  return slope <= 0;
}

}  // namespace costate::soft
