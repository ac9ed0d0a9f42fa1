// Strong scaling over threads of one large world: a Lennard-Jones fluid at density 0.8, cutoff 2.5, leapfrog
// with dt = 0.005, single precision; the gradient of its final potential energy with respect to epsilon and
// sigma, under binomial(8).
//
//   build-bench/bin/costate_bench_md_threads                      97,556 atoms on 1, 2, 4, 8, 16 threads
//   build/bin/costate_bench_md_threads 97556 20 1 2 3       atoms (rounded to 4 n^3), steps, threads
//
// Prints milliseconds per step, the best of three runs, how many times as fast as the first row, and whether
// the gradient has the bits of the first row. Rows with more threads than the machine has are left out.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/philox.h"
#include "costate/md/model.h"
#include "costate/md/observable/thermodynamics.h"
#include "costate/system/rollout.h"

namespace {

using namespace costate;

md::Model fluid(int cells) {
  const int n = 4 * cells * cells * cells;
  const double edge = std::cbrt(n / 0.8);
  return {.masses = std::vector<double>(std::size_t(n), 1.0),
          .potentials = {{.kind = "lennard_jones", .options = {{"cutoff", 2.5}, {"skin", 0.4}}}},
          .box = {edge, edge, edge},
          .integrator = "leapfrog",
          .dt = 0.005};
}

// A face-centred lattice, a little displaced, at the temperature 1.
void place(const md::Model& model, int cells, std::vector<float>& x) {
  const double a = model.box[0] / cells;
  const double base[4][3] = {{0, 0, 0}, {0, .5, .5}, {.5, 0, .5}, {.5, .5, 0}};
  const std::size_t n = model.masses.size();
  std::size_t i = 0;
  for (int cell = 0; cell < cells * cells * cells; ++cell) {
    const int at[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
    for (const auto& corner : base)
      for (std::size_t k = 0; k < 3; ++k, ++i) {
        x[i] = float((at[k] + corner[k]) * a + 0.02 * normal<double>(1, std::uint32_t(i), 0));
        x[3 * n + i] = float(normal<double>(2, std::uint32_t(i), 0));
      }
  }
}

template <class F>
double best_seconds(const F& f) {
  double best = 1e300;
  for (int turn = 0; turn < 3; ++turn) {
    const auto began = std::chrono::steady_clock::now();
    f();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return best;
}

void measure(int cells, std::int64_t steps, const std::vector<int>& threads) {
  const md::Model model = fluid(cells);
  Rollout<float> rollout(md::make_system<float>(model),
                         {.steps = steps, .checkpoints = binomial(8), .active = {"lennard_jones/*"}});
  auto at = rollout.arguments();
  place(model, cells, at.x0);
  const auto energy = md::observe<float>(model, {});
  std::printf("%d atoms, %lld steps; %u threads in the machine\n", model.atoms(), (long long)steps,
              std::thread::hardware_concurrency());
  std::printf("%8s %12s %9s %12s %9s %13s  %s\n", "threads", "forward, ms", "times", "gradient, ms", "times",
              "efficiency", "bits");
  // The runs begin in two places in turn: lists of neighbours that were kept in the last one are of no use.
  auto there = at;
  std::for_each_n(there.x0.begin(), std::ptrdiff_t(there.x0.size() / 2), [](float& x) { x += 1; });
  const auto in_turn = [&]() -> const Arguments<float>& {
    std::swap(at.x0, there.x0);
    return at;
  };
  double forward1 = 0, gradient1 = 0;
  std::vector<float> slope1;
  for (const int count : threads) {
    set_thread_count(count);
    std::vector<float> slope;
    const double forward = best_seconds([&] { rollout.value(in_turn(), *energy); }) / double(steps);
    const double gradient =
        best_seconds([&] {
          const auto g = rollout.value_and_gradient(in_turn(), *energy);
          slope = {g.parameters["lennard_jones/epsilon"][0], g.parameters["lennard_jones/sigma"][0]};
        }) /
        double(steps);
    if (slope1.empty()) forward1 = forward, gradient1 = gradient, slope1 = slope;
    std::printf("%8d %12.2f %9.2f %12.2f %9.2f %12.0f%%  %s\n", count, 1e3 * forward, forward1 / forward,
                1e3 * gradient, gradient1 / gradient, 100 * gradient1 / gradient * threads.front() / count,
                slope == slope1 ? "the same" : "OTHERS");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int atoms = argc > 1 ? std::atoi(argv[1]) : 97'556;
  const std::int64_t steps = argc > 2 ? std::atoll(argv[2]) : 20;
  std::vector<int> threads;
  for (int i = 3; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) {
    for (const int count : {1, 2, 4, 8, 16})
      if (count == 1 || unsigned(count) <= std::thread::hardware_concurrency()) threads.push_back(count);
  }
  const int cells = int(std::lround(std::cbrt(atoms / 4.0)));
  const bool counts = std::all_of(threads.begin(), threads.end(), [](int count) { return count > 0; });
  if (cells < 4 || steps < 1 || !counts) {
    std::fprintf(stderr, "usage: costate_bench_md_threads [atoms >= 256] [steps] [threads ...]\n");
    return 2;
  }
  try {
    measure(cells, steps, threads);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
