// Run by mpi_test.cmake under mpirun: one world over ranks must have the bits of one system, and an error of
// one rank must reach all.
#include <cstdio>

#include "costate/cluster/mpi.h"
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

}  // namespace

int main() {
  const auto channel = cluster::mpi_channel();
  bool good = same(cluster::test::points<double>(2, 24), *channel, "points");
  good = same(cluster::test::wave<double>(), *channel, "a wave") && good;
  good = same(cluster::test::warm_ring<double>(), *channel, "a warm ring") && good;
  try {
    cluster::test::of_rank(cluster::test::too_fast(), *channel);
    good = false;
  } catch (const Error& error) {
    good = good && error.message().what.find("moves") != std::string::npos;
  }
  if (good && channel->rank() == 0) std::printf("the same bits\n");
  return good ? 0 : 1;
}
