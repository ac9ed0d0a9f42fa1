#include "costate/mpm/system.h"

#include "costate/mpm/bodies/mechanism.h"
#include "costate/mpm/laws/law.h"
#include "costate/mpm/model_of.h"
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

namespace {

template <class Real>
std::shared_ptr<System<Real>> material_points(const Model& model) {
  const bool cubic = model.kernel == Kernel::cubic;
  if (model.dimension == 2) {
    if (cubic) return std::make_shared<MaterialPoints<Real, 2, 4>>(model);
    return std::make_shared<MaterialPoints<Real, 2, 3>>(model);
  }
  if (cubic) return std::make_shared<MaterialPoints<Real, 3, 4>>(model);
  return std::make_shared<MaterialPoints<Real, 3, 3>>(model);
}

}  // namespace

template <class Real>
std::vector<std::type_index> system_types() {
  return {typeid(MaterialPoints<Real, 2, 3>), typeid(MaterialPoints<Real, 2, 4>),
          typeid(MaterialPoints<Real, 3, 3>), typeid(MaterialPoints<Real, 3, 4>)};
}

template <class Real>
const Model& model_of(const System<Real>& system) {
  return dynamic_cast<const OfModel&>(system).model();
}

template <class Real>
std::shared_ptr<System<Real>> system(const Model& model) {
  check(model);
  return material_points<Real>(model);
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
  for (const Layout::Moved& moved : layout.moved) {
    const std::vector<double> more = moved.by->initial_state();
    for (std::size_t i = 0; i < more.size(); ++i) state[moved.x + i] = Real(more[i]);
  }
  return state;
}

template std::vector<std::type_index> system_types<float>();
template std::vector<std::type_index> system_types<double>();
template const Model& model_of(const System<float>&);
template const Model& model_of(const System<double>&);
template std::shared_ptr<System<float>> system<float>(const Model&);
template std::shared_ptr<System<double>> system<double>(const Model&);
template std::vector<float> initial_state<float>(const Model&);
template std::vector<double> initial_state<double>(const Model&);

}  // namespace costate::mpm
