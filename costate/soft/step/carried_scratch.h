// What a step with a carrier needs beyond StepScratch. Arrays of vertices have three numbers each.
#pragma once

#include "costate/soft/step/compile.h"
#include "costate/solve/dense_lu.h"

namespace costate::soft {

struct CarriedScratch {
  using Tangent = Carrier::Tangent;
  explicit CarriedScratch(const Compiled& c)
      : work(c.model.carrier->make_workspace()),
        forces(std::size_t(c.dofs())),
        now(forces),
        change(forces),
        way(forces),
        balance(forces),
        unit(forces),
        A(forces.size() * forces.size()),
        K(A),
        lu(c.dofs()),
        links(c.riders.links()),
        links_bar(links.size()),
        wrenches(links.size()),
        moving(links.size()),
        state(std::size_t(c.model.carrier->signature().states())),
        state_now(state),
        g(std::size_t(3 * c.n)),
        t(g.size()),
        given(g.size()),
        r(g.size()),
        pull(g.size()),
        rest_bar(g.size()),
        forces_bar(forces.size()),
        out(forces.size()),
        forces_dot(forces.size()),
        out_dot(forces.size()),
        links_dot(links.size()),
        wrenches_dot(links.size()),
        state_dot(state.size()),
        x_dot(state.size()),
        u_dot(std::size_t(c.model.carrier->signature().controls())),
        p_dot(std::size_t(c.model.carrier->signature().parameters())) {}

  std::unique_ptr<Workspace> work;
  std::vector<double> forces, now;  // of the dofs: of s.z, and of the latest look
  std::vector<double> change, way, balance,
      unit;                   // of forces and of dofs in a step of Newton's; what is to vanish
  std::vector<double> A, K;   // dofs x dofs: response, stiffness
  solve::DenseLu<double> lu;  // of 1 + K A
  std::vector<Link<double>> links, links_bar;
  std::vector<LinkVector<double>> wrenches, moving;
  std::vector<double> state, state_now;                // of the carrier after the step
  std::vector<double> g, t, given, r, pull, rest_bar;  // of vertices; r: residual at s.z, pull: -r
  const double* start = nullptr;                       // state of the carrier before the step
  double nearest = 0;                                  // the least norm of the iteration
  bool linearised = false;                             // A, K and lu are those of the solution
  std::vector<double> forces_bar, out;
  std::vector<Tangent> forces_dot, out_dot;
  std::vector<Link<Tangent>> links_dot;
  std::vector<LinkVector<Tangent>> wrenches_dot;
  std::vector<Tangent> state_dot, x_dot, u_dot, p_dot;
};

}  // namespace costate::soft
