// Run by mpi_test.cmake under mpirun: the bits of a job from the ranks and from a thread must be equal.
#include <cstdio>

#include "costate/cluster/mpi.h"
#include "costate/cluster/threads.h"
#include "tests/cluster/toy_job.h"

int main() {
  using namespace costate::cluster;
  const test::ToyJob first(101, 3), second(64, 1);
  if (mpi_rank() > 0) {
    mpi_serve(first);
    mpi_serve(second);
    return 0;
  }
  Pool ranks(mpi()), one(threads(1));
  for (const test::ToyJob* job : {&first, &second}) {
    for (int turn = 0; turn < 3; ++turn) {
      const std::string there = test::bits(ranks.value_and_grad(*job, test::some_theta()));
      const std::string here = test::bits(one.value_and_grad(*job, test::some_theta()));
      if (there != here) return std::printf("%s instead of %s\n", there.c_str(), here.c_str()), 1;
    }
    const auto all = ranks.population(*job, {test::some_theta(), {1, 2, 3}, {0, 0}}, Want::gradient);
    if (test::bits(all[0]) != test::bits(one.value_and_grad(*job, test::some_theta()))) return 1;
  }
  std::printf("the same bits\n%s", ranks.report().to_text().c_str());
  return 0;
}
