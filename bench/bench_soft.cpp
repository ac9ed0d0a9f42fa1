// Soft bodies: a cloth that hangs on two corners in the wind, and the sparse factorisation alone. `t_shirt`
// has about as many vertices and the stiffness of the T-shirt of DiffCloth (Li et al., ACM TOG 42, 2022), at
// a residual of 1e-6; `contact`: with contact of the cloth with itself; `cotton` is stiffer by 36; `carried`:
// a free ball, a rigid body, falls on a pad of rubber; `cantilever` is that of DiffPD (Du et al., ACM TOG 41,
// 2021): a twisted beam of 8019 dofs swings back, at 1e-7. Items are steps.
#include "bench/measure.h"
#include "costate/coupled/carrier.h"
#include "costate/rigid/compile/compile.h"
#include "costate/rigid/spec.h"
#include "costate/soft/mesh/procedural.h"
#include "costate/soft/soft_system.h"
#include "costate/solve/block_cholesky.h"
#include "costate/system/rollout.h"

namespace costate::bench {
namespace {

struct Case {
  int side;          // vertices along it
  double stiffness;  // E times thickness, N/m
  std::int64_t steps;
  bool self = false;  // whether it touches itself
};

struct Cloth {
  soft::SoftModel model;
  std::shared_ptr<System<double>> system;
  Rollout<double> rollout;
  Arguments<double> at;
  ObjectivePtr<double> objective;

