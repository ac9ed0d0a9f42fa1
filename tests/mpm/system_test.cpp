#include "costate/mpm/system.h"
#include "costate/mpm/laws/law.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "costate/mpm/laws/law.h"
#include "tests/float_traps.h"
#include "tests/mpm/models.h"
#include "tests/system/contract.h"

namespace costate::mpm {
namespace {

using test::block;
using test::stirred;

template <class Real>
void contract(const Model& model) {
  const auto system = mpm::system<Real>(model);
  const auto objective = test::mean_position<Real>(particle_count(model), model.dimension, {0.1, 0.2, 0.3});
  costate::test::expect_contract(
      system, {.states = [&](const auto& rollout, unsigned) { return stirred(model, rollout); },
               .objective = objective,
               .steps = 10,
               .hold = 4,
               .long_steps = 0,
               .transpose_gate = sizeof(Real) == 8 ? 1e-12 : 1e-4,
               .stencil_gate = 1e-8,
               .stencil_step = 1e-4});
}

class Materials : public testing::TestWithParam<MaterialKind> {};

TEST_P(Materials, MeetTheContractInThreeDimensions) { contract<double>(block(3, GetParam())); }
TEST_P(Materials, MeetTheContractInTwoDimensions) { contract<double>(block(2, GetParam())); }
TEST_P(Materials, MeetTheContractInFloat) { contract<float>(block(3, GetParam())); }

std::vector<MaterialKind> all_kinds() {
  std::vector<MaterialKind> kinds(laws().size());
  for (std::size_t k = 0; k < kinds.size(); ++k) kinds[k] = MaterialKind(k);
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(MaterialPoints, Materials, testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(law_of(kind.param).name); });

TEST(MaterialPoints, CubicKernelMeetsTheContract) {
  contract<double>(block(3, MaterialKind::neo_hookean, Kernel::cubic));
  contract<double>(block(2, MaterialKind::liquid, Kernel::cubic));
  contract<float>(block(2, MaterialKind::neo_hookean, Kernel::cubic));
}

// Three materials, one of them with a stiffness of its own for each particle, one a muscle.
Model mixture() {
  Model m = block(3, MaterialKind::neo_hookean);
  m.materials[0].per_particle = {"E", "density"};
  m.materials.push_back({.name = "water", .kind = MaterialKind::liquid, .bulk_modulus = 2e4, .viscosity = 1});
  m.materials.push_back(
      {.name = "leg", .kind = MaterialKind::muscle, .E = 3e4, .strength = 2e3, .fibre = {0.6, 0.8, 0}});
  m.actuators = 2;
  for (std::size_t p = 0; p < m.particles.material.size(); ++p) {
    m.particles.material[p] = static_cast<int>(p * p % 7 % 3);
    m.particles.actuator[p] = static_cast<int>(p % 4) - 1 < 2 ? static_cast<int>(p % 4) - 1 : 0;
  }
  return m;
}

TEST(MaterialPoints, MixedMaterialsMeetTheContract) {
  const Model m = mixture();
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 6, .hold = 2});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  for (std::size_t k = 0; k < at.controls.size(); ++k) at.controls[k] = 0.5 + std::sin(double(k));
  const auto E = system->signature().find(Role::parameter, "material/body/E");
  EXPECT_GT(E.size, 10);
  const auto objective = test::mean_position<double>(particle_count(m), 3, {0.1, 0.2, 0.3});
  for (std::int64_t i = 0; i < particle_count(m); ++i)
    at.x0[std::size_t(15 * particle_count(m) + 9 * i)] -= 0.02;  // away from the liquid's cut-off
  test::expect_exact_gradient(system, at, objective, 6, 2, {.stencil = 1e-4, .gate = 1e-9, .taylor = 1e-3});
  // Every material is there, and everything about it matters.
  const auto g = rollout.value_and_gradient(at, *objective);
  for (const char* name : {"material/body/E", "material/water/bulk_modulus", "material/leg/strength"})
    EXPECT_NE(g.parameters[name][0], 0) << name;
  EXPECT_NE(g.controls[0], 0);
  EXPECT_NE(g.controls[1], 0);
}

