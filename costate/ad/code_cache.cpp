#include "costate/ad/code_cache.h"

#include <chrono>

#include "costate/ad/code_memory.h"
#include "costate/ad/machine_code_run.h"
#include "costate/core/pack.h"

namespace costate::ad {
namespace {

// Interpreted so often, code is worth writing: measured at about 0.3 us per instruction, against 1 ns for a pack
// and 2 ns for one world in the interpreter.
constexpr std::int64_t kPacksBefore = 256, kWorldsBefore = 128;

}  // namespace

CodeCache::CodeCache(Engine engine) : at_once_(engine == Engine::machine_code) {
  if (!machine_code_possible(kSimdBytes) || !machine_code_possible(pack_bytes(true))) {
    refused_ = "this processor lacks the vector instructions";
  }
}

template <class T>
bool CodeCache::run(const StraightCode& code, int strip_packs, std::span<const InputBlock<T>> inputs,
                    std::span<const OutputBlock<T>> outputs, std::ptrdiff_t worlds, std::byte* scratch) {
  if (inputs.size() > kMaxFields || outputs.size() > kMaxFields) return false;
  CallShape shape;
  shape.one_world = worlds == 1;
  if (!shape.one_world) {
    for (std::size_t f = 0; f < inputs.size(); ++f) shape.shared[f] = inputs[f].broadcast;
    for (std::size_t f = 0; f < outputs.size(); ++f) shape.added[f] = outputs[f].add;
    if (!outputs_are_apart(code, outputs, worlds)) return false;
  }
  constexpr std::ptrdiff_t lanes = NativePack<T>::lanes;
  const MachineCode* const machine = find<T>(code, strip_packs, shape, (worlds + lanes - 1) / lanes);
  if (machine == nullptr) return false;
  run_machine_code(*machine, code, inputs, outputs, worlds, scratch);
  return true;
}

template <class T>
const MachineCode* CodeCache::find(const StraightCode& code, int strip_packs, const CallShape& shape,
                                   std::ptrdiff_t packs) {
  Kind& kind = kinds_[sizeof(T) == sizeof(double)];
  std::size_t next = 0;
  const auto known = [&]() -> const MachineCode* {
    for (; next < kMaxCodes; ++next) {
      const MachineCode* const c = kind.codes[next].load(std::memory_order_acquire);
      if (c == nullptr) return nullptr;
      if (c->shape() == shape) return c;
    }
    return nullptr;
  };
  if (const MachineCode* const c = known()) return c;
  if (next == kMaxCodes || refused_.load(std::memory_order_relaxed) != nullptr) return nullptr;

  auto& interpreted = shape.one_world ? kind.worlds_interpreted : kind.packs_interpreted;
  const std::int64_t before = shape.one_world ? kWorldsBefore : kPacksBefore;
  if (!at_once_ && interpreted.fetch_add(packs, std::memory_order_relaxed) < before) return nullptr;
  const std::unique_lock lock(writing_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  if (const MachineCode* const c = known()) return c;
  if (next == kMaxCodes) return nullptr;
  const auto start = std::chrono::steady_clock::now();
  kind.owned[next] = MachineCode::make<T>(code, shape, strip_packs);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  seconds_ = seconds_ + taken.count();
  if (kind.owned[next] == nullptr) {
    refused_ = "the system refuses executable memory";
    return nullptr;
  }
  kind.codes[next].store(kind.owned[next].get(), std::memory_order_release);
  return kind.owned[next].get();
}

MachineCodeReport CodeCache::report() const {
  MachineCodeReport report{.refused = "", .seconds = seconds_};
  if (const char* const why = refused_) report.refused = why;
  for (const Kind& kind : kinds_) {
    for (const auto& code : kind.codes) {
      const MachineCode* const c = code.load(std::memory_order_acquire);
      if (c == nullptr) break;
      ++report.codes;
      report.bytes += c->code().size();
    }
  }
  return report;
}

template bool CodeCache::run(const StraightCode&, int, std::span<const InputBlock<float>>,
                             std::span<const OutputBlock<float>>, std::ptrdiff_t, std::byte*);
template bool CodeCache::run(const StraightCode&, int, std::span<const InputBlock<double>>,
                             std::span<const OutputBlock<double>>, std::ptrdiff_t, std::byte*);

}  // namespace costate::ad
