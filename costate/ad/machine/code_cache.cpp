#include "costate/ad/machine/code_cache.h"

#include <chrono>
#include <limits>

#include "costate/ad/interpret_strip.h"
#include "costate/ad/machine/code_memory.h"
#include "costate/ad/machine/machine_code_run.h"
#include "costate/core/pack.h"

namespace costate::ad {
namespace {

// Interpreted so often, code is worth writing: measured at about 0.3 us per instruction, against 1 ns for a
// pack and 2 ns for one world in the interpreter.
constexpr std::int64_t kPacksBefore = 512, kWorldsBefore = 512;

}  // namespace

CodeCache::CodeCache(const StraightCode& code, Engine engine) : at_once_(engine == Engine::machine_code) {
  if (!machine_code_possible(kSimdBytes) || !machine_code_possible(pack_bytes(true))) {
    refused_ = "this processor lacks the vector instructions";
  } else if (code.input_sizes.size() > kMaxFields || code.output_sizes.size() > kMaxFields) {
    refused_ = "the program has more than 128 input or output fields";
  } else if (machine_code_scratch(code, kLongStrip) > std::numeric_limits<std::int32_t>::max()) {
    refused_ = "the program is too large";  // addresses in the frame have 32 bits
  }
}

template <class T>
bool CodeCache::run(const StraightCode& code, int strip_packs, std::span<const InputBlock<T>> inputs,
                    std::span<const OutputBlock<T>> outputs, std::ptrdiff_t worlds, std::byte* scratch) {
  if (worlds == 1) {
    const MachineCode* machine = kind<T>().one_world.load(std::memory_order_acquire);
    if (machine == nullptr) machine = for_one_world<T>(code);
    if (machine != nullptr) run_one_world(*machine, code, inputs, outputs, scratch);
    return machine != nullptr;
  }
  if (refused_.load(std::memory_order_relaxed) != nullptr) return false;
  CallShape shape;
  for (std::size_t f = 0; f < inputs.size(); ++f) shape.shared[f] = inputs[f].broadcast;
  for (std::size_t f = 0; f < outputs.size(); ++f) shape.added[f] = outputs[f].add;
  if (!outputs_are_apart(code, outputs, worlds)) return false;
  constexpr std::ptrdiff_t lanes = NativePack<T>::lanes;
  const MachineCode* const machine = for_strips<T>(code, strip_packs, shape, (worlds + lanes - 1) / lanes);
  if (machine != nullptr) run_strips(*machine, code, inputs, outputs, worlds, scratch);
  return machine != nullptr;
}

template <class T>
const MachineCode* CodeCache::for_one_world(const StraightCode& code) {
  auto& known = kind<T>().one_world;
  if (!worth_writing(kind<T>().worlds_interpreted, 1, kWorldsBefore)) return nullptr;
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  if (const MachineCode* const c = known.load(std::memory_order_acquire)) return c;
  CallShape shape;
  shape.one_world = true;
  const MachineCode* const written = write<T>(code, 1, shape, kind<T>().owned[kMaxCodes]);
  known.store(written, std::memory_order_release);
  return written;
}

template <class T>
const MachineCode* CodeCache::for_strips(const StraightCode& code, int strip_packs, const CallShape& shape,
                                         std::ptrdiff_t packs) {
  std::size_t next = 0;
  const auto known = [&]() -> const MachineCode* {
    for (; next < kMaxCodes; ++next) {
      const MachineCode* const c = kind<T>().strips[next].load(std::memory_order_acquire);
      if (c == nullptr || c->shape() == shape) return c;
    }
    return nullptr;
  };
  if (const MachineCode* const c = known()) return c;
  if (next == kMaxCodes || !worth_writing(kind<T>().packs_interpreted, packs, kPacksBefore)) return nullptr;
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  if (const MachineCode* const c = known()) return c;
  if (next == kMaxCodes) return nullptr;
  const MachineCode* const written = write<T>(code, strip_packs, shape, kind<T>().owned[next]);
  kind<T>().strips[next].store(written, std::memory_order_release);
  return written;
}

bool CodeCache::worth_writing(std::atomic<std::int64_t>& interpreted, std::int64_t now, std::int64_t before) {
  if (refused_.load(std::memory_order_relaxed) != nullptr) return false;
  return at_once_ || interpreted.fetch_add(now, std::memory_order_relaxed) >= before;
}

template <class T>
const MachineCode* CodeCache::write(const StraightCode& code, int strip_packs, const CallShape& shape,
                                    MachineCode::Pointer& owner) {
  const auto start = std::chrono::steady_clock::now();
  owner = MachineCode::make<T>(code, shape, strip_packs);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  seconds_ = seconds_ + taken.count();
  if (owner == nullptr) refused_ = "the system refuses executable memory";
  return owner.get();
}

MachineCodeReport CodeCache::report() const {
  MachineCodeReport report{.refused = "", .seconds = seconds_};
  if (const char* const why = refused_) report.refused = why;
  const auto count = [&](const std::atomic<const MachineCode*>& code) {
    const MachineCode* const c = code.load(std::memory_order_acquire);
    if (c == nullptr) return;
    ++report.codes;
    report.bytes += c->code().size();
  };
  for (const Kind& of_type : kinds_) {
    count(of_type.one_world);
    for (const auto& code : of_type.strips) count(code);
  }
  return report;
}

template bool CodeCache::run(const StraightCode&, int, std::span<const InputBlock<float>>,
                             std::span<const OutputBlock<float>>, std::ptrdiff_t, std::byte*);
template bool CodeCache::run(const StraightCode&, int, std::span<const InputBlock<double>>,
                             std::span<const OutputBlock<double>>, std::ptrdiff_t, std::byte*);

}  // namespace costate::ad
