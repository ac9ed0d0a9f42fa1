#include "costate/cluster/transport.h"

#include <chrono>
#include <cmath>

#include "costate/core/platform.h"

namespace costate::cluster {

void Transport::resize(int) { throw Error(name() + " have a fixed number of workers"); }

double Transport::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

constexpr const char* instruction_set() {
#if defined(__aarch64__)
  return "ARM64";
#elif defined(__FMA__)
  return kSimdBytes == 64 ? "AVX-512" : "AVX2";
#else
  return kSimdBytes == 32 ? "AVX" : "SSE2";
#endif
}

std::string mathematics() {
  Writer found;
  for (int k = 1; k <= 64; ++k) {
    volatile double x = 0.37 * k;  // not by the compiler
    for (const double y :
         {std::sin(x), std::cos(x), std::tan(x), std::exp(x / 3), std::log(x), std::pow(x, 1.7),
          std::tanh(x / 9), std::atan2(x, 2.3), std::acos(x / 24), std::asin(x / 24), std::cbrt(x),
          std::hypot(x, 1.1), std::expm1(x / 9), std::log1p(x), std::erf(x / 9)})
      found.number(y);
    volatile float z = float(x);
    for (const float y :
         {std::sin(z), std::cos(z), std::exp(z / 3), std::log(z), std::pow(z, 1.7f), std::tanh(z / 9)})
      found.number(double(y));
  }
  return fingerprint(found.bytes());
}

}  // namespace

Identity identity_of_machine() {
  static const std::string functions = mathematics();
  return {COSTATE_VERSION, instruction_set(), functions, ""};
}

Identity identity_of(const Job& job) {
  Identity identity = identity_of_machine();
  identity.job = fingerprint(job.identity());
  return identity;
}

std::string to_bytes(const Identity& identity) {
  return Writer()
      .text(identity.version)
      .text(identity.instruction_set)
      .text(identity.mathematics)
      .text(identity.job)
      .bytes();
}
Identity identity_of(Reader& from) {
  Identity identity;
  identity.version = from.text(), identity.instruction_set = from.text();
  identity.mathematics = from.text(), identity.job = from.text();
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
  require(
      "table of sines and exponentials", driver.mathematics, worker.mathematics,
      "results would have other bits: use the same C library on both, in one container image for example");
  require("job", driver.job, worker.job,
          "it reads another model or other data than the driver: have its files changed?");
}

}  // namespace costate::cluster