// All strains are zero but for rounding, and the law has its tip there.
TEST(MaterialPoints, SandInFreeFallHasATranspose) {
  Model m;
  m.dimension = 2;
  m.nodes = {50, 30, 1};
  m.dx = 0.02;
  m.dt = 4e-4;
  m.gravity = {0, -9.81, 0};
  m.materials = {{.name = "sand",
                  .kind = MaterialKind::drucker_prager,
                  .density = 1500,
                  .E = 3.5e5,
                  .friction_angle = 0.5}};
  fill(m, Shape::box(0.1, 0.1), {0.5, 0.3}, 0.01, 0);
  const auto system = mpm::system<double>(m);
  Rollout<double> rollout(system, {.steps = 60});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const auto dot = check::dot_product(rollout, at, {.seed = 1, .directions = 20});
  EXPECT_TRUE(dot.passed()) << dot.to_text();
}

// One step of a scene with everything in it, as the System itself takes it: null where nobody asks.
class OneStep {
 public:
  explicit OneStep(int dimension) {
    Model m = block(dimension, MaterialKind::muscle);
    m.materials[0].strength = 2e3;
    m.materials[0].per_particle = {"E"};
    m.materials.push_back({.name = "sand", .kind = MaterialKind::drucker_prager, .E = 2e4});
    m.actuators = 2;
    for (std::size_t p = 0; p < m.particles.material.size(); ++p)
      m.particles.material[p] = int(p % 5 == 0), m.particles.actuator[p] = int(p % 3) - 1;
    m.walls[2] = {Contact::coulomb, 8, 0.3};
    m.walls[5].contact = Contact::none;
    m.colliders = {
        {.name = "moving", .shape = Shape::sphere(0.2), .contact = Contact::coulomb, .moves = true},
        {.name = "resting",
         .shape = Shape::box(0.1, 0.1, 0.1),
         .contact = Contact::slip,
         .position = {0.35, 1.0, 0.75}},
        {.name = "shown",
         .shape = Shape::sphere(0.3),
         .contact = Contact::none,
         .position = {0.5, 1.1, 0.9}}};
    m.bodies = {{.name = "ball",
                 .shape = Shape::sphere(0.12),
                 .mass = 3,
                 .inertia = {0.1, 0.1, 0.1},
                 .position = {0.62, 1.17, 1.02},
                 .velocity = {0.1, 0.2, 0.3}}};
    system_ = mpm::system<double>(m);
    Rollout<double> one(system_, {.steps = 1});
    const Arguments<double> at = stirred(m, one);
    const auto padded = [](std::size_t n) { return std::vector<double>(n + 3); };
    x_ = padded(at.x0.size()), y_bar_ = padded(at.x0.size());
    std::copy(at.x0.begin(), at.x0.end(), x_.begin());
    u_ = padded(std::size_t(system_->signature().controls()));
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] = 0.3 + 0.1 * std::sin(double(i));
    const Field& where = system_->signature().find(Role::control, "collider/moving/position");
    for (int a = 0; a < dimension; ++a) u_[std::size_t(where.offset + a)] = a == 1 ? 0.9 : 0.5;
    p_ = padded(std::size_t(system_->parameter_size()));
    const auto& fields = system_->signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t i = 0; i < fields[f].size; ++i)
        p_[std::size_t(fields[f].offset + i)] = at.parameters.values(f)[std::size_t(i)];
    all_.assign(fields.size(), true);
    for (std::size_t i = 0; i < y_bar_.size(); ++i) y_bar_[i] = std::sin(double(i));
    work_ = system_->make_workspace();
  }
  struct Bars {
    std::vector<double> x, u, p;
  };
  Bars vjp(bool controls, bool parameters) const {
    Bars bar{std::vector<double>(x_.size()), std::vector<double>(u_.size()), std::vector<double>(p_.size())};
    system_->step_vjp({}, {x_.data(), u_.data(), p_.data()}, nullptr, y_bar_.data(),
                      {bar.x.data(), controls ? bar.u.data() : nullptr, parameters ? bar.p.data() : nullptr},
                      Activity{all_}, *work_);
    return bar;
  }
  void value_with_bad_velocity() const {
    std::vector<double> x = x_, y(x_.size());
    x[std::size_t(system_->signature().find(Role::state, "particle/v").offset)] =
        std::numeric_limits<double>::quiet_NaN();
    system_->step({}, {x.data(), u_.data(), p_.data()}, y.data(), nullptr, *work_);
  }
  // The tangent along x alone: u and p have none, told by nulls or by zeros.
  std::vector<double> jvp(bool nulls) const {
    const std::vector<double> no_u(u_.size()), no_p(p_.size());
    std::vector<double> y(x_.size()), y_dot(x_.size());
    system_->step_jvp({}, {x_.data(), u_.data(), p_.data()},
                      {y_bar_.data(), nulls ? nullptr : no_u.data(), nulls ? nullptr : no_p.data()}, y.data(),
                      y_dot.data(), *work_);
    return y_dot;
  }

 private:
  std::shared_ptr<System<double>> system_;
  std::unique_ptr<Workspace> work_;
  std::vector<double> x_, u_, p_, y_bar_;
  std::vector<bool> all_;
};

