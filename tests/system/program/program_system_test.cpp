#include "costate/system/program/program_system.h"

#include <gtest/gtest.h>

#include <cmath>

#include "costate/ad/record.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/ode/lanes/problems/lorenz.h"
#include "tests/system/contract.h"

namespace costate {
namespace {

using ode::Integrator;

Signature lorenz_fields() {
  Signature s;
  ode::Lorenz::describe(s);
  return s;
}
constexpr const char* kLorenz = "x_dot = sigma*(y - x); y_dot = x*(rho - z) - y; z_dot = x*y - beta*z";

Signature pendulum_fields() {
  Signature s;
  s.state("q").state("v").control("torque");
  s.parameter("gravity", 9.81).parameter("length", 1.0).parameter("mass", 1.0);
  return s;
}
constexpr const char* kPendulum = "q_dot = v\n v_dot = (torque/(mass*length) - gravity*sin(q))/length";

ad::Program recorded_pendulum() {
  const auto rhs = [](auto x, auto u, auto p) {
    return std::array{x[1], (u[0] / (p[2] * p[1]) - p[0] * sin(x[0])) / p[1]};
  };
  return ad::record(rhs, ad::Field{"x", 2}, ad::Field{"u", 1}, ad::Field{"p", 3});
}

// A forced oscillator whose own clock matters: reads t, and so has t0.
Signature forced_fields() {
  Signature s;
  s.state("q").state("v").parameter("omega", 1.3).parameter("gain", 0.7);
  return s;
}
constexpr const char* kForced = "q_dot = v; v_dot = -q - 0.1*v*sqrt(1 + v^2) + gain*cos(omega*t)";

// Worlds with starts, controls and one parameter of their own.
template <class Real>
Arguments<Real> spread(const Rollout<Real>& rollout, const std::vector<Real>& x0, const char* parameter) {
  Arguments<Real> a = rollout.arguments();
  const std::int64_t worlds = rollout.options().worlds;
  const std::size_t controls =
      static_cast<std::size_t>(rollout.knots() * rollout.system().signature().controls());
  const Real value = a.parameters[parameter][0];
  std::vector<Real> values;
  a.x0.clear();
  a.controls.clear();
  for (std::int64_t w = 0; w < worlds; ++w) {
    for (const Real x : x0) a.x0.push_back(x * Real(1 + 0.01 * double(w)));
    for (std::size_t i = 0; i < controls; ++i)
      a.controls.push_back(Real(0.3 * std::sin(0.7 * double(i) + double(w))));
    values.push_back(value * Real(1 + 0.003 * double(w)));
  }
  a.parameters.set(parameter, values);
  return a;
}

template <class Real>
void meets_contract(std::shared_ptr<System<Real>> system, std::vector<Real> x0, const char* parameter,
                    std::int64_t worlds) {
  test::expect_contract(
      system, {.states = [&](const auto& rollout, unsigned) { return spread(rollout, x0, parameter); },
               .worlds = worlds,
               .long_steps = sizeof(Real) == 8 ? 1000 : 300});  // Lorenz' system is chaotic
}

TEST(ProgramSystem, EquationsMeetTheContract) {
  for (const Scheme& scheme : {Scheme(euler(0.01)), Scheme(rk4(0.01))}) {
    meets_contract<double>(equations_system<double>(lorenz_fields(), kLorenz, scheme), {1, 0.5, 20}, "rho",
                           1);
    meets_contract<float>(equations_system<float>(lorenz_fields(), kLorenz, scheme), {1, 0.5f, 20}, "rho", 1);
  }
}
TEST(ProgramSystem, ARecordedPendulumMeetsTheContractInManyWorlds) {
  // 37 and 300 worlds: a block that is not full, and several blocks.
  for (const std::int64_t worlds : {1, 37, 300}) {
    meets_contract<double>(program_system<double>(pendulum_fields(), recorded_pendulum(), rk4(0.01), worlds),
                           {0.7, -0.4}, "length", worlds);
  }
  meets_contract<float>(program_system<float>(pendulum_fields(), recorded_pendulum(), rk4(0.01), 37),
                        {0.7f, -0.4f}, "length", 37);
}
TEST(ProgramSystem, APhysicsThatReadsTheTimeMeetsTheContract) {
  meets_contract<double>(equations_system<double>(forced_fields(), kForced, rk4(0.05)), {0.7, 1.4}, "omega",
                         5);
}
TEST(ProgramSystem, AMapMeetsTheContract) {
  // A damped standard map, kicked every step with a strength that depends on k.
  Signature s;
  s.state("theta").state("momentum").parameter("kick", 0.1).parameter("decay", 0.01);
  const auto system = equations_system<double>(
      s, "m = 0.9*momentum - kick*exp(-decay*k)*sin(theta); theta_next = theta + m; momentum_next = m");
  meets_contract<double>(system, {0.4, 0.2}, "kick", 3);
}

// Gradient with respect to everything, of a tracking loss, against the hand-written kernels.
template <class Real>
void same_gradient(const std::shared_ptr<System<Real>>& a, const std::shared_ptr<System<Real>>& b,
                   std::vector<Real> x0, const char* parameter, double gate) {
  const RolloutOptions options{.steps = 100, .worlds = 21, .hold = 10};
  Rollout<Real> left(a, options), right(b, options);
  const Arguments<Real> at = spread(left, x0, parameter), same = spread(right, x0, parameter);
  const auto objective = [](const Signature& s) {
    return loss::track<Real>(s, s.fields(Role::state)[0].name, {0, 30, 60, 100}, {1, 2, 3, 4});
  };
  const auto g = left.value_and_gradient(at, *objective(a->signature()));
  const auto h = right.value_and_gradient(same, *objective(b->signature()));
  const auto near = [gate](std::span<const Real> x, std::span<const Real> y, const std::string& what) {
    ASSERT_EQ(x.size(), y.size()) << what;
    double scale = 1;
    for (const Real v : y) scale = std::max(scale, std::abs(double(v)));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], gate * scale) << what << " " << i;
  };
  EXPECT_NEAR(g.value, h.value, gate * std::max(1.0, std::abs(h.value)));
  near(g.x0, h.x0, "x0");
  near(g.controls, h.controls, "controls");
  for (const Field& field : b->signature().fields(Role::parameter))
    near(g.parameters[field.name], h.parameters[field.name], field.name);

