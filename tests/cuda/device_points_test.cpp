// Material points on a device against the CPU: the host in the role of a GPU always, a GPU where there is
// one.
#include <gtest/gtest.h>

#include "costate/mpm/laws/law.h"
#include "costate/mpm/system.h"
#include "tests/cuda/device_cases.h"
#include "tests/expect_error.h"
#include "tests/float_traps.h"

namespace costate {
namespace {

using mpm::Contact;
using mpm::Kernel;
using mpm::MaterialKind;
using mpm::Model;
using mpm::Shape;
using test::difference;

class DevicePoints : public test::OnDevice {
 protected:
  // Value, gradient with respect to everything and report of both, from a state that is stirred.
  template <class Real>
  void expect_same(const Model& model, RolloutOptions options,
                   double gate = sizeof(Real) == 8 ? 1e-11 : 1e-4) {
    const auto system = mpm::system<Real>(model);
    Rollout<Real> cpu(system, options);
    options.device = GetParam();
    Rollout<Real> device(system, options);
    const Arguments<Real> at = stirred(model, cpu);
    std::vector<ObjectivePtr<Real>> terms;
    for (const Field& f : system->signature().fields(Role::state)) {
      terms.push_back(loss::final<Real>(system->signature(), f.name, {}));
      terms.push_back(
          loss::track<Real>(system->signature(), f.name, {2}, std::vector<Real>(std::size_t(f.size))));
    }
    const auto objective = loss::sum<Real>(terms);
    const Gradient<Real> a = device.value_and_gradient(at, *objective),
                         b = cpu.value_and_gradient(at, *objective);
    EXPECT_LT(difference(a, b), gate);
    EXPECT_LT(difference(device.simulate(at).final_state, cpu.simulate(at).final_state), gate);
    EXPECT_TRUE(test::same_bits(device.value_and_gradient(at, *objective), a));
  }

