// What ranks of MPI cost and gain; run it under mpirun, with one thread per rank:
//
//   program=build-bench/bin/costate_bench_ranks
//   mpirun -n 2 $program deal            dealing 1024 blocks that compute nothing
//   mpirun -n 1 $program world 1000000   one world of so many particles: a step, a gradient, their bits,
//   mpirun -n 2 $program world 1000000   and the bytes of the halo
//
// Beside the wall time stands the processor time of the slowest rank without its waiting, which tells on a
// busy machine what a quiet one would do.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "costate/cluster/bytes.h"
#include "costate/cluster/mpi.h"
#include "costate/cluster/pool.h"
#include "costate/cluster/world/split_rollout.h"
#include "costate/core/parallel.h"
#include "costate/mpm/system.h"

namespace {

using namespace costate;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}
double processor_seconds() {
  timespec t = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

class Nothing final : public cluster::Job {
 public:
  cluster::Partition partition() const override { return {1024, 1}; }
  std::string identity() const override { return "nothing"; }
  cluster::Part part(const std::vector<double>& theta, const cluster::Block&, cluster::Want) const override {
    return {.value = 1, .sums = std::vector<double>(theta.size(), 1.0), .report = {}, .failure = {}};
  }
};

int deal() {
  const Nothing job;
  if (cluster::mpi_rank() > 0) return cluster::mpi_serve(job), 0;
  cluster::Pool pool(cluster::mpi());
  const std::vector<double> theta(1000, 1.0);
  pool.value_and_grad(job, theta);
  double best = 1e9, alone = 1e9;
  for (int turn = 0; turn < 20; ++turn) {
    auto began = Clock::now();
    pool.value_and_grad(job, theta);
    best = std::min(best, seconds_since(began));
    began = Clock::now();
    cluster::part_of_node(job, theta, cluster::Want::gradient, cluster::root(1024));
    alone = std::min(alone, seconds_since(began));
  }
  std::printf("%.4f ms per block by ranks, %.4f ms without\n", 1e3 * best / 1024, 1e3 * alone / 1024);
  return 0;
}

// Passes messages on, and notes the processor time that waiting takes.
class Waiting final : public Channel {
 public:
  explicit Waiting(Channel& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int ranks() const override { return inner_.ranks(); }
  void fail(const Error& error) override { inner_.fail(error); }
  double seconds = 0;

 protected:
  void put(int to, std::string bytes) override { inner_.send(to, std::move(bytes), Traffic::sums); }
  std::string get(int from) override {
    const double began = processor_seconds();
    std::string bytes = inner_.receive(from);
    seconds += processor_seconds() - began;
    return bytes;
  }

 private:
  Channel& inner_;
};

// A block of jelly, four times as long as it is wide, eight particles per cell, that swings.
mpm::Model jelly(std::int64_t particles) {
  const double cells = double(particles) / 8;
  const int width = std::max(4, int(std::lround(std::cbrt(cells / 4)))),
            length = int(std::lround(cells / width / width));
  mpm::Model m;
  m.nodes = {(length + 16 + 15) / 16 * 16, width + 16, width + 16};  // the middle is a place to cut
  m.dx = 1.0 / 64;
  m.dt = 2e-4;
  m.materials = {{.name = "jelly", .kind = mpm::MaterialKind::fixed_corotated, .E = 5e4}};
  const double centre = m.dx * 0.5;
  fill(m, mpm::Shape::box(0.5 * length * m.dx, 0.5 * width * m.dx, 0.5 * width * m.dx),
       {centre * m.nodes[0], centre * m.nodes[1], centre * m.nodes[2]}, m.dx / 2, 0);
  for (std::size_t p = 0; p < m.particles.x.size() / 3; ++p)
    m.particles.v[3 * p] = 2 * std::sin(9 * m.particles.x[3 * p + 1]);
  return m;
}

int world(std::int64_t particles) {
  set_thread_count(1);
  const auto ranks = cluster::mpi_channel();
  Waiting channel(*ranks);
  const mpm::Model model = jelly(particles);
  const auto system = mpm::system<double>(model);
  const std::int64_t steps = 4;
  cluster::SplitRollout<double> rollout(system, {.steps = steps}, channel);
  const Piece<double> x0 = rollout.start(mpm::initial_state<double>(model));
  Arguments<double> arguments{{}, {}, Parameters<double>(system->signature())};
  const auto loss = loss::final<double>(system->signature(), "particle/x", {});

  // The slowest rank's share, of processor time without waiting.
  const auto slowest = [&](double mine) {
    double most = 0;
    for (const std::string& one : ranks->gather(message_of(&mine, 1))) {
      double other = 0;
      read_message(one, &other, 1);
      most = std::max(most, other);
    }
    return most;
  };
  Piece<double> end;
  cluster::SplitGradient<double> gradient;
  double wall[2] = {1e9, 1e9}, busy[2] = {1e9, 1e9};
  std::int64_t halo = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (int which = 0; which < 2; ++which) {
      ranks->gather("");
      const auto began = Clock::now();
      const double cpu = processor_seconds(), waited = channel.seconds;
      const std::int64_t sent = channel.sent(Traffic::halo);
      if (which == 0)
        end = rollout.simulate(x0, arguments);
      else
        gradient = rollout.value_and_gradient(x0, arguments, *loss);
      halo = channel.sent(Traffic::halo) - sent;
      wall[which] = std::min(wall[which], slowest(seconds_since(began)));
      busy[which] = std::min(busy[which], slowest(processor_seconds() - cpu - (channel.seconds - waited)));
    }
  }
  const auto bits = [&](const std::vector<double>& v) {
    return cluster::fingerprint({reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double)});
  };
  const std::vector<double> state = rollout.whole(end), x_bar = rollout.whole(gradient.x0);
  std::vector<double> p_bar;
  for (std::size_t f = 0; f < system->signature().fields(Role::parameter).size(); ++f)
    for (double x : gradient.parameters.values(f)) p_bar.push_back(x);
  std::int64_t all_halo = 0;
  for (const std::string& one : ranks->gather(message_of(&halo, 1))) {
    std::int64_t other = 0;
    read_message(one, &other, 1);
    all_halo += other;
  }
  if (channel.rank() > 0) return 0;
  const std::int64_t row = std::int64_t(model.nodes[1]) * 4 * ((model.nodes[2] + 3) / 4 * 4 + 4);
  std::printf("%lld particles, %d ranks, %lld steps\n", (long long)particle_count(model), channel.ranks(),
              (long long)steps);
  std::printf("step      %.1f ms wall, %.1f ms busy\n", 1e3 * wall[0] / steps, 1e3 * busy[0] / steps);
  std::printf("gradient  %.1f ms wall, %.1f ms busy, per step\n", 1e3 * wall[1] / steps,
              1e3 * busy[1] / steps);
  std::printf("halo      %lld bytes per gradient, predicted %lld\n", (long long)all_halo,
              (long long)((channel.ranks() - 1) * steps * 2 * 2 * 2 * row * std::int64_t(sizeof(double))));
  std::printf("bits      state %s, gradient %s, parameters %s, value %.17g\n", bits(state).c_str(),
              bits(x_bar).c_str(), bits(p_bar).c_str(), gradient.value);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "deal") == 0) return deal();
  if (argc == 3 && std::strcmp(argv[1], "world") == 0) return world(std::atoll(argv[2]));
  std::printf("mpirun -n 2 %s deal, or: mpirun -n 2 %s world 1000000\n", argv[0], argv[0]);
  return 1;
}