TEST(MaterialPoints, CotangentsThatNobodyWantsChangeNoOther) {
  for (const int dimension : {2, 3}) {
    const OneStep step(dimension);
    const auto all = step.vjp(true, true), no_controls = step.vjp(false, true),
               no_parameters = step.vjp(true, false);
    EXPECT_EQ(all.x, no_controls.x);
    EXPECT_EQ(all.p, no_controls.p);
    EXPECT_EQ(all.x, no_parameters.x);
    EXPECT_EQ(all.u, no_parameters.u);
    const auto size = [](const std::vector<double>& v) {
      return std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    };
    EXPECT_GT(size(all.u), 0);
    EXPECT_GT(size(all.p), 0);
  }
}

TEST(MaterialPoints, NoTangentIsAZeroTangent) {
  for (const int dimension : {2, 3}) {
    const OneStep step(dimension);
    EXPECT_EQ(step.jvp(true), step.jvp(false));
  }
}

TEST(MaterialPoints, TransposeAndTangentAgreeOverAHundredSteps) {
  const Model m = block(2, MaterialKind::fixed_corotated);
  Rollout<double> rollout(mpm::system<double>(m), {.steps = 100});
  const auto result = check::dot_product(rollout, stirred(m, rollout), {.seed = 2, .directions = 5});
  EXPECT_TRUE(result.passed()) << result.to_text();
}

// Every entry of the Jacobian of a few particles: transposes against tangents.
TEST(MaterialPoints, TransposeMatchesTangentsInEveryEntry) {
  Model m = block(2, MaterialKind::neo_hookean);
  m.particles.x.resize(10), m.particles.v.resize(10), m.particles.volume = {0.0025},
                                                      m.particles.material = {0}, m.particles.actuator = {-1};
  const auto system = mpm::system<double>(m);
  Rollout<double> one(system, {.steps = 1});
  costate::test::expect_transpose_matches_dual<double>(*system, stirred(m, one), 1e-12);
}

// What a step leaves for its transpose: the grid where it is dense, nothing where it would be larger than the
// particles.
TEST(MaterialPoints, TransposeFromTheTapeIsThatFromTheParticles) {
  for (const bool dense : {false, true}) {
    Model m = block(3, MaterialKind::neo_hookean);
    if (dense) fill(m, Shape::box(0.25, 0.25, 0.25), {0.5, 1.1, 0.9}, 0.0125, 0);
    const auto system = mpm::system<double>(m);
    Rollout<double> one(system, {.steps = 1});
    const Arguments<double> at = stirred(m, one);
    const auto& fields = system->signature().fields(Role::parameter);
    const Activity all{std::vector<bool>(fields.size(), true)};
    std::vector<double> p(std::size_t(system->parameter_size())), y(at.x0.size() + 3),
        tape(std::size_t(system->tape(all, {}).size));
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (std::int64_t i = 0; i < fields[f].size; ++i)
        p[std::size_t(fields[f].offset + i)] = at.parameters.values(f)[std::size_t(i)];
    std::vector<double> x(at.x0.begin(), at.x0.end()), y_bar(at.x0.size() + 3), bars[2], p_bars[2];
    x.resize(at.x0.size() + 3);
    for (std::size_t i = 0; i < y_bar.size(); ++i) y_bar[i] = std::sin(double(i));
    const auto work = system->make_workspace();
    const Inputs<double> in{x.data(), nullptr, p.data()};
    system->step({}, in, y.data(), tape.data(), *work);
    EXPECT_EQ(tape[0], dense ? 1 : 0);
    for (const int taped : {0, 1}) {
      bars[taped].assign(y.size(), 0), p_bars[taped].assign(p.size(), 0);
      system->step_vjp({}, in, taped ? tape.data() : nullptr, y_bar.data(),
                       {bars[taped].data(), nullptr, p_bars[taped].data()}, all, *work);
    }
    double largest = 0;
    for (const double b : bars[0]) largest = std::max(largest, std::abs(b));
    for (std::size_t i = 0; i < at.x0.size(); ++i) EXPECT_NEAR(bars[0][i], bars[1][i], 1e-12 * largest);
    for (std::size_t i = 0; i < p.size(); ++i)
      EXPECT_NEAR(p_bars[0][i], p_bars[1][i], 1e-11 * std::abs(p_bars[0][i]));
  }
}

