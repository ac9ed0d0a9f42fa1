#include "costate/ode/lanes/fixed_step_systems.h"

#include "costate/core/error.h"
#include "costate/ode/lanes/fixed_step_list.h"

namespace costate::ode {
namespace {

template <class Rhs, class Method, class Real>
std::shared_ptr<System<Real>> make(double dt) {
  using Kernel = FixedStep<Rhs, Method>;
  static_assert(is_listed<Kernel>(), "name it in fixed_step_list.h, which GPUs go by");
  return std::make_shared<LaneSystem<Kernel, Real>>(Kernel::signature(dt));
}

template <class Rhs, class Real>
std::shared_ptr<System<Real>> make(Integrator integrator, double dt) {
  switch (integrator) {
    case Integrator::euler:
      return make<Rhs, Euler, Real>(dt);
    case Integrator::rk4:
      return make<Rhs, Rk4, Real>(dt);
    case Integrator::verlet:
      if constexpr (Rhs::separable) return make<Rhs, Verlet, Real>(dt);
      throw Error({"velocity Verlet needs v' = a(t, q), independent of v; this problem is not of that form",
                   {},
                   "use rk4"});
  }
  throw Error("unknown integrator");
}

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> lorenz(Integrator integrator, double dt) {
  return make<Lorenz, Real>(integrator, dt);
}
template <class Real>
std::shared_ptr<System<Real>> pendulum(Integrator integrator, double dt) {
  return make<Pendulum, Real>(integrator, dt);
}
template <class Real>
std::shared_ptr<System<Real>> projectile(Integrator integrator, double dt) {
  return make<Projectile, Real>(integrator, dt);
}
template <class Real>
std::shared_ptr<System<Real>> van_der_pol(Integrator integrator, double dt) {
  return make<VanDerPol, Real>(integrator, dt);
}

#define COSTATE_INSTANTIATE(Real)                                              \
  template std::shared_ptr<System<Real>> lorenz<Real>(Integrator, double);     \
  template std::shared_ptr<System<Real>> pendulum<Real>(Integrator, double);   \
  template std::shared_ptr<System<Real>> projectile<Real>(Integrator, double); \
  template std::shared_ptr<System<Real>> van_der_pol<Real>(Integrator, double);
COSTATE_INSTANTIATE(float)
COSTATE_INSTANTIATE(double)
#undef COSTATE_INSTANTIATE

}  // namespace costate::ode
