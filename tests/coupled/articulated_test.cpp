// Articulated models among material points: momentum, the free body as a special case, exact gradients by
// every input, the same bits for any thread.
#include "costate/coupled/articulated.h"

#include <gtest/gtest.h>

#include "costate/core/error.h"
#include "costate/rigid/observer.h"
#include "tests/coupled/by_itself.h"
#include "tests/coupled/models.h"
#include "tests/expect_error.h"

namespace costate::coupled {
namespace {

using costate::test::expect_error;
using mpm::Contact;
using mpm::Shape;

std::vector<double> field(const Signature& signature, const std::vector<double>& state,
                          const std::string& name) {
  const Field& f = signature.find(Role::state, name);
  return {state.begin() + f.offset, state.begin() + f.offset + f.size};
}
Arguments<double> arguments(const Rollout<double>& rollout, const mpm::Model& m) {
  Arguments<double> at = rollout.arguments();
  at.x0 = mpm::initial_state<double>(m);
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = 0.4 * std::sin(1.0 + 2.0 * double(i));
  return at;
}

// Numbers of no meaning for every state, of about the same weight for particles and model.
ObjectivePtr<double> mixed(const Signature& signature, std::int64_t steps) {
  std::vector<double> weights(std::size_t(signature.states()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1e-3 * std::sin(1.0 + double(i));
  for (const char* name : {"q", "v", "act"}) {
    const Field* f = signature.find_if(Role::state, name);
    for (std::int64_t i = 0; f && i < f->size; ++i)
      weights[std::size_t(f->offset + i)] = std::cos(double(3 * f->offset + i));
  }
  return loss::cotangents<double>(signature, {steps}, {weights});
}

void expect_gradients(const mpm::Model& m, std::int64_t steps, const mpm::test::Reach& reach) {
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = steps});
  mpm::test::expect_exact_gradient(system, arguments(rollout, m), mixed(system->signature(), steps), steps, 1,
                                   reach);
}

constexpr mpm::test::Reach kReach{.stencil = 1e-6, .gate = 1e-8, .taylor = 1e-5};

TEST(Articulated, ExactGradientsOfAnArm) {
  expect_gradients(test::arm_scene(Contact::separate, Shape::sphere(0.14)), 6, kReach);
}
TEST(Articulated, ExactGradientsWithFriction) {
  expect_gradients(test::arm_scene(Contact::coulomb, Shape::capsule(0.1, 0.08)), 5, kReach);
}

TEST(Articulated, ContractOfASystem) {
  const mpm::Model m = test::arm_scene(Contact::slip, Shape::box(0.12, 0.1, 0.11));
  const auto system = mpm::system<double>(m);
  constexpr std::int64_t kSteps = 6;
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout, unsigned) { return arguments(rollout, m); },
               .objective = mixed(system->signature(), kSteps),
               .steps = kSteps,
               .hold = 2,
               .long_steps = 100,
               .stencil_gate = 1e-8,
               .stencil_step = 1e-6,
               .taylor_step = 3e-5});
}

TEST(Articulated, EveryKindOfInputHasItsExactGradient) {
  const mpm::Model m = test::arm_scene(Contact::coulomb, Shape::sphere(0.14));
  const auto system = mpm::system<double>(m);
  constexpr std::int64_t kSteps = 12;
  Rollout<double> rollout(system, {.steps = kSteps, .hold = 3});
  test::expect_each_by_itself(
      rollout, arguments(rollout, m), *mixed(system->signature(), kSteps),
      {.states = {"particle/x", "particle/v", "particle/C", "particle/F", "q", "v", "act"},
       .parameters = {"gravity", "dt", "material/jelly/E", "body/hand/mass", "body/upper/com",
                      "body/hand/inertia", "body/hand/pos", "body/hand/quat", "joint/elbow/axis",
                      "joint/elbow/armature", "joint/rail/damping", "collider/palm/friction",
                      "collider/palm/position", "collider/palm/rotation"}});
}

