// Of the list: what lives on grids and meshes.
#include <cmath>

#include "costate/core/philox.h"
#include "costate/fluid/flow.h"
#include "costate/grid/burgers.h"
#include "costate/grid/cell_equation.h"
#include "costate/grid/equations.h"
#include "costate/grid/gray_scott.h"
#include "costate/grid/heat.h"
#include "costate/grid/shallow_water.h"
#include "costate/grid/wave.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "tests/contract/list.h"
#include "tests/soft/models.h"
#include "tests/soft/near_start.h"
#include "tests/system/contract.h"

namespace costate::test {
namespace {

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

void add_creeping_flow(std::vector<Listed>& list) {
  list.push_back(
      {"flow_stokes", {"fluid::make_stokes_system", "fluid::StokesSystem", "fluid::Scheme::stokes"}, [] {
         fluid::FlowOptions channel{.cells = {6, 5}, .viscosity = 0.3, .pressure = true};
         channel.scheme = fluid::Scheme::stokes;
         channel.resistance = 0.7;
         channel.sides[0] = {fluid::Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
         channel.sides[1] = {fluid::Side::Kind::outflow};
         channel.sides[2] = channel.sides[3] = fluid::wall({0.1, 0, 0});
         expect_contract(fluid::flow<double>(channel), {.steps = 2, .hold = 1, .long_steps = 3});
         expect_contract(fluid::flow<float>(channel), {.steps = 2, .hold = 1, .long_steps = 3});
       }});
}

// Corners are everywhere: tests/fluid/limited_test.cpp steps off them.
void add_limited_flows(std::vector<Listed>& list) {
  list.push_back({"flow_limited", {"fluid::make_flow_system", "fluid::Carried::limited"}, [] {
                    const auto slow = [](const auto& rollout, unsigned seed) {
                      auto a = rollout.arguments();
                      std::uint32_t drawn = 0;
                      for (auto* numbers : {&a.x0, &a.controls})
                        for (auto& x : *numbers)
                          x = decltype(x + 0)(0.3 * (2 * uniform(seed, 5, drawn++) - 1));
                      return a;
                    };
                    fluid::FlowOptions channel{.cells = {7, 5}, .dt = 0.2, .viscosity = 0.05};
                    channel.limited = true;
                    channel.sides[0] = {fluid::Side::Kind::velocity, {0.2, 0.05, 0.0}, true};
                    channel.sides[1] = {fluid::Side::Kind::outflow};
                    channel.sides[2] = fluid::wall({0.1, 0, 0});
                    channel.sides[3] = {fluid::Side::Kind::slip};
                    channel.scalars = {{.name = "T",
                                        .diffusivity = 0.02,
                                        .buoyancy = {0.1, 0.2, 0},
                                        .carried = fluid::Scalar::Carried::limited}};
                    channel.scalars[0].sides[0] = 0.4;
                    expect_contract(fluid::flow<double>(channel),
                                    {.states = slow, .steps = 4, .long_steps = 60, .smooth = false});
                    expect_contract(fluid::flow<float>(channel),
                                    {.states = slow, .steps = 4, .long_steps = 30, .smooth = false});
                  }});
}

void add_tracers(std::vector<Listed>& list) {
  list.push_back({"flow_tracers", {"fluid::make_flow_system"}, [] {
                    const auto seeded = [](const auto& rollout, unsigned seed) {
                      auto a = rollout.arguments();
                      std::uint32_t drawn = 0;
                      for (auto* numbers : {&a.x0, &a.controls})
                        for (auto& x : *numbers)
                          x = decltype(x + 0)(0.3 * (2 * uniform(seed, 5, drawn++) - 1));
                      const Field& dye = rollout.system().signature().find(Role::state, "dye");
                      for (std::int64_t i = dye.offset; i < dye.offset + dye.size; ++i)
                        a.x0[std::size_t(i)] = decltype(a.x0[0] + 0)(0.5 + 3 * uniform(seed, 6, drawn++));
                      return a;
                    };
                    fluid::FlowOptions box{.cells = {5, 6}, .dt = 0.2, .viscosity = 0.1};
                    box.sides[2] = {fluid::Side::Kind::velocity, {0.1, 0.2, 0.0}, true};
                    box.sides[3] = {fluid::Side::Kind::outflow};
                    box.tracers = {{.name = "dye", .count = 4}};
                    expect_contract(fluid::flow<double>(box),
                                    {.states = seeded, .steps = 4, .long_steps = 40, .smooth = false});
                    expect_contract(fluid::flow<float>(box),
                                    {.states = seeded, .steps = 4, .long_steps = 40, .smooth = false});
                  }});
}

// Slower still: no point is traced across the middle of a cell. One that is held (MacCormack) is at a corner.
void add_traced_flows(std::vector<Listed>& list) {
  list.push_back({"flow_semi_lagrangian",
                  {"fluid::make_flow_system", "fluid::Scheme::semi_lagrangian", "fluid::Carried::central",
                   "fluid::Carried::semi_lagrangian", "fluid::Carried::mac_cormack"},
                  [] {
                    const auto drift = [](const auto& rollout, unsigned seed) {
                      auto a = rollout.arguments();
                      std::uint32_t drawn = 0;
                      const auto draw = [&](auto& numbers, double scale) {
                        for (auto& x : numbers)
                          x = decltype(x + 0)(scale * (0.5 + 0.3 * (2 * uniform(seed, 5, drawn++) - 1)));
                      };
                      draw(a.x0, 1), draw(a.controls, 0.1);
                      return a;
                    };
                    using Carried = fluid::Scalar::Carried;
                    for (const bool held : {false, true}) {
                      fluid::FlowOptions box{.cells = {5, 6}, .dt = 0.4, .viscosity = 0.1, .push = true};
                      box.scheme = fluid::Scheme::semi_lagrangian;
                      box.sides[2] = {fluid::Side::Kind::velocity, {0.3, 0.2, 0.0}, true};
                      box.sides[3] = {fluid::Side::Kind::outflow};
                      box.scalars = {
                          {.name = "T", .diffusivity = 0.1, .source = 0.02, .buoyancy = {0.1, 0.2, 0}},
                          {.name = "smoke", .buoyancy = {0, 0.1, 0}, .carried = Carried::semi_lagrangian}};
                      if (held) box.scalars[1].carried = Carried::mac_cormack;
                      box.scalars[1].sides[2] = 0.4;
                      expect_contract(fluid::flow<double>(box),
                                      {.states = drift, .steps = 4, .long_steps = 30, .smooth = false});
                      expect_contract(fluid::flow<float>(box),
                                      {.states = drift, .steps = 4, .long_steps = 20, .smooth = false});
                      fluid::FlowOptions cube{.cells = {4, 3, 5}, .dt = 0.4, .viscosity = 0.1};
                      cube.scheme = fluid::Scheme::semi_lagrangian;
                      cube.sides[4] = fluid::wall({0.2, 0.1, 0}), cube.sides[5] = {fluid::Side::Kind::slip};
                      cube.scalars = {box.scalars[1]};
                      cube.scalars[0].sides = {};
                      expect_contract(fluid::flow<double>(cube),
                                      {.states = drift, .steps = 4, .long_steps = 30, .smooth = false});
                    }
                  }});
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
           const auto states = soft::test::near_start(m);
           expect_contract(soft::soft_bodies<double>(m), {.states = states, .steps = 8, .long_steps = 40});
           expect_contract(soft::soft_bodies<float>(m), {.states = states, .steps = 4, .long_steps = 10});
         }});
  }
}

