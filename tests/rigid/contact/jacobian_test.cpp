// The Jacobian of a step against tangents of the primal, in contact.
#include "costate/rigid/step_jacobian.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/io/model/mjcf.h"
#include "costate/rigid/compile/compile.h"
#include "tests/expect_error.h"
#include "tests/rigid/contact/states.h"

namespace costate::rigid {
namespace {

using costate::test::expect_error;
using test::arguments_of;
using test::contact_reference;

// q as a vector of tangents about q0: what the rows and columns of A mean.
std::vector<double> moved(const Model& m, std::vector<double> x, int dof, double by) {
  for (const Joint& j : m.joints) {
    if (dof < j.dof || dof >= j.dof + dof_size(j.type)) continue;
    const bool free = j.type == JointType::free;
    const int first = free ? 3 : 0, k = dof - j.dof;
    if (j.type == JointType::slide || j.type == JointType::hinge || (free && k < 3)) {
      x[static_cast<std::size_t>(j.qpos + k)] += by;
      return x;
    }
    double* q = x.data() + j.qpos + first;
    double half[4] = {std::cos(by / 2), 0, 0, 0};
    half[1 + k - first] = std::sin(by / 2);
    const Quat<double> r =
        Quat<double>{q[0], q[1], q[2], q[3]} * Quat<double>{half[0], half[1], half[2], half[3]};
    q[0] = r.w, q[1] = r.x, q[2] = r.y, q[3] = r.z;
  }
  return x;
}
// Tangent from x to y: (q, v, act).
std::vector<double> difference(const Model& m, const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> r(static_cast<std::size_t>(2 * m.nv + m.na));
  for (const Joint& j : m.joints) {
    const bool free = j.type == JointType::free;
    const int first = free ? 3 : 0;
    const int straight = j.type == JointType::ball ? 0 : free ? 3 : 1;
    for (int k = 0; k < straight; ++k)
      r[static_cast<std::size_t>(j.dof + k)] =
          y[static_cast<std::size_t>(j.qpos + k)] - x[static_cast<std::size_t>(j.qpos + k)];
    if (!free && j.type != JointType::ball) continue;
    const double *a = x.data() + j.qpos + first, *b = y.data() + j.qpos + first;
    const auto q = conjugate(Quat<double>{a[0], a[1], a[2], a[3]}) * Quat<double>{b[0], b[1], b[2], b[3]};
    for (int k = 0; k < 3; ++k) r[static_cast<std::size_t>(j.dof + first + k)] = 2 * q.vec()[k] / q.w;
  }
  for (int i = 0; i < m.nv + m.na; ++i)
    r[static_cast<std::size_t>(m.nv + i)] =
        y[static_cast<std::size_t>(m.nq + i)] - x[static_cast<std::size_t>(m.nq + i)];
  return r;
}

// Six-point differences in every direction.
void expect_differences(const Model& m, const SystemOptions& options, Arguments<double> at) {
  Rollout<double> rollout(make_system<double>(m, options), {.steps = 1});
  const StepJacobian<double> jacobian(m, options);
  const auto n = static_cast<std::size_t>(jacobian.rows()),
             controls = static_cast<std::size_t>(jacobian.controls());
  std::vector<double> A(3 * n * n), B(3 * n * controls), x, u;
  for (int w = 0; w < 3; ++w) {  // three worlds, the same
    x.insert(x.end(), at.x0.begin(), at.x0.end());
    u.insert(u.end(), at.controls.begin(), at.controls.end());
  }
  jacobian(3, x.data(), u.data(), at.parameters, A.data(), B.data());
  const auto base = rollout.simulate(at).final_state;
  const double h = 1e-6;
  double scale = 1;
  for (double a : A) scale = std::max(scale, std::abs(a));
  for (std::size_t c = 0; c < n + controls; ++c) {
    const auto end = [&](int k) {
      auto here = at;
      if (c < std::size_t(m.nv))
        here.x0 = moved(m, at.x0, int(c), k * h);
      else if (c < n)
        here.x0[std::size_t(m.nq) + c - std::size_t(m.nv)] += k * h;
      else
        here.controls[c - n] += k * h;
      return difference(m, base, rollout.simulate(here).final_state);
    };
    const auto p1 = end(1), m1 = end(-1), p2 = end(2), m2 = end(-2), p3 = end(3), m3 = end(-3);
    for (std::size_t r = 0; r < n; ++r) {
      const double expected = (45 * (p1[r] - m1[r]) - 9 * (p2[r] - m2[r]) + (p3[r] - m3[r])) / (60 * h);
      for (std::size_t w = 0; w < 3; ++w) {
        const double ours = c < n ? A[(w * n + r) * n + c] : B[(w * n + r) * controls + c - n];
        ASSERT_NEAR(ours, expected, 1e-8 * scale) << "row " << r << " column " << c << " world " << w;
      }
    }
  }
}

void matches_differences(const std::string& name, Integrator integrator, std::size_t state) {
  SCOPED_TRACE(name);
  test::Reference ref = contact_reference(name);
  ref.model.options.integrator = integrator;
  const SystemOptions options{.applied_forces = true, .onset = Onset::none};
  Rollout<double> rollout(make_system<double>(ref.model, options), {.steps = 1});
  expect_differences(ref.model, options, arguments_of(ref, rollout, state));
}

TEST(StepJacobian, MatchesDifferencesOnTheZoo) { matches_differences("zoo", Integrator::euler, 1); }
TEST(StepJacobian, MatchesDifferencesOnTheHumanoid) { matches_differences("humanoid", Integrator::euler, 4); }
TEST(StepJacobian, MatchesDifferencesOnTheHopperUnderImplicitfast) {
  matches_differences("hopper", Integrator::implicitfast, 2);
}

// A ball that bounces, one that slides, and an arm with an activation: the time of the bounce is in the rows
// of q+.
TEST(StepJacobian, MatchesDifferencesOfHardContact) {
  const Model m = compile(
      io::parse_mjcf("<mujoco><option timestep='0.004'/><default><geom friction='0.4'/></default><worldbody>"
                     "<geom name='floor' type='plane' size='1 1 1'/>"
                     "<body pos='0 0 0.102'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body>"
                     "<body pos='1 0 0.0999'><freejoint/><geom type='sphere' size='0.1' mass='1'/></body>"
                     "<body pos='2 0 0.3'><joint name='a' type='hinge' axis='0 1 0' damping='0.1'/>"
                     "<geom type='capsule' size='0.05' fromto='0 0 0 0.3 0 0' mass='1'/></body></worldbody>"
                     "<actuator><general name='m' joint='a' dyntype='filter' dynprm='0.1' "
                     "gainprm='2'/></actuator></mujoco>"));
  for (const bool aware : {false, true}) {
    const SystemOptions options{.applied_forces = true,
                                .contact = ContactModel::hard,
                                .impact = {.restitution = 0.7},
                                .hard = {.aware = aware}};
    Arguments<double> at = Rollout<double>(make_system<double>(m, options), {.steps = 1}).arguments();
    at.x0 = initial_state(m);
    double* v = at.x0.data() + m.nq;
    v[0] = 0.5, v[2] = -1, v[4] = 2;
    v[6] = 0.8, v[11] = 0.3;
    v[12] = 0.4;
    at.x0.back() = 0.3;
    expect_differences(m, options, at);
  }
}

TEST(StepJacobian, RefusesStepsOfSeveralEvaluations) {
  Model m = contact_reference("hopper").model;
  m.options.integrator = Integrator::rk4;
  expect_error([&] { return StepJacobian<double>{m}; },
               "the Jacobian of a step is for steps of one evaluation", "use Euler or implicitfast");
  m.options.integrator = Integrator::euler;
  expect_error(
      [&] {
        return StepJacobian<double>{m, {.onset = Onset::split}};
      },
      "the Jacobian of a step is for steps of one evaluation", "without onset = split");
  EXPECT_NO_THROW(StepJacobian<double>{m});  // whole steps, unless the options speak of others
}

}  // namespace
}  // namespace costate::rigid
