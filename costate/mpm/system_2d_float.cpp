#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template class MaterialPoints<float, 2, 3>;
template class MaterialPoints<float, 2, 4>;

}  // namespace costate::mpm
