#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template class MaterialPoints<float, 3, 3>;
template class MaterialPoints<float, 3, 4>;

}  // namespace costate::mpm
