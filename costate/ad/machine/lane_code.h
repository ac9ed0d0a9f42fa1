// LaneCode: the instructions of an Executable in the order machine code runs them, with a home in memory for
// every value.
//
// Some inputs are one number for all worlds; so is all that is computed from those alone. It is computed once
// per run, before the strips. The rest is computed for every strip. Both parts are cut into segments: a block
// of arithmetic, which keeps its values in registers, or one call of an elementary function, which goes from
// memory to memory. A value has a home for when it leaves its block or finds no register:
//
//   pool     constants: packs beside the code
//   shared   one pack of the frame, for all worlds
//   strip    a register of the interpreter: the packs of a strip
//   input    where the caller has it
//
// One world alone is a strip of one pack: its inputs and outputs are packs of the frame, and nothing is
// shared.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "costate/ad/executable.h"

namespace costate::ad {

enum class Home : std::uint8_t { pool, shared, strip, input };

struct Place {
  Home home = Home::pool;
  std::uint32_t index = 0;
};

// value = op(operands), or an output element = operand 0.
struct LaneStep {
  Op op = Op::constant;
  bool is_output = false;
  bool adds = false;  // an output that is added to what is there
  std::int32_t exponent = 0;
  std::uint32_t value = 0;  // the value made, or the element written
  int arity = 0;
  std::uint32_t operand[3] = {0, 0, 0};
};

struct LaneSegment {
  std::uint32_t first = 0, count = 0;  // steps
  bool is_function = false;
  bool once = false;  // before the strips
};

inline constexpr std::size_t kMaxFields = 128;

// What machine code is made for: one world alone; or strips, with these input fields shared by all worlds and
// these output fields added to.
struct CallShape {
  bool one_world = false;
  std::bitset<kMaxFields> shared, added;
  bool operator==(const CallShape&) const = default;
};

struct LaneCode {
  explicit LaneCode(std::pmr::memory_resource* memory) : values(memory), steps(memory), segments(memory) {}

  std::pmr::vector<Place> values;
  std::pmr::vector<LaneStep> steps;
  std::pmr::vector<LaneSegment> segments;
};

// At most so many values are computed once per run: it bounds the frame. What is beyond is computed per
// strip.
inline constexpr std::size_t kMaxShared = 256;
// A block's code stays well inside the instruction cache, from which every pack of a strip runs it again.
inline constexpr std::uint32_t kMaxBlock = 1024;

LaneCode make_lane_code(const StraightCode& code, const CallShape& shape, std::pmr::memory_resource* memory);

}  // namespace costate::ad
