// States of a split world in files: written by some ranks, read by others.
#include "costate/cluster/world/snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "tests/cluster/split_worlds.h"
#include "tests/cluster/toy_job.h"
#include "tests/expect_error.h"

namespace costate::cluster {
namespace {

using namespace cluster::test;

template <class Real>
void write(const World<Real>& world, int ranks, std::int64_t steps, const std::string& path) {
  on_ranks(ranks, [&](Channel& channel) {
    SplitRollout<Real> rollout(world.system, {.steps = steps}, channel);
    Arguments<Real> first = world.arguments;
    first.controls.resize(std::size_t(steps * world.system->signature().controls()));
    write_snapshot(path, rollout.world(), rollout.simulate(rollout.start(first.x0), first), steps);
  });
}

// The rest of the steps, by so many ranks.
template <class Real>
std::vector<Real> go_on(const World<Real>& world, int ranks, const std::string& path) {
  std::vector<Real> end;
  std::mutex mutex;
  on_ranks(ranks, [&](Channel& channel) {
    SplitRollout<Real> reader(world.system, {}, channel);
    const Snapshot<Real> snapshot = read_snapshot(path, reader.world());
    SplitRollout<Real> rollout(world.system,
                               {.steps = world.steps - snapshot.step, .first_step = snapshot.step}, channel);
    Arguments<Real> rest = world.arguments;
    rest.controls.erase(rest.controls.begin(),
                        rest.controls.begin() + snapshot.step * world.system->signature().controls());
    const auto whole = rollout.whole(rollout.simulate(snapshot.x, rest));
    const std::lock_guard lock(mutex);
    end = whole;
  });
  return end;
}

TEST(Snapshot, IsReadByAnotherNumberOfRanks) {
  Folder folder;
  const std::string path = folder.path / "state";
  const auto beam = points<double>(2, 24);
  const auto whole = alone(beam).final_state;
  write(beam, 3, 10, path);
  EXPECT_TRUE(std::filesystem::exists(path + ".2"));
  for (int ranks : {1, 2, 4}) EXPECT_TRUE(same_bits(go_on(beam, ranks, path), whole)) << ranks;
  const auto sea = wave<float>();
  write(sea, 2, 4, path);
  for (int ranks : {1, 3}) EXPECT_TRUE(same_bits(go_on(sea, ranks, path), alone(sea).final_state)) << ranks;
}

TEST(Snapshot, RefusesFilesThatAreNotWhatTheManifestSays) {
  Folder folder;
  const std::string path = folder.path / "state";
  const auto sea = wave<double>();
  const auto expect = [&](const World<double>& world, std::string_view what) {
    costate::test::expect_error([&] { go_on(world, 2, path); }, what, "");
  };
  expect(sea, "cannot be read");
  write(sea, 2, 4, path);
  expect(warm_plate<double>(), "not the manifest of such a world");
  std::ofstream(path + ".1", std::ios::binary | std::ios::app) << "more";
  expect(sea, "not what its manifest says");
  costate::test::expect_error([&] { write(sea, 2, 4, (folder.path / "no" / "folder").string()); },
                              "cannot be written");
}

}  // namespace
}  // namespace costate::cluster
