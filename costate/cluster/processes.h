// Workers that are processes of this machine: no dependency, and a worker that dies is replaced.
//
//   processes(4)                               forks of this process: for any Job object of C++
//   processes(4, {"costate", "work"})          programs that make the job from its description
//
// Forks are made when a job is first asked for, and there must be no other thread by then: a fork copies one
// thread only, and whatever lock another one holds stays locked for ever. Workers end with their driver.
// Nothing listens on a network.
// Tests: tests/cluster/processes_test.cpp.
#pragma once

#include "costate/cluster/transport.h"

namespace costate::cluster {

// 0: one per core. A program is looked up in PATH unless its name has a slash.
std::unique_ptr<Transport> processes(int workers = 0, std::vector<std::string> program = {});

}  // namespace costate::cluster
