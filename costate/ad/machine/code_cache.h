// CodeCache: the machine code of one Executable, made when a call of a new shape has run often enough to pay
// for it.
//
// Writing code takes about as long as interpreting it a few hundred times, so the first calls are
// interpreted. A call then finds its code without a lock. Threads that arrive while one of them writes code
// keep interpreting.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <span>

#include "costate/ad/executable.h"
#include "costate/ad/machine/machine_code.h"

namespace costate::ad {

class CodeCache {
 public:
  CodeCache(const StraightCode& code, Engine engine);

  // Runs the call if there is, or is now to be, code for it.
  template <class T>
  bool run(const StraightCode& code, int strip_packs, std::span<const InputBlock<T>> inputs,
           std::span<const OutputBlock<T>> outputs, std::ptrdiff_t worlds, std::byte* scratch);

  // The code for one world, once it is there: for callers that want no way round through run().
  template <class T>
  const MachineCode* for_one_world() {
    return kind<T>().one_world.load(std::memory_order_acquire);
  }

  MachineCodeReport report() const;

 private:
  static constexpr std::size_t kMaxCodes = 8;  // shapes beyond these are interpreted

  struct Kind {  // for one number type
    std::atomic<const MachineCode*> one_world = nullptr;
    std::array<std::atomic<const MachineCode*>, kMaxCodes> strips{};
    std::array<MachineCode::Pointer, kMaxCodes + 1> owned;
    std::atomic<std::int64_t> packs_interpreted = 0, worlds_interpreted = 0;
  };

  template <class T>
  Kind& kind() {
    return kinds_[sizeof(T) == sizeof(double)];
  }
  template <class T>
  const MachineCode* for_one_world(const StraightCode& code);
  template <class T>
  const MachineCode* for_strips(const StraightCode& code, int strip_packs, const CallShape& shape,
                                std::ptrdiff_t packs);
  bool worth_writing(std::atomic<std::int64_t>& interpreted, std::int64_t now, std::int64_t before);
  template <class T>
  const MachineCode* write(const StraightCode& code, int strip_packs, const CallShape& shape,
                           MachineCode::Pointer& owner);

  bool at_once_;
  std::atomic<const char*> refused_ = nullptr;  // why there will be no more code
  std::mutex writing_;
  Kind kinds_[2];  // float, double
  std::atomic<double> seconds_ = 0;
};

}  // namespace costate::ad
