#include "costate/fluid/step/flow_system.h"
#include "costate/fluid/step/make_flow_system.h"

namespace costate::fluid {

template <>
std::shared_ptr<System<double>> make_flow_system<double, 3>(FlowModel model) {
  return std::make_shared<FlowSystem<double, 3, false>>(std::move(model));
}

}  // namespace costate::fluid
