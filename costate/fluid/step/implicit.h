// Implicit viscosity: a stage that is stable for any nu dt / h^2.
//
//   star = pre + theta s (I star - I u)             s = share dt, pre what an explicit stage makes of u
//   (I u)_a = sum_b d_b (nu d_b u_a)                 what of div(2 nu S) acts on each component alone
//
// With delta = star - u, whose sides are homogeneous (given speeds are the same before and after),
//
//   (1 + s kappa - theta s I) delta = pre - (1 + s kappa) u      star = u + delta
//
// kappa the resistance of obstacles (obstacles/resistance.h), which is implicit anyway. Theta of the stages:
// Euler 1; RK3 1, 4, 1/2. RK3 keeps its order 2 with every theta_2 = 2 theta_1 + 4 theta_3. A step multiplies
// a mode of I with eigenvalue lambda by R(z), z = nu lambda dt:
//
//   R(z) = 1 + z + z^2/2 + ... and R(-infinity) = 0  for these three
//
// A steady state does not know theta. Where nu is the same everywhere and nothing resists, the system is
// solved exactly by transforms (pressure/viscous_solver.h), otherwise by conjugate gradients to rounding.
//
// Transpose. A = 1 + s kappa - theta s I is symmetric, so with A r = star_bar:
//
//   pre_bar = r     u_bar += star_bar - (1 + s kappa) r     kappa_bar -= s star r
//   nu_bar += theta s d<r, I delta>/dnu                     dt_bar += theta share <r, I delta>
//
// Tests: tests/fluid/implicit_test.cpp.
#pragma once

#include <limits>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/fluid/pressure/viscous_solver.h"
#include "costate/fluid/step/momentum.h"

namespace costate::fluid {

template <class S, int Dim>
struct ImplicitViscosity {
  using Real = value_t<S>;
  using One = Single<S>;
  using P = NativePack<Real>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  const ViscousSolver<Real>& solver;
  One dt;
  const Sides& sides = model.sides;
  const Shape& shape = model.sides.shape;

  // work.star has been made by the momentum of the stage, from u.
  void apply(FlowModel::Weights w, const Speeds<Real>& u) const;

  // star_bar becomes r; what u gets beside it waits in work.extra.
  void transpose(FlowModel::Weights w) const;
  void add_extra(const Speeds<Real>& u_bar) const;
  // What dt and the viscosity get; work.delta has been made again.
  void transpose_sums(FlowModel::Weights w, One& dt_bar) const;
  void transpose_viscosity(FlowModel::Weights w) const;

 private:
  Index stride(int a) const { return shape.stride[std::size_t(a)]; }
  double per_h(int a) const { return 1 / shape.h[std::size_t(a)]; }
  template <class F>
  void each_free(const F& f) const {
    for (int c = 0; c < Dim; ++c)
      each_pack<S>(shape, sides.free_faces(c), [&](Index at, Index count) { f(std::size_t(c), at, count); });
  }
  void close(const Speeds<Real>& f) const {
    for (int c = 0; c < Dim; ++c) sides.template set_still<One>(f[std::size_t(c)], c);
  }
  template <class T>
  COSTATE_INLINE T resistance(std::size_t a, Index at) const {
    T sum(Real(0));
    for (const Speeds<Real>& mask : work.mask) sum = sum + load<T>(mask[a], at);
    return sum;
  }
  // I of one component; what lies beyond its sides is set.
  template <class T>
  COSTATE_INLINE T spread(const Plane<Real>& f, int c, Index at) const {
    T sum(Real(0));
    const T here = load<T>(f, at);
    for (int b = 0; b < Dim; ++b) {
      const Index s = stride(b);
      const Plane<Real>& nu = b == c ? work.viscosity : work.edges[std::size_t(edge(c, b))];
      const Index low = b == c ? at - s : at, high = b == c ? at : at + s;
      sum = sum + Real(per_h(b) * per_h(b)) * (load<T>(nu, high) * (load<T>(f, at + s) - here) -
                                               load<T>(nu, low) * (here - load<T>(f, at - s)));
    }
    return sum;
  }

  // x becomes A^-1 x. A tangent: A x_dot = (what was asked for)_dot - A_dot x.
  void solve(FlowModel::Weights w, const Speeds<Real>& x) const;
  static Real value_of(const One& x) {
    if constexpr (kIsDual<S>)
      return x.v;
    else
      return x;
  }

  void solve_values(double share, double theta, int c, Real* x) const {
    if (work.same_viscosity && work.mask.empty()) {
      const double nu = double(work.viscosity.value[shape.at(0, 0, 0)]);
      return solver.solve(c, x, theta * share * nu, work.solver);
    }
    gradients(share, theta, c, x);
  }
  // Conjugate gradients, preconditioned by the diagonal. A >= 1, so what is left bounds the error.
  void gradients(double share, double theta, int c, Real* x) const;
};

}  // namespace costate::fluid
