// MachineCode: an Executable's instructions as x86-64 vector code, for one shape of call.
//
//   lane_code.h            which values are computed once, which per strip; blocks and function calls
//   register_assignment.h  a block as a loop over packs, values in registers
//   x86_operations.h       an operation as instructions
//   x86_encoder.h          an instruction as bytes
//   code_memory.h          pages that are first written, then executed
//   machine_code_run.h     a run over many worlds, or one
//
// 64-byte packs give AVX-512 code, 32-byte packs AVX2 with FMA, one world 16-byte code; what the processor
// cannot do is left to the interpreter. The result is the interpreter's, bit for bit (x86_operations.h). The
// bytes depend on the program, the number type and the shape alone.
// Tests: tests/ad/machine_code_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "costate/ad/machine/lane_code.h"
#include "costate/ad/machine/register_assignment.h"
#include "costate/core/platform.h"

namespace costate::ad {

class MachineCode {
 public:
  // A block of code, or a call of a function on values with a home in memory.
  struct Segment {
    std::uint32_t entry = 0;  // of a block, from the start of the code
    bool is_function = false, once = false;
    Op op = Op::constant;
    std::int32_t exponent = 0;
    Place out, a, b;
  };

  struct Free {
    void operator()(const MachineCode* code) const;
  };
  using Pointer = std::unique_ptr<const MachineCode, Free>;

  // Null if the system refuses executable pages. Uses no heap.
  template <class T>
  static Pointer make(const StraightCode& code, const CallShape& shape, int strip_packs);

  const CallShape& shape() const { return shape_; }
  const FrameLayout& frame() const { return frame_; }
  std::span<const Segment> segments() const { return {segments_, segment_count_}; }
  const std::byte* pool() const { return pool_; }
  std::span<const std::uint8_t> code() const { return {code_, code_bytes_}; }

  void call(const Segment& block, std::byte* frame, void* const* table, std::size_t packs) const {
    using Block = void (*)(std::byte*, void* const*, std::size_t, const std::byte*);
    const auto start = reinterpret_cast<Block>(reinterpret_cast<std::uintptr_t>(code_ + block.entry));
    start(frame, table, packs * static_cast<std::size_t>(frame_.pack), pool_);
  }

 private:
  MachineCode() = default;

  CallShape shape_;
  FrameLayout frame_;
  std::size_t pages_ = 0;  // bytes of the pages, which this object is at the start of
  const Segment* segments_ = nullptr;
  std::size_t segment_count_ = 0, code_bytes_ = 0;
  const std::byte* pool_ = nullptr;
  const std::uint8_t* code_ = nullptr;
};

// Bytes of a pack in code for one world or for strips.
constexpr int pack_bytes(bool one_world) { return one_world ? 16 : kSimdBytes; }

FrameLayout frame_layout(const StraightCode& code, bool one_world, int strip_packs);

}  // namespace costate::ad
