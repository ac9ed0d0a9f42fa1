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

std::ptrdiff_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
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
  EXPECT_EQ(files_in(folder.path), 4);  // the manifest, and one of each rank
  for (int ranks : {1, 2, 4}) EXPECT_TRUE(same_bits(go_on(beam, ranks, path), whole)) << ranks;
  const auto sea = wave<float>();
  write(sea, 2, 4, path);
  for (int ranks : {1, 3}) EXPECT_TRUE(same_bits(go_on(sea, ranks, path), alone(sea).final_state)) << ranks;
}

// A run that is killed while it writes a snapshot has written some of the new files, and no manifest.
TEST(Snapshot, TheOneBeforeStaysUntilTheNextIsWhole) {
  Folder folder;
  const std::string path = folder.path / "state";
  const auto sea = wave<double>();
  const auto whole = alone(sea).final_state;
  write(sea, 3, 4, path);
  std::filesystem::create_directory(folder.path / "other");
  write(sea, 3, 6, folder.path / "other" / "state");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "other"))
    if (entry.path().filename().string().starts_with("state.0."))
      std::filesystem::copy(entry.path(), folder.path / entry.path().filename());
  EXPECT_TRUE(same_bits(go_on(sea, 2, path), whole));
  std::filesystem::remove_all(folder.path / "other");
  write(sea, 2, 6, path);  // replaces the first one: its files go, and the one of nobody is used again
  EXPECT_LE(files_in(folder.path), 4);
  EXPECT_TRUE(same_bits(go_on(sea, 3, path), whole));
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
  for (const auto& entry : std::filesystem::directory_iterator(folder.path))
    if (entry.path().filename().string().starts_with("state.1."))
      std::ofstream(entry.path(), std::ios::binary | std::ios::app) << "more";
  expect(sea, "not what its manifest says");
  costate::test::expect_error([&] { write(sea, 2, 4, (folder.path / "no" / "folder").string()); },
                              "cannot be written");
}

}  // namespace
}  // namespace costate::cluster
