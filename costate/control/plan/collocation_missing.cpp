// Built without Ipopt.
#include "costate/control/plan/collocation.h"
#include "costate/core/error.h"

namespace costate::control {

bool has_ipopt() { return false; }

Collocated collocate(const Problem&, const std::vector<double>&, const CollocationOptions&) {
  throw Error({"direct collocation needs Ipopt, and costate was built without it",
               {},
               "install coinor-libipopt-dev and build again, or use plan()"});
}

}  // namespace costate::control