TEST(Articulated, DotProductOverAHundredSteps) {
  const mpm::Model m = test::arm_scene(Contact::coulomb, Shape::sphere(0.14));
  const auto system = mpm::system<double>(m);
  for (const std::int64_t steps : {1, 100}) {
    Rollout<double> rollout(system, {.steps = steps, .hold = 1});
    const auto dot = check::dot_product(rollout, arguments(rollout, m), {.seed = 3, .directions = 5});
    EXPECT_LT(dot.error, 1e-13) << dot.to_text();
  }
}

TEST(Articulated, FloatFollowsDoubleAndHasItsTranspose) {
  const mpm::Model m = test::arm_scene(Contact::separate, Shape::sphere(0.14));
  const auto precise = mpm::system<double>(m);
  const auto system = mpm::system<float>(m);
  constexpr std::int64_t kSteps = 20;
  Rollout<double> reference(precise, {.steps = kSteps});
  Rollout<float> rollout(system, {.steps = kSteps});
  const Arguments<double> exact = arguments(reference, m);
  Arguments<float> at = rollout.arguments();
  at.x0 = mpm::initial_state<float>(m);
  at.controls.assign(exact.controls.begin(), exact.controls.end());
  const auto x = rollout.simulate(at).final_state;
  const auto y = reference.simulate(exact).final_state;
  for (const char* name : {"q", "v", "act"}) {
    const Field& f = precise->signature().find(Role::state, name);
    for (auto i = std::size_t(f.offset); i < std::size_t(f.offset + f.size); ++i)
      EXPECT_NEAR(double(x[i]), y[i], 2e-4) << name;
  }
  const auto dot = check::dot_product(rollout, at, {.seed = 1, .directions = 10});
  EXPECT_TRUE(dot.passed()) << dot.to_text();
}

// --- momentum ----------------------------------------------------------------------------------------------

struct Momentum {
  Vec3<double> linear, angular;
};
// Of all particles; the affine velocities carry angular momentum too.
Momentum of_particles(const mpm::Model& m, const Signature& signature, const std::vector<double>& state) {
  const auto x = field(signature, state, "particle/x"), v = field(signature, state, "particle/v"),
             C = field(signature, state, "particle/C");
  Momentum r{Vec3<double>::zero(), Vec3<double>::zero()};
  for (std::size_t i = 0; i < x.size() / 3; ++i) {
    const double mass = 1000 * m.particles.volume[i];
    const Vec3<double> at{x[3 * i], x[3 * i + 1], x[3 * i + 2]},
        p = mass * Vec3<double>{v[3 * i], v[3 * i + 1], v[3 * i + 2]};
    const double* c = C.data() + 9 * i;
    r.linear += p;
    r.angular +=
        cross(at, p) + (mass * m.dx * m.dx / 4) * Vec3<double>{c[7] - c[5], c[2] - c[6], c[3] - c[1]};
  }
  return r;
}
void expect_same(const Momentum& a, const Momentum& b, double scale) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(a.linear[i], b.linear[i], 1e-12 * scale);
    EXPECT_NEAR(a.angular[i], b.angular[i], 1e-12 * scale);
  }
}

mpm::Model ball_scene(Contact contact, const Shape& shape) {
  mpm::Collider block{.name = "shell", .shape = shape, .contact = contact, .friction = 0.3};
  const rigid::Model model = test::compiled(test::kBall);
  std::vector<double> start = rigid::initial_state(model);
  const Quat<double> turn = exp_map(Vec3<double>{0.1, 0.2, 0.3});
  const double x[] = {1.05, 0.93, 0.88, turn.w, turn.x, turn.y, turn.z, -0.5, 0.2, 0.1};
  std::copy(x, x + 10, start.begin());
  const Vec3<double> spin = rotate_back(turn, Vec3<double>{0.4, -0.3, 0.8});
  start[10] = spin.x, start[11] = spin.y, start[12] = spin.z;
  return test::with(test::jelly(3), {.model = model, .shapes = {{block, "block"}}, .initial_state = start});
}

