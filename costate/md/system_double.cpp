#include "costate/md/system.h"

namespace costate::md {

template <>
std::shared_ptr<System<double>> make_system<double>(const Model& model) {
  if (model.atoms() > kMostInLanes) return std::make_shared<MoleculeSystem<double, double>>(model);
  return std::make_shared<MoleculeSystem<double, NativePack<double>>>(model);
}

}  // namespace costate::md
