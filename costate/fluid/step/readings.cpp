#include "costate/fluid/step/readings.h"

namespace costate::fluid {

template <class S, int Dim, bool Stretched>
void Readings<S, Dim, Stretched>::write(PackedOut<Real> y) const {
  for (const FlowModel::ProbeModel& probe : model.probes) {
    Index at = probe.state_at;
    each_field(probe, [&](int component, const Plane<Real>& field, const Plane<Real>&) {
      One value = place(component, probe.place).value(field);
      if (probe.minus) value = value - place(component, *probe.minus).value(field);
      set(y, at++, value);
    });
  }
  if (model.dissipation >= 0) set(y, model.dissipation, One(Real(volume())) * power());
  for (std::size_t s = 0; s < model.scalars.size(); ++s) {
    if (model.scalars[s].mix_norm < 0) continue;
    set(y, model.scalars[s].mix_norm, One(Real(-volume())) * mixed(s));
  }
}

template <class S, int Dim, bool Stretched>
void Readings<S, Dim, Stretched>::transpose(Packed<Real> y_bar, bool viscosity) const {
  for (const FlowModel::ProbeModel& probe : model.probes) {
    Index at = probe.state_at;
    each_field(probe, [&](int component, const Plane<Real>& field, const Plane<Real>& field_bar) {
      const One bar = read_number<S>(y_bar, at++);
      std::array<One, Dim> fixed;  // places are no inputs
      fixed.fill(One(0));
      place(component, probe.place).value_vjp(field, bar, field_bar, fixed);
      if (probe.minus) place(component, *probe.minus).value_vjp(field, -bar, field_bar, fixed);
    });
  }
  if (model.dissipation >= 0)
    transpose_power(One(Real(volume())) * read_number<S>(y_bar, model.dissipation), viscosity);
  for (std::size_t s = 0; s < model.scalars.size(); ++s) {
    if (model.scalars[s].mix_norm < 0) continue;
    const S bar = everywhere<S>(One(Real(-2 * volume())) * read_number<S>(y_bar, model.scalars[s].mix_norm));
    solve(s);
    const Plane<Real>& to = work.scalars[s].out_bar;
    each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
      store<S>(to, at, load<S>(to, at) + size(at) * (bar * load<S>(work.reading, at)), count);
    });
  }
}

template <class S, int Dim, bool Stretched>
void Readings<S, Dim, Stretched>::transpose_power(const One& bar, bool viscosity) const {
  const Flux of = stress();
  const S inside = everywhere<S>(bar);
  clear<S>(shape, work.reading);
  each_pack<S>(shape, shape.all_cells(),
               [&](Index at, Index count) { store<S>(work.reading, at, size(at) * inside, count); });
  model.sides.template wrap<One>(work.reading, -1);
  const auto share = [&](Index at) { return load<S>(work.reading, at); };
  const auto edge_share = [&](int a, int b, Index e) {
    const Index i = of.s(a), j = of.s(b);
    return Real(0.25) * ((share(e) + share(e - i)) + (share(e - j) + share(e - i - j)));
  };
  for (int a = 0; a < Dim; ++a)
    each_pack<S>(shape, shape.widened(shape.faces(a)), [&](Index at, Index count) {
      const Index below = at - of.s(a);
      const auto normal = [&](Index cell) {
        return of.per.cell(a, cell) * (of.viscosity(cell) * of.stretch(a, cell) * share(cell));
      };
      S sum = Real(4) * (normal(below) - normal(at));
      for (int b = 0; b < Dim; ++b) {
        if (b == a) continue;
        const auto tangential = [&](Index e) {
          return of.per.face(b, e) * (of.viscosity(a, b, e) * of.shear(a, b, e) * edge_share(a, b, e));
        };
        sum = sum + Real(2) * (tangential(at) - tangential(at + of.s(b)));
      }
      const Plane<Real>& to = work.out_bar[std::size_t(a)];
      store<S>(to, at, load<S>(to, at) + sum, count);
    });
  if (!viscosity) return;
  const auto add = [&](const Plane<Real>& to, Index at, const S& x, Index count) {
    store<S>(to, at, load<S>(to, at) + x, count);
  };
  each_pack<S>(shape, shape.all_cells(), [&](Index at, Index count) {
    S sum(Real(0));
    for (int a = 0; a < Dim; ++a) {
      const S d = of.stretch(a, at);
      sum = sum + Real(2) * d * d;
    }
    add(work.viscosity_bar, at, share(at) * sum, count);
  });
  for (int a = 0; a < Dim; ++a)
    for (int b = a + 1; b < Dim; ++b) {
      Box edges = shape.faces(a);
      edges.hi[std::size_t(b)] = shape.faces(b).hi[std::size_t(b)];
      each_pack<S>(shape, edges, [&](Index at, Index count) {
        const S d = of.shear(a, b, at);
        add(work.edges_bar[std::size_t(edge(a, b))], at, edge_share(a, b, at) * d * d, count);
      });
    }
}

template struct Readings<NativePack<float>, 2, false>;
template struct Readings<NativePack<double>, 2, false>;
template struct Readings<Dual<NativePack<float>>, 2, false>;
template struct Readings<Dual<NativePack<double>>, 2, false>;
template struct Readings<NativePack<float>, 2, true>;
template struct Readings<NativePack<double>, 2, true>;
template struct Readings<Dual<NativePack<float>>, 2, true>;
template struct Readings<Dual<NativePack<double>>, 2, true>;
template struct Readings<NativePack<float>, 3, false>;
template struct Readings<NativePack<double>, 3, false>;
template struct Readings<Dual<NativePack<float>>, 3, false>;
template struct Readings<Dual<NativePack<double>>, 3, false>;
template struct Readings<NativePack<float>, 3, true>;
template struct Readings<NativePack<double>, 3, true>;
template struct Readings<Dual<NativePack<float>>, 3, true>;
template struct Readings<Dual<NativePack<double>>, 3, true>;

}  // namespace costate::fluid
