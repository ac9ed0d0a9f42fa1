#include "costate/ode/methods/implicit_method.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "costate/ode/methods/bdf.h"
#include "costate/ode/methods/radau.h"
#include "costate/ode/methods/rosenbrock.h"
#include "costate/ode/methods/switching.h"

namespace costate::ode {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kNewtonFraction = 1e-3, kCarriedFraction = 0.03;  // of the tolerance
constexpr double kFinestNewton = 1e-14;  // relative: below it round-off keeps an iteration from ending

std::unique_ptr<Stepper> make_implicit_stepper(const std::string& method, const VectorField& field,
                                               const MethodTolerance& tolerance) {
  if (method == "rodas5p") return std::make_unique<Rosenbrock>(field);
  if (method == "bdf") return std::make_unique<Bdf>(field, tolerance);
  if (method == "switching") return std::make_unique<Switching>(field, tolerance);
  if (method == "radau5" && tolerance.carry) {
    const double fraction = std::max(10 * kEps / std::max(tolerance.rtol, kEps),
                                     std::min(kCarriedFraction, std::sqrt(tolerance.rtol)));
    return std::make_unique<Radau5>(field, RadauOptions{.newton_rtol = fraction * tolerance.rtol,
                                                        .newton_atol = fraction * tolerance.atol,
                                                        .max_newton = 6,
                                                        .carry = true});
  }
  if (method == "radau5") {
    return std::make_unique<Radau5>(
        field, RadauOptions{.newton_rtol = std::max(kNewtonFraction * tolerance.rtol, kFinestNewton),
                            .newton_atol = kNewtonFraction * tolerance.atol});
  }
  return nullptr;
}

std::vector<std::string> implicit_method_names() { return {"rodas5p", "radau5", "bdf", "switching"}; }

}  // namespace costate::ode
