// Run by mpi_test.cmake under mpirun: a Rollout with device = "mpi" has the bits of the CPU, goes on after an
// error, and leaves room for a second Rollout between its forward() and its backward().
#include <cstdio>

#include "costate/cluster/mpi.h"
#include "tests/cluster/split_worlds.h"

int main() {
  using namespace costate;
  using namespace costate::cluster::test;
  const auto w = points<double>(2, 12);
  cluster::register_mpi();
  if (cluster::mpi_rank() > 0) return cluster::mpi_follow(*w.system), 0;

  const auto wanted = alone(w);
  Rollout<double> rollout(w.system, {.steps = w.steps, .device = "mpi"});
  const auto same = [&] {
    const auto g = rollout.value_and_gradient(w.arguments, *w.loss);
    std::vector<double> parameters;
    append_parameters(g.parameters, parameters);
    return g.value == wanted.value && same_bits(g.x0, wanted.x0) && same_bits(g.controls, wanted.controls) &&
           same_bits(parameters, wanted.parameters);
  };
  bool good = same();
  auto wrong = w.arguments;
  wrong.x0 = too_fast().arguments.x0;
  for (int turn = 0; turn < 3; ++turn) {
    try {
      rollout.value_and_gradient(wrong, *w.loss);
      good = false;
    } catch (const Error& error) {
      good = good && error.message().what.find("moves") != std::string::npos;
    }
    good = same() && good;
  }
  rollout.forward(w.arguments);
  {
    Rollout<double> other(w.system, {.steps = 3, .device = "mpi"});
    auto shorter = w.arguments;
    shorter.controls.resize(std::size_t(3 * w.system->signature().controls()));
    other.simulate(shorter);
  }
  good = same_bits(rollout.backward(*w.loss).x0, wanted.x0) && good;
  std::printf(good ? "the same bits\n" : "other bits\n");
  return good ? 0 : 1;
}