// Depths of 7 x 6 cells inside something round.
std::vector<double> bowl() {
  std::vector<double> depths;
  for (int k = 0; k < 42; ++k) depths.push_back(2.2 - std::hypot(k % 7 - 2.6, 1.2 * (k / 7 - 2.7)));
  return depths;
}

void add_obstacles(std::vector<Listed>& list) {
  using Shape = fluid::Obstacle::Shape;
  for (const auto& [name, body] :
       {std::pair<const char*, fluid::Obstacle>{
            "ball", {.center = {3.2, 3.1, 0}, .size = {2}, .velocity = {0.1, 0, 0}, .spin = {0, 0, 0.2}}},
        {"ellipsoid", {.shape = Shape::ellipsoid, .center = {3, 3, 0}, .size = {2.2, 1.7}, .angle = 0.4}},
        {"fourier",
         {.shape = Shape::fourier, .center = {3, 3.2, 0}, .size = {1.8, 0.2, -0.1}, .driven = true}},
        {"box", {.shape = Shape::box, .center = {3, 3, 0}, .size = {2.2, 1.7}, .angle = 0.4, .driven = true}},
        {"capsule",
         {.shape = Shape::capsule, .center = {3, 3, 0}, .size = {1.7, 0.5}, .angle = 0.4, .free = {{1, 2}}}},
        {"level", {.shape = Shape::level, .center = {3, 3, 0}, .size = bowl()}}}) {
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

}  // namespace

void add_grids_and_springs(std::vector<Listed>& list) {
  // with_rows makes some rows of a larger grid, for a rank: tests/cluster/split_test.cpp compares its steps
  // and transposes with those of the whole, bit by bit.
  list.push_back({"heat", {"grid::heat", "grid::StencilSystem", "grid::with_rows"}, [] {
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
                    const grid::ShallowWaterOptions bay{
                        .nx = 7, .ny = 5, .drag = 0.2, .rotation = 0.7, .sources = {8, 20}};
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
  list.push_back({"cell_equation", {"grid::cell_equation"}, [waves_of] {
                    const grid::CellEquation fronts{.nx = 5,
                                                    .ny = 4,
                                                    .fields = {{"c", "D*lap_c + r*c*(1 - c) - w*c_x"}},
                                                    .parameters = {{"D", 0.4}, {"r", 0.5, true}, {"w", 0.3}}};
                    expect_contract(grid::cell_equation<double>(fronts),
                                    {.states = waves_of(0.4, 0.2), .steps = 20, .long_steps = 60});
                    expect_contract(grid::cell_equation<float>(fronts),
                                    {.states = waves_of(0.4, 0.2), .steps = 20, .long_steps = 60});
                  }});
  list.push_back({"gray_scott", {"grid::gray_scott"}, [waves_of] {
                    const grid::GrayScottOptions dish{.nx = 7, .ny = 5, .sources = {8, 20}};
                    expect_contract(grid::gray_scott<double>(dish),
                                    {.states = waves_of(0.4, 0.2), .steps = 30, .stencil_step = 3e-4});
                    expect_contract(grid::gray_scott<float>(dish),
                                    {.states = waves_of(0.4, 0.2), .steps = 30});
                  }});
  add_flows(list);
  add_limited_flows(list);
  add_traced_flows(list);
  add_tracers(list);
  add_creeping_flow(list);
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
}

}  // namespace costate::test