TEST(Articulated, MomentumOfJellyAndAFreeModelIsConserved) {
  const mpm::Model m = ball_scene(Contact::coulomb, Shape::box(0.12, 0.15, 0.1));
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 200});
  const Arguments<double> at = arguments(rollout, m);
  const auto total = [&](const std::vector<double>& state) {
    Momentum r = of_particles(m, system->signature(), state);
    const auto q = field(system->signature(), state, "q"), v = field(system->signature(), state, "v");
    const Vec3<double> p = 12.0 * Vec3<double>{v[0], v[1], v[2]};
    r.linear += p;
    r.angular += cross(Vec3<double>{q[0], q[1], q[2]}, p) +
                 0.13 * rotate(Quat<double>{q[3], q[4], q[5], q[6]}, Vec3<double>{v[3], v[4], v[5]});
    return r;
  };
  const auto end = rollout.simulate(at).final_state;
  const Momentum before = total(at.x0);
  expect_same(total(end), before, norm(before.linear));
  EXPECT_GT(field(system->signature(), end, "v")[0], -0.5 + 0.3);  // and it was a collision
}

// An articulated model: at the positions where the step begins, the momentum that it gains over a step beyond
// what it would gain alone is what the particles lose. (Its own integrator keeps the momentum of a chain to
// the order of the step only.)
TEST(Articulated, AChainReceivesWhatTheParticlesLose) {
  const char* const chain =
      R"(<mujoco><compiler angle="radian"/><option timestep="0.001" gravity="0 0 0"/><worldbody>
    <body name="base" pos="1.2 0.7 0.9"><freejoint/><inertial pos="0 0 0" mass="4" diaginertia="0.05 0.05 0.05"/>
      <site name="0" pos="0 0 0"/>
      <body name="arm" pos="-0.05 0.1 0"><joint axis="0.1 0.3 1"/>
        <inertial pos="0 0.1 0" mass="2" diaginertia="0.02 0.02 0.02"/><site name="1" pos="0 0.1 0"/>
        <body name="hand" pos="0 0.2 0"><joint type="ball"/>
          <inertial pos="0.02 0.03 0" mass="1" diaginertia="0.01 0.01 0.01"/><site name="2" pos="0.02 0.03 0"/>
    </body></body></body></worldbody></mujoco>)";
  const rigid::Model model = test::compiled(chain);
  mpm::Collider palm{.name = "palm", .shape = Shape::sphere(0.15), .contact = Contact::coulomb};
  palm.position = {-0.12, 0, 0};
  const mpm::Model m = test::with(test::jelly(3), {.model = model,
                                                   .shapes = {{palm, "arm"},
                                                              {[&] {
                                                                 mpm::Collider c = palm;
                                                                 c.name = "tip";
                                                                 return c;
                                                               }(),
                                                               "hand"}}});
  const auto system = mpm::system<double>(m);
  const auto alone = rigid::make_system<double>(model);
  const Signature& signature = system->signature();
  Rollout<double> rollout(system, {.steps = 1}), free(alone, {.steps = 1});
  Arguments<double> at = arguments(rollout, m), rest = free.arguments();
  const Field &q = signature.find(Role::state, "q"), &v = signature.find(Role::state, "v");
  for (std::int64_t i = 0; i < v.size; ++i) at.x0[std::size_t(v.offset + i)] = 0.3 * std::cos(double(i));
  rest.x0.assign(at.x0.begin() + q.offset, at.x0.begin() + v.offset + v.size);
  rest.parameters["gravity"][2] = 0;
  std::vector<rigid::Quantity> quantities;
  const std::vector<std::string> bodies = {"base", "arm", "hand"};
  for (std::size_t b = 0; b < 3; ++b) {
    const std::string site = "site/" + std::to_string(b);
    quantities.push_back({"x" + std::to_string(b), site});
    quantities.push_back({"v" + std::to_string(b), site + "/velocity"});
    quantities.push_back({"w" + std::to_string(b), site + "/angular_velocity"});
  }
  const rigid::Observer observer(model, alone->signature(), quantities);
  const auto of_model = [&](const std::vector<double>& velocity) {
    std::vector<double> x(rest.x0.begin(), rest.x0.begin() + q.size);
    x.insert(x.end(), velocity.begin(), velocity.end());
    const auto z = observer.values(x);
    const double mass[] = {4, 2, 1}, inertia[] = {0.05, 0.02, 0.01};
    Momentum r{Vec3<double>::zero(), Vec3<double>::zero()};
    for (std::size_t b = 0; b < 3; ++b) {
      const double* s = z.data() + 9 * b;
      const Vec3<double> p = mass[b] * Vec3<double>{s[3], s[4], s[5]};
      r.linear += p;
      r.angular += cross(Vec3<double>{s[0], s[1], s[2]}, p) + inertia[b] * Vec3<double>{s[6], s[7], s[8]};
    }
    return r;
  };
  const auto end = rollout.simulate(at).final_state, end_alone = free.simulate(rest).final_state;
  const Momentum touched = of_model(field(signature, end, "v")),
                 untouched = of_model({end_alone.begin() + q.size, end_alone.end()}),
                 before = of_particles(m, signature, at.x0), after = of_particles(m, signature, end);
  expect_same({touched.linear - untouched.linear, touched.angular - untouched.angular},
              {before.linear - after.linear, before.angular - after.angular}, norm(before.linear));
  EXPECT_GT(norm(before.linear - after.linear), 1e-3 * norm(before.linear));
}

