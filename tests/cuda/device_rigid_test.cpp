// Rigid bodies on a device against the CPU: the host in the role of a GPU always (in double), a GPU where
// there is one.
#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/io/model/load_model.h"
#include "costate/rigid/rigid_system.h"
#include "tests/cuda/device_cases.h"
#include "tests/expect_error.h"
#include "tests/rigid/models.h"

namespace costate {
namespace {

using rigid::ContactModel;
using rigid::Integrator;
using rigid::Onset;
using test::difference;
using test::expect_error;

rigid::Model walker(const std::string& name, Integrator integrator = Integrator::euler) {
  rigid::Model model = rigid::load(std::string(COSTATE_SCENES) + "/" + name + ".xml");
  model.options.integrator = integrator;
  return model;
}

// Of values, x0, controls and norms: the largest difference, relative to the largest number of its kind.
template <class Real>
double difference_of_inputs(const Gradient<Real>& a, const Gradient<Real>& b) {
  return std::max({difference(a.values, b.values), difference(a.x0, b.x0), difference(a.controls, b.controls),
                   difference(a.report.adjoint_norm, b.report.adjoint_norm)});
}

// The same of parameters, relative to a parameter's own largest number or to a thousandth of all parameters'
// largest: some are zero, and what is left of them is rounding.
template <class Real>
double difference_of_parameters(const Gradient<Real>& a, const Gradient<Real>& b) {
  const std::size_t fields = b.parameters.signature().fields(Role::parameter).size();
  double worst = 0, largest = 0;
  for (std::size_t f = 0; f < fields; ++f)
    for (const Real x : b.parameters.values(f)) largest = std::max(largest, std::abs(double(x)));
  for (std::size_t f = 0; f < fields; ++f) {
    double off = 0, size = 1e-3 * largest;
    for (std::size_t i = 0; i < b.parameters.values(f).size(); ++i) {
      off = std::max(off, std::abs(double(a.parameters.values(f)[i]) - double(b.parameters.values(f)[i])));
      size = std::max(size, std::abs(double(b.parameters.values(f)[i])));
    }
    worst = std::max(worst, std::isfinite(off) ? off / size : HUGE_VAL);
  }
  return worst;
}

struct Gates {
  double inputs, parameters;
};

class DeviceRigid : public test::OnDevice {
 protected:
  bool on_gpu() const { return GetParam().starts_with("cuda"); }

  template <class Real>
  static ObjectivePtr<Real> objective(const System<Real>& system) {
    const Signature& s = system.signature();
    return loss::sum<Real>(
        {loss::final<Real>(s, "q", {}), loss::final<Real>(s, "v", {}, 0.1),
         loss::track<Real>(s, "v", {2, 5},
                           std::vector<Real>(std::size_t(2 * s.find(Role::state, "v").size)))});
  }

  // Value and gradient of both, with respect to everything, from the same inputs.
  template <class Real>
  void expect_same(const test::SystemPtr<Real>& system, const Arguments<Real>& at, RolloutOptions options,
                   const Gates& gate) {
    options.device = "cpu";
    Rollout<Real> cpu(system, options);
    options.device = GetParam();
    Rollout<Real> device(system, options);
    const auto loss = objective<Real>(*system);
    const Gradient<Real> a = device.value_and_gradient(at, *loss), b = cpu.value_and_gradient(at, *loss);
    EXPECT_LT(difference_of_inputs(a, b), gate.inputs);
    EXPECT_LT(difference_of_parameters(a, b), gate.parameters);
    EXPECT_LT(difference(device.simulate(at).final_state, cpu.simulate(at).final_state), gate.inputs);
    EXPECT_TRUE(test::same_bits(device.value_and_gradient(at, *loss), a));
  }

  // What rounding every number of x0 once more does to the CPU's own gradient: 6e-10 for the humanoid, 1e-14
  // for the half-cheetah. A step rounds many times, so two machines agree within kRoundings of that at best.
  static constexpr double kRoundings = 10;
  static Gates conditioning(const test::SystemPtr<double>& system, Arguments<double> at,
                            const RolloutOptions& options) {
    Rollout<double> cpu(system, options);
    const auto loss = objective<double>(*system);
    const Gradient<double> exact = cpu.value_and_gradient(at, *loss);
    Gates worst{0, 0};
    std::mt19937_64 random(3);
    for (int draw = 0; draw < 4; ++draw) {
      Arguments<double> rounded = at;
      for (double& x : rounded.x0) x = std::nextafter(x, random() % 2 ? HUGE_VAL : -HUGE_VAL);
      const Gradient<double> moved = cpu.value_and_gradient(rounded, *loss);
      worst.inputs = std::max(worst.inputs, difference_of_inputs(moved, exact));
      worst.parameters = std::max(worst.parameters, difference_of_parameters(moved, exact));
    }
    return worst;
  }

