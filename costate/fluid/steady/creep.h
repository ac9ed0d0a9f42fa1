// Creeping flow (Stokes, Brinkman, Darcy) on the staggered grid: one linear system and its solver.
//
//   A u + G p = b      D u = c          A u = alpha u - nu lap u     on free faces
//
//   u     has given values on some sides        alpha  resistance of faces [1/s], nu viscosity [m^2/s]
//   G, D  gradient and divergence (projection.h)
//
// Viscosity is the gradient of a quadratic form, which makes it symmetric whatever the sides are:
//
//   Q = 1/2 sum over links w (u_+ - u_-)^2 / h^2       links join neighbouring faces of one component
//   W nu lap u = -nu dQ/du                             W: 1/2 on faces of open sides, whose cells are halves
//
// w is 1, and 1/2 for each of: a link along an end of the box, a link from a wall half a cell away. In the
// product <x, y> = sum W x y both A and the projection P onto D u = 0 are symmetric, so P A is positive on
// fields without divergence: conjugate gradients [1], as many steps as sqrt(condition), with an exact
// projection in each. The transpose of the solution is the solution of the same system (stokes_system.h).
//
// [1] Gould, Hribar, Nocedal, SIAM J. Sci. Comput. 23 (2001), algorithm 2.1: projected gradients.
// Tests: tests/fluid/stokes_test.cpp.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/projection.h"

namespace costate::fluid {

template <class Real>
struct CreepScratch final : Workspace {
  Speeds<Real> u, lambda, b, t, r, d, star, resistance;
  Plane<Real> pressure, divergence, cells;
  SideSpeeds<Real> side, side_dot, side_bar, nothing, sink;
  Real* solver = nullptr;

  CreepScratch(const FlowModel& model, Index solver_numbers) {
    const Index line = 64 / Index(sizeof(Real)), field = (model.sides.shape.size + line - 1) / line * line;
    std::vector<Plane<Real>*> planes = {&pressure, &divergence, &cells};
    for (Speeds<Real>* s : {&u, &lambda, &b, &t, &r, &d, &star, &resistance})
      for (int a = 0; a < model.sides.shape.dim; ++a) planes.push_back(&(*s)[std::size_t(a)]);
    Index given = 0;
    for (const FlowModel::GivenSpeed& g : model.given) given += 5 * g.count;
    const Index fields = Index(planes.size()) * field + (given + line - 1) / line * line;
    memory_.reserve(fields + solver_numbers);
    std::fill_n(memory_.data(), fields + solver_numbers, Real(0));
    Real* next = memory_.data();
    for (Plane<Real>* plane : planes) *plane = {next, nullptr}, next += field;
    for (const FlowModel::GivenSpeed& g : model.given)
      for (SideSpeeds<Real>* to : {&side, &side_dot, &side_bar, &nothing, &sink}) {
        (*to)[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)] = {next, nullptr};
        next += g.count;
      }
    solver = memory_.data() + fields;
  }

 private:
  AlignedBuffer<Real> memory_;
};

// f(at) for the numbers of a box, one after the other: sums have one order.
template <class F>
void each_number(const Shape& shape, const Box& box, const F& f) {
  for (Index k = box.lo[2]; k < box.hi[2]; ++k)
    for (Index j = box.lo[1]; j < box.hi[1]; ++j)
      for (Index at = shape.at(box.lo[0], j, k), i = box.lo[0]; i < box.hi[0]; ++i) f(at++);
}

template <class Real, int Dim>
class Creep {
  using S = NativePack<Real>;

 public:
  Creep(const FlowModel& model, const PressureSolver<Real>& solver, CreepScratch<Real>& work, Real viscosity)
      : sides_(model.sides),
        shape_(model.sides.shape),
        project_(model.sides, solver),
        w_(work),
        viscosity_(viscosity) {}

  // Q of a field whose sides are set. t = dQ/du on faces, and what given speeds get is added to `given_bar`.
  double viscous(const Speeds<Real>& u, const Speeds<Real>& t, const SideSpeeds<Real>& given_bar) const {
    double total = 0;
    for (int c = 0; c < Dim; ++c) {
      clear<Real>(shape_, t[std::size_t(c)]);
      for (int a = 0; a < Dim; ++a) total += links(c, a, u[std::size_t(c)].value, t[std::size_t(c)].value);
    }
    sides_.template set_sides_vjp<Real>(t, given_bar);
    return total / 2;
  }

  // A u on free faces, by way of t.
  void apply(const Speeds<Real>& u, const Speeds<Real>& out) const {
    viscous(u, w_.t, w_.sink);
    sides_.template scale_open_faces<Real>(w_.t, 2);
    each_free([&](std::size_t a, Index at) {
      out[a].value[at] = w_.resistance[a].value[at] * u[a].value[at] + viscosity_ * w_.t[a].value[at];
    });
  }

  // The field with the given sides, divergence -c (null: none) and w_.b on the right; its pressure is in
  // w_.pressure. b and c are left alone; r, d, t and star are scratch.
  void solve(const Plane<Real>& c, const SideSpeeds<Real>& given, const Speeds<Real>& u) const {
    for (int a = 0; a < Dim; ++a) clear<Real>(shape_, u[std::size_t(a)]);
    sides_.template set_faces<Real>(u, given);
    project_.apply(u, u, c, w_);
    sides_.template set_sides<Real>(u, given);
    // Measured by the forces before their gradient is taken out: where all of them are a gradient, what is
    // left is rounding.
    const double eps = double(std::numeric_limits<Real>::epsilon());
    const double forces = unbalanced(u), aim = 100 * eps * eps * forces;
    double left = 0;
    for (int pass = 0; pass < kPasses; ++pass) {  // again from the true residual, against rounding
      if (pass > 0) unbalanced(u);
      project_.apply(w_.r, w_.r, {}, w_);
      left = product(w_.r, w_.r);
      if (!(left > 25 * aim)) break;
      improve(left, aim, u);
      sides_.template set_sides<Real>(u, given);
    }
    if (!(left <= 1e10 * aim) || !std::isfinite(left))
      throw Error({"the creeping flow is not found: what is left of the forces is " +
                       number(std::sqrt(left / forces)) + " of what it was",
                   {},
                   "give every part of the flow a wall, an open side or a resistance that holds it"},
                  Error::Kind::numerics);
    // What is left of the forces is the gradient of the pressure.
    unbalanced(u);
    project_.apply(w_.r, w_.star, {}, w_);
  }

