#include "costate/mpm/system_stages.h"

namespace costate::mpm {

template class MaterialPoints<double, 2, 3>;
template class MaterialPoints<double, 2, 4>;

}  // namespace costate::mpm
