// Which small physics run on a device: the library's LaneSystems, by the type of the System.
#pragma once

#include "costate/cuda/device_backend.h"
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

namespace costate::cuda {

// Adds the kernels that make.template operator()<Kernel>(wanted) returns.
template <class Real, class Make>
void add_lane_kernels(KernelTable<Real>& table, const Make& make) {
#define COSTATE_ADD(...)                                                                                   \
  table.emplace_back(typeid(LaneSystem<__VA_ARGS__, Real>),                                                \
                     KernelMaker<Real>{false, [make](const System<Real>& system, const Activity& active) { \
                                         return make.template operator()<__VA_ARGS__>(                     \
                                             wanted_parameters(system.signature(), active));               \
                                       }});
  COSTATE_FOR_EACH_LANE_KERNEL(COSTATE_ADD)
#undef COSTATE_ADD
}

}  // namespace costate::cuda