  template <class F>
  void each_free(const F& f) const {
    for (int a = 0; a < Dim; ++a)
      each_number(shape_, sides_.free_faces(a), [&](Index at) { f(std::size_t(a), at); });
  }
  // <x, y> over free faces.
  double product(const Speeds<Real>& x, const Speeds<Real>& y) const {
    double total = 0;
    for (int a = 0; a < Dim; ++a) {
      const Real *p = x[std::size_t(a)].value, *q = y[std::size_t(a)].value;
      each_number(shape_, sides_.free_faces(a), [&](Index at) { total += double(p[at]) * double(q[at]); });
      for (int end = 0; end < 2; ++end)
        if (sides_.open(a, end))
          each_number(shape_, end_faces(a, end),
                      [&](Index at) { total -= 0.5 * double(p[at]) * double(q[at]); });
    }
    return total;
  }
  // The faces of component a on an end of its axis.
  Box end_faces(int a, int end) const {
    Box box = shape_.faces(a);
    const auto axis = std::size_t(a);
    end ? box.lo[axis] = box.hi[axis] - 1 : box.hi[axis] = box.lo[axis] + 1;
    return box;
  }

 private:
  static constexpr int kPasses = 4;

  double links(int c, int a, const Real* u, Real* t) const {
    const auto own = std::size_t(c), axis = std::size_t(a);
    const Index s = shape_.stride[axis];
    const Real scale = Real(1 / (shape_.h[axis] * shape_.h[axis]));
    double total = 0;
    const auto link = [&](Real w, Index from, Index to) {
      const Real d = u[to] - u[from];
      t[to] += w * d, t[from] -= w * d;
      total += double(w) * double(d) * double(d);
    };
    // Rows of links from faces to the next ones along the axis. Ends of the own axis have half a cell.
    const auto rows = [&](Box box, Real w, Index to) {
      if (a == c || shape_.periodic[own])
        return each_number(shape_, box, [&](Index at) { link(w, at, at + to); });
      for (int part = 0; part < 3; ++part) {
        Box some = box;
        const Index lo = box.lo[own], hi = box.hi[own];
        some.lo[own] = part == 0 ? lo : part == 1 ? lo + 1 : hi - 1;
        some.hi[own] = part == 0 ? lo + 1 : part == 1 ? hi - 1 : hi;
        each_number(shape_, some, [&](Index at) { link(part == 1 ? w : w / 2, at, at + to); });
      }
    };
    Box inner = shape_.faces(c);
    --inner.hi[axis];
    rows(inner, scale, s);
    Box last = shape_.faces(c), first = last;
    last.lo[axis] = last.hi[axis] - 1, first.hi[axis] = first.lo[axis] + 1;
    if (shape_.periodic[axis])
      rows(last, scale, -(shape_.n[axis] - 1) * s);
    else if (a != c)
      for (int end = 0; end < 2; ++end)
        if (sides_.kind[axis][std::size_t(end)] == Side::Kind::velocity)
          rows(end ? last : first, scale / 2, end ? s : -s);
    return total;
  }

  // r = b - A u; returns <r, r>.
  double unbalanced(const Speeds<Real>& u) const {
    apply(u, w_.star);
    for (int a = 0; a < Dim; ++a) clear<Real>(shape_, w_.r[std::size_t(a)]);
    each_free([&](std::size_t a, Index at) { w_.r[a].value[at] = w_.b[a].value[at] - w_.star[a].value[at]; });
    return product(w_.r, w_.r);
  }
  void improve(double rho, double enough, const Speeds<Real>& u) const {
    for (int a = 0; a < Dim; ++a)
      clear<Real>(shape_, w_.d[std::size_t(a)]), clear<Real>(shape_, w_.star[std::size_t(a)]);
    // r is projected anew in each step [1, section 5]: A does not see what r has of a gradient, so rounding
    // of an older, larger r would stay, and grow.
    double beta = 0;
    const Index most = 40 * (shape_.n[0] + shape_.n[1] + shape_.n[2]) + 1000;
    for (Index step = 0; step < most && rho > enough; ++step) {
      each_free([&](std::size_t a, Index at) {
        w_.d[a].value[at] = w_.r[a].value[at] + Real(beta) * w_.d[a].value[at];
      });
      sides_.template set_sides<Real>(w_.d, w_.nothing);
      apply(w_.d, w_.star);
      const double curved = product(w_.d, w_.star);
      if (!(curved > 0)) return;
      const Real far = Real(rho / curved);
      each_free([&](std::size_t a, Index at) {
        u[a].value[at] += far * w_.d[a].value[at];
        w_.r[a].value[at] -= far * w_.star[a].value[at];
      });
      project_.apply(w_.r, w_.r, {}, w_);
      const double next = product(w_.r, w_.r);
      beta = next / rho, rho = next;
    }
  }

  const Sides& sides_;
  const Shape& shape_;
  Projection<S, Dim> project_;
  CreepScratch<Real>& w_;
  Real viscosity_;
};

}  // namespace costate::fluid
