#include "costate/md/system.h"

namespace costate::md {

template <>
std::shared_ptr<System<float>> make_system<float>(const Model& model) {
  if (model.atoms() > kMostInLanes) return std::make_shared<MoleculeSystem<float, float>>(model);
  return std::make_shared<MoleculeSystem<float, NativePack<float>>>(model);
}

}  // namespace costate::md
