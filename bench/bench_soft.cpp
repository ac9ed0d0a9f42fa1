// Soft bodies: a cloth that hangs on two corners in the wind, and the sparse factorisation alone. `t_shirt`
// has about as many vertices and the stiffness of the T-shirt of DiffCloth (Li et al., ACM TOG 42, 2022), at
// a residual of 1e-6; `contact`: with contact of the cloth with itself; `cotton` is stiffer by 36. Items are
// steps.
#include "bench/measure.h"
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
  for (const int side : {38, 100})
    benchmark::RegisterBenchmark(("soft/factor_" + std::to_string(side * side)).c_str(), factor, side)
        ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace costate::bench
