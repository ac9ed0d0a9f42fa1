#include "costate/ode/fields/function.h"

#include "costate/core/error.h"

namespace costate::ode {

void Function::vjp_jvp(double, const double*, const double*, const double*, double, const double*,
                       const double*, const double*, double*, double*, double*, double*) const {
  throw Error({"this vector field, cost, guard or jump has no second derivatives", "",
               "Hessians need functions with has_second_order(), such as those made from a generic lambda"});
}

}  // namespace costate::ode
