// Workers that are threads of this process. 0: one per core.
#pragma once

#include "costate/cluster/transport.h"

namespace costate::cluster {

std::unique_ptr<Transport> threads(int workers = 0);

}  // namespace costate::cluster
