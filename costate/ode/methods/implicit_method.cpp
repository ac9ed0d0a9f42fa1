#include "costate/ode/methods/implicit_method.h"

#include <algorithm>

#include "costate/ode/methods/radau.h"
#include "costate/ode/methods/rosenbrock.h"

namespace costate::ode {

constexpr double kNewtonFraction = 1e-3;
constexpr double kFinestNewton = 1e-14;  // relative: below it round-off keeps an iteration from ending

std::unique_ptr<Stepper> make_implicit_stepper(const std::string& method, const VectorField& field,
                                               const MethodTolerance& tolerance) {
  if (method == "rodas5p") return std::make_unique<Rosenbrock>(field);
  if (method == "radau5") {
    return std::make_unique<Radau5>(
        field, RadauOptions{.newton_rtol = std::max(kNewtonFraction * tolerance.rtol, kFinestNewton),
                            .newton_atol = kNewtonFraction * tolerance.atol});
  }
  return nullptr;
}

std::vector<std::string> implicit_method_names() { return {"rodas5p", "radau5"}; }

}  // namespace costate::ode
