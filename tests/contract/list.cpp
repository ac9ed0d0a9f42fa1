#include "tests/contract/list.h"

#include <array>
#include <cmath>

#include "costate/ad/record.h"
#include "costate/cluster/shifted.h"
#include "costate/core/philox.h"
#include "costate/coupled/articulated.h"
#include "costate/fluid/flow.h"
#include "costate/grid/burgers.h"
#include "costate/grid/equations.h"
#include "costate/grid/gray_scott.h"
#include "costate/grid/heat.h"
#include "costate/grid/shallow_water.h"
#include "costate/grid/wave.h"
#include "costate/learn/closed_loop.h"
#include "costate/learn/program_policy.h"
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
#include "tests/rigid/models.h"
#include "tests/soft/models.h"
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

// --- grids, masses and springs, controllers ----------------------------------------------------------------

// Slow, and with speeds on all faces: at a Courant number of 1 a hundred steps would carry them far from
// where they began.
void add_flows(std::vector<Listed>& list) {
  const auto slow = [](const auto& rollout, unsigned seed) {
    auto a = rollout.arguments();
    std::uint32_t drawn = 0;
    for (auto* numbers : {&a.x0, &a.controls})
      for (auto& x : *numbers) x = decltype(x + 0)(0.3 * (2 * uniform(seed, 5, drawn++) - 1));
    return a;
  };
  for (const auto& [name, scheme] :
       {std::pair<const char*, fluid::Scheme>{"rk3", fluid::Scheme::rk3}, {"euler", fluid::Scheme::euler}}) {
    list.push_back({std::string("flow_") + name,
                    {"fluid::flow", "fluid::make_flow_system", "fluid::FlowSystem",
                     std::string("fluid::Scheme::") + name},
                    [of = scheme, slow] {
                      fluid::FlowOptions channel{.cells = {8, 5}, .dt = 0.2, .viscosity = 0.1};
                      channel.scheme = of;
                      channel.sides[0] = {fluid::Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
                      channel.sides[1] = {fluid::Side::Kind::outflow};
                      channel.sides[2] = fluid::wall({0.1, 0, 0});
                      channel.sides[3] = {fluid::Side::Kind::slip};
                      expect_contract(fluid::flow<double>(channel),
                                      {.states = slow, .steps = 10, .long_steps = 60, .stencil_step = 3e-4});
                      expect_contract(fluid::flow<float>(channel),
                                      {.states = slow, .steps = 10, .long_steps = 60});
                      const fluid::FlowOptions box{
                          .cells = {4, 5, 3}, .dt = 0.2, .viscosity = 0.1, .push = true, .scheme = of};
                      expect_contract(fluid::flow<double>(box),
                                      {.states = slow, .steps = 10, .long_steps = 60, .stencil_step = 3e-4});
                    }});
  }
}

// A block on a driven hold and a cloth in a driven wind, in one world.
soft::SoftModel soft_world(soft::Integrator integrator) {
  soft::SoftModel m{.materials = {{.name = "rubber",
                                   .law = "neo_hookean",
                                   .numbers = {{"E", 2e4}, {"nu", .3}},
                                   .viscosity = 10},
                                  {.name = "cotton",
                                   .law = "stvk",
                                   .numbers = {{"E", 1e4}, {"nu", .25}},
                                   .density = .3,
                                   .viscosity = 1,
                                   .bending = 1e-4,
                                   .bending_viscosity = 1e-5}},
                    .drag = .2,
                    .wind = {.5, 1, .3},
                    .wind_drag = .2,
                    .wind_driven = true,
                    .dt = .01,
                    .integrator = integrator,
                    .tolerance = 1e-14};
  soft::add_part(m, "block", soft::Cells::tetrahedra,
                 soft::block_mesh(soft::Cells::tetrahedra, {.1, .1, .1}, {1, 1, 1}), 0);
  const int cloth =
      soft::add_part(m, "cloth", soft::Cells::triangles, soft::cloth_mesh({.2, .2}, {2, 2}), 1, {.5, 0, 0});
  m.holds = {{"foot", {0, 1, 2}, true}, {"corners", {cloth, cloth + 1, cloth + 2}, false}};
  return m;
}
void add_soft(std::vector<Listed>& list) {
  for (int k = 0; k < 4; ++k) {
    const auto integrator = soft::Integrator(k);
    list.push_back(
        {std::string("soft_") + soft::kIntegratorNames[k],
         {"soft::soft_bodies", std::string("soft::Integrator::") + soft::kIntegratorNames[k]},
         [integrator] {
           const soft::SoftModel m = soft_world(integrator);
           const auto states = [m](const auto& rollout, unsigned seed) {
             auto a = rollout.arguments();
             const auto x = soft::soft_state(m);
             for (std::size_t i = 0; i < x.size(); ++i)
               a.x0[i] = decltype(a.x0[0] + 0)(x[i] + 0.004 * (2 * uniform(seed, 5, i) - 1));
             for (std::size_t i = 0; i < a.controls.size(); ++i)
               a.controls[i] = decltype(a.x0[0] + 0)(0.1 * (2 * uniform(seed, 6, i) - 1));
             return a;
           };
           expect_contract(soft::soft_bodies<double>(m), {.states = states, .steps = 8, .long_steps = 40});
           expect_contract(soft::soft_bodies<float>(m), {.states = states, .steps = 4, .long_steps = 10});
         }});
  }
}

void add_obstacles(std::vector<Listed>& list) {
  using Shape = fluid::Obstacle::Shape;
  for (const auto& [name, body] :
       {std::pair<const char*, fluid::Obstacle>{
            "ball", {.center = {3.2, 3.1, 0}, .size = {2}, .velocity = {0.1, 0, 0}, .spin = {0, 0, 0.2}}},
        {"ellipsoid", {.shape = Shape::ellipsoid, .center = {3, 3, 0}, .size = {2.2, 1.7}, .angle = 0.4}},
        {"fourier",
         {.shape = Shape::fourier, .center = {3, 3.2, 0}, .size = {1.8, 0.2, -0.1}, .driven = true}}}) {
    list.push_back({std::string("flow_around_") + name,
                    {"fluid::flow", std::string("fluid::Shape::") + name},
                    [obstacle = body] {
                      const auto states = [](const auto& rollout, unsigned seed) {
                        auto a = rollout.arguments();
                        std::uint32_t drawn = 0;
                        for (auto* numbers : {&a.x0, &a.controls})
                          for (auto& x : *numbers)
                            x = decltype(x + 0)(0.3 * (2 * uniform(seed, 5, drawn++) - 1));
                        return a;
                      };
                      const fluid::FlowOptions box{
                          .cells = {7, 6}, .dt = 0.2, .viscosity = 0.1, .obstacles = {obstacle}};
                      expect_contract(fluid::flow<double>(box),
                                      {.states = states, .steps = 6, .long_steps = 30, .stencil_step = 1e-4});
                      expect_contract(fluid::flow<float>(box),
                                      {.states = states, .steps = 6, .long_steps = 30});
                    }});
  }
}

void add_grids_and_springs(std::vector<Listed>& list) {
  list.push_back({"heat", {"grid::heat", "grid::StencilSystem"}, [] {
                    const grid::HeatOptions plate{.nx = 7, .ny = 5, .heaters = {8, 20}};
                    expect_contract(grid::heat<double>(plate), {.steps = 30, .stencil_step = 3e-4});
                    expect_contract(grid::heat<float>(plate), {.steps = 30});
                  }});
  list.push_back({"shallow_water", {"grid::shallow_water", "grid::make_system"}, [] {
                    // Long waves: steeper ones run dry.
                    const auto waves = [](const auto& rollout, unsigned) {
                      auto a = rollout.arguments();
                      for (std::size_t i = 0; i < a.x0.size(); ++i)
                        a.x0[i] = decltype(a.x0[i] + 0)(0.05 * std::sin(0.7 * double(i)));
                      return a;
                    };
                    const grid::ShallowWaterOptions bay{.nx = 7, .ny = 5, .drag = 0.2, .sources = {8, 20}};
                    expect_contract(grid::shallow_water<double>(bay),
                                    {.states = waves, .steps = 30, .stencil_step = 3e-4});
                    expect_contract(grid::shallow_water<float>(bay), {.states = waves, .steps = 30});
                    const grid::GridSpec sea{
                        .equation = "shallow_water",
                        .nx = 6,
                        .ny = 5,
                        .sides = {{"west", {"periodic", 0.0}}, {"east", {"periodic", 0.0}}}};
                    expect_contract(grid::make_system<double>(sea),
                                    {.states = waves, .steps = 30, .stencil_step = 3e-4});
                  }});
  list.push_back({"wave", {"grid::wave"}, [] {
                    const grid::WaveOptions pond{.nx = 7, .ny = 5, .dt = 0.3, .sources = {8, 20}};
                    expect_contract(grid::wave<double>(pond), {.steps = 30, .stencil_step = 3e-4});
                    expect_contract(grid::wave<float>(pond), {.steps = 30});
                  }});
  const auto waves_of = [](double mean, double amplitude) {
    return [=](const auto& rollout, unsigned seed) {
      auto a = rollout.arguments();
      for (std::size_t i = 0; i < a.x0.size(); ++i)
        a.x0[i] = decltype(a.x0[i] + 0)(mean + amplitude * std::sin(0.7 * double(i) + double(seed)));
      return a;
    };
  };
  list.push_back({"burgers", {"grid::burgers"}, [waves_of] {
                    const grid::BurgersOptions line{.nx = 10, .ny = 10, .viscosity = 0.3, .source = 0.1};
                    expect_contract(
                        grid::burgers<double>(line),
                        {.states = waves_of(0, 1.3), .steps = 10, .long_steps = 60, .stencil_step = 1e-4});
                    expect_contract(grid::burgers<float>(line),
                                    {.states = waves_of(0, 1.3), .steps = 10, .long_steps = 60});
                  }});
  list.push_back({"gray_scott", {"grid::gray_scott"}, [waves_of] {
                    const grid::GrayScottOptions dish{.nx = 7, .ny = 5, .sources = {8, 20}};
                    expect_contract(grid::gray_scott<double>(dish),
                                    {.states = waves_of(0.4, 0.2), .steps = 30, .stencil_step = 3e-4});
                    expect_contract(grid::gray_scott<float>(dish),
                                    {.states = waves_of(0.4, 0.2), .steps = 30});
                  }});
  add_flows(list);
  add_obstacles(list);
  add_soft(list);
  for (const auto& [name, contact] : {std::pair<const char*, soft::Contact>{"split", soft::Contact::split},
                                      {"end_of_step", soft::Contact::end_of_step}}) {
    list.push_back({std::string("mass_spring_") + name,
                    {"soft::make_system", std::string("soft::Contact::") + name},
                    [contact] {
                      for (const int dimensions : {2, 3}) {
                        const auto states = [dimensions](const auto& rollout, unsigned seed) {
                          return soft::test::standing(rollout, dimensions, seed % 2 == 1 ? 3.0 : 0.0);
                        };
                        const auto model = soft::test::tetrapod(dimensions, 0.1, contact);
                        expect_contract(soft::make_system<double>(model),
                                        {.states = states, .stencil_step = 3e-4});
                        expect_contract(soft::make_system<float>(model), {.states = states});
                      }
                    }});
  }
  list.push_back({"hybrid", {"learn::hybrid"}, [] {
                    const std::shared_ptr<const System<double>> plant = ode::pendulum<double>();
                    Signature weights;
                    weights.parameter("gain", {0.3, -0.2});
                    const ad::Program residual =
                        ad::record([](auto x, auto gain) { return gain[0] * sin(x[0]) + gain[1] * x[1]; },
                                   ad::Field{"x", 2}, ad::Field{"gain", 2});
                    expect_contract(learn::hybrid<double>(plant, weights, residual), {.stencil_step = 3e-4});
                  }});
  list.push_back({"closed_loop", {"learn::closed_loop", "learn::ControlledSystem"}, [] {
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
                  }});
}

// --- rigid bodies ------------------------------------------------------------------------------------------

// A ball and a brick over a floor, a finger's breadth apart. No two geoms have the same friction: the larger
// one counts.
rigid::Model over_a_floor(rigid::Integrator integrator) {
  rigid::Spec spec("ball and brick");
  spec.options.integrator = integrator;
  spec.options.timestep = 0.004;
  spec.world.plane("floor");
  spec.world.last_geom().friction = {0.3, 0.01, 0.002};
  auto& ball = spec.world.body("ball", {0, 0, 0.1}).free().sphere("ball", {0, 0, 0}, 0.1);
  ball.last_geom().friction = {0.4, 0.02, 0.001};
  auto& brick =
      spec.world.body("brick", {0.22, 0.01, 0.06}).free().box("brick", {0, 0, 0}, {0.1, 0.08, 0.06});
  brick.last_geom().friction = {0.5, 0.03, 0.004};
  return rigid::compile(spec);
}

// Near the floor and into it, tilted, sliding and spinning; other contacts are made with every seed.
template <class Real>
Arguments<Real> tumbling(const rigid::Model& model, const Rollout<Real>& rollout, unsigned seed) {
  Arguments<Real> at = rollout.arguments();
  std::vector<double> x = rigid::initial_state(model);
  unsigned drawn = 0;
  const auto random = [&](double scale) { return scale * (2 * uniform(seed, 0, drawn++) - 1); };
  for (std::size_t body = 0; body < 2; ++body) {
    double* q = x.data() + 7 * body;
    double* v = x.data() + 14 + 6 * body;
    q[2] += random(2e-3);
    for (int k = 4; k < 7; ++k) q[k] = random(0.02);
    for (int k = 0; k < 3; ++k) v[k] = random(0.5), v[k + 3] = random(2);
  }
  at.x0.assign(x.begin(), x.end());
  for (std::size_t i = 0; i < at.controls.size(); ++i) at.controls[i] = static_cast<Real>(random(0.2));
  return at;
}

struct ContactCase {
  std::string name, model;
  rigid::SystemOptions options;
  rigid::Integrator integrator = rigid::Integrator::euler;
  double gate = 1e-12, dot_gate = 1e-13, dot_gate_in_float = 1e-5;
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
        // A cut divides by the speed of approach.
        ContactCase{"convex_split",
                    "convex",
                    {.onset = rigid::Onset::split},
                    rigid::Integrator::rk4,
                    1e-12,
                    1e-13,
                    5e-5},
        ContactCase{"event", "event", {.contact = ContactModel::event, .impact = {.restitution = 0.5}}},
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
    list.push_back(
        {"contact_" + c.name,
         {"rigid::make_system", "rigid::ContactModel::" + c.model, std::string("rigid::Onset::") + onset},
         [c] {
           const rigid::Model model = over_a_floor(c.integrator);
           const auto states = [&](const auto& rollout, unsigned seed) {
             return tumbling(model, rollout, seed);
           };
           expect_contract(rigid::make_system<double>(model, c.options), {.states = states,
                                                                          .steps = 6,
                                                                          .hold = 3,
                                                                          .long_steps = 50,
                                                                          .seeds = 6,
                                                                          .dot_gate = c.dot_gate,
                                                                          .transpose_gate = c.gate,
                                                                          .smooth = false});
           expect_contract(rigid::make_system<float>(model, c.options), {.states = states,
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

// A hinged paddle that jelly flies into.
void add_coupled(std::vector<Listed>& list) {
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
  add_rigid_bodies(list);
  add_particles(list);
  add_molecules(list);
  add_coupled(list);
  add_blocks(list);
  return list;
}

}  // namespace costate::test
