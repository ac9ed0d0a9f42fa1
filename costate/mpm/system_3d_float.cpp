#include "costate/mpm/split_points.h"
#include "costate/mpm/system_setup.h"
#include "costate/mpm/system_step.h"
#include "costate/mpm/system_vjp.h"

namespace costate::mpm {

template class MaterialPoints<float, 3, 3>;
template class MaterialPoints<float, 3, 4>;

}  // namespace costate::mpm
