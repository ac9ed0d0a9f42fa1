// Trajectory problems whose best costs are known from elsewhere: the pendulum, cart-pole, acrobot, parallel
// parking and quadrotor of ALTRO's benchmark set, and the parking car of box-constrained DDP (Tassa et al.,
// ICRA 2014).
#pragma once

#include <numbers>

#include "costate/control/plan/ddp.h"

namespace costate::control::test {

constexpr double kPi = std::numbers::pi;

Problem pendulum();
Problem cart_pole(double mc = 1, double mp = 0.2, double l = 0.5, double g = 9.81);
Problem acrobot();
Problem parallel_park();
Problem parking_car();
Problem zig_zag();
// The ten steps of reference.h as a System: a quadratic objective.
Problem ten_linear_steps();

// pos' = pos + 0.1 vel, vel' = a vel; the parameter is a.
std::shared_ptr<const System<double>> coasting();
// Damped, driven pendulum: states angle, rate; control torque; parameters length, damping, dt.
std::shared_ptr<const System<double>> damped_pendulum();

}  // namespace costate::control::test
