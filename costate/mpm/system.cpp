#include "costate/mpm/system.h"

#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/laws/law.h"
#include "costate/mpm/system_stages.h"

namespace costate::mpm {

extern template class MaterialPoints<float, 2, 3>;
extern template class MaterialPoints<float, 2, 4>;
extern template class MaterialPoints<float, 3, 3>;
extern template class MaterialPoints<float, 3, 4>;
extern template class MaterialPoints<double, 2, 3>;
extern template class MaterialPoints<double, 2, 4>;
extern template class MaterialPoints<double, 3, 3>;
extern template class MaterialPoints<double, 3, 4>;

template <class Real>
std::shared_ptr<System<Real>> system(const Model& model) {
  check(model);
  const bool cubic = model.kernel == Kernel::cubic;
  if (model.dimension == 2) {
    if (cubic) return std::make_shared<MaterialPoints<Real, 2, 4>>(model);
    return std::make_shared<MaterialPoints<Real, 2, 3>>(model);
  }
  if (cubic) return std::make_shared<MaterialPoints<Real, 3, 4>>(model);
  return std::make_shared<MaterialPoints<Real, 3, 3>>(model);
}

template <class Real>
std::vector<Real> initial_state(const Model& model) {
  check(model);
  const Layout layout(model);
  const int D = model.dimension;
  std::vector<Real> state(static_cast<std::size_t>(layout.signature.states()), Real(0));
  const Particles& p = model.particles;
  for (std::size_t i = 0; i < p.x.size(); ++i) state[layout.x + i] = Real(p.x[i]);
  for (std::size_t i = 0; i < p.v.size(); ++i) state[layout.v + i] = Real(p.v[i]);
  for (std::int64_t i = 0; i < layout.particles; ++i) {
    for (int a = 0; a < D; ++a) state[layout.F + (i * D + a) * D + a] = Real(1);
    if (layout.plastic >= 0) {
      const std::size_t m = layout.material[i];
      state[layout.plastic + i] = Real(law_of(model.materials[m].kind).plastic.value_or(0));
    }
  }
  for (std::size_t b = 0; b < layout.bodies.size(); ++b) {
    const Body& body = model.bodies[b];
    const Layout::BodyPlaces& to = layout.bodies[b];
    const auto put = [&](std::int64_t place, const double* values, int count) {
      for (int i = 0; i < count; ++i) state[place + i] = Real(values[i]);
    };
    put(to.position, body.position.data(), D);
    put(to.velocity, body.velocity.data(), D);
    if (D == 3) {
      const Quat<double> q = exp_map(Vec3<double>{body.rotation[0], body.rotation[1], body.rotation[2]});
      const double turn[4] = {q.w, q.x, q.y, q.z};
      put(to.orientation, turn, 4);
      put(to.angular_velocity, body.angular_velocity.data(), 3);
    } else {
      put(to.orientation, body.rotation.data() + 2, 1);
      put(to.angular_velocity, body.angular_velocity.data() + 2, 1);
    }
  }
  if (model.mechanism) {
    const std::vector<double> more = model.mechanism->initial_state();
    for (std::size_t i = 0; i < more.size(); ++i) state[layout.mechanism_x + i] = Real(more[i]);
  }
  return state;
}

template std::shared_ptr<System<float>> system<float>(const Model&);
template std::shared_ptr<System<double>> system<double>(const Model&);
template std::vector<float> initial_state<float>(const Model&);
template std::vector<double> initial_state<double>(const Model&);

}  // namespace costate::mpm
