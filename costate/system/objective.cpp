#include "costate/system/objective.h"

#include "costate/core/error.h"

namespace costate {

template <class Real>
void Objective<Real>::hvp(const At&, const Inputs<Real>&, const Cotangents<Real>&) const {
  throw Error("this objective has no second derivatives");
}
template class Objective<float>;
template class Objective<double>;

}  // namespace costate
