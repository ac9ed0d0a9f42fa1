#include "costate/fluid/step/flow_system.h"

namespace costate::fluid {

template std::shared_ptr<System<float>> make_flow_system<float, 2, Carry::stretched>(FlowModel);

}  // namespace costate::fluid
