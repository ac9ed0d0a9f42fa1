// One large world over ranks: the bits of one machine, for any number of them.
//
// Sample run: build/bin/cluster_world
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "costate/cluster/world/channels.h"
#include "costate/cluster/world/snapshot.h"
#include "costate/cluster/world/split_rollout.h"
#include "costate/mpm/system.h"

using namespace costate;

int main() {
  // A beam of jelly, 3.2 m long, that swings while it falls.
  mpm::Model model;
  model.dimension = 2;
  model.nodes = {80, 24, 1};
  model.dx = 0.05;
  model.dt = 1e-3;
  model.materials = {{.name = "jelly", .kind = mpm::MaterialKind::neo_hookean, .E = 3e4}};
  fill(model, mpm::Shape::box(1.6, 0.2), {2, 0.6, 0}, 0.025, 0);
  for (std::size_t p = 0; p < model.particles.v.size(); p += 2)
    model.particles.v[p + 1] = std::sin(2 * model.particles.x[p]);
  const auto jelly = mpm::system<double>(model);
  const std::vector<double> state = mpm::initial_state<double>(model);
  const std::string file = std::filesystem::temp_directory_path() / "costate_cluster_world";

  // [example]
  // 1. What to compute: the same on every rank.
  Rollout<double> alone(jelly, {.steps = 200});
  Arguments<double> arguments = alone.arguments();
  arguments.x0 = state;
  const auto fall = loss::final<double>(jelly->signature(), "particle/v", {});
  const auto wanted = alone.value_and_gradient(arguments, *fall);

  for (int ranks : {2, 3}) {
    std::mutex printing;
    cluster::on_ranks(ranks, [&](Channel& channel) {
      // 2. Each rank takes its piece of the state.
      cluster::SplitRollout<double> rollout(jelly, {.steps = 200, .checkpoints = binomial(8)}, channel);
      const Piece<double> piece = rollout.start(state);

      // 3. Together they compute the loss and its gradient.
      const auto gradient = rollout.value_and_gradient(piece, arguments, *fall);
      const std::vector<double> x0 = rollout.whole(gradient.x0);
      const bool same = std::memcmp(x0.data(), wanted.x0.data(), x0.size() * sizeof(double)) == 0;

      // 4. And keep the final state, one file per rank. Any number of ranks can go on from it.
      cluster::write_snapshot(file, rollout.world(), rollout.simulate(piece, arguments), 200);
      const std::lock_guard lock(printing);
      if (channel.rank() == 0)
        std::printf("%d ranks: dL/dE = %.6e, %s\n", ranks, gradient.parameters["material/jelly/E"][0],
                    same ? "the bits of one" : "other bits");
    });
  }
  // [/example]
  for (int rank = 0; rank < 3; ++rank) std::filesystem::remove(file + "." + std::to_string(rank));
  std::filesystem::remove(file);
}
