#include "costate/fluid/steady/stokes_system.h"

namespace costate::fluid {

template std::shared_ptr<System<double>> make_stokes_system<double>(FlowModel);

}  // namespace costate::fluid
