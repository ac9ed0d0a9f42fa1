// Small physics of the library on a device: every small ODE that there is, masses and springs.
#include <gtest/gtest.h>

#include "tests/cuda/device_cases.h"
#include "tests/soft/models.h"

namespace costate {
namespace {

using test::difference;

class DeviceSmallPhysics : public test::OnDevice {
 protected:
  template <class Real>
  void springs(int dimensions, soft::Contact contact, double friction, double sideways) {
    SCOPED_TRACE(testing::Message() << dimensions << " dimensions, friction " << friction);
    const auto system = soft::make_system<Real>(soft::test::tetrapod(dimensions, friction, contact));
    RolloutOptions options{.steps = 40, .worlds = 21, .hold = 2};
    Rollout<Real> cpu(system, options);
    options.device = GetParam();
    Rollout<Real> device(system, options);
    Arguments<Real> at = soft::test::standing(cpu, dimensions, sideways);
    const std::vector<Real> one = at.x0;
    for (int w = 1; w < 21; ++w)
      for (const Real x : one) at.x0.push_back(x + Real(0.01 * w));
    at.parameters.set("spring/stiffness", std::vector<Real>(6 * 21, Real(23)));
    const auto objective = loss::sum<Real>(
        {loss::final<Real>(system->signature(), "x", {}), loss::effort<Real>(system->signature(), 0.1)});
    const Gradient<Real> a = device.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
    EXPECT_LT(difference(a, b), sizeof(Real) == 8 ? 1e-11 : 1e-4);
    EXPECT_TRUE(test::same_bits(device.value_and_gradient(at, *objective), a));
  }
};

// Masses that fly, slide and stick.
TEST_P(DeviceSmallPhysics, MassesAndSprings) {
  for (const int dimensions : {2, 3}) {
    springs<double>(dimensions, soft::Contact::split, 0.1, 3);
    springs<double>(dimensions, soft::Contact::split, 20, 0);
    springs<double>(dimensions, soft::Contact::end_of_step, 0.1, 3);
  }
  springs<float>(2, soft::Contact::split, 0.1, 3);
}

// Whatever a factory makes on the CPU, a device runs.
TEST_P(DeviceSmallPhysics, EverySmallOdeOfTheLibrary) {
  using Factory = std::shared_ptr<System<double>> (*)(ode::Integrator, double);
  int made = 0;
  for (const Factory factory : {Factory(ode::lorenz<double>), Factory(ode::pendulum<double>),
                                Factory(ode::projectile<double>), Factory(ode::van_der_pol<double>)}) {
    for (const auto integrator : {ode::Integrator::euler, ode::Integrator::rk4, ode::Integrator::verlet}) {
      std::shared_ptr<System<double>> system;
      try {
        system = factory(integrator, 0.01);
      } catch (const Error&) {
        continue;  // an integrator that is not for this problem
      }
      Rollout<double> rollout(system, {.steps = 3, .device = GetParam()});
      EXPECT_NO_THROW(rollout.simulate(test::draw(rollout)));
      ++made;
    }
  }
  EXPECT_EQ(made, 9);
}

INSTANTIATE_TEST_SUITE_P(On, DeviceSmallPhysics, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, 4); });

}  // namespace
}  // namespace costate