  // Every joint, actuator and force that there is, without contact.
  template <class Real>
  void everything(const Gates& gate) {
    for (const Integrator integrator : {Integrator::euler, Integrator::implicitfast, Integrator::rk4}) {
      SCOPED_TRACE(int(integrator));
      const rigid::Model model = rigid::test::zoo(integrator);
      const auto system = rigid::make_system<Real>(model, {.applied_forces = true});
      const RolloutOptions options{.steps = 6, .worlds = 5, .hold = 2};
      const Rollout<Real> rollout(system, options);
      expect_same<Real>(system, rigid::test::random_arguments(model, rollout, 3), options, gate);
    }
  }

  // Each world a little faster than the one before.
  static Arguments<double> falling(const rigid::Model& model, const Rollout<double>& rollout) {
    Arguments<double> at = rollout.arguments();
    const std::vector<double> start = rigid::initial_state(model);
    at.x0.clear();
    for (int world = 0; world < int(rollout.options().worlds); ++world) {
      at.x0.insert(at.x0.end(), start.begin(), start.end());
      for (std::size_t i = std::size_t(model.nq); i < start.size(); ++i)
        at.x0[at.x0.size() - start.size() + i] = 0.1 * world;
    }
    return at;
  }

  // A walker that has come to lie on the floor, with different controls in each world.
  template <class Real>
  void on_the_floor(const std::string& name, ContactModel contact, Integrator integrator, const Gates& gate,
                    Onset onset = Onset::none) {
    SCOPED_TRACE(name);
    const rigid::Model model = walker(name, integrator);
    const auto system = rigid::make_system<Real>(model, {.onset = onset, .contact = contact});
    Rollout<Real> fall(rigid::make_system<Real>(model, {.onset = Onset::none, .contact = contact}),
                       {.steps = 200, .hold = 200});
    Arguments<Real> start = fall.arguments();
    const auto x = rigid::initial_state(model);
    start.x0.assign(x.begin(), x.end());
    for (Real& u : start.controls) u = Real(0.3);
    const std::vector<Real> lying = fall.simulate(start).final_state;

    const RolloutOptions options{.steps = 8, .worlds = 6, .hold = 4};
    const Rollout<Real> rollout(system, options);
    Arguments<Real> at = rollout.arguments();
    at.x0.clear();
    for (int world = 0; world < 6; ++world) at.x0.insert(at.x0.end(), lying.begin(), lying.end());
    at.controls.resize(6 * at.controls.size());
    std::mt19937_64 random(7);
    for (Real& u : at.controls) u = Real(std::uniform_real_distribution<double>(-1, 1)(random));
    Gates reachable = gate;
    if constexpr (sizeof(Real) == 8) {
      if (onset == Onset::split) {
        const Gates rounded = conditioning(system, at, options);
        reachable.inputs = std::max(gate.inputs, kRoundings * rounded.inputs);
        reachable.parameters = std::max(gate.parameters, kRoundings * rounded.parameters);
      }
    }
    expect_same<Real>(system, at, options, reachable);
  }

  // Joints turned, the floor somewhere between the feet and the body, everything in motion: each world has
  // its own state.
  template <class Real>
  static Arguments<Real> random_contact(const rigid::Model& model, const Rollout<Real>& rollout) {
    const std::vector<double> start = rigid::initial_state(model);
    const bool free = model.nq > model.nv;
    const std::size_t height = free ? 2 : 1, turn = 3;
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Arguments<Real> at = rollout.arguments();
    at.x0.clear();
    for (std::int64_t world = 0; world < rollout.options().worlds; ++world) {
      std::vector<double> x = start;
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] += (i < std::size_t(model.nq) ? 0.3 : 1.0) * uniform(random);
      x[height] = start[height] - 0.4 + 0.4 * uniform(random);
      double square = 0;
      for (std::size_t i = 0; free && i < 4; ++i) square += x[turn + i] * x[turn + i];
      for (std::size_t i = 0; free && i < 4; ++i) x[turn + i] /= std::sqrt(square);
      at.x0.insert(at.x0.end(), x.begin(), x.end());
    }
    return at;
  }
  template <class Real>
  void finite(const rigid::Model& model) {
    const auto system = rigid::make_system<Real>(model, {.onset = Onset::none});
    Rollout<Real> rollout(system, {.steps = 2, .worlds = 1000, .device = GetParam()});
    const Gradient<Real> g =
        rollout.value_and_gradient(random_contact(model, rollout),
                                   *loss::final<Real>(system->signature(), "v", {}));  // or it is an Error
    EXPECT_TRUE(std::ranges::all_of(g.x0, [](Real x) { return std::isfinite(x); }));
    EXPECT_TRUE(g.report.masked_worlds.empty());
  }

