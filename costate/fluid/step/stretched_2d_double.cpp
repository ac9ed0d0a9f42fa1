#include "costate/fluid/step/flow_system.h"

namespace costate::fluid {

template std::shared_ptr<System<double>> make_flow_system<double, 2, Carry::stretched>(FlowModel);

}  // namespace costate::fluid
