// Run by mpi_test.cmake under mpirun: one world over ranks must have the bits of one system, an error of one
// rank must reach all, and the snapshot that the run before has left, of another number of ranks, is gone on
// from.
#include <cstdio>
#include <filesystem>

#include "costate/cluster/mpi.h"
#include "costate/cluster/world/snapshot.h"
#include "tests/cluster/split_worlds.h"

namespace {

using namespace costate;

template <class Real>
bool same(const cluster::test::World<Real>& world, Channel& channel, const char* name) {
  const auto whole = cluster::test::alone(world), split = cluster::test::of_rank(world, channel);
  const bool good = cluster::test::same_bits(whole.final_state, split.final_state) &&
                    cluster::test::same_bits(whole.x0, split.x0) &&
                    cluster::test::same_bits(whole.controls, split.controls) &&
                    cluster::test::same_bits(whole.parameters, split.parameters);
  if (!good) std::printf("rank %d: other bits of %s\n", channel.rank(), name);
  return good;
}

// The first ten steps in a snapshot of these ranks; before, the rest of the steps from that of other ranks.
bool goes_on(const cluster::test::World<double>& world, Channel& channel, const std::string& path) {
  const std::int64_t half = 10, controls = world.system->signature().controls();
  cluster::SplitRollout<double> first(world.system, {.steps = half}, channel);
  bool good = true;
  if (channel.ranks() > 1) {
    const auto snapshot = cluster::read_snapshot(path, first.world());
    cluster::SplitRollout<double> rest(
        world.system, {.steps = world.steps - snapshot.step, .first_step = snapshot.step}, channel);
    auto arguments = world.arguments;
    arguments.controls.erase(arguments.controls.begin(), arguments.controls.begin() + half * controls);
    good = cluster::test::same_bits(rest.whole(rest.simulate(snapshot.x, arguments)),
                                    cluster::test::alone(world).final_state);
    if (!good) std::printf("rank %d: other bits after a snapshot\n", channel.rank());
  }
  auto arguments = world.arguments;
  arguments.controls.resize(std::size_t(half * controls));
  cluster::write_snapshot(path, first.world(), first.simulate(first.start(arguments.x0), arguments), half);
  return good && std::filesystem::exists(path);
}

}  // namespace

int main(int, char** argv) {
  const auto channel = cluster::mpi_channel();
  bool good = same(cluster::test::points<double>(2, 24), *channel, "points");
  good = same(cluster::test::wave<double>(), *channel, "a wave") && good;
  good = same(cluster::test::warm_ring<double>(), *channel, "a warm ring") && good;
  good = goes_on(cluster::test::points<double>(2, 24), *channel, argv[1]) && good;
  try {
    cluster::test::of_rank(cluster::test::too_fast(), *channel);
    good = false;
  } catch (const Error& error) {
    good = good && error.message().what.find("moves") != std::string::npos;
  }
  if (good && channel->rank() == 0) std::printf("the same bits\n");
  return good ? 0 : 1;
}