  const auto d = check::random_direction(right, same, 3);
  const auto left_hv = left.hessian_vector(at, d, *objective(a->signature()));
  const auto right_hv = right.hessian_vector(same, d, *objective(b->signature()));
  near(left_hv.product.x0, right_hv.product.x0, "H x0");
  near(left_hv.product.controls, right_hv.product.controls, "H controls");
  for (const Field& field : b->signature().fields(Role::parameter))
    near(left_hv.product.parameters[field.name], right_hv.product.parameters[field.name], "H " + field.name);
}

TEST(ProgramSystem, GradientsEqualThoseOfTheHandWrittenKernels) {
  same_gradient<double>(equations_system<double>(lorenz_fields(), kLorenz, euler(0.01)),
                        ode::lorenz<double>(Integrator::euler), {1, 0.5, 20}, "rho", 1e-12);
  same_gradient<double>(equations_system<double>(lorenz_fields(), kLorenz, rk4(0.01)),
                        ode::lorenz<double>(Integrator::rk4), {1, 0.5, 20}, "rho", 1e-12);
  same_gradient<double>(program_system<double>(pendulum_fields(), recorded_pendulum(), rk4(0.01)),
                        ode::pendulum<double>(Integrator::rk4), {0.7, -0.4}, "length", 1e-12);
  same_gradient<float>(equations_system<float>(pendulum_fields(), kPendulum, rk4(0.01)),
                       ode::pendulum<float>(Integrator::rk4), {0.7f, -0.4f}, "length", 3e-5);
}

TEST(ProgramSystem, TextAndRecordingGiveTheSameNumbers) {
  same_gradient<double>(equations_system<double>(pendulum_fields(), kPendulum, rk4(0.01)),
                        program_system<double>(pendulum_fields(), recorded_pendulum(), rk4(0.01)),
                        {0.7, -0.4}, "mass", 1e-12);
}

TEST(ProgramSystem, AWorldHasTheSameBitsInAnyNumberOfLanes) {
  std::vector<double> expected;
  for (const std::int64_t lanes : {1, 2, 40, 200}) {
    Rollout<double> rollout(equations_system<double>(pendulum_fields(), kPendulum, rk4(0.01), lanes),
                            {.steps = 50, .hold = 50});
    Arguments<double> at = rollout.arguments();
    at.x0 = {0.9, -0.2};
    const auto g =
        rollout.value_and_gradient(at, *loss::final_value<double>(rollout.system().signature(), "q"));
    std::vector<double> numbers = g.x0;
    numbers.push_back(g.value);
    numbers.push_back(g.parameters["length"][0]);
    if (expected.empty()) expected = numbers;
    EXPECT_TRUE(test::same_bits(numbers, expected)) << lanes << " worlds";
  }
}

