// Run by mpi_test.cmake under mpirun: a rank with another job, and one that cannot serve at all, are refused
// by name, and every rank ends.
#include <cstdio>

#include "costate/cluster/mpi.h"
#include "tests/cluster/toy_job.h"

namespace {

using namespace costate;
using namespace costate::cluster;

// The good ranks may have done everything before the bad one is heard: the pool goes on until it is.
bool refused(const Job& job, const std::string& words) {
  Pool pool(mpi());
  for (int call = 0; call < 100'000; ++call) try {
      pool.value_and_grad(job, test::some_theta());
    } catch (const Error& error) {
      std::printf("%s\n", error.what());
      return std::string(error.what()).find(words) != std::string::npos;
    }
  return false;
}

}  // namespace

int main() {
  const test::ToyJob job(64, 1), other(65, 1);
  if (mpi_rank() > 0) {  // once for each of the two pools, and once for mpi_deal()
    mpi_serve(mpi_rank() == 1 ? other : job);
    if (mpi_rank() == 1)
      mpi_refuse(Error({"the model cannot be read", "hopper.xml", "copy it to this machine"}));
    mpi_serve(job);
    mpi_serve(job);
    return 0;
  }
  const std::string both = "worker 1: a worker is refused because its job is " +
                           fingerprint(other.identity()) + " and the driver's is " +
                           fingerprint(job.identity());
  bool good = refused(job, both);
  good = refused(job, "hopper.xml: the model cannot be read") && good;
  mpi_deal();  // and no pool: the others are told at the end all the same
  std::printf(good ? "the same bits\n" : "not refused\n");
  return good ? 0 : 1;
}
