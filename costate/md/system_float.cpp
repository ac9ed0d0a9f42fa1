#include "costate/md/system.h"

namespace costate::md {

template <>
std::shared_ptr<System<float>> make_system<float>(const Model& model) {
  std::shared_ptr<System<float>> system;
  if (model.atoms() > kMostInLanes)
    system = std::make_shared<MoleculeSystem<float, float>>(model);
  else
    system = std::make_shared<MoleculeSystem<float, NativePack<float>>>(model);
  return with_ranges(system, integrator_ranges(system->signature()));
}

}  // namespace costate::md
