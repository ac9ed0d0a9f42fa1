// Trajectory problems whose best costs are known from elsewhere: the pendulum, cart-pole, acrobot and parallel
// parking of ALTRO's benchmark set, and the parking car of box-constrained DDP (Tassa et al., ICRA 2014).
#pragma once

#include <numbers>

#include "costate/control/ddp.h"

namespace costate::control::test {

constexpr double kPi = std::numbers::pi;

Problem pendulum();
Problem cart_pole();
Problem acrobot();
Problem parallel_park();
Problem parking_car();

}  // namespace costate::control::test
