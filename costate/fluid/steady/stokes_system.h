// Creeping flow as a System: a step is the whole way to the steady state, whatever the state was before.
//
//   A u + G p = f,  D u = 0            creep.h; alpha on a face is the mean of its two cells
//   dissipation = nu V sum |grad u|^2 = 2 nu V Q       resisted = V sum W alpha u^2        V volume of a cell
//
// Transpose, by the implicit function theorem: with u_bar of everything that reads u,
//
//   A lambda + G q = u_bar / W,  D lambda = -p_bar,  0 on given sides          the same solver
//   f_bar = sum W lambda    alpha_bar = -W lambda u    nu_bar = -<lambda, dQ/du>
//   given_bar = -nu dQ(lambda)/dgiven + D' q
//
// Tangent: A u_dot + G p_dot = f_dot - alpha_dot u - nu_dot dQ/du / W,  D u_dot = 0, with given_dot.
// The tape is the solution. Tests: tests/fluid/stokes_test.cpp, tests/contract.
#pragma once

#include <memory>
#include <utility>

#include "costate/fluid/steady/creep.h"
#include "costate/fluid/step/make_flow_system.h"

namespace costate::fluid {

template <class Real, int Dim>
class StokesSystem final : public System<Real> {
  using Scratch = CreepScratch<Real>;
  using Solver = Creep<Real, Dim>;

