#include "costate/system/program/explicit_step.h"

namespace costate {

RungeKuttaStep coefficients(const Scheme& scheme) {
  if (const auto* euler = std::get_if<EulerStep>(&scheme)) return {euler->dt, "euler", {0}, {{}}, {{0, 1}}};
  if (const auto* rk4 = std::get_if<Rk4Step>(&scheme)) {
    return {rk4->dt,
            "rk4",
            {0, 0.5, 0.5, 1},
            {{}, {{0, 0.5}}, {{1, 0.5}}, {{2, 1}}},
            {{0, 1.0 / 6}, {1, 1.0 / 3}, {2, 1.0 / 3}, {3, 1.0 / 6}}};
  }
  if (const auto* method = std::get_if<RungeKuttaStep>(&scheme)) return *method;
  return {0, "next"};
}

}  // namespace costate
