// Transport: how a pool reaches its workers. Threads, processes, ranks of MPI and the simulated workers of
// the tests stand behind it; what is computed by whom is decided elsewhere (call.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "costate/cluster/bytes.h"
#include "costate/cluster/call.h"

namespace costate::cluster {

struct Work {
  std::int64_t call = 0;  // answers to earlier calls may still arrive
  Task task;
  Want want = Want::gradient;
  const std::vector<double>* theta = nullptr;
};

struct Event {
  enum class Kind { nothing, joined, finished, lost };
  Kind kind = Kind::nothing;
  int worker = 0;  // numbers are never used twice
  // of finished
  std::int64_t call = 0;
  Task task = {};
  Part part = {};
  double seconds = 0;  // that it was computed
  // of lost
  std::string why = {};
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string name() const = 0;
  // Of a task: 1 where messages are cheap and workers may die.
  virtual std::int64_t most_blocks() const { return 1; }
  // Whether a worker may be left alone with a task that nobody waits for any more.
  virtual bool copies_stragglers() const { return true; }

  // From here on the workers compute this job. Those that are not there yet join later.
  virtual void begin(const Job& job) = 0;
  // To an idle worker.
  virtual void send(int worker, const Work& work) = 0;
  // What happens next, or nothing within that time. Error where there is no worker and none will come, and
  // where one is refused.
  virtual Event wait(double seconds) = 0;
  // No more work of this call is of interest. Workers that need the job itself are waited for.
  virtual void end() {}
  // More workers, or fewer: those that came first leave.
  virtual void resize(int workers);
  virtual double now() const;
};

// Who a worker is. Bits are promised among equals only.
struct Identity {
  std::string version, instruction_set;
  std::string
      mathematics;  // fingerprint of what sin, exp, ... return: other C libraries have other last bits
  std::string job;
};
Identity identity_of_machine();  // without a job
Identity identity_of(const Job& job);
std::string to_bytes(const Identity& identity);
Identity identity_of(Reader& from);
// Error that names both, where they differ.
void require_equal(const Identity& driver, const Identity& worker, const std::string& name);

}  // namespace costate::cluster
