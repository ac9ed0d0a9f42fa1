#include "costate/md/system.h"

namespace costate::md {

template <>
std::shared_ptr<System<double>> make_system<double>(const Model& model) {
  return std::make_shared<MoleculeSystem<double, NativePack<double>>>(model);
}

}  // namespace costate::md
