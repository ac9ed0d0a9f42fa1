#include "costate/fluid/steady/stokes_system.h"

namespace costate::fluid {

template std::shared_ptr<System<float>> make_stokes_system<float>(FlowModel);

}  // namespace costate::fluid
