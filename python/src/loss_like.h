// What Python gives as a loss: a Loss, or what costate.loss makes one of: a function.
#pragma once

#include "any_system.h"
#include "arrays.h"

namespace costate::python {

class LossLike : public nb::object {
  NB_OBJECT_DEFAULT(LossLike, nb::object, "costate._core.Loss | collections.abc.Callable", anything)
};
inline AnyLossPtr loss_of(nb::handle given) {
  AnyLossPtr loss;
  if (!given.is_none() && nb::try_cast(given, loss)) return loss;
  return nb::cast<AnyLossPtr>(nb::module_::import_("costate.loss").attr("_of")(given));
}

}  // namespace costate::python
