// Tangent and transpose of carried_step.cpp, at its solution (f, z).
//
// Tangent. For a given f_dot: q+_dot and the riders' z_dot from the carrier, the free ones' from
// H_ff z_dot_f = -(r_dot + H_fr z_dot_r), the riders' r_dot from both, and with it f_dot = -d(J'w) again.
// Transpose. For a given f_bar: riders' mu = -G f_bar, the free ones' mu_f = -H_ff^-1 (z_bar + H_fr mu_r),
// places receive z_bar + H mu, the carrier's transpose gives f_bar again; then every input receives its
// derivative of mu . r.
//
// Both are linear in what is to be found, with the matrices 1 + K A and (1 + K A)' of carried_step.cpp: the
// first pass begins with zero, and the others correct what is left until it is rounding.
// Tests: tests/coupled/carrier_test.cpp.
#include <algorithm>
#include <cmath>

#include "costate/core/error.h"
#include "costate/soft/step/carried_scratch.h"
#include "costate/soft/step/implicit_step.h"

namespace costate::soft {
namespace {

constexpr int kPasses = 6;
constexpr double kRounding = 1e-16;

double largest(const std::vector<double>& v) {
  double most = 0;
  for (const double x : v) most = std::max(most, std::abs(x));
  return most;
}

}  // namespace

// Carrier, residual, A and 1 + K A at the solution.
void ImplicitStep::linearise_carried(const In& in, const Numbers& m, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  if (c.linearised) return;
  const double* rest = m.at.p + c_.rest;
  begin_carried(in, m, s);
  carry(c.forces, s.z.data(), rest, s);
  if (c_.self) c_.self->find(s.z.data(), nullptr, m.at.p, s.contact);
  residual(m, s.z.data(), s);
  c.r = s.r;
  c_.model.carrier->response(c.A.data(), *c.work);
  stiffness(rest, true, s);
  if (!factor_forces(s))
    throw Error({"the state after this step does not determine the forces on the model, so that it has no "
                 "derivative",
                 {},
                 "reduce dt, or perturb the start"},
                Error::Kind::numerics);
  c.linearised = true;
}

// With riders at c.g: s.mu, where free vertices obey H s.mu = c.given, and c.t = H s.mu - c.given elsewhere.
void ImplicitStep::follow_riders(StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  multiply(c.g.data(), c.t.data(), s);
  for (std::size_t i = 0; i < s.mu.size(); ++i) s.mu[i] = c.given[i] - c.t[i];
  solve_refined(s.mu.data(), s);
  for (const Riders::Rider& rider : c_.riders.all)
    std::copy_n(c.g.begin() + 3 * rider.vertex, 3, s.mu.begin() + 3 * rider.vertex);
  multiply(s.mu.data(), c.t.data(), s);
  for (std::size_t i = 0; i < c.t.size(); ++i) c.t[i] -= c.given[i];
}

namespace {

// Inputs with tangents; null: zero.
void load(const double* v, const double* v_dot, std::vector<Carrier::Tangent>& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = Carrier::Tangent(v[i], v_dot ? v_dot[i] : 0.0);
}

}  // namespace

// s.mu: -dr with z held, and what held vertices add to it; becomes z_dot, of riders too.
void ImplicitStep::carried_jvp(const In& in, const In& dot, const Numbers& m, StepScratch& s) const {
  using Tangent = Carrier::Tangent;
  CarriedScratch& c = *s.carried;
  const Carrier& carrier = *c_.model.carrier;
  const double *rest = m.at.p + c_.rest, *rest_dot = dot.p ? dot.p + c_.rest : nullptr;
  linearise_carried(in, m, s);
  c.given = s.mu;
  load(in.x + c_.carrier_x(), dot.x ? dot.x + c_.carrier_x() : nullptr, c.x_dot);
  load(in.u + c_.carrier_u, dot.u ? dot.u + c_.carrier_u : nullptr, c.u_dot);
  load(in.p + c_.carrier_p, dot.p ? dot.p + c_.carrier_p : nullptr, c.p_dot);
  Vec3<Tangent> gravity;
  for (int d = 0; d < 3; ++d) gravity[d] = Tangent(m.gravity[d], dot.p ? dot.p[c_.gravity + d] : 0.0);
  carrier.begin(CarrierInputs<Tangent>{{.k = in.k},
                                       c.x_dot.data(),
                                       c.u_dot.data(),
                                       c.p_dot.data(),
                                       gravity,
                                       Tangent(m.dt, dot.p ? dot.p[c_.dt] : 0.0)},
                *c.work);
  for (std::size_t i = 0; i < c.forces.size(); ++i) c.forces_dot[i] = Tangent(c.forces[i], 0.0);
  for (int pass = 0; pass < kPasses; ++pass) {
    carrier.move(c.forces_dot.data(), c.state_dot.data(), c.links_dot.data(), *c.work);
    std::fill(c.g.begin(), c.g.end(), 0.0);
    c_.riders.place(c.links_dot.data(), rest, rest_dot, c.g.data());
    follow_riders(s);
    c_.riders.wrenches(c.links_dot.data(), rest, rest_dot, c.r.data(), c.t.data(), c.wrenches_dot.data());
    carrier.gather(c.wrenches_dot.data(), c.out_dot.data(), *c.work);
    double most = 0;
    for (std::size_t i = 0; i < c.out.size(); ++i) {
      c.out[i] = -c.out_dot[i].d[0] - c.forces_dot[i].d[0];
      most = std::max(most, std::abs(c.forces_dot[i].d[0]));
    }
    if (largest(c.out) <= kRounding * most || pass + 1 == kPasses) return;
    c.lu.solve(c.out.data(), c.change.data());
    for (std::size_t i = 0; i < c.change.size(); ++i) c.forces_dot[i].d[0] += c.change[i];
  }
}

// s.mu: -z_bar of free vertices and of riders; becomes mu.
void ImplicitStep::carried_vjp(const In& in, const Numbers& m, const double* out_bar, const Bar& bar,
                               Rates& rates_bar, StepScratch& s) const {
  CarriedScratch& c = *s.carried;
  const Carrier& carrier = *c_.model.carrier;
  const double* rest = m.at.p + c_.rest;
  linearise_carried(in, m, s);
  c.given = s.mu;
  for (std::size_t i = 0; i < c.r.size(); ++i) c.pull[i] = -c.r[i];
  std::fill(c.forces_bar.begin(), c.forces_bar.end(), 0.0);
  const Carrier::OutBar out{out_bar + c_.carrier_x(), c.links_bar.data(), c.wrenches.data(),
                            c.forces_bar.data()};
  c_.riders.wrenches(c.links.data(), rest, c.pull.data(), c.wrenches.data());
  for (int pass = 0; pass < kPasses; ++pass) {
    riders_of(c.forces_bar.data(), rest, s);
    for (double& g : c.g) g = -g;
    follow_riders(s);
    std::fill(c.rest_bar.begin(), c.rest_bar.end(), 0.0);
    c_.riders.links_vjp(c.links.data(), rest, c.pull.data(), c.moving.data(), c.t.data(), c.links_bar.data(),
                        c.rest_bar.data());
    carrier.vjp(out, c.out.data(), nullptr, *c.work);
    for (std::size_t i = 0; i < c.out.size(); ++i) c.out[i] -= c.forces_bar[i];
    if (largest(c.out) <= kRounding * largest(c.forces_bar) || pass + 1 == kPasses) break;
    c.lu.solve_transposed(c.out.data(), c.change.data());
    for (std::size_t i = 0; i < c.change.size(); ++i) c.forces_bar[i] += c.change[i];
  }
  Carrier::InBar to{bar.x + c_.carrier_x(), bar.u ? bar.u + c_.carrier_u : nullptr,
                    bar.p ? bar.p + c_.carrier_p : nullptr};
  carrier.vjp(out, c.out.data(), &to, *c.work);
  for (int d = 0; d < 3; ++d) bar.p[c_.gravity + d] += to.gravity[d];
  rates_bar.dt += to.dt;
  for (std::size_t i = 0; bar.rest && i < c.rest_bar.size(); ++i)
    bar.p[c_.rest + std::ptrdiff_t(i)] += c.rest_bar[i];
}

}  // namespace costate::soft
