// What a transpose adds to, before it begins: nought.
#pragma once

#include "costate/fluid/carry/tracers.h"
#include "costate/fluid/step/flow_inputs.h"

namespace costate::fluid {

template <class T, int Dim>
void clear_cotangents(const FlowModel& model, bool viscosity, FlowScratch<value_t<T>>& w) {
  using Real = value_t<T>;
  const Shape& shape = model.sides.shape;
  for (int a = 0; a < Dim; ++a) {
    clear<T>(shape, w.x_bar[std::size_t(a)]);
    clear<T>(shape, w.out_bar[std::size_t(a)]);
    if (model.push >= 0) clear<T>(shape, w.push_bar[std::size_t(a)]);
  }
  for (const FlowModel::GivenSpeed& g : model.given) {
    const Plane<Real>& to = w.side_bar[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)];
    for (Index i = 0; i < g.count; ++i) store<Single<T>>(to, i, Single<T>(0));
  }
  for (std::size_t s = 0; s < w.scalars.size(); ++s) {
    auto& f = w.scalars[s];
    for (const Plane<Real>* plane : {&f.x_bar, &f.out_bar, &f.rate_bar, &f.source_bar})
      clear<T>(shape, *plane);
    for (const auto& g : model.scalars[s].given)
      for (Index i = 0; i < g.count; ++i) store<Single<T>>(f.side_bar[std::size_t(g.side)], i, Single<T>(0));
    std::fill_n(w.template numbers_bar<Single<T>>(s), 4, Single<T>(0));
  }
  w.template reactions_bar<Single<T>>().fill(Single<T>(0));
  CarriedPoints<T, Dim>{model, w}.clear(w.tracers.x_bar);
  for (int a = 0; !w.mask.empty() && a < Dim; ++a)
    for (const Speeds<Real>* s : {&w.carried_bar, &w.resist_bar, &w.mean_star, &w.face_bar})
      clear<T>(shape, (*s)[std::size_t(a)]);
  if (!viscosity) return;
  clear<T>(shape, w.viscosity_bar);
  for (int e = 0; e < (Dim == 2 ? 1 : 3); ++e) clear<T>(shape, w.edges_bar[std::size_t(e)]);
}

}  // namespace costate::fluid
