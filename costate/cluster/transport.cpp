#include "costate/cluster/transport.h"

#include <chrono>

#include "costate/cluster/bytes.h"
#include "costate/core/platform.h"

namespace costate::cluster {

void Transport::resize(int) { throw Error(name() + " have a fixed number of workers"); }

double Transport::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Identity identity_of_machine() {
  const char* set = kSimdBytes == 64 ? "AVX-512" : kSimdBytes == 32 ? "AVX2" : "SSE2";
  return {COSTATE_VERSION, set, ""};
}

Identity identity_of(const Job& job) {
  Identity identity = identity_of_machine();
  identity.job = fingerprint(job.identity());
  return identity;
}

void require_equal(const Identity& driver, const Identity& worker, const std::string& name) {
  const auto require = [&](const char* what, const std::string& here, const std::string& there,
                           const char* advice) {
    if (here == there) return;
    throw Error({std::string("a worker is refused because its ") + what + " is " + there +
                     " and the driver's is " + here,
                 name, advice});
  };
  require("version", driver.version, worker.version, "install the same version of costate on both");
  require("instruction set", driver.instruction_set, worker.instruction_set,
          "results would have other bits: build both for the older machine (COSTATE_ARCH=x86-64-v3)");
  require("job", driver.job, worker.job,
          "it reads another model or other data than the driver: have its files changed?");
}

}  // namespace costate::cluster
