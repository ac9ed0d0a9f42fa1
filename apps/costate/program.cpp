// bin/costate: the command line as a program of its own. From Python the same is `python -m costate`.
#include <cstdio>
#include <iostream>

#include "commands.h"
#if defined(COSTATE_MPI)
#include "costate/cluster/mpi.h"
#include "ranks.h"
#endif

int main(int argc, char** argv) {
#if defined(COSTATE_MPI)
  namespace cluster = costate::cluster;
  cluster::register_mpi();
  costate::app::ranks_of_mpi() = {.rank = cluster::mpi_rank,
                                  .transport = cluster::mpi,
                                  .serve = cluster::mpi_serve,
                                  .deal = cluster::mpi_deal,
                                  .refuse = cluster::mpi_refuse,
                                  .lead = cluster::mpi_lead,
                                  .follow_in_float = cluster::mpi_follow<float>,
                                  .follow_in_double = cluster::mpi_follow<double>,
                                  .fail = cluster::mpi_fail};
#endif
  const int code = costate::app::run(argc, argv);
  // A full disk shows when what is left is written.
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return code;
  std::fputs("costate: the output cannot be written; is there room?\n", stderr);
  return code != 0 ? code : 2;
}
