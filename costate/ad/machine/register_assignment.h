// BlockWriter: one block of LaneCode as a loop over the packs of a strip, its values in vector registers.
//
// Code is straight, so all uses of a value are known. Where a register is needed and none is free, the value
// whose next use is farthest away gives up its own (Belady: IBM Systems Journal 5 (1966), p. 78, his MIN: no
// other choice loads less often). It is stored at its home first, unless it is there already. A value that a
// later block needs is stored when it is made. An operand that is used once more and is not in a register is
// read by the instruction itself, straight from memory.
//
// What is the same for all packs is loaded before the loop into the registers that the block has to spare,
// most used first.
//
// A block is a function of four arguments in rdi, rsi, rdx, rcx (System V ABI): the frame, the table of input
// and output pointers, the bytes of the strip's packs, the pool of constants. It touches rax, r8 and vector
// registers, all of which belong to the called, and no stack.
#pragma once

#include <memory_resource>
#include <span>
#include <vector>

#include "costate/ad/machine/lane_code.h"
#include "costate/ad/machine/x86_operations.h"

namespace costate::ad {

// Where things are in the frame, in bytes.
struct FrameLayout {
  std::int32_t pack = 0;          // bytes of a pack
  std::int32_t strips = 0;        // the first strip
  std::int32_t strip = 0;         // bytes of a strip
  std::int32_t output_packs = 0;  // the first output pack of one world
  std::uint32_t inputs = 0;       // pointers in the table before those of the outputs
  bool one_world = false;
};

class BlockWriter {
 public:
  BlockWriter(const LaneCode& code, const FrameLayout& frame, x86::Encoder& encoder, bool is_double,
              std::pmr::memory_resource* memory);

  // Appends the block's code.
  void write(const LaneSegment& block);

 private:
  static constexpr std::uint32_t kNever = static_cast<std::uint32_t>(-1);
  static constexpr int kNone = -1;

  struct Register {
    std::uint32_t value = kNever;  // the one it holds
    bool locked = false;           // by the instruction being written
    bool constant = false;         // of the loop: stays
  };
  struct State {
    std::int16_t reg = kNone;
    bool stored = false;              // its home has it
    std::uint32_t next_use = kNever;  // the step, in this block
    std::uint32_t uses = 0;           // in this block
  };

  void find_uses(const LaneSegment& block);
  void find_values_that_leave();
  int pressure(const LaneSegment& block) const;
  void load_constants_of_loop(const LaneSegment& block);
  void step(std::uint32_t index);
  void write_output(const LaneStep& s, std::uint32_t index);
  void compute(const LaneStep& s, std::uint32_t index);
  int in_register(std::uint32_t value);
  int memory_operand(std::uint32_t index) const;
  void release_if_dead(std::uint32_t value);
  int take_register();
  Register& at(int reg) { return registers_[reg]; }
  void bind(int reg, std::uint32_t value);
  // The address of a home; emits the load of its pointer where it needs one.
  x86::Address address(std::uint32_t value);
  bool is_constant_of_loop(std::uint32_t value) const { return code_.values[value].home <= Home::shared; }

  const LaneCode& code_;
  const FrameLayout& frame_;
  x86::Encoder& encoder_;
  x86::Operations operations_;
  std::pmr::vector<State> states_;             // by value
  std::pmr::vector<std::uint32_t> next_uses_;  // of the operands of each step: the step that uses it next
  std::pmr::vector<bool> leaves_;              // by value: used by another segment than the one that makes it
  std::pmr::vector<std::uint32_t> touched_;    // values of the block
  std::pmr::vector<Register> registers_;
};

}  // namespace costate::ad
