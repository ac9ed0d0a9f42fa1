// The projection onto div u = 0, and its transpose.
//
//   D G p = D u*      u = u* - G p           D divergence in cells, G gradient on free faces
//
//   transpose: q = (D G)^-1 D u_bar          u*_bar = u_bar - D' q
//
// The solver is its own transpose (pressure_solver.h), so nothing is unrolled and both directions cost the
// same. On closed and periodic sides D' = -G, and the projection is its own transpose. On a side with given
// speeds -D' q is what the speeds there get: the pressure they cause. An open side has the pressure 0 half a
// cell away: G is twice D' there.
//
// Where p itself is wanted, p_bar is added to D u_bar before the solution: no solution more.
//
// On a stretched grid G is the transpose of -D under the volumes F of faces and V of cells (grid/metric.h),
// and the solver is its own under V: the transpose is the same, of u_bar / F and p_bar / V, times F.
// Tests: tests/fluid/flow_test.cpp.
#pragma once

#include "costate/fluid/grid/metric.h"
#include "costate/fluid/pressure/pressure_solver.h"
#include "costate/fluid/step/flow_scratch.h"

namespace costate::fluid {

template <class S, int Dim, bool Stretched = false>
class Projection {
  using Real = value_t<S>;
  using One = Single<S>;
  using Size = NativePack<Real>;  // of cells and faces: without tangents

 public:
  Projection(const Sides& sides, const PressureSolver<Real>& solver) : sides_(sides), solver_(solver) {}

  // From `star`, whose faces on the sides are set, to the free faces of `out` (which may be `star`).
  // `Work` has the pressure and the scratch of the solver. What is `added` (or null) is added to D u*.
  template <class Work>
  void apply(const Speeds<Real>& star, const Speeds<Real>& out, const Plane<Real>& added, Work& work) const {
    solve(star, added, work);
    sides_.template set_pressure<One>(work.pressure);
    each_component(true, [&](int a, Index at, Index count) { subtract(a, at, count, star, out, work); });
  }

  // From out_bar, zero where a speed is given, and p_bar, if there is one, to star_bar on all faces.
  template <class Work>
  void transpose(const Speeds<Real>& out_bar, const Speeds<Real>& star_bar, const Plane<Real>& p_bar,
                 Work& work) const {
    if constexpr (Stretched) divide_by_sizes(out_bar, p_bar, work);
    sides_.template scale_open_faces<One>(out_bar, 2);
    solve(out_bar, p_bar, work);
    sides_.template scale_open_faces<One>(out_bar, 0.5);
    sides_.template set_nothing<One>(work.pressure);
    each_component(false,
                   [&](int a, Index at, Index count) { subtract(a, at, count, out_bar, star_bar, work); });
    if constexpr (Stretched)
      each_component(false, [&](int a, Index at, Index count) {
        const Plane<Real>& f = star_bar[std::size_t(a)];
        store<S>(f, at, work.metric.template face_size<Size>(sides_.shape, a, at) * load<S>(f, at), count);
      });
  }

 private:
  template <class Work>
  void divide_by_sizes(const Speeds<Real>& u_bar, const Plane<Real>& p_bar, const Work& work) const {
    const Shape& shape = sides_.shape;
    each_component(false, [&](int a, Index at, Index count) {
      const Plane<Real>& f = u_bar[std::size_t(a)];
      store<S>(f, at, load<S>(f, at) / work.metric.template face_size<Size>(shape, a, at), count);
    });
    if (!p_bar.value) return;
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      store<S>(p_bar, at, load<S>(p_bar, at) / work.metric.template cell_size<Size>(shape, at), count);
    });
  }

  // The pressure for the divergence of u and what is added to it.
  template <class Work>
  void solve(const Speeds<Real>& u, const Plane<Real>& added, Work& work) const {
    const Shape& shape = sides_.shape;
    for (int a = 0; a < Dim; ++a) {  // the face after the last one, where the axis wraps
      if (!shape.periodic[std::size_t(a)]) continue;
      const Index end = shape.n[std::size_t(a)] * shape.stride[std::size_t(a)];
      const Plane<Real>& f = u[std::size_t(a)];
      sides_.each_line(shape.all_cells(), a,
                       [&](Index at, Index) { store<One>(f, at + end, load<One>(f, at)); });
    }
    const Metric<S, Stretched> per(shape, work);
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      S sum = per.cell(0, at) * (load<S>(u[0], at + 1) - load<S>(u[0], at));
      for (std::size_t a = 1; a < Dim; ++a)
        sum = sum + per.cell(int(a), at) * (load<S>(u[a], at + shape.stride[a]) - load<S>(u[a], at));
      if (added.value) sum = sum + load<S>(added, at);
      store<S>(work.pressure, at, sum, count);
    });
    solver_.solve(work.pressure.value, work.solver);
    if constexpr (kIsDual<S>) solver_.solve(work.pressure.tangent, work.solver);
  }

  template <class Work>
  COSTATE_INLINE void subtract(int a, Index at, Index count, const Speeds<Real>& from, const Speeds<Real>& to,
                               const Work& work) const {
    const Shape& shape = sides_.shape;
    const S slope = Metric<S, Stretched>(shape, work).face(a, at) *
                    (load<S>(work.pressure, at) - load<S>(work.pressure, at - shape.stride[std::size_t(a)]));
    store<S>(to[std::size_t(a)], at, load<S>(from[std::size_t(a)], at) - slope, count);
  }

  template <class F>
  void each_component(bool free, const F& f) const {
    const auto& wraps = sides_.shape.periodic;
    if (wraps[0] && wraps[1] && (Dim == 2 || wraps[2])) {  // one pass: the pressure is read once
      return each_pack<S>(sides_.shape, sides_.shape.all_cells(), [&](Index at, Index count) {
        for (int a = 0; a < Dim; ++a) f(a, at, count);
      });
    }
    for (int a = 0; a < Dim; ++a)
      each_pack<S>(sides_.shape, free ? sides_.free_faces(a) : sides_.shape.faces(a),
                   [&](Index at, Index count) { f(a, at, count); });
  }

  const Sides& sides_;
  const PressureSolver<Real>& solver_;
};

// From what the last projection of a step subtracts the gradient of to the pressure, and the transpose: over
// share dt.
template <class S>
void scale_pressure(const FlowModel& model, const Single<S>& dt, const Plane<value_t<S>>& p) {
  using Real = value_t<S>;
  const S scale = everywhere<S>(Single<S>(Real(1 / model.weights(model.stages() - 1).share)) / dt);
  each_pack<S>(model.sides.shape, model.sides.shape.all_cells(),
               [&](Index at, Index count) { store<S>(p, at, scale * load<S>(p, at), count); });
}

}  // namespace costate::fluid
