// What everything with MPI needs: its beginning and end, and a message. Internal to mpi*.cpp.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <string>

namespace costate::cluster {

inline void start_mpi() {
  int started = 0;
  MPI_Initialized(&started);
  if (started) return;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  std::atexit([] {
    int ended = 0;
    MPI_Finalized(&ended);
    if (!ended) MPI_Finalize();
  });
}
inline int ranks_of_mpi() {
  start_mpi();
  int count = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

// The message that a probe has found.
inline std::string receive_of_mpi(const MPI_Status& status) {
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::string bytes(std::size_t(count), '\0');
  MPI_Recv(bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return bytes;
}

}  // namespace costate::cluster