// --- closed forms ------------------------------------------------------------------------------------------

TEST(MaterialPoints, ConserveMomentumWithoutGravity) {
  for (const Kernel kernel : {Kernel::quadratic, Kernel::cubic}) {
    Model m = block(3, MaterialKind::fixed_corotated, kernel);
    m.gravity = {0, 0, 0};
    Rollout<double> rollout(mpm::system<double>(m), {.steps = 100});
    const Arguments<double> at = stirred(m, rollout);
    const auto end = rollout.simulate(at).final_state;
    const std::int64_t n = particle_count(m);
    // Linear momentum, and angular momentum with APIC's share m D C: both about the origin.
    const auto momenta = [&](const std::vector<double>& x, double(&p)[3], double(&L)[3], double& size) {
      const double D = m.dx * m.dx / (kernel == Kernel::quadratic ? 4 : 3);
      for (int a = 0; a < 3; ++a) p[a] = L[a] = 0;
      size = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double* r = &x[std::size_t(3 * i)];
        const double* v = &x[std::size_t(3 * (n + i))];
        const double* C = &x[std::size_t(6 * n + 9 * i)];
        for (int a = 0; a < 3; ++a) {
          const int b = (a + 1) % 3, c = (a + 2) % 3;
          p[a] += v[a];
          L[a] += r[b] * v[c] - r[c] * v[b] + D * (C[3 * c + b] - C[3 * b + c]);
          size += std::abs(v[a]);
        }
      }
    };
    double p0[3], L0[3], p1[3], L1[3], size;
    momenta(at.x0, p0, L0, size);
    momenta(end, p1, L1, size);
    for (int a = 0; a < 3; ++a) {
      EXPECT_NEAR(p1[a], p0[a], 1e-12 * size);
      EXPECT_NEAR(L1[a], L0[a], 1e-12 * size);
    }
  }
}

TEST(MaterialPoints, FallFreely) {
  Model m = block(3, MaterialKind::neo_hookean);
  for (double& v : m.particles.v) v = 0;
  Rollout<double> rollout(mpm::system<double>(m), {.steps = 50});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const auto end = rollout.simulate(at).final_state;
  // Symplectic Euler: y - dt^2 g k (k + 1) / 2 exactly.
  const double fall = -9.81 * m.dt * m.dt * 50 * 51 / 2;
  for (std::int64_t p = 0; p < particle_count(m); ++p)
    EXPECT_NEAR(end[std::size_t(3 * p + 1)], at.x0[std::size_t(3 * p + 1)] + fall, 1e-11);
}

// --- errors ------------------------------------------------------------------------------------------------

template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
}

TEST(MaterialPoints, TooFastAParticleIsNamed) {
  Model m = block(2, MaterialKind::neo_hookean);
  for (double& v : m.particles.v) v = 0;
  Rollout<double> rollout(mpm::system<double>(m), {.steps = 5});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const std::size_t n = std::size_t(particle_count(m));
  for (std::size_t p = 0; p < n; ++p) at.x0[2 * (n + p)] = 60;
  expect_contains(message_of([&] { rollout.simulate(at); }),
                  {"particle 0", "step 0", "cells", "largest_courant", "dt"});
}

