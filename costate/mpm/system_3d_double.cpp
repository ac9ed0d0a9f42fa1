#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template class MaterialPoints<double, 3, 3>;
template class MaterialPoints<double, 3, 4>;

}  // namespace costate::mpm