// --- the free body of the material, as a model -------------------------------------------------------------

TEST(Articulated, AFreeBodyAsAModelIsTheFreeBody) {
  for (const Contact contact : {Contact::separate, Contact::coulomb}) {
    const mpm::Model model = ball_scene(contact, Shape::box(0.12, 0.15, 0.1));
    mpm::Model body = test::jelly(3);
    body.bodies = {{.name = "block",
                    .shape = Shape::box(0.12, 0.15, 0.1),
                    .contact = contact,
                    .friction = 0.3,
                    .mass = 12,
                    .inertia = {0.13, 0.13, 0.13},
                    .position = {1.05, 0.93, 0.88},
                    .rotation = {0.1, 0.2, 0.3},
                    .velocity = {-0.5, 0.2, 0.1},
                    .angular_velocity = {0.4, -0.3, 0.8}}};
    body.gravity = {0.3, -2, 0.1};
    mpm::Model same = model;
    same.gravity = body.gravity;
    const auto a = mpm::system<double>(same), b = mpm::system<double>(body);
    Rollout<double> first(a, {.steps = 100}), second(b, {.steps = 100});
    const auto x = first.simulate(arguments(first, same)).final_state,
               y = second.simulate(arguments(second, body)).final_state;
    const auto near = [&](const char* of_a, const char* of_b, std::size_t count, double gate) {
      const auto p = field(a->signature(), x, of_a), q = field(b->signature(), y, of_b);
      for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(p[i], q[i], gate) << of_b;
    };
    near("particle/x", "particle/x", body.particles.x.size(), 1e-11);
    near("q", "body/block/position", 3, 1e-12);
    near("v", "body/block/velocity", 3, 1e-11);
  }
}

// --- in the plane ------------------------------------------------------------------------------------------

const char* const kPaddle = R"(<mujoco><compiler angle="radian"/><option timestep="0.001"/><worldbody>
  <body name="paddle" pos="1.13 0.31 0"><joint name="hinge" axis="0 0 1" damping="0.1"/>
    <inertial pos="0 0.2 0" mass="MASS" diaginertia="INERTIA INERTIA INERTIA"/></body></worldbody>
  <actuator><motor joint="hinge" gear="20"/></actuator></mujoco>)";
mpm::Model paddle_scene(const std::string& mass, const std::string& inertia) {
  std::string text = kPaddle;
  text.replace(text.find("MASS"), 4, mass);
  while (text.find("INERTIA") != std::string::npos) text.replace(text.find("INERTIA"), 7, inertia);
  mpm::Collider blade{.name = "blade", .shape = Shape::box(0.05, 0.4), .contact = Contact::separate};
  blade.position = {0, 0.4, 0};
  return test::with(test::jelly(2), {.model = test::compiled(text), .shapes = {{blade, "paddle"}}});
}

TEST(Articulated, ExactGradientsInThePlane) { expect_gradients(paddle_scene("20", "0.8"), 8, kReach); }

