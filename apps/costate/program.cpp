// bin/costate: the command line as a program of its own. From Python the same is `python -m costate`.
#include <cstdio>
#include <iostream>

#include "commands.h"
#if defined(COSTATE_MPI)
#include "costate/cluster/mpi.h"
#include "pooled.h"
#endif

int main(int argc, char** argv) {
#if defined(COSTATE_MPI)
  costate::app::ranks_of_mpi() = {costate::cluster::mpi, costate::cluster::mpi_rank,
                                  costate::cluster::mpi_serve};
#endif
  const int code = costate::app::run(argc, argv);
  // A full disk shows when what is left is written.
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout) return code;
  std::fputs("costate: the output cannot be written; is there room?\n", stderr);
  return code != 0 ? code : 2;
}
