// Eddies that the grid does not resolve, as viscosity (Smagorinsky [1]), and their transpose.
//
//   nu_t = (C delta)^2 R     R = sqrt(2 S:S + e^2)     delta: edge of a cube as large as a cell, C about 0.1
//   2 S:S = 2 sum_a (d_a u_a)^2 + sum_(a<b) the mean over the four edges of a cell of (d_b u_a + d_a u_b)^2
//
// in cells; on edges the mean of the cells around, like any viscosity. e = 1e-3 / s rounds a corner.
//
//   transpose: r_bar = nu_t_bar (C delta)^2 / (2 R)    of 2 S:S       C_bar += 2 C delta^2 <R, nu_t_bar>
//              u_a_bar += 4 d_a' (r_bar d_a u_a) + 2 d_b' (mean of r_bar around the edge, times its shear)
//
// [1] Smagorinsky, Monthly Weather Review 91 (1963), eq. 4.23 ff.
// Tests: tests/fluid/eddies_test.cpp.
#pragma once

#include <cmath>

#include "costate/fluid/step/flow_inputs.h"
#include "costate/fluid/step/row_sums.h"
#include "costate/fluid/step/stress.h"

namespace costate::fluid {

template <class S, int Dim, Carry How>
struct Eddies {
  static constexpr bool Inertia = How == Carry::central || How == Carry::stretched,
                        Stretched = How == Carry::stretched;
  using Real = value_t<S>;
  using One = Single<S>;
  using Flux = Stress<S, Dim, Inertia, Stretched>;
  const FlowModel& model;
  FlowScratch<Real>& work;
  One constant;  // C
  const Shape& shape = model.sides.shape;

  // work.eddy and work.eddy_edges: all of the viscosity that a field feels.
  void read(const Speeds<Real>& u) const {
    const Flux of = plain(u);
    const S scale = everywhere<S>(constant * constant);
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      store<S>(work.eddy, at, load<S>(work.viscosity, at) + area(at) * (scale * rate(of, at)), count);
    });
    model.sides.template extend<One>(work.eddy);
    mean_over_edges<S, Dim>(shape, work.eddy, work.eddy_edges);
  }

  // Given star_bar: adds to out_bar, which the other forces have written, and to the constant's cotangent.
  void transpose(const One& step, const Speeds<Real>& u, bool viscosity, One& constant_bar) const {
    const Flux of = plain(u);
    const StressTranspose<S, Dim, Inertia, Stretched> back{of, work.star_bar};
    const S scaled = everywhere<S>(step);
    clear<S>(shape, work.eddy_bar);
    each_pack<S>(shape, open_cells(), [&](Index at, Index count) {
      store<S>(work.eddy_bar, at, scaled * back.cell_viscosity_bar(at), count);
    });
    for (int a = 0; a < Dim; ++a)
      for (int b = a + 1; b < Dim; ++b) {
        const Plane<Real>& edges = work.eddy_edges_bar[std::size_t(edge(a, b))];
        clear<S>(shape, edges);
        Box box = shape.faces(a);
        box.hi[std::size_t(b)] = shape.faces(b).hi[std::size_t(b)];
        each_pack<S>(shape, box, [&](Index at, Index count) {
          store<S>(edges, at, scaled * back.edge_viscosity_bar(a, b, at), count);
        });
      }
    mean_over_edges_vjp<S, Dim>(model.sides, work.eddy_edges_bar, work.eddy_bar);
    model.sides.template extend_vjp<One>(work.eddy_bar);
    const S scale = everywhere<S>(constant * constant);
    clear<S>(shape, work.strain_bar);
    const auto sums = sum_packs<S, 1>(shape, shape.all_cells(), work.sums, [&](Index at, Index count) {
      const S bar = load<S>(work.eddy_bar, at), r = rate(of, at), sized = area(at) * bar;
      if (viscosity) store<S>(work.viscosity_bar, at, load<S>(work.viscosity_bar, at) + bar, count);
      store<S>(work.strain_bar, at, Real(0.5) * scale * sized / r, count);
      return std::array<S, 1>{sized * r};
    });
    constant_bar = constant_bar + One(Real(2)) * constant * sums[0];
    model.sides.template wrap<One>(work.strain_bar, -1);
    for (int c = 0; c < Dim; ++c)
      each_pack<S>(shape, shape.widened(shape.faces(c)), [&](Index at, Index count) {
        const Plane<Real>& to = work.out_bar[std::size_t(c)];
        store<S>(to, at, load<S>(to, at) + speed_bar(of, c, at), count);
      });
  }

 private:
  Flux plain(const Speeds<Real>& u) const {
    return {shape, {shape, work}, u, work.viscosity, work.edges, false};
  }
  // delta^2
  COSTATE_INLINE auto area(Index at) const {
    const Real mean =
        Real(Dim == 2 ? shape.h[0] * shape.h[1] : std::pow(shape.h[0] * shape.h[1] * shape.h[2], 2.0 / 3));
    if constexpr (!Stretched) {
      return mean;
    } else {
      using P = NativePack<Real>;
      const P size = work.metric.template cell_size<P>(shape, at);
      if constexpr (Dim == 2) return P(mean) * size;
      const P root = cbrt(size);
      return P(mean) * (root * root);
    }
  }
  // Cells that forces read, beyond open sides too.
  Box open_cells() const {
    Box box = shape.all_cells();
    for (int a = 0; a < Dim; ++a) {
      if (model.sides.open(a, 1)) ++box.hi[std::size_t(a)];
      if (model.sides.open(a, 0)) --box.lo[std::size_t(a)];
    }
    return box;
  }
  // R.
  COSTATE_INLINE S rate(const Flux& of, Index at) const {
    S sum(Real(1e-6));
    for (int a = 0; a < Dim; ++a) {
      const S d = of.stretch(a, at);
      sum = sum + Real(2) * d * d;
    }
    for (int a = 0; a < Dim; ++a)
      for (int b = a + 1; b < Dim; ++b) {
        const auto square = [&](Index e) {
          const S d = of.shear(a, b, e);
          return d * d;
        };
        const Index i = of.s(a), j = of.s(b);
        sum = sum + Real(0.25) * ((square(at) + square(at + i)) + (square(at + j) + square(at + i + j)));
      }
    return sqrt(sum);
  }
  COSTATE_INLINE S strain(Index at) const { return load<S>(work.strain_bar, at); }
  COSTATE_INLINE S edge_bar(const Flux& of, int a, int b, Index e) const {
    const Index i = of.s(a), j = of.s(b);
    return Real(0.5) * of.shear(a, b, e) *
           ((strain(e) + strain(e - i)) + (strain(e - j) + strain(e - i - j)));
  }
  COSTATE_INLINE S speed_bar(const Flux& of, int a, Index at) const {
    const Index below = at - of.s(a);
    S sum = Real(4) * (of.per.cell(a, below) * of.stretch(a, below) * strain(below) -
                       of.per.cell(a, at) * of.stretch(a, at) * strain(at));
    for (int b = 0; b < Dim; ++b) {
      if (b == a) continue;
      const Index up = at + of.s(b);
      sum = sum + (of.per.face(b, at) * edge_bar(of, a, b, at) - of.per.face(b, up) * edge_bar(of, a, b, up));
    }
    return sum;
  }
};

}  // namespace costate::fluid