// Jelly of 200 kg meets a paddle of ten grams: it is pushed along, not thrown back and forth.
TEST(Articulated, ALightPaddleMovesWithTheHeavyJelly) {
  const mpm::Model m = paddle_scene("0.01", "0.0002");
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 300, .keep = 1});
  Arguments<double> at = arguments(rollout, m);
  std::fill(at.controls.begin(), at.controls.end(), 0.0);
  const auto film = rollout.simulate(at);
  const Field& v = system->signature().find(Role::state, "v");
  double fastest = 0;
  for (std::size_t k = 0; k < film.kept.size(); ++k)
    fastest = std::max(fastest, std::abs(film.states[k * at.x0.size() + std::size_t(v.offset)]));
  // The jelly moves with 1.5 m/s, and its nodes reach from 0.2 m above the hinge to the paddle's tip at 0.8
  // m.
  EXPECT_GT(fastest, 1.5 / 0.8);
  EXPECT_LT(fastest, 1.5 / 0.2);
}

// A block that drops onto the model's own floor, and jelly that falls onto it: the floor carries both.
TEST(Articulated, ContactsOfTheModelCarryTheMaterial) {
  const char* const block = R"(<mujoco><option timestep="0.001"/><worldbody>
    <geom type="plane" size="2 2 0.1" pos="0 0.5 0" zaxis="0 1 0"/>
    <body name="block" pos="0.7 0.602 0.9"><freejoint/><geom type="box" size="0.2 0.1 0.2" mass="20"/></body>
    </worldbody></mujoco>)";
  const mpm::Collider top{.name = "top", .shape = Shape::box(0.2, 0.1, 0.2), .contact = Contact::separate};
  mpm::Model m = test::jelly(3, {0, -9.81, 0});
  for (std::size_t i = 0; i < m.particles.x.size(); i += 3) {
    m.particles.x[i + 1] += 0.17;
    m.particles.v[i] = 0, m.particles.v[i + 1] = -1, m.particles.v[i + 2] = 0;
  }
  m = test::with(m, {.model = test::compiled(block), .shapes = {{top, "block"}}});
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 150});
  const Arguments<double> at = arguments(rollout, m);
  const auto end = rollout.simulate(at).final_state;
  const auto q = field(system->signature(), end, "q");
  EXPECT_NEAR(q[1], 0.6, 0.005);  // jelly of 80 kg at 1 m/s has not driven it in
  const auto dot = check::dot_product(rollout, at, {.seed = 2, .directions = 3});
  EXPECT_TRUE(dot.passed()) << dot.to_text();
  // What the model's contacts did is in the report, with the numbers of its steps.
  const auto report = rollout.value_and_gradient(at, *mixed(system->signature(), 150)).report;
  ASSERT_FALSE(report.mode_switches.empty());
  EXPECT_GE(report.mode_switches.front(), 15);  // it falls 2 mm first
  EXPECT_LE(report.mode_switches.back(), 150);
  EXPECT_GT(report.adjoint_residual, 0);
}

TEST(Articulated, WrongModelsAreRefused) {
  const rigid::Model ball = test::compiled(test::kBall);
  const mpm::Collider shell{.name = "shell", .shape = Shape::sphere(0.1)};
  expect_error(
      [&] {
        return articulated({.model = ball, .shapes = {{shell, "blok"}}});
      },
      "the model has no body 'blok'", "did you mean 'block'?");
  expect_error(
      [&] {
        return articulated({.model = ball, .shapes = {{shell, "block"}}, .initial_state = {1, 2}});
      },
      "the model has 13 states, and its start 2 numbers");
  mpm::Collider glue = shell;
  glue.contact = Contact::sticky;
  expect_error(
      [&] {
        return mpm::check(test::with(test::jelly(3), {.model = ball, .shapes = {{glue, "block"}}}));
      },
      "\"shell\" moves with a body: it needs slip, separate or coulomb contact");
  // A free body leaves the plane.
  expect_error(
      [&] {
        return mpm::check(test::with(test::jelly(2), {.model = ball, .shapes = {{shell, "block"}}}));
      },
      "can leave the plane: in two dimensions hinges turn about z");
  EXPECT_NO_THROW(mpm::check(test::with(test::jelly(3), {.model = ball, .shapes = {{shell, "block"}}})));
}

}  // namespace
}  // namespace costate::coupled
