#include "costate/md/system.h"

namespace costate::md {

template <>
std::shared_ptr<System<double>> make_system<double>(const Model& model) {
  std::shared_ptr<System<double>> system;
  if (model.atoms() > kMostInLanes)
    system = std::make_shared<MoleculeSystem<double, double>>(model);
  else
    system = std::make_shared<MoleculeSystem<double, NativePack<double>>>(model);
  return with_ranges(system, integrator_ranges(system->signature()));
}

}  // namespace costate::md
