#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "costate/ad/allocate.h"
#include "costate/ad/executable.h"
#include "costate/ad/interpret_strip.h"
#include "costate/ad/machine/code_cache.h"
#include "costate/ad/machine/machine_code_run.h"

namespace costate::ad {
namespace {

bool switched_off() {
  const char* const value = std::getenv("COSTATE_NO_MACHINE_CODE");
  return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
}

// A longer strip shares the price of decoding among more worlds, until its values no longer fit the L1 cache.
// Measured on Zen 4 (32 KiB L1): a little over does not hurt, since few of the values are touched at a time.
int strip_length(const StraightCode& code) {
  const std::size_t live = code.register_count + code.input_slots;
  return live * kLongStrip * kSimdBytes <= 40 * 1024 ? kLongStrip : kShortStrip;
}

}  // namespace

Executable::Executable(const Program& program, Engine engine)
    : code_(allocate(program)),
      strip_packs_(strip_length(code_)),
      scratch_bytes_{interpreter_scratch<float>(), interpreter_scratch<double>()} {
  if (engine == Engine::interpreter || switched_off()) return;
  machine_code_ = std::make_shared<CodeCache>(code_, engine);
  scratch_bytes_[0] = std::max(scratch_bytes_[0], machine_code_scratch(code_, strip_packs_));
  scratch_bytes_[1] = std::max(scratch_bytes_[1], machine_code_scratch(code_, strip_packs_));
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
