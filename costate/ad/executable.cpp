#include <cstdlib>
#include <string_view>

#include "costate/ad/allocate.h"
#include "costate/ad/code_cache.h"
#include "costate/ad/interpret.h"

namespace costate::ad {
namespace {

bool switched_off() {
  const char* const value = std::getenv("COSTATE_NO_MACHINE_CODE");
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

}  // namespace

Executable::Executable(const Program& program, Engine engine) : code_(allocate(program)) {
  if (engine != Engine::interpreter && !switched_off()) machine_code_ = std::make_shared<CodeCache>(engine);
}

MachineCodeReport Executable::machine_code() const {
  if (machine_code_) return machine_code_->report();
  return {.refused = "switched off"};
}

std::string Executable::description() const {
  const MachineCodeReport report = machine_code();
  std::string text = std::to_string(instruction_count()) + " instructions, " +
                     std::to_string(register_count()) + " registers, ";
  if (report.codes > 0) {
    return text + "machine code for " + std::to_string(report.codes) +
           (report.codes == 1 ? " shape of call (" : " shapes of call (") + std::to_string(report.bytes) +
           " bytes)";
  }
  return text + "interpreted" + (report.refused.empty() ? "" : ": machine code: " + report.refused);
}

}  // namespace costate::ad