 public:
  explicit StokesSystem(FlowModel model) : model_(std::move(model)) {
    std::array<Ends, 3> ends{};
    for (int a = 0; a < Dim; ++a) ends[std::size_t(a)] = model_.sides.ends(a);
    solver_ = PressureSolver<Real>(model_.sides.shape, ends);
  }
  const Signature& signature() const override { return model_.signature; }
  std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Scratch>(model_, solver_.scratch_numbers());
  }
  TapePlan tape(const Activity&, const TapeBudget& budget) const override {
    const Index size = model_.signature.states();
    return {.size = size <= budget.numbers ? size : 0};
  }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real* tape, Workspace& work) const override {
    auto& w = static_cast<Scratch&>(work);
    solve(in, w);
    write(in, w, y);
    if (tape) std::copy_n(y, model_.signature.states(), tape);
  }

  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& in_dot, Real* y, Real* y_dot,
                Workspace& work) const override {
    auto& w = static_cast<Scratch&>(work);
    const Solver flow = solve(in, w);
    const double energy = write(in, w, y), nu = double(in.p[0]);
    const Real nu_dot = in_dot.p ? in_dot.p[0] : Real(0);
    read_given(in_dot, w.side_dot);
    // The right-hand side, and what the two powers get directly.
    clear_given(w.side_bar);
    flow.viscous(w.u, w.t, w.side_bar);
    double energy_dot = 2 * double(nu_dot) * energy, resisted_dot = 0;
    each_given([&](const Plane<Real>& bar, const Plane<Real>& dot,
                   Index i) { energy_dot += 2 * nu * double(bar.value[i]) * double(dot.value[i]); },
               w.side_bar, w.side_dot);
    read_resistance(in_dot.p, w, w.lambda);
    each_face([&](std::size_t a, Index at, double weight) {
      const double u = double(w.u[a].value[at]);
      resisted_dot += weight * double(w.lambda[a].value[at]) * u * u;
    });
    sides().template scale_open_faces<Real>(w.t, 2);
    flow.each_free([&](std::size_t a, Index at) {
      w.b[a].value[at] = (in_dot.p ? in_dot.p[force_at() + Index(a)] : Real(0)) -
                         w.lambda[a].value[at] * w.u[a].value[at] - nu_dot * w.t[a].value[at];
    });
    flow.solve({}, w.side_dot, w.lambda);
    write_speeds<NativePack<Real>>(model_, w.lambda, {y_dot});
    if (model_.pressure >= 0) write_pressure(w, y_dot);
    flow.viscous(w.u, w.t, w.sink);
    flow.each_free([&](std::size_t a, Index at) {
      energy_dot += 2 * nu * double(w.t[a].value[at]) * double(w.lambda[a].value[at]);
    });
    each_face([&](std::size_t a, Index at, double weight) {
      resisted_dot += 2 * weight * double(w.resistance[a].value[at]) * double(w.u[a].value[at]) *
                      double(w.lambda[a].value[at]);
    });
    y_dot[model_.powers] = Real(volume() * energy_dot);
    y_dot[model_.powers + 1] = Real(volume() * resisted_dot);
  }

  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real* tape, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity&, Workspace& work) const override {
    auto& w = static_cast<Scratch&>(work);
    const Solver flow = tape ? recall(in, tape, w) : solve(in, w);
    const Shape& shape = sides().shape;
    const double nu = double(in.p[0]), power_bar = volume() * double(y_bar[model_.powers]),
                 resisted_bar = volume() * double(y_bar[model_.powers + 1]);
    std::fill_n(bar.x, model_.signature.states(), Real(0));
    // u_bar of everything that reads u, in lambda; given speeds get their part.
    clear_given(w.side_bar);
    const double energy = flow.viscous(w.u, w.t, w.side_bar);
    each_given([&](const Plane<Real>& to, const Plane<Real>&,
                   Index i) { to.value[i] = Real(2 * nu * power_bar * double(to.value[i])); },
               w.side_bar, w.side_bar);
    for (int a = 0; a < Dim; ++a) clear<Real>(shape, w.lambda[std::size_t(a)]);
    read_speeds<NativePack<Real>>(model_, {y_bar}, w.lambda);
    each_face([&](std::size_t a, Index at, double weight) {
      w.lambda[a].value[at] +=
          Real(2 * nu * power_bar * double(w.t[a].value[at]) +
               2 * resisted_bar * weight * double(w.resistance[a].value[at]) * double(w.u[a].value[at]));
    });
    sides().template set_faces_vjp<Real>(w.lambda, w.side_bar);
    sides().template scale_open_faces<Real>(w.lambda, 2);
    flow.each_free([&](std::size_t a, Index at) { w.b[a].value[at] = w.lambda[a].value[at]; });
    if (model_.pressure >= 0)
      read_field<NativePack<Real>>(shape, shape.all_cells(), {y_bar + model_.pressure}, w.divergence);
    flow.solve(model_.pressure >= 0 ? w.divergence : Plane<Real>{}, w.nothing, w.lambda);
    // What the equations get. D' q on given faces, where the halo of q is zero, is what q leaves there.
    sides().template set_nothing<Real>(w.pressure);
    for (int a = 0; a < Dim; ++a) {
      const Index s = shape.stride[std::size_t(a)];
      const Real per_h = Real(1 / shape.h[std::size_t(a)]);
      clear<Real>(shape, w.star[std::size_t(a)]);
      for (int end = 0; end < 2; ++end)
        if (sides().given(a, end))
          each_number(shape, flow.end_faces(a, end), [&](Index at) {
            w.star[std::size_t(a)].value[at] = per_h * (w.pressure.value[at - s] - w.pressure.value[at]);
          });
    }
    sides().template set_faces_vjp<Real>(w.star, w.side_bar);
    write_cotangents(in, bar, energy, power_bar, resisted_bar, flow, w);
  }

 private:
  const Sides& sides() const { return model_.sides; }
  Index force_at() const { return 1 + sides().shape.cells(); }
  double volume() const {
    const auto& h = sides().shape.h;
    return h[0] * h[1] * (Dim == 3 ? h[2] : 1.0);
  }

  // --- inputs ----------------------------------------------------------------------------------------------

  void read_given(const Inputs<Real>& in, const SideSpeeds<Real>& to) const {
    for (const FlowModel::GivenSpeed& g : model_.given) {
      const Real* from = g.control ? in.u : in.p;
      Real* side = to[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)].value;
      for (Index i = 0; i < g.count; ++i) side[i] = from ? from[g.offset + i] : Real(0);
    }
  }
  void clear_given(const SideSpeeds<Real>& to) const {
    each_given([](const Plane<Real>& side, const Plane<Real>&, Index i) { side.value[i] = Real(0); }, to, to);
  }
  template <class F>
  void each_given(const F& f, const SideSpeeds<Real>& x, const SideSpeeds<Real>& y) const {
    for (const FlowModel::GivenSpeed& g : model_.given) {
      const auto a = std::size_t(g.axis), e = std::size_t(g.end), c = std::size_t(g.component);
      for (Index i = 0; i < g.count; ++i) f(x[a][e][c], y[a][e][c], i);
    }
  }
  // The mean of two cells, beyond a side of the one inside.
  void read_resistance(const Real* p, Scratch& w, const Speeds<Real>& to) const {
    const Shape& shape = sides().shape;
    read_field<NativePack<Real>>(shape, shape.all_cells(), {p ? p + 1 : nullptr}, w.cells);
    sides().template extend<Real>(w.cells);
    for (int a = 0; a < Dim; ++a) {
      const Index s = shape.stride[std::size_t(a)];
      each_number(shape, shape.faces(a), [&](Index at) {
        to[std::size_t(a)].value[at] = Real(0.5) * (w.cells.value[at] + w.cells.value[at - s]);
      });
    }
  }
  // f(axis, at, W) for all faces; W is 1/2 on the ends of the own axis.
  template <class F>
  void each_face(const F& f) const {
    const Shape& shape = sides().shape;
    for (int a = 0; a < Dim; ++a) {
      const auto own = std::size_t(a);
      const Box box = shape.faces(a);
      for (Index k = box.lo[2]; k < box.hi[2]; ++k)
        for (Index j = box.lo[1]; j < box.hi[1]; ++j)
          for (Index i = box.lo[0]; i < box.hi[0]; ++i) {
            const Index place = own == 0 ? i : own == 1 ? j : k;
            const bool end = !shape.periodic[own] && (place == 0 || place == shape.n[own]);
            f(own, shape.at(i, j, k), end ? 0.5 : 1.0);
          }
    }
  }

  // --- the step --------------------------------------------------------------------------------------------

  Solver read(const Inputs<Real>& in, Scratch& w) const {
    read_given(in, w.side);
    read_resistance(in.p, w, w.resistance);
    return Solver(model_, solver_, w, in.p[0]);
  }
  Solver solve(const Inputs<Real>& in, Scratch& w) const {
    const Solver flow = read(in, w);
    flow.each_free([&](std::size_t a, Index at) { w.b[a].value[at] = in.p[force_at() + Index(a)]; });
    flow.solve({}, w.side, w.u);
    return flow;
  }
  Solver recall(const Inputs<Real>& in, const Real* tape, Scratch& w) const {
    const Solver flow = read(in, w);
    read_speeds<NativePack<Real>>(model_, {tape}, w.u);
    sides().template set_sides<Real>(w.u, w.side);
    return flow;
  }
  void write_pressure(const Scratch& w, Real* y) const {
    const Shape& shape = sides().shape;
    write_field<NativePack<Real>>(shape, shape.all_cells(), w.pressure, {y + model_.pressure}, false);
  }
  // Returns Q.
  double write(const Inputs<Real>& in, Scratch& w, Real* y) const {
    write_speeds<NativePack<Real>>(model_, w.u, {y});
    if (model_.pressure >= 0) write_pressure(w, y);
    const double energy = Solver(model_, solver_, w, in.p[0]).viscous(w.u, w.t, w.sink);
    double resisted = 0;
    each_face([&](std::size_t a, Index at, double weight) {
      const double u = double(w.u[a].value[at]);
      resisted += weight * double(w.resistance[a].value[at]) * u * u;
    });
    y[model_.powers] = Real(2 * double(in.p[0]) * volume() * energy);
    y[model_.powers + 1] = Real(volume() * resisted);
    return energy;
  }

  // --- its transpose, given lambda -------------------------------------------------------------------------

  void write_cotangents(const Inputs<Real>& in, const Cotangents<Real>& bar, double energy, double power_bar,
                        double resisted_bar, const Solver& flow, Scratch& w) const {
    const Shape& shape = sides().shape;
    flow.viscous(w.u, w.t, w.sink);
    double nu_bar = 2 * power_bar * energy;
    std::array<double, 3> force_bar{};
    for (int a = 0; a < Dim; ++a) clear<Real>(shape, w.star[std::size_t(a)]);
    each_face([&](std::size_t a, Index at, double weight) {
      const double u = double(w.u[a].value[at]), lambda = double(w.lambda[a].value[at]);
      nu_bar -= lambda * double(w.t[a].value[at]);
      force_bar[a] += weight * lambda;
      w.star[a].value[at] = Real(weight * u * (resisted_bar * u - lambda));
    });
    clear_given(w.side_dot);
    flow.viscous(w.lambda, w.t, w.side_dot);
    each_given([&](const Plane<Real>& to, const Plane<Real>& from,
                   Index i) { to.value[i] -= in.p[0] * from.value[i]; },
               w.side_bar, w.side_dot);
    for (const FlowModel::GivenSpeed& g : model_.given) {
      Real* to = g.control ? bar.u : bar.p;
      const Real* side = w.side_bar[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)].value;
      for (Index i = 0; to && i < g.count; ++i) to[g.offset + i] += side[i];
    }
    if (!bar.p) return;
    bar.p[0] += Real(nu_bar);
    for (int a = 0; a < Dim; ++a) bar.p[force_at() + a] += Real(force_bar[std::size_t(a)]);
    clear<Real>(shape, w.cells);
    for (int a = 0; a < Dim; ++a) {
      const Real* face = w.star[std::size_t(a)].value;
      const Index s = shape.stride[std::size_t(a)];
      sides().template wrap<Real>(w.star[std::size_t(a)], a);
      each_number(shape, shape.widened(shape.all_cells()),
                  [&](Index at) { w.cells.value[at] += Real(0.5) * (face[at] + face[at + s]); });
    }
    sides().template extend_vjp<Real>(w.cells);
    write_field<NativePack<Real>>(shape, shape.all_cells(), w.cells, {bar.p + 1}, true);
  }

  FlowModel model_;
  PressureSolver<Real> solver_;
};

template <class Real>
std::shared_ptr<System<Real>> make_stokes_system(FlowModel model) {
  if (model.sides.shape.dim == 2) return std::make_shared<StokesSystem<Real, 2>>(std::move(model));
  return std::make_shared<StokesSystem<Real, 3>>(std::move(model));
}

}  // namespace costate::fluid