// A rollout looks at its initial state first; a number that goes bad on the way is met by the step.
TEST(MaterialPoints, AVelocityThatIsNoNumberIsNamed) {
  const OneStep step(2);
  const costate::test::AllowFloatExceptions not_a_number;
  expect_contains(message_of([&] { step.value_with_bad_velocity(); }),
                  {"moves nan cells", "step 0", "largest_courant"});
}

TEST(MaterialPoints, AParticleOutsideIsNamed) {
  Model m = block(2, MaterialKind::neo_hookean);
  for (Wall& wall : m.walls) wall.contact = Contact::none;
  Rollout<double> rollout(mpm::system<double>(m), {.steps = 5});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  at.x0[2 * 7] = 40;
  expect_contains(message_of([&] { rollout.simulate(at); }),
                  {"particle 7", "outside the grid", "step 0", "nodes"});
}

TEST(MaterialPoints, AnInvertedElementIsNamed) {
  Model m = block(3, MaterialKind::fixed_corotated);
  Rollout<double> rollout(mpm::system<double>(m), {.steps = 5});
  Arguments<double> at = rollout.arguments();
  at.x0 = initial_state<double>(m);
  const std::size_t n = std::size_t(particle_count(m));
  at.x0[6 * n + 9 * n + 9 * 11] = -0.5;
  expect_contains(message_of([&] { rollout.simulate(at); }),
                  {"particle 11", "body", "inverted", "step 0", "dt"});
}

TEST(MaterialPoints, AStepTooLongForTheSpeedOfSoundIsRefused) {
  Model m = block(3, MaterialKind::neo_hookean);
  m.dt = 0.1;
  expect_contains(message_of([&] { mpm::system<double>(m); }),
                  {"body", "cells in a step", "reduce dt below"});
}

TEST(MaterialPoints, WrongModelsAreRefused) {
  const auto refused = [](const auto& change) {
    Model m = block(3, MaterialKind::neo_hookean);
    change(m);
    return message_of([&] { mpm::system<double>(m); });
  };
  expect_contains(refused([](Model& m) { m.dimension = 4; }), {"2 or 3 dimensions"});
  expect_contains(refused([](Model& m) { m.nodes = {4, 4, 4}; }), {"8 nodes"});
  expect_contains(refused([](Model& m) { m.materials.clear(); }), {"needs a material"});
  expect_contains(refused([](Model& m) { m.materials[0].nu = 0.5; }), {"nu < 0.5"});
  expect_contains(refused([](Model& m) { m.materials[0].E = -1; }), {"needs E > 0, not -1"});
  const auto refused_as = [&](MaterialKind kind, double Material::*number, double value) {
    return refused([&](Model& m) { m.materials[0].kind = kind, m.materials[0].*number = value; });
  };
  expect_contains(refused_as(MaterialKind::liquid, &Material::viscosity, -1),
                  {"needs viscosity >= 0, not -1"});
  expect_contains(refused_as(MaterialKind::drucker_prager, &Material::friction_angle, -0.1),
                  {"needs 0 <= friction_angle < 1.571, not -0.1"});
  expect_contains(refused_as(MaterialKind::drucker_prager, &Material::friction_angle, 1.6),
                  {"friction_angle < 1.571, not 1.6"});
  expect_contains(refused_as(MaterialKind::snow, &Material::critical_compression, 1),
                  {"needs 0 <= critical_compression < 1, not 1"});
  expect_contains(refused_as(MaterialKind::snow, &Material::critical_stretch, -0.1),
                  {"needs critical_stretch >= 0, not -0.1"});
  expect_contains(refused([](Model& m) { m.materials[0].per_particle = {"viscosity"}; }), {"viscosity"});
  expect_contains(refused([](Model& m) { m.particles.material[3] = 2; }), {"material 2"});
  expect_contains(refused([](Model& m) { m.particles.v.pop_back(); }), {"velocities"});
  expect_contains(refused([](Model& m) { m.walls[0].nodes = 9, m.walls[1].nodes = 9; }), {"no space"});
  expect_contains(refused([](Model& m) { m.colliders = {{.name = "a/b", .shape = Shape::sphere(1)}}; }),
                  {"without '/'"});
  expect_contains(refused([](Model& m) { m.colliders = {{.name = "a", .shape = Shape::sphere(-1)}}; }),
                  {"radius"});
}

}  // namespace
}  // namespace costate::mpm