  explicit Cloth(const Case& c)
      : model(make(c)),
        system(soft::soft_bodies<double>(model)),
        rollout(system, {.steps = c.steps, .active = {"material/**", "wind"}}),
        at(rollout.arguments()),
        objective(loss::final<double>(system->signature(), "x", {})) {
    at.x0 = soft::soft_state(model);
    for (std::size_t i = 2; i < model.rest.size(); i += 3) at.x0[i] += 1e-3 * double(i * 7919 % 1000) / 1000;
  }
  static soft::SoftModel make(const Case& c) {
    soft::SoftModel m{.materials = {{.name = "cloth",
                                     .law = "stvk",
                                     .numbers = {{"E", c.stiffness / 1e-3}, {"nu", .3}},
                                     .density = .124,
                                     .bending = 1e-3}},
                      .wind = {1, 2, 4},
                      .wind_drag = .05,
                      .dt = 1.0 / 90,
                      .tolerance = 1e-6};
    const int n = c.side - 1;
    soft::add_part(m, "cloth", soft::Cells::triangles, soft::cloth_mesh({6, 6}, {n, n}), 0);
    m.holds = {{"corners", {n * c.side, n * c.side + n}}};
    if (c.self) m.contact = {.self = true, .distance = .02, .stiffness = 500, .friction = .2};
    return m;
  }
};

void forward(benchmark::State& state, const Case& c) {
  Cloth cloth(c);
  for (auto _ : state) benchmark::DoNotOptimize(cloth.rollout.value(cloth.at, *cloth.objective));
  report(state, {.items = double(c.steps)});
}
void gradient(benchmark::State& state, const Case& c) {
  Cloth cloth(c);
  for (auto _ : state)
    benchmark::DoNotOptimize(cloth.rollout.value_and_gradient(cloth.at, *cloth.objective).value);
  report(state, {.items = double(c.steps)});
}

// The ball's surface rides on it, feels the pad and is felt.
soft::SoftModel ball_on_pad(int n) {
  soft::SoftModel m{
      .materials = {{.name = "rubber", .law = "neo_hookean_stable", .numbers = {{"E", 5e4}, {"nu", .4}}}},
      .contact = {.self = true, .distance = .004, .stiffness = 1e4, .friction = .5},
      .dt = 5e-3,
      .tolerance = 1e-6};
  soft::add_part(m, "pad", soft::Cells::hexahedra,
                 soft::block_mesh(soft::Cells::hexahedra, {.2, .2, .05}, {n, n, n / 4}), 0, {-.1, -.1, 0});
  soft::Hold ground{.name = "ground"}, skin{.name = "ball"};
  for (int i = 0; i < m.vertices(); ++i)
    if (m.rest[std::size_t(3 * i + 2)] == 0) ground.vertices.push_back(i);
  const int first =
      soft::add_part(m, "ball", soft::Cells::triangles, soft::ball_mesh(.05, 6), -1, {0, 0, .106});
  for (int i = first; i < m.vertices(); ++i) skin.vertices.push_back(i);
  skin.body = "ball";
  m.holds = {ground, skin};
  rigid::Spec spec("ball");
  spec.world.body("ball", {0, 0, .106}).free("free").mass(.5, {0, 0, 0}, {5e-4, 5e-4, 5e-4, 0, 0, 0});
  m.carrier = coupled::carrier({.model = rigid::compile(spec)});
  return m;
}
void cantilever(benchmark::State& state, bool with_gradient) {
  soft::SoftModel m{
      .materials = {{.name = "rubber", .law = "fixed_corotated", .numbers = {{"E", 1e6}, {"nu", .45}}}},
      .dt = .01,
      .tolerance = 1e-7};
  soft::add_part(m, "beam", soft::Cells::hexahedra,
                 soft::block_mesh(soft::Cells::hexahedra, {.32, .08, .08}, {32, 8, 8}), 0, {0, -.04, -.04});
  soft::Hold wall{.name = "wall"};
  std::vector<double> x = m.rest;
  for (std::size_t i = 0; i < x.size(); i += 3) {
    if (x[i] == 0) wall.vertices.push_back(int(i / 3));
    const double angle = std::acos(0.0) * x[i] / .32, c = std::cos(angle), s = std::sin(angle);
    const double y = x[i + 1], z = x[i + 2];
    x[i + 1] = c * y - s * z, x[i + 2] = s * y + c * z;
  }
  m.holds = {wall};
  Rollout<double> rollout(soft::soft_bodies<double>(m), {.steps = 25, .active = {"material/**"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(m, x);
  const auto objective = loss::final<double>(rollout.system().signature(), "x", {});
  for (auto _ : state)
    benchmark::DoNotOptimize(with_gradient ? rollout.value_and_gradient(at, *objective).value
                                           : rollout.value(at, *objective));
  report(state, {.items = 25});
}
void carried(benchmark::State& state, bool with_gradient) {
  const soft::SoftModel m = ball_on_pad(12);
  const auto system = soft::soft_bodies<double>(m);
  Rollout<double> rollout(system, {.steps = 30, .active = {"material/**"}});
  Arguments<double> at = rollout.arguments();
  at.x0 = soft::soft_state(m);
  at.x0[std::size_t(system->signature().find(Role::state, "model/v").offset) + 2] = -.5;
  const auto objective = loss::final<double>(system->signature(), "x", {});
  for (auto _ : state)
    benchmark::DoNotOptimize(with_gradient ? rollout.value_and_gradient(at, *objective).value
                                           : rollout.value(at, *objective));
  report(state, {.items = 30});
}

// Membrane and hinges of a cloth: vertices two rings apart are joined.
void factor(benchmark::State& state, int side) {
  const soft::SoftMesh mesh = soft::cloth_mesh({1, 1}, {side - 1, side - 1});
  std::vector<solve::BlockCholesky::Pair> pairs;
  const auto join = [&](int i, int j, int di, int dj) {
    if (i + di < side && j + dj < side && j + dj >= 0 && i + di >= 0)
      pairs.push_back({side * (j + dj) + i + di, side * j + i});
  };
  for (int j = 0; j < side; ++j)
    for (int i = 0; i < side; ++i)
      for (const auto& [a, b] : {std::pair{1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {1, -1}}) join(i, j, a, b);
  const int n = side * side;
  std::vector<double> blocks(9 * (std::size_t(n) + pairs.size()), -0.05), x(std::size_t(3 * n), 1.0),
      work(2 * x.size());
  for (int i = 0; i < n; ++i)
    for (int d = 0; d < 3; ++d) blocks[std::size_t(9 * i + 4 * d)] = 4;
  solve::BlockCholesky cholesky;
  cholesky.analyse(n, pairs, mesh.vertices, std::vector<char>(std::size_t(n), 1));
  for (auto _ : state) {
    if (!cholesky.factor(blocks.data())) state.SkipWithError("not positive definite");
    cholesky.solve(x.data(), work.data());
  }
  report(state, {.items = 1, .flops = cholesky.flops()});
}

const bool registered = [] {
  for (const auto& [name, c] : {std::pair<const char*, Case>{"soft/t_shirt", {38, 1000, 20}},
                                {"soft/t_shirt_contact", {38, 1000, 20, true}},
                                {"soft/cotton", {38, 36000, 20}},
                                {"soft/10000", {100, 1000, 5}}}) {
    benchmark::RegisterBenchmark((std::string(name) + "/forward").c_str(), forward, c)->UseRealTime();
    benchmark::RegisterBenchmark((std::string(name) + "/gradient").c_str(), gradient, c)->UseRealTime();
  }
  for (const bool gradient : {false, true}) {
    const std::string what = gradient ? "gradient" : "forward";
    benchmark::RegisterBenchmark(("soft/carried/" + what).c_str(), carried, gradient)->UseRealTime();
    benchmark::RegisterBenchmark(("soft/cantilever/" + what).c_str(), cantilever, gradient)->UseRealTime();
  }
  for (const int side : {38, 100})
    benchmark::RegisterBenchmark(("soft/factor_" + std::to_string(side * side)).c_str(), factor, side)
        ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace costate::bench
