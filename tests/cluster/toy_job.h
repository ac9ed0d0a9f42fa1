// A job whose sums depend on their order in the last bits, with worlds that can be made to fail.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "costate/cluster/bytes.h"
#include "costate/cluster/pool.h"
#include "costate/core/philox.h"

namespace costate::cluster::test {

// f(theta) = sum over worlds of 1/2 sum_i (theta_i - target_i(world))^2 scale(world)
class ToyJob : public Job {
 public:
  ToyJob(std::int64_t worlds, std::int64_t block) : partition_{worlds, block} {}

  std::int64_t fails_at = -1;        // this world throws
  std::int64_t masked = -1;          // this one is left out
  std::filesystem::path kills = {};  // every block ends its first worker; the folder remembers which did
  std::int64_t always_kills = -1;    // a block that ends every worker
  std::int64_t sleeps_once = -1;     // a block whose first worker is slow; `kills` remembers it, too
  std::string name = "toy";
  double milliseconds = 0;  // per block

  Partition partition() const override { return partition_; }
  std::string identity() const override {
    return name + std::to_string(partition_.worlds) + "/" + std::to_string(partition_.block);
  }
  Part part(const std::vector<double>& theta, const Block& block, Want want) const override {
    const std::int64_t number = block.first / partition_.block;
    if (number == always_kills) ::raise(SIGKILL);
    if (!kills.empty() && (sleeps_once < 0 || sleeps_once == number) && first_time(number)) {
      if (sleeps_once < 0) ::raise(SIGKILL);
      std::this_thread::sleep_for(std::chrono::seconds(20));  // killed long before
    }
    if (milliseconds > 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
    Part part;
    if (want == Want::gradient) part.sums.resize(theta.size(), 0.0);
    part.report.steps = 3, part.report.worlds = block.count;
    part.report.sampled_steps = {0, 3};
    part.report.adjoint_norm = {double(block.first + 1), 1};
    for (std::int64_t w = block.first; w < block.first + block.count; ++w) {
      if (w == fails_at)
        throw Error({"it diverged", "world " + std::to_string(w), ""}, Error::Kind::numerics);
      if (w == masked) {
        part.report.masked_worlds.push_back(w);
        continue;
      }
      const double scale = std::exp(10 * uniform(7, std::uint32_t(w), 0));
      for (std::size_t i = 0; i < theta.size(); ++i) {
        const double off = theta[i] - normal(7, std::uint32_t(w), 1, std::uint32_t(i));
        part.value += 0.5 * scale * off * off;
        if (want == Want::gradient) part.sums[i] += scale * off;
      }
    }
    return part;
  }

 private:
  bool first_time(std::int64_t number) const {
    // Made in one piece: two workers may ask at the same moment.
    std::FILE* mark = std::fopen((kills / std::to_string(number)).c_str(), "wx");
    return mark != nullptr && std::fclose(mark) == 0;
  }
  Partition partition_;
};

// All bits of an evaluation, as a text that a failed test can print.
inline std::string bits(const Evaluation& e) {
  Writer to;
  to.number(e.value).numbers(e.gradient).integers(e.report.masked_worlds).numbers(e.report.adjoint_norm);
  return fingerprint(to.bytes());
}

inline std::vector<double> some_theta() { return {0.3, -1.2, 2.5, 0.01, 7}; }

// An empty folder, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "costate_cluster_XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path;
};

}  // namespace costate::cluster::test
