// The built-in small ODEs as systems, compiled once in the library (fixed_step_systems.cpp).
#pragma once

#include <memory>

#include "costate/system/system.h"

namespace costate::ode {

enum class Integrator { euler, rk4, verlet };

// Lorenz (problems/lorenz.h): euler, rk4. Pendulum (problems/pendulum.h): euler, rk4, verlet. Projectile, Van
// der Pol: euler, rk4. An integrator that does not fit the problem is an Error.
template <class Real>
std::shared_ptr<System<Real>> lorenz(Integrator integrator = Integrator::rk4, double dt = 0.01);
template <class Real>
std::shared_ptr<System<Real>> pendulum(Integrator integrator = Integrator::rk4, double dt = 0.01);
template <class Real>
std::shared_ptr<System<Real>> projectile(Integrator integrator = Integrator::rk4, double dt = 0.01);
template <class Real>
std::shared_ptr<System<Real>> van_der_pol(Integrator integrator = Integrator::rk4, double dt = 0.01);

}  // namespace costate::ode
