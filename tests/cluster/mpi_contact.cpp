// Run by mpi_test.cmake under mpirun: hoppers that fall on their feet, worlds that diverge, an ensemble of
// pendulums and an identification have from the ranks the bits that a thread has.
#include <algorithm>
#include <cstdio>

#include "costate/cluster/mpi.h"
#include "costate/cluster/mpi_start.h"
#include "costate/cluster/threads.h"
#include "tests/cluster/problems.h"

int main(int, char** argv) {
  using namespace costate;
  const auto problems = cluster::test::problems(argv[1]);
  if (cluster::mpi_rank() > 0) {
    // Says hello to the first problem when the others are through with it and rank 0 has sent the stop.
    if (cluster::mpi_rank() == 3) MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (const auto& p : problems) cluster::mpi_serve(*p.job);
    return 0;
  }
  cluster::Pool ranks(cluster::mpi()), one(cluster::threads(1));
  bool good = true;
  for (const auto& p : problems) {
    const std::string here = cluster::test::all_bits(one, p), there = cluster::test::all_bits(ranks, p);
    std::printf("%s: %s %s\n", p.name.c_str(), here.c_str(), there.c_str());
    good = good && here == there;
  }
  const auto contact = one.value_and_grad(*problems[0].job, problems[0].theta);
  good =
      good && std::any_of(contact.gradient.begin(), contact.gradient.end(), [](double g) { return g != 0; });
  std::printf(good ? "the same bits\n" : "other bits\n");
  return good ? 0 : 1;
}
