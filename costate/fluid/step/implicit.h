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
  void apply(FlowModel::Weights w, const Speeds<Real>& u) const {
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    each_free([&](std::size_t a, Index at, Index count) {
      store<S>(work.delta[a], at,
               load<S>(work.star[a], at) - load<S>(u[a], at) * (S(Real(1)) + step * resistance<S>(a, at)),
               count);
    });
    solve(w, work.delta);
    each_free([&](std::size_t a, Index at, Index count) {
      store<S>(work.star[a], at, load<S>(u[a], at) + load<S>(work.delta[a], at), count);
    });
  }

  // star_bar becomes r; what u gets beside it waits in work.extra.
  void transpose(FlowModel::Weights w) const {
    const S step = everywhere<S>(One(Real(w.share)) * dt);
    each_free([&](std::size_t a, Index at, Index count) {
      store<S>(work.extra[a], at, load<S>(work.star_bar[a], at), count);
    });
    solve(w, work.star_bar);
    // Its halo: zero beyond the sides, as every transpose of a stage expects.
    for (int a = 0; a < Dim; ++a) sides.template set_nothing_beyond<One>(work.star_bar[std::size_t(a)], a);
    each_free([&](std::size_t a, Index at, Index count) {
      const S r = load<S>(work.star_bar[a], at);
      store<S>(work.extra[a], at, load<S>(work.extra[a], at) - r * (S(Real(1)) + step * resistance<S>(a, at)),
               count);
    });
  }
  void add_extra(const Speeds<Real>& u_bar) const {
    each_free([&](std::size_t a, Index at, Index count) {
      store<S>(u_bar[a], at, load<S>(u_bar[a], at) + load<S>(work.extra[a], at), count);
    });
  }
  // What dt and the viscosity get; work.delta has been made again.
  void transpose_sums(FlowModel::Weights w, One& dt_bar) const {
    close(work.delta);
    for (int c = 0; c < Dim; ++c) {
      const auto a = std::size_t(c);
      const auto sums = sum_packs<S, 1>(shape, sides.free_faces(c), work.sums, [&](Index at, Index) {
        return std::array<S, 1>{load<S>(work.star_bar[a], at) * spread<S>(work.delta[a], c, at)};
      });
      dt_bar = dt_bar + One(Real(w.theta * w.share)) * sums[0];
    }
  }
  void transpose_viscosity(FlowModel::Weights w) const {
    close(work.delta);
    const S step = everywhere<S>(One(Real(w.theta * w.share)) * dt);
    const auto link = [&](int c, int along, Index at, Index before) {
      const auto a = std::size_t(c);
      const S rise = load<S>(work.delta[a], at) - load<S>(work.delta[a], before),
              bar = load<S>(work.star_bar[a], at) - load<S>(work.star_bar[a], before);
      return Real(per_h(along) * per_h(along)) * rise * bar;
    };
    const auto take = [&](const Plane<Real>& from, Index at, const S& x, Index count) {
      store<S>(from, at, load<S>(from, at) - step * x, count);
    };
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      S sum = link(0, 0, at + 1, at);
      for (int a = 1; a < Dim; ++a) sum = sum + link(a, a, at + stride(a), at);
      take(work.viscosity_bar, at, sum, count);
    });
    for (int a = 0; a < Dim; ++a) {
      for (int b = a + 1; b < Dim; ++b) {
        Box edges = shape.faces(a);
        edges.hi[std::size_t(b)] = shape.faces(b).hi[std::size_t(b)];
        each_pack<S>(shape, edges, [&](Index at, Index count) {
          take(work.edges_bar[std::size_t(edge(a, b))], at,
               link(a, b, at, at - stride(b)) + link(b, a, at, at - stride(a)), count);
        });
      }
    }
  }

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
  void solve(FlowModel::Weights w, const Speeds<Real>& x) const {
    const double share = w.share * double(value_of(dt));
    if constexpr (!kIsDual<S>) {
      for (int c = 0; c < Dim; ++c) solve_values(share, w.theta, c, x[std::size_t(c)].value);
    } else {
      const S step = everywhere<S>(One(Real(w.share)) * dt);
      for (int c = 0; c < Dim; ++c) {
        const auto a = std::size_t(c);
        const Box box = sides.free_faces(c);
        const Plane<Real>&f = x[a], kept{work.image.tangent, nullptr};
        each_pack<P>(shape, box, [&](Index at, Index count) {
          store<P>(kept, at, load<P>({f.tangent, nullptr}, at), count);
          store<P>({f.tangent, nullptr}, at, P(0), count);
        });
        solve_values(share, w.theta, c, f.value);
        sides.template set_still<One>(f, c);
        each_pack<S>(shape, box, [&](Index at, Index count) {
          const S image = load<S>(f, at) * (S(Real(1)) + step * resistance<S>(a, at)) -
                          Real(w.theta) * step * spread<S>(f, c, at);
          store<P>(kept, at, load<P>(kept, at) - image.d[0], count);
        });
        each_pack<P>(shape, box, [&](Index at, Index count) {
          store<P>({f.tangent, nullptr}, at, load<P>(kept, at), count);
        });
        solve_values(share, w.theta, c, f.tangent);
      }
    }
  }
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
  void gradients(double share, double theta, int c, Real* x) const {
    const auto a = std::size_t(c);
    const Box box = sides.free_faces(c);
    const Plane<Real> r{x, nullptr}, found{work.found.value, nullptr}, p{work.search.value, nullptr},
        q{work.image.value, nullptr};
    const P step{Real(share)}, implicit{Real(theta * share)};
    const auto diagonal = [&](Index at) {
      P sum = P(1) + step * resistance<P>(a, at);
      for (int b = 0; b < Dim; ++b) {
        const Plane<Real>& nu = b == c ? work.viscosity : work.edges[std::size_t(edge(c, b))];
        const Index low = b == c ? at - stride(b) : at, high = b == c ? at : at + stride(b);
        sum = sum + implicit * P(Real(per_h(b) * per_h(b))) * (load<P>(nu, low) + load<P>(nu, high));
      }
      return sum;
    };
    const auto squared = [&] {
      return double(sum_packs<P, 1>(shape, box, work.sums, [&](Index at, Index) {
        const P left = load<P>(r, at);
        return std::array<P, 1>{left * left / diagonal(at)};
      })[0]);
    };
    each_pack<P>(shape, box, [&](Index at, Index count) {
      store<P>(found, at, P(0), count);
      store<P>(p, at, load<P>(r, at) / diagonal(at), count);
    });
    const double eps = 0.01 * double(std::numeric_limits<Real>::epsilon());
    double rho = squared();
    const double enough = eps * eps * rho;
    const Index most = 20 * (shape.n[0] + shape.n[1] + shape.n[2]) + 1000;
    for (Index k = 0; rho > enough && rho > 1e-290; ++k) {
      if (k == most || !std::isfinite(rho))
        throw Error({"implicit viscosity is not found after " + std::to_string(k) + " iterations",
                     {},
                     "take dt below " + number(0.5 * double(value_of(dt)))},
                    Error::Kind::numerics);
      sides.template set_still<Real>(p, c);
      each_pack<P>(shape, box, [&](Index at, Index count) {
        store<P>(q, at,
                 load<P>(p, at) * (P(1) + step * resistance<P>(a, at)) - implicit * spread<P>(p, c, at),
                 count);
      });
      const double curved = double(sum_packs<P, 1>(shape, box, work.sums, [&](Index at, Index) {
        return std::array<P, 1>{load<P>(p, at) * load<P>(q, at)};
      })[0]);
      const P far{Real(rho / curved)};
      each_pack<P>(shape, box, [&](Index at, Index count) {
        store<P>(found, at, load<P>(found, at) + far * load<P>(p, at), count);
        store<P>(r, at, load<P>(r, at) - far * load<P>(q, at), count);
      });
      const double next = squared();
      const P turn{Real(next / rho)};
      rho = next;
      each_pack<P>(shape, box, [&](Index at, Index count) {
        store<P>(p, at, load<P>(r, at) / diagonal(at) + turn * load<P>(p, at), count);
      });
    }
    each_pack<P>(shape, box, [&](Index at, Index count) { store<P>(r, at, load<P>(found, at), count); });
  }
};

}  // namespace costate::fluid
