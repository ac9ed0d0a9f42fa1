// The SUNDIALS backend of a build without SUNDIALS.
#include "costate/core/error.h"
#include "costate/ode/sundials/sundials_backend.h"

namespace costate::ode::sundials {
namespace {

[[noreturn]] void missing() {
  throw Error({"costate was built without SUNDIALS", "",
               "install SUNDIALS 6 (Debian: libsundials-dev) and configure with -DCOSTATE_WITH_SUNDIALS=ON, "
               "or use method = \"radau5\""});
}

}  // namespace

bool available() { return false; }
Forward solve(const VectorField&, double, double, const std::vector<double>&, const std::vector<double>&,
              const Options&) {
  missing();
}
Forward solve_with_sensitivities(const VectorField&, double, double, const std::vector<double>&,
                                 const std::vector<double>&, const Options&) {
  missing();
}
AdjointGradient gradient(const VectorField&, double, double, const std::vector<double>&,
                         const std::vector<double>&, const Loss&, const Options&) {
  missing();
}

}  // namespace costate::ode::sundials