// Parameters that all worlds share are computed with once for a strip, also where a register is written over;
// one world that differs makes them ordinary values.
TEST(ProgramSystem, AWorldHasTheSameBitsWhetherOrNotParametersAreShared) {
  Signature s;
  s.state("q").state("v").parameter("a", 1.7).parameter("b", 0.6).parameter("c", 2.3).parameter("d", 0.4);
  const auto system = equations_system<double>(
      s,
      "e1 = pow(a*b + c, b*d); e2 = atan2(e1 - c, a*c*d); e3 = a > b ? e1*e2 + c : d\n"
      "q_dot = e3*v + e1*e2; v_dot = -e2*sin(q*e1 + e3) - (e1 - e2)*v",
      rk4(0.01));
  Rollout<double> rollout(system, {.steps = 20, .worlds = 50});
  const auto objective = loss::final<double>(system->signature(), "q", {});
  Arguments<double> at = rollout.arguments();
  at.x0 = {0.3, -0.2};
  const auto shared = rollout.value_and_gradient(at, *objective);
  for (const char* name : {"a", "b", "c", "d", "dt"}) {
    std::vector<double> values(50, at.parameters[name][0]);
    values[49] *= 1.01;
    at.parameters.set(name, values);
  }
  const auto differing = rollout.value_and_gradient(at, *objective);
  for (std::size_t w = 0; w < 49; ++w) {
    EXPECT_EQ(shared.values[w], differing.values[w]);
    EXPECT_EQ(shared.values[w], shared.values[0]);
    EXPECT_EQ(differing.parameters["b"][w], differing.parameters["b"][0]);
  }
  Arguments<double> alone = at;
  Rollout<double> one(system, {.steps = 20});
  for (const char* name : {"a", "b", "c", "d", "dt"}) alone.parameters.set(name, at.parameters[name][0]);
  EXPECT_EQ(one.value_and_gradient(alone, *objective).parameters["b"][0], differing.parameters["b"][0]);
}

TEST(ProgramSystem, OnlyWantedParametersGetAGradient) {
  const auto system = equations_system<double>(lorenz_fields(), kLorenz, rk4(0.01));
  Rollout<double> all(system, {.steps = 40}), some(system, {.steps = 40, .active = {"rho"}}),
      none(system, {.steps = 40, .active = {}});
  Arguments<double> at = all.arguments();
  at.x0 = {1, 0.5, 20};
  const auto objective = loss::final<double>(system->signature(), "z", {});
  const auto full = all.value_and_gradient(at, *objective), part = some.value_and_gradient(at, *objective),
             empty = none.value_and_gradient(at, *objective);
  EXPECT_NEAR(part.parameters["rho"][0], full.parameters["rho"][0],
              1e-12 * std::abs(full.parameters["rho"][0]));
  EXPECT_EQ(part.parameters["sigma"][0], 0);
  EXPECT_NE(full.parameters["sigma"][0], 0);
  EXPECT_NEAR(empty.x0[1], full.x0[1], 1e-12 * std::abs(full.x0[1]));
}

TEST(ProgramSystem, BlocksFitTheNumberOfWorlds) {
  const int width = kNativeLanes<double>;
  EXPECT_EQ(strip_lanes<double>(1), 1);
  EXPECT_EQ(strip_lanes<double>(2), width);
  EXPECT_EQ(strip_lanes<double>(width + 1), 2 * width);
  EXPECT_EQ(strip_lanes<double>(16 * width), 16 * width);
  EXPECT_EQ(strip_lanes<double>(16 * width + 1),
            9 * width);  // two blocks, one of them a little less than full
  EXPECT_EQ(strip_lanes<double>(kManyWorlds), 16 * width);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ProgramSystem, MistakesAreNamed) {
  const auto text = [](const char* equations) {
    return message_of([&] { equations_system<double>(pendulum_fields(), equations, rk4(0.01)); });
  };
  const std::string unknown = text("q_dot = v\nv_dot = -gravty*sin(q)");
  EXPECT_NE(unknown.find("unknown name 'gravty'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("did you mean 'gravity'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("equations:2"), std::string::npos) << unknown;
  EXPECT_NE(text("q_dot = v").find("no equation gives 'v_dot'"), std::string::npos);

  const auto record_with = [](ad::Field field) {
    return message_of([&] {
      program_system<double>(pendulum_fields(), ad::record(
                                                    [](auto x) {
                                                      return std::array{x[0], x[0]};
                                                    },
                                                    field));
    });
  };
  EXPECT_NE(record_with({"lenght", 1}).find("'length'"), std::string::npos);
  EXPECT_NE(record_with({"x", 7}).find("reads 'x' with 7 elements"), std::string::npos);
  EXPECT_NE(record_with({"t", 1}).find("no parameter 'dt'"), std::string::npos);
}

}  // namespace
}  // namespace costate