  // The least memory that will do gives the same bits.
  void taken_again(const test::SystemPtr<double>& system) {
    const RolloutOptions options{.steps = 11, .worlds = 3, .device = GetParam()};
    const auto loss = objective<double>(*system);
    const auto gradient = [&] {
      Rollout<double> rollout(system, options);
      return rollout.value_and_gradient(rollout.arguments(), *loss);
    };
    const Gradient<double> kept = gradient();
    // The least memory that will do.
    for (std::int64_t bytes = 1000; bytes < 1'000'000'000; bytes += bytes / 10) {
      const test::HostMemory little(bytes);
      try {
        const Gradient<double> again = gradient();
        EXPECT_TRUE(test::same_bits(again, kept));
        EXPECT_LT(again.report.memory_bytes, kept.report.memory_bytes);
        return;
      } catch (const Error&) {
      }
    }
    FAIL() << "no memory will do";
  }
};

TEST_P(DeviceRigid, EveryJointActuatorAndForceInDouble) { everything<double>({1e-11, 1e-11}); }
TEST_P(DeviceRigid, EveryJointActuatorAndForceInFloat) {
  if (!on_gpu()) GTEST_SKIP() << "the host runs rigid bodies in double";
  everything<float>({1e-5, 1e-5});
}

TEST_P(DeviceRigid, WalkersOnTheFloorInDouble) {
  for (const char* name : {"half_cheetah", "ant", "humanoid"})
    on_the_floor<double>(name, ContactModel::convex, Integrator::euler, {1e-11, 1e-11});
  on_the_floor<double>("ant", ContactModel::convex, Integrator::rk4, {1e-11, 1e-11});
  on_the_floor<double>("ant", ContactModel::convex, Integrator::implicitfast, {1e-11, 1e-11});
  on_the_floor<double>("ant", ContactModel::penalty, Integrator::euler, {1e-11, 1e-11});
}
TEST_P(DeviceRigid, WalkersOnTheFloorInFloat) {
  if (!on_gpu()) GTEST_SKIP() << "the host runs rigid bodies in double";
  for (const char* name : {"half_cheetah", "ant", "humanoid"})
    on_the_floor<float>(name, ContactModel::convex, Integrator::euler, {1e-4, 1e-3});
}

// Steps that are cut: worlds of a warp that are each in another part of another step.
TEST_P(DeviceRigid, StepsThatAreCutInDouble) {
  for (const char* name : {"half_cheetah", "ant", "humanoid"})
    on_the_floor<double>(name, ContactModel::convex, Integrator::euler, {1e-11, 1e-11}, Onset::split);
  on_the_floor<double>("hopper", ContactModel::convex, Integrator::rk4, {1e-11, 1e-11}, Onset::split);
  on_the_floor<double>("hopper", ContactModel::convex, Integrator::implicitfast, {1e-11, 1e-11},
                       Onset::split);
  on_the_floor<double>("ant", ContactModel::penalty, Integrator::euler, {1e-11, 1e-11}, Onset::split);
}
TEST_P(DeviceRigid, StepsThatAreCutInFloat) {
  if (!on_gpu()) GTEST_SKIP() << "the host runs rigid bodies in double";
  // Not the ant: rounding every number of its x0 once more moves its gradient by thousands of roundings.
  for (const char* name : {"half_cheetah", "hopper"})
    on_the_floor<float>(name, ContactModel::convex, Integrator::euler, {1e-4, 1e-3}, Onset::split);
}

// Balls that fall on a slope and on the floor, and a pendulum that swings into its limit and out again.
TEST_P(DeviceRigid, ImpactsInDouble) {
  const rigid::Model ball = rigid::load(std::string(COSTATE_SCENES) + "/sphere_drop.xml");
  const RolloutOptions options{.steps = 90, .worlds = 7};
  for (const ContactModel contact : {ContactModel::convex, ContactModel::event, ContactModel::penalty}) {
    SCOPED_TRACE(parts_of(contact).name);
    rigid::SystemOptions how{.onset = Onset::split, .contact = contact};
    how.impact.restitution = 0.7;
    const auto system = rigid::make_system<double>(ball, how);
    expect_same<double>(system, falling(ball, Rollout<double>(system, options)), options, {1e-11, 1e-11});
  }
  const rigid::Model pendulum = rigid::test::limited_pendulum();
  const auto system = rigid::make_system<double>(pendulum, {.onset = Onset::split});
  expect_same<double>(system, falling(pendulum, Rollout<double>(system, options)), options, {1e-11, 1e-11});
}

// A GPU puts many worlds into wide blocks whose warps keep in step, few into blocks of one warp.
TEST_P(DeviceRigid, AWorldHasTheBitsThatItHasAmongFewerWorlds) {
  const std::int64_t worlds = on_gpu() ? 60'000 : 67, few = 40;
  for (const char* name : {"half_cheetah", "ant"}) {
    SCOPED_TRACE(name);
    const rigid::Model model = walker(name);
    const auto system = rigid::make_system<double>(model, {.onset = Onset::none});
    Rollout<double> many(system, {.steps = 4, .worlds = worlds, .active = {}, .device = GetParam()}),
        last(system, {.steps = 4, .worlds = few, .active = {}, .device = GetParam()});
    const Arguments<double> at = random_contact(model, many);
    Arguments<double> part = last.arguments();
    part.x0.assign(at.x0.end() - few * std::int64_t(part.x0.size()), at.x0.end());
    const auto loss = loss::final<double>(system->signature(), "v", {});
    const Gradient<double> a = many.value_and_gradient(at, *loss), b = last.value_and_gradient(part, *loss);
    EXPECT_TRUE(std::ranges::equal(std::span(a.values).last(few), b.values));
    EXPECT_TRUE(std::ranges::equal(std::span(a.x0).last(b.x0.size()), b.x0));
    EXPECT_TRUE(test::same_bits(many.value_and_gradient(at, *loss), a));
  }
}

TEST_P(DeviceRigid, AThousandRandomStatesOnTheFloorHaveFiniteGradients) {
  for (const char* name : {"half_cheetah", "ant", "humanoid"}) {
    finite<double>(walker(name));
    if (on_gpu()) finite<float>(walker(name));
  }
}

TEST_P(DeviceRigid, EverySchedule) {
  const rigid::Model model = walker("hopper");
  const auto system = rigid::make_system<double>(model, {.onset = Onset::none});
  for (const Checkpoints& schedule : {segments(3), binomial(2), truncated(4)}) {
    SCOPED_TRACE(schedule.name());
    const RolloutOptions options{.steps = 11, .worlds = 3, .checkpoints = schedule};
    const Rollout<double> rollout(system, options);
    expect_same<double>(system, rollout.arguments(), options, {1e-11, 1e-11});
  }
}

TEST_P(DeviceRigid, WithoutRoomForItsTapeAStepIsTakenAgain) {
  if (on_gpu()) GTEST_SKIP() << "what a GPU has free is not ours to choose";
  const rigid::Model model = walker("hopper");
  for (const Onset onset : {Onset::none, Onset::split})
    taken_again(rigid::make_system<double>(model, {.onset = onset}));
}
TEST_P(DeviceRigid, RefusesWhatHasNoKernels) {
  const auto refused = [&](const rigid::Model& model, const rigid::SystemOptions& how, const char* what,
                           const char* advice) {
    const auto system = rigid::make_system<double>(model, how);
    expect_error(
        [&] {
          Rollout<double> rollout(system, {.steps = 2, .device = GetParam()});
          return rollout.simulate(rollout.arguments());
        },
        what, advice);
  };
  const rigid::Model ant = walker("ant");
  refused(ant, {.contact = ContactModel::hard}, "contact = \"hard\"", "convex, penalty or event");
  refused(rigid::load(std::string(COSTATE_SCENES) + "/box_stack.xml"), {.onset = Onset::none},
          "contact of a plane with a box", "spheres, capsules and planes");
  rigid::Model adaptive = walker("hopper");
  adaptive.options.integrator = rigid::Integrator::adaptive;
  refused(adaptive, {}, "integrator = adaptive", "use RK4");
}

INSTANTIATE_TEST_SUITE_P(On, DeviceRigid, testing::Values("host:0", "cuda:0"),
                         [](const auto& test) { return test.param.substr(0, 4); });

}  // namespace
}  // namespace costate
