#include "costate/fluid/step/flow_fault.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costate/core/text.h"

namespace costate::fluid {

template <class Real>
typename System<Real>::Fault flow_fault(const FlowModel& model, const Inputs<Real>& in) {
  const Shape& shape = model.sides.shape;
  const bool traced = model.scheme == Scheme::semi_lagrangian;
  const double dt = double(in.p[model.dt_at()]);
  double courant = 0, viscous = 0, per_h2 = 0;
  for (int a = 0; a < shape.dim; ++a) {
    const Real* u = in.x + model.face_offset[std::size_t(a)];
    double fastest = 0, least = shape.width(a, 0);
    for (Index i = 0; i < shape.face_count(a); ++i) fastest = std::max(fastest, std::abs(double(u[i])));
    for (Index i = 0; i < shape.n[std::size_t(a)]; ++i) least = std::min(least, shape.width(a, i));
    if (!traced) courant += fastest * dt / least;  // tracing back has no such limit
    per_h2 += 1 / (least * least);
  }
  for (Index i = 0; !model.implicit && i < shape.cells(); ++i)
    viscous = std::max(viscous, 4 * double(in.p[i]) * dt * per_h2);
  const bool rk3 = model.scheme == Scheme::rk3;
  const double most_courant = (rk3 ? 1.7 : 1) * (model.limited ? 0.6 : 1), most_viscous = rk3 ? 2.5 : 2;
  // Speeds that have run away do not say which dt would do: viscosity does, or half of it is tried.
  const bool ran_away = courant > 100 * most_courant;
  const double by_speed = ran_away ? 1.0 : courant / most_courant;
  const double share = std::max(by_speed, viscous / most_viscous);
  if (!(share > 0.7)) return {};
  const std::string carried = "the Courant number sum |u| dt / h is " + number(courant) + " (about " +
                              number(most_courant) + " is stable), ";
  return {"dt = " + number(dt) + " is too long for this flow: " + (traced ? "" : carried) +
              "4 viscosity dt sum 1/h^2 is " + number(viscous) + " (about " + number(most_viscous) +
              " is stable)",
          "take dt below " + number(0.5 * dt / share) + ", or larger cells"};
}

template System<float>::Fault flow_fault<float>(const FlowModel&, const Inputs<float>&);
template System<double>::Fault flow_fault<double>(const FlowModel&, const Inputs<double>&);

}  // namespace costate::fluid
