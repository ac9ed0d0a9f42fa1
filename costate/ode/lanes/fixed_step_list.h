// Every small ODE that the library makes a LaneSystem of. Whoever compiles kernels for all of them, for a GPU
// say, goes by this list; fixed_step_systems.cpp makes no other.
#pragma once

#include <type_traits>

#include "costate/ode/lanes/fixed_step.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "costate/ode/lanes/problems/pendulum.h"
#include "costate/ode/lanes/problems/projectile.h"
#include "costate/ode/lanes/problems/van_der_pol.h"
#include "costate/ode/lanes/velocity_verlet.h"

// COSTATE_FOR_EACH_LANE_KERNEL(F): F(kernel) for each.
#define COSTATE_FOR_EACH_LANE_KERNEL(F)          \
  F(ode::FixedStep<ode::Lorenz, ode::Euler>)     \
  F(ode::FixedStep<ode::Lorenz, ode::Rk4>)       \
  F(ode::FixedStep<ode::Pendulum, ode::Euler>)   \
  F(ode::FixedStep<ode::Pendulum, ode::Rk4>)     \
  F(ode::FixedStep<ode::Pendulum, ode::Verlet>)  \
  F(ode::FixedStep<ode::Projectile, ode::Euler>) \
  F(ode::FixedStep<ode::Projectile, ode::Rk4>)   \
  F(ode::FixedStep<ode::VanDerPol, ode::Euler>)  \
  F(ode::FixedStep<ode::VanDerPol, ode::Rk4>)

namespace costate::ode {

template <class Kernel>
constexpr bool is_listed() {
#define COSTATE_IS(...) || std::is_same_v<Kernel, __VA_ARGS__>
  return false COSTATE_FOR_EACH_LANE_KERNEL(COSTATE_IS);
#undef COSTATE_IS
}

}  // namespace costate::ode
