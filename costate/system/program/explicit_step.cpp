#include "costate/system/program/explicit_step.h"

namespace costate {

RungeKuttaStep rows_of(const Scheme& scheme) {
  if (const auto* euler = std::get_if<EulerStep>(&scheme))
    return {euler->dt, "euler", runge_kutta::rows_of<runge_kutta::Euler>()};
  if (const auto* rk4 = std::get_if<Rk4Step>(&scheme))
    return {rk4->dt, "rk4", runge_kutta::rows_of<runge_kutta::Rk4>()};
  if (const auto* method = std::get_if<RungeKuttaStep>(&scheme)) return *method;
  return {0, "next"};
}

}  // namespace costate
