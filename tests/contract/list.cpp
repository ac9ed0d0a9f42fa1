#include "tests/contract/list.h"

#include <array>
#include <cmath>

#include "costate/ad/record.h"
#include "costate/cluster/shifted.h"
#include "costate/core/philox.h"
#include "costate/coupled/articulated.h"
#include "costate/coupled/carrier.h"
#include "costate/learn/closed_loop.h"
#include "costate/learn/program_policy.h"
#include "costate/learn/recurrent_loop.h"
#include "costate/ode/lanes/fixed_scheme.h"
#include "costate/ode/lanes/fixed_step_systems.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/rigid_system.h"
#include "costate/rigid/spec.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/system/program/lambda_system.h"
#include "costate/system/program/program_system.h"
#include "tests/md/models.h"
#include "tests/mpm/models.h"
#include "tests/rigid/contact/tumbling.h"
#include "tests/rigid/models.h"
#include "tests/soft/near_start.h"
#include "tests/system/contract.h"
#include "tests/system/program/network.h"

namespace costate::test {
namespace {

using ode::Integrator;

// --- small systems of equations ----------------------------------------------------------------------------

Signature pendulum_fields() {
  Signature s;
  s.state("q").state("v").control("torque").parameter("gravity", 9.81).parameter("length", 1.3);
  return s;
}
constexpr const char* kPendulum = "q_dot = v; v_dot = torque - gravity/length*sin(q) - 0.1*v";

template <class Real>
std::shared_ptr<System<Real>> pendulum_lambda(std::int64_t worlds) {
  return lambda_system<Real, Sizes{.states = 2, .controls = 1, .parameters = 2}>(
      pendulum_fields(),
      [](auto x, auto u, auto p) {
        return std::array{x[1], u[0] - p[0] / p[1] * sin(x[0])};
      },
      rk4(0.02), worlds);
}
ad::Program recorded_pendulum() {
  ad::Recorder recorder;
  const ad::Var q = recorder.scalar("q"), v = recorder.scalar("v"), torque = recorder.scalar("torque"),
                gravity = recorder.scalar("gravity"), length = recorder.scalar("length");
  recorder.output("rate", std::array{v, torque - gravity / length * sin(q)});
  return recorder.finish();
}

void add_equations(std::vector<Listed>& list) {
  struct Problem {
    const char* name;
    std::shared_ptr<System<double>> (*in_double)(Integrator, double);
    std::shared_ptr<System<float>> (*in_float)(Integrator, double);
    bool verlet;
    std::int64_t long_steps =
        1000;  // fewer of chaos: rounding parts the trajectories of tangents and cotangents
  };
  const std::pair<const char*, Integrator> integrators[] = {
      {"euler", Integrator::euler}, {"rk4", Integrator::rk4}, {"verlet", Integrator::verlet}};
  for (const Problem& problem :
       {Problem{"lorenz", ode::lorenz<double>, ode::lorenz<float>, false, 100},
        Problem{"pendulum", ode::pendulum<double>, ode::pendulum<float>, true},
        Problem{"projectile", ode::projectile<double>, ode::projectile<float>, false},
        Problem{"van_der_pol", ode::van_der_pol<double>, ode::van_der_pol<float>, false}}) {
    for (const auto& [name, integrator] : integrators) {
      if (integrator == Integrator::verlet && !problem.verlet) continue;
      list.push_back(
          {std::string(problem.name) + "_" + name,
           {std::string("ode::") + problem.name, std::string("ode::Integrator::") + name, "LaneSystem"},
           [problem, integrator] {
             expect_contract(problem.in_double(integrator, 0.01), {.long_steps = problem.long_steps});
             expect_contract(problem.in_float(integrator, 0.01), {.long_steps = problem.long_steps});
           }});
    }
  }
  list.push_back({"lambda", {"lambda_system", "RecordedLaneSystem"}, [] {
                    expect_contract(pendulum_lambda<double>(40), {.worlds = 40});
                    expect_contract(pendulum_lambda<float>(1), {});
                  }});
  list.push_back({"program", {"program_system", "ProgramSystem"}, [] {
                    expect_contract(
                        program_system<double>(pendulum_fields(), recorded_pendulum(), rk4(0.02), 40),
                        {.worlds = 40});
                  }});
  list.push_back({"equations", {"equations_system", "ProgramSystem"}, [] {
                    expect_contract(equations_system<double>(pendulum_fields(), kPendulum, rk4(0.02), 1), {});
                    expect_contract(equations_system<float>(pendulum_fields(), kPendulum, euler(0.02), 40),
                                    {});
                  }});
  list.push_back(
      {"layered", {"layered_system", "LayeredSystem"}, [] {
         expect_contract(layered_system<double>(fields(), network(), rk4(0.02), 5), {.steps = 30});
         expect_contract(in_layers<double>(fields(), network(), rk4(0.02), 5), {.steps = 30, .worlds = 5});
         expect_contract(in_layers<float>(fields(), network(), ode::fixed_scheme("dopri5", 0.02), 1),
                         {.steps = 30});
       }});
}

// --- controllers -------------------------------------------------------------------------------------------

void add_closed_loops(std::vector<Listed>& list) {
  list.push_back({"hybrid", {"learn::hybrid"}, [] {
                    const std::shared_ptr<const System<double>> plant = ode::pendulum<double>();
                    Signature weights;
                    weights.parameter("gain", {0.3, -0.2});
                    const ad::Program residual =
                        ad::record([](auto x, auto gain) { return gain[0] * sin(x[0]) + gain[1] * x[1]; },
                                   ad::Field{"x", 2}, ad::Field{"gain", 2});
                    expect_contract(learn::hybrid<double>(plant, weights, residual), {.stencil_step = 3e-4});
                  }});
  list.push_back(
      {"closed_loop", {"learn::closed_loop", "learn::ControlledSystem"}, [] {
         const learn::PolicyNetwork network{
             .waves = 2, .omega = 3, .observations = {{{{0, 1}}}, {{{1, 0.5}}}}, .hidden = 3};
         expect_contract(learn::closed_loop<double>(ode::pendulum<double>(), network),
                         {.stencil_step = 3e-4});
         const rigid::Model model = rigid::test::zoo(rigid::Integrator::euler);  // leaves a tape
         expect_contract(learn::closed_loop<double>(rigid::make_system<double>(model), network),
                         {.states =
                              [&](const auto& rollout, unsigned seed) {
                                return rigid::test::random_arguments(model, rollout, seed + 4);
                              },
                          .steps = 10,
                          .long_steps = 100,
                          .stencil_step = 3e-4});
         const learn::RecurrentNetwork memory{.observations = {{{{0, 1}}}, {{{1, 0.5}}}}, .memory = 3};
         expect_contract(learn::closed_loop<double>(ode::pendulum<double>(), memory), {.stencil_step = 3e-4});
       }});
}

// --- rigid bodies ------------------------------------------------------------------------------------------

struct ContactCase {
  std::string name, model;
  rigid::SystemOptions options;
  rigid::Integrator integrator = rigid::Integrator::euler;
  double gate = 1e-12, dot_gate = 1e-13, dot_gate_in_float = 1e-5;
  int noslip = 0;  // iterations
};

void add_rigid_bodies(std::vector<Listed>& list) {
  using rigid::ContactModel;
  for (const auto& [name, integrator] :
       {std::pair<std::string, rigid::Integrator>{"euler", rigid::Integrator::euler},
        {"implicitfast", rigid::Integrator::implicitfast},
        {"rk4", rigid::Integrator::rk4}}) {
    list.push_back(
        {"rigid_" + name, {"rigid::make_system", "rigid::Integrator::" + name}, [integrator] {
           const rigid::Model model = rigid::test::zoo(integrator);
           const auto states = [&](const auto& rollout, unsigned seed) {
             return rigid::test::random_arguments(model, rollout, seed + 4);
           };
           expect_contract(
               rigid::make_system<double>(model, {.applied_forces = true}),
               {.states = states, .steps = 10, .hold = 5, .long_steps = 100, .stencil_step = 3e-4});
           expect_contract(rigid::make_system<float>(model),
                           {.states = states, .steps = 10, .long_steps = 20});
         }});
  }
  for (const ContactCase& c :
       {ContactCase{"convex", "convex", {.onset = rigid::Onset::none}},
        // Sweeps begin at forces f = -D (J a - aref), a difference that in float has lost two digits.
        ContactCase{.name = "noslip",
        .model = "convex",
        .options = {.onset = rigid::Onset::none},
        .dot_gate_in_float = 2e-5,
        .noslip = 3},
        // A cut divides by the speed of approach.
        ContactCase{"convex_split",
                    "convex",
                    {.onset = rigid::Onset::split},
                    rigid::Integrator::rk4,
                    1e-12,
                    1e-13,
                    5e-5},
        // Of 200 states four are beyond 1e-5, where a stage meets a corner of the force within rounding.
        ContactCase{"adaptive", "convex", {}, rigid::Integrator::adaptive, 1e-12, 1e-13, 5e-5},
        // Rounding: of 200 such states half are below 1.3e-6; with 256-bit registers one was at 2.0e-5.
        ContactCase{.name = "event",
        .model = "event",
        .options = {.contact = ContactModel::event, .impact = {.restitution = 0.5}},
        .dot_gate_in_float = 3e-5},
        ContactCase{"penalty", "penalty", {.contact = ContactModel::penalty}},
        ContactCase{"hard",
                    "hard",
                    {.contact = ContactModel::hard, .impact = {.restitution = 0.3}},
                    rigid::Integrator::euler,
                    1e-11,  // a brick's corners share its load: rounding is larger (docs/contact_models.md)
                    1e-11,
                    1e-4}}) {
    const char* onset = c.options.onset == rigid::Onset::none    ? "none"
                        : c.options.onset == rigid::Onset::split ? "split"
                                                                 : "automatic";
    const char* integrator = c.integrator == rigid::Integrator::adaptive ? "adaptive"
                             : c.integrator == rigid::Integrator::rk4    ? "rk4"
                                                                         : "euler";
    list.push_back({"contact_" + c.name,
                    {"rigid::make_system", "rigid::ContactModel::" + c.model,
                     std::string("rigid::Onset::") + onset, std::string("rigid::Integrator::") + integrator},
                    [c] {
                      rigid::Model model = rigid::test::over_a_floor(c.integrator);
                      model.options.noslip_iterations = c.noslip;
                      const auto states = [&](const auto& rollout, unsigned seed) {
                        return rigid::test::tumbling(model, rollout, seed);
                      };
                      expect_contract(rigid::make_system<double>(model, c.options), {.states = states,
                                                                                     .steps = 6,
                                                                                     .hold = 3,
                                                                                     .long_steps = 50,
                                                                                     .seeds = 6,
                                                                                     .dot_gate = c.dot_gate,
                                                                                     .transpose_gate = c.gate,
                                                                                     .smooth = false});
                      expect_contract(rigid::make_system<float>(model, c.options),
                                      {.states = states,
                                       .steps = 6,
                                       .hold = 3,
                                       .long_steps = 0,
                                       .dot_gate = c.dot_gate_in_float,
                                       .transpose_gate = 1e-3,
                                       .smooth = false});
                    }});
  }
}

// --- particles ---------------------------------------------------------------------------------------------

template <class Real>
void expect_particles(const mpm::Model& model) {
  expect_contract(
      mpm::system<Real>(model),
      {.states = [&](const auto& rollout, unsigned) { return mpm::test::stirred(model, rollout); },
       .objective =
           mpm::test::mean_position<Real>(mpm::particle_count(model), model.dimension, {0.1, 0.2, 0.3}),
       .steps = 8,
       .hold = 3,
       .long_steps = 50,
       .transpose_gate = sizeof(Real) == 8 ? 1e-12 : 1e-4,
       .stencil_gate = 1e-8,
       .stencil_step = 1e-4});
}

void add_particles(std::vector<Listed>& list) {
  using mpm::MaterialKind;
#define COSTATE_PAIR(kind) {#kind, MaterialKind::kind},
  const std::pair<std::string, MaterialKind> kinds[] = {COSTATE_MPM_LAWS(COSTATE_PAIR)};
#undef COSTATE_PAIR
  for (const auto& [name, kind] : kinds) {
    list.push_back(
        {"particles_" + name, {"mpm::system", "mpm::MaterialPoints", "mpm::Kernel::quadratic"}, [kind] {
           expect_particles<double>(mpm::test::block(2, kind));
           expect_particles<float>(mpm::test::block(2, kind));
         }});
  }
  list.push_back({"particles_in_space", {"mpm::system"}, [] {
                    expect_particles<double>(mpm::test::block(3, MaterialKind::neo_hookean));
                  }});
  list.push_back({"particles_cubic", {"mpm::system", "mpm::Kernel::cubic"}, [] {
                    expect_particles<double>(
                        mpm::test::block(2, MaterialKind::neo_hookean, mpm::Kernel::cubic));
                  }});
}

// --- molecules ---------------------------------------------------------------------------------------------

// Every letter of an integrator's word; tests/md has every potential.
void add_molecules(std::vector<Listed>& list) {
  for (const std::string& word : md::test::every_word()) {
    list.push_back({"molecules_" + word, {"md::make_system", "md::MoleculeSystem"}, [word] {
                      const md::test::Sample sample = md::test::sample("morse_bond", word);
                      const auto states = [&](const auto& rollout, unsigned seed) {
                        return md::test::start(sample, rollout, seed);
                      };
                      expect_contract(md::make_system<double>(sample.model), {.states = states,
                                                                              .steps = 20,
                                                                              .long_steps = 200,
                                                                              .stencil_step = 1e-4,
                                                                              .taylor_step = 3e-4,
                                                                              .second_order_step = 1e-4});
                      expect_contract(md::make_system<float>(sample.model),
                                      {.states = states, .steps = 20, .long_steps = 50});
                    }});
  }
}

// A cloth that is sewn to an arm; a hinged paddle that jelly flies into.
void add_coupled(std::vector<Listed>& list) {
  list.push_back(
      {"carrier", {"coupled::carrier"}, [] {
         rigid::Spec spec("arm");
         spec.world.body("arm", {0, 0, 0})
             .hinge("joint", {0, 1, 0})
             .mass(0.2, {0.1, 0, 0}, {1e-3, 2e-3, 2e-3, 0, 0, 0});
         spec.add(rigid::ActuatorSpec::motor("motor", "joint", 1));
         soft::SoftModel model{.materials = {{.name = "cotton",
                                              .law = "stvk",
                                              .numbers = {{"E", 1e4}, {"nu", .25}},
                                              .density = .3,
                                              .viscosity = 1,
                                              .bending = 1e-4,
                                              .bending_viscosity = 1e-5}},
                               .drag = .1,
                               .wind = {.5, 1, .3},
                               .wind_drag = .2,
                               .dt = .01,
                               .tolerance = 1e-13};
         soft::add_part(model, "cloth", soft::Cells::triangles, soft::cloth_mesh({.2, .2}, {2, 2}), 0,
                        {.1, 0, 0});
         model.holds = {{"seam", {0, 3, 6}}};
         model.holds[0].body = "arm";
         model.carrier = coupled::carrier({.model = rigid::compile(spec)});
         const auto states = soft::test::near_start(model);
         expect_contract(soft::soft_bodies<double>(model), {.states = states, .steps = 8, .long_steps = 40});
         expect_contract(soft::soft_bodies<float>(model), {.states = states, .steps = 4, .long_steps = 10});
       }});
  list.push_back({"articulated", {"mpm::system", "coupled::articulated"}, [] {
                    rigid::Spec spec("paddle");
                    spec.options.timestep = 1e-3;
                    spec.world.body("paddle", {0.75, 1.15, 0})
                        .hinge("pivot", {0, 0, 1})
                        .mass(3, {0.02, 0.1, 0}, {0.02, 0.02, 0.03, 0, 0, 0});
                    spec.add(rigid::ActuatorSpec::motor("motor", "pivot", 5));
                    const rigid::Model paddle = rigid::compile(spec);
                    mpm::Model model = mpm::test::block(2, mpm::MaterialKind::neo_hookean);
                    mpm::Collider blade{
                        .name = "blade", .shape = mpm::Shape::sphere(0.12), .contact = mpm::Contact::slip};
                    model.mechanism = coupled::articulated({.model = paddle, .shapes = {{blade, "paddle"}}});
                    const auto states = [&](const auto& rollout, unsigned) {
                      auto at = rollout.arguments();
                      at.x0 = mpm::initial_state<double>(model);
                      for (std::size_t i = 0; i < at.controls.size(); ++i)
                        at.controls[i] = 0.4 * std::sin(double(i));
                      return at;
                    };
                    expect_contract(
                        mpm::system<double>(model),
                        {.states = states, .steps = 6, .hold = 2, .long_steps = 50, .smooth = false});
                  }});
}

// A block of a larger job: noise by the number of a world in the whole of it.
void add_blocks(std::vector<Listed>& list) {
  list.push_back({"block_of_a_job", {"cluster::shifted"}, [] {
                    const auto well = md::make_system<double>({.dimensions = 1,
                                                               .masses = {1},
                                                               .potentials = {{.kind = "double_well"}},
                                                               .integrator = "BAOAB",
                                                               .dt = 0.02});
                    expect_contract<double>(cluster::shifted<double>(well, std::make_shared<std::int64_t>(5)),
                                            {.steps = 20, .long_steps = 100});
                  }});
}

}  // namespace

std::vector<Listed> every_physics() {
  std::vector<Listed> list;
  add_equations(list);
  add_grids_and_springs(list);
  add_closed_loops(list);
  add_rigid_bodies(list);
  add_particles(list);
  add_molecules(list);
  add_coupled(list);
  add_blocks(list);
  return list;
}

}  // namespace costate::test
