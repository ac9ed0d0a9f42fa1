#include "costate/fluid/step/flow_system.h"
#include "costate/fluid/step/make_flow_system.h"

namespace costate::fluid {

template <>
std::shared_ptr<System<float>> make_traced_flow<float, 2>(FlowModel model) {
  return std::make_shared<FlowSystem<float, 2, true>>(std::move(model));
}

}  // namespace costate::fluid
