#include "costate/fluid/step/flow_scratch.h"

namespace costate::fluid {

template <class Real>
FlowScratch<Real>::FlowScratch(const FlowModel& model, Index solver_numbers) {
  const Shape& shape = model.sides.shape;
  const Index line = 64 / Index(sizeof(Real));
  Index field = (shape.size + line - 1) / line * line;
  if (field * Index(sizeof(Real)) % 4096 < 64) field += line;  // no two fields share all their cache sets
  const std::vector<Plane<Real>*> planes = fields_of(model);
  Index given = 0;
  for (const FlowModel::GivenSpeed& g : model.given) given += g.count;
  for (const FlowModel::ScalarModel& s : model.scalars)
    for (const auto& g : s.given) given += g.count;
  const Index coordinates = model.tracers * shape.dim;
  given += 3 * coordinates;
  half_ = Index(planes.size()) * field + 2 * given;
  memory_.reserve(2 * half_ + (solver_numbers + 2 * line));
  Real* next = memory_.data();
  const auto place = [&](Plane<Real>& plane, Index numbers) {
    plane = {next, next + half_};
    next += numbers;
  };
  for (Plane<Real>* plane : planes) place(*plane, field);
  for (const FlowModel::GivenSpeed& g : model.given) {
    place(side[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)], g.count);
    place(side_bar[std::size_t(g.axis)][std::size_t(g.end)][std::size_t(g.component)], g.count);
  }
  for (std::size_t s = 0; s < scalars.size(); ++s) {
    for (const auto& g : model.scalars[s].given) {
      place(scalars[s].side[std::size_t(g.side)], g.count);
      place(scalars[s].side_bar[std::size_t(g.side)], g.count);
    }
  }
  for (Plane<Real>* p :
       {&tracers.x, &tracers.stage[0], &tracers.stage[1], &tracers.star, &tracers.x_bar, &tracers.out_bar})
    place(*p, coordinates);
  solver = memory_.data() + (2 * half_ + line - 1) / line * line;
  std::fill_n(memory_.data(), half_, Real(0));
  std::fill_n(solver, solver_numbers, Real(0));
  if (shape.lines) metric.fill(shape);
  if (model.linkage) {
    linkage = model.linkage->make_workspace();
    linked.resize(*model.linkage), dual_linked.resize(*model.linkage);
  }
  Index rows = 1;
  for (int a = 0; a < shape.dim; ++a) rows = std::max(rows, shape.faces(a).rows());
  sums.resize(std::size_t((mask.empty() ? 4 : 2 * kMostShapeNumbers) * rows));
}

template <class Real>
template <class T>
void FlowScratch<Real>::OfLinkage<T>::resize(const Linkage& linkage) {
  const Signature& s = linkage.signature();
  x.resize(std::size_t(s.states())), y.resize(x.size());
  u.resize(std::size_t(s.controls())), p.resize(std::size_t(s.parameters()));
  for (auto* list : {&frames, &poses, &poses_bar, &motions, &wrenches}) list->resize(linkage.shapes());
  forces.resize(linkage.shapes());
}

template <class Real>
std::vector<Plane<Real>*> FlowScratch<Real>::fields_of(const FlowModel& model) {
  const auto d = std::size_t(model.sides.shape.dim);
  std::vector<Plane<Real>*> planes;
  for (Speeds<Real>* s : {&x, &stage[0], &stage[1], &star, &x_bar, &out_bar, &star_bar})
    for (std::size_t a = 0; a < d; ++a) planes.push_back(&(*s)[a]);
  for (Speeds<Real>* s : {&push, &push_bar})
    for (std::size_t a = 0; model.push >= 0 && a < d; ++a) planes.push_back(&(*s)[a]);
  scalars.resize(model.scalars.size());
  for (ScalarFields& f : scalars)
    for (Plane<Real>* p : {&f.x, &f.stage[0], &f.stage[1], &f.star, &f.x_bar, &f.out_bar, &f.star_bar,
                           &f.rate_bar, &f.source, &f.source_bar})
      planes.push_back(p);
  if (model.scheme == Scheme::semi_lagrangian) {
    for (Plane<Real>* p : {&trace.from, &trace.once, &trace.from_bar, &trace.once_bar}) planes.push_back(p);
    for (std::size_t a = 0; a < d; ++a) planes.push_back(&trace.shift_bar[a]);
  }
  mask.resize(model.obstacles.size());
  force.resize(mask.size()), feels.resize(mask.size());
  bodies.resize(mask.size()), dual_bodies.resize(mask.size());
  felt.resize(mask.size()), level.resize(mask.size());
  for (std::vector<Speeds<Real>>* list : {&mask, &felt})
    for (Speeds<Real>& s : *list)
      for (std::size_t a = 0; a < d; ++a) planes.push_back(&s[a]);
  bool levels = false;
  for (std::size_t b = 0; b < mask.size(); ++b)
    if (model.obstacles[b].level >= 0) planes.push_back(&level[b]), levels = true;
  if (levels) planes.push_back(&level_bar);
  for (Speeds<Real>* s : {&along, &whole_bar})
    for (std::size_t a = 0; model.any_free() && a < d; ++a) planes.push_back(&(*s)[a]);
  for (std::size_t a = 0; levels && a < d; ++a) planes.push_back(&level_face[a]);
  for (Speeds<Real>* s : {&carried, &carried_bar, &resist_bar, &mean_star, &face_bar})
    for (std::size_t a = 0; !mask.empty() && a < d; ++a) planes.push_back(&(*s)[a]);
  const std::size_t points = model.points();
  for (std::size_t a = 0; points > 0 && a < d; ++a) planes.push_back(&held[a]);
  if (points > 0 && model.pressure >= 0) planes.push_back(&surface_pressure);
  for (std::vector<Real>* v : {&surface_rhs, &surface_force, &surface_back, &surface_kept})
    v->resize(4 * points);
  surface_factor.resize(4 * points * points), surface_temporary.resize(2 * points);
  for (Speeds<Real>* s : {&delta, &extra})
    for (std::size_t a = 0; model.implicit && a < d; ++a) planes.push_back(&(*s)[a]);
  for (Plane<Real>* p : {&found, &search, &image})
    if (model.implicit) planes.push_back(p);
  for (std::array<Plane<Real>, 3>* m : {&metric.cell, &metric.face, &metric.low})
    for (std::size_t a = 0; model.sides.shape.lines && a < d; ++a) planes.push_back(&(*m)[a]);
  for (Plane<Real>* p : {&pressure, &viscosity, &viscosity_bar}) planes.push_back(p);
  if (model.pressure >= 0) planes.push_back(&pressure_bar);
  if (model.dissipation >= 0 || model.mixes()) planes.push_back(&reading);
  for (Plane<Real>* p : {&eddy, &eddy_bar, &strain_bar})
    if (model.eddies) planes.push_back(p);
  for (std::size_t e = 0; e < (d == 2 ? 1 : 3); ++e) {
    planes.push_back(&edges[e]);
    planes.push_back(&edges_bar[e]);
    if (model.eddies) planes.push_back(&eddy_edges[e]), planes.push_back(&eddy_edges_bar[e]);
  }
  return planes;
}

template struct FlowScratch<float>;
template struct FlowScratch<double>;

}  // namespace costate::fluid