 private:
  // C and F drawn about rest, controls that move what moves.
  template <class Real>
  static Arguments<Real> stirred(const Model& model, const Rollout<Real>& rollout) {
    Arguments<Real> at = rollout.arguments();
    at.x0 = mpm::initial_state<Real>(model);
    const std::int64_t n = particle_count(model), D = model.dimension;
    for (std::int64_t i = 0; i < n * D * D; ++i) {
      at.x0[std::size_t(2 * n * D + i)] += Real(0.5 * std::sin(double(i)));
      at.x0[std::size_t(2 * n * D + n * D * D + i)] += Real(0.03 * std::cos(double(2 * i)));
    }
    const auto& fields = rollout.system().signature().fields(Role::control);
    const std::size_t nu = std::size_t(rollout.system().signature().controls());
    for (std::size_t i = 0; i < at.controls.size(); ++i) {
      at.controls[i] = Real(0.2 * std::sin(1.0 + double(i)));
      for (const Field& f : fields)
        if (f.name.ends_with("/position") && i % nu >= std::size_t(f.offset) &&
            i % nu < std::size_t(f.offset + f.size))
          at.controls[i] += Real(i % nu == std::size_t(f.offset) + 1 ? 0.45 : 0.9);
    }
    return at;
  }
};

Model block(int dimension, MaterialKind kind, Kernel kernel = Kernel::quadratic) {
  Model m;
  m.dimension = dimension;
  m.nodes = {16, 18, 17};
  m.dx = 0.1;
  m.origin = {0.01, 0.02, -0.02};
  m.dt = 2e-3;
  m.kernel = kernel;
  m.walls[2] = {Contact::coulomb, 4, 0.2};
  m.materials = {{.name = "body",
                  .kind = kind,
                  .density = 900,
                  .E = 2e4,
                  .nu = 0.28,
                  .bulk_modulus = 3e4,
                  .viscosity = 2}};
  fill(m, Shape::box(0.2, 0.15, 0.2), {0.9, 0.7, 0.9}, 0.06, 0, {0.2, -1.1, 0.1});
  for (std::size_t i = 0; i < m.particles.x.size(); ++i) m.particles.x[i] += 0.004 * std::sin(double(7 * i));
  return m;
}

TEST_P(DevicePoints, EveryLawInBothDimensions) {
  for (const mpm::Law* law : mpm::laws()) {
    for (const int dimension : {2, 3}) {
      SCOPED_TRACE(std::string(law->name) + " in " + std::to_string(dimension) + " dimensions");
      std::size_t kind = 0;
      while (mpm::laws()[kind] != law) ++kind;
      Model m = block(dimension, MaterialKind(kind));
      if (law->contracts) m.actuators = 2, m.particles.actuator = {1};
      expect_same<double>(m, {.steps = 4, .hold = 2});
      expect_same<float>(m, {.steps = 3});
    }
  }
}

// One with numbers of its own for each particle, one a muscle; cubic kernels.
TEST_P(DevicePoints, SeveralMaterialsOnCubicKernels) {
  for (const int dimension : {2, 3}) {
    Model m = block(dimension, MaterialKind::neo_hookean, Kernel::cubic);
    m.materials[0].per_particle = {"E", "density"};
    m.materials.push_back({.name = "sand", .kind = MaterialKind::drucker_prager, .E = 3e4});
    m.materials.push_back(
        {.name = "leg", .kind = MaterialKind::muscle, .E = 3e4, .strength = 2e3, .fibre = {0.6, 0.8, 0}});
    m.actuators = 2;
    const auto n = std::size_t(particle_count(m));
    m.particles.material.assign(n, 0), m.particles.actuator.assign(n, -1);
    m.particles.volume.assign(n, 1e-4);
    for (std::size_t p = 0; p < n; ++p) {
      m.particles.material[p] = int(p % 3), m.particles.volume[p] *= 1 + 0.3 * double(p % 5);
      if (p % 3 == 2) m.particles.actuator[p] = int(p / 3 % 2);
    }
    expect_same<double>(m, {.steps = 5, .hold = 2});
  }
}

TEST_P(DevicePoints, CollidersThatMoveAndRest) {
  mpm::DistanceLattice lattice{.points = {9, 9, 9}, .origin = {-0.4, -0.4, -0.4}, .spacing = 0.1};
  for (int i = 0; i < 729; ++i)
    lattice.phi.push_back(std::hypot(0.1 * (i / 81 - 4), 0.1 * (i / 9 % 9 - 4), 0.1 * (i % 9 - 4.1)) - 0.21);
  for (const int dimension : {2, 3}) {
    for (const Contact contact : {Contact::sticky, Contact::slip, Contact::separate, Contact::coulomb}) {
      Model m = block(dimension, MaterialKind::neo_hookean);
      m.colliders = {{.name = "tool",
                      .shape = Shape::sphere(0.2),
                      .contact = contact,
                      .friction = 0.3,
                      .band = 1.3,
                      .moves = true},
                     {.name = "bowl",
                      .shape = Shape::cup(0.33, 0.4, 0.25),
                      .contact = contact,
                      .position = {0.91, 0.44, 0.92},
                      .rotation = {0.1, 0.2, 0.3}},
                     {.name = "stone",
                      .shape = Shape::sampled(lattice),
                      .contact = contact,
                      .position = {0.75, 0.6, 0.85}}};
      expect_same<double>(m, {.steps = 5, .hold = 2});
    }
  }
}

TEST_P(DevicePoints, BodiesThatArePushed) {
  for (const int dimension : {2, 3}) {
    Model m = block(dimension, MaterialKind::neo_hookean);
    m.colliders = {{.name = "tool", .shape = Shape::sphere(0.2), .friction = 0.3, .moves = true}};
    m.bodies = {{.name = "duck",
                 .shape = Shape::sphere(0.15),
                 .contact = Contact::coulomb,
                 .friction = 0.2,
                 .mass = 3,
                 .inertia = {0.1, 0.2, 0.15},
                 .position = {0.85, 0.95, 0.9},
                 .velocity = {0.1, -1, 0.2}},
                {.name = "crate",
                 .shape = Shape::box(0.12, 0.1, 0.15),
                 .mass = 2,
                 .inertia = {0.1, 0.1, 0.1},
                 .position = {1.15, 0.6, 0.95},
                 .rotation = {0.1, 0.2, 0.3},
                 .angular_velocity = {0.3, 0.2, 1}}};
    expect_same<double>(m, {.steps = 5, .hold = 2});
    expect_same<float>(m, {.steps = 3});
  }
}

TEST_P(DevicePoints, EverySchedule) {
  const Model m = block(3, MaterialKind::liquid);
  for (const Checkpoints& schedule : {store_all(), segments(3), binomial(2), truncated(4)}) {
    SCOPED_TRACE(schedule.name());
    expect_same<double>(m, {.steps = 9, .worlds = 2, .checkpoints = schedule});
  }
}

// The step, the particle and the advice are those of the CPU.
TEST_P(DevicePoints, ErrorsAreTheCpus) {
  const test::AllowFloatExceptions nan;
  const auto error = [&](Model m, const std::string& device) -> std::string {
    Rollout<double> rollout(mpm::system<double>(m), {.steps = 60, .device = device});
    Arguments<double> at = rollout.arguments();
    at.x0 = mpm::initial_state<double>(m);
    try {
      rollout.simulate(at);
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing";
  };
  Model fast = block(2, MaterialKind::neo_hookean);
  fast.gravity = {0, -3e4, 0};
  Model leaves = block(3, MaterialKind::liquid);
  leaves.walls[2].contact = Contact::none;
  leaves.gravity = {0, -400, 0};
  for (const Model& m : {fast, leaves}) {
    const std::string cpu = error(m, "cpu");
    EXPECT_NE(cpu, "nothing");
    EXPECT_EQ(error(m, GetParam()), cpu);
  }
}

INSTANTIATE_TEST_SUITE_P(On, DevicePoints, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, test.param.find(':')); });

}  // namespace
}  // namespace costate
