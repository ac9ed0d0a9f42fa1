#include "costate/md/system.h"

namespace costate::md {

template <>
std::shared_ptr<System<float>> make_system<float>(const Model& model) {
  return std::make_shared<MoleculeSystem<float, NativePack<float>>>(model);
}

}  // namespace costate::md
