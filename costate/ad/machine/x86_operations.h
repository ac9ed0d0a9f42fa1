// How each operation of a Program is computed by vector instructions: the same roundings, and the same
// answers for NaN, infinities, ties and signed zeros, as the interpreter's loops (interpret_strip.h,
// core/functions_bits.h). Only the payload of a NaN may differ, where an operation meets two of them.
//
//   512 bits   comparisons write mask registers k1, k2, which then choose lanes
//   narrower   comparisons write all ones or zeros into a vector, which then serves as bits
//
// Which operand may be read straight from memory, and how many registers an operation needs besides those of
// its operands and its result, is stated here for the register assignment. A result is written by the last
// instruction that reads an operand, so it may take an operand's register.
// Intel SDM volume 2, the pages of the instructions named in the source.
// Tests: tests/ad/machine_code_test.cpp, every operation on every pair of special values.
#pragma once

#include "costate/ad/machine/x86_encoder.h"
#include "costate/ad/op.h"

namespace costate::ad::x86 {

// The first packs of every pool of constants.
enum Literal : int { kZero, kOne, kMinusOne, kSignBit, kAllButSign, kLiterals };

// The bits of a literal, in a float or a double.
template <class T>
T literal_value(Literal literal);

// The constants are a row of packs at [rcx].
constexpr General kPool = General::rcx;

// An operation with its operands placed. At most one of them is in memory, where memory_operands allows it.
struct Placed {
  Op op = Op::constant;
  std::int32_t exponent = 0;  // powi
  Operand a, b, c;
  int out = 0;
  int spare[2] = {0, 0};
};

// True for what is a few instructions, false for what is a call.
bool is_arithmetic(Op op);
// Bit i: operand i may be in memory.
unsigned memory_operands(Op op);
// How many registers it needs beside its operands and result; -1 for a call.
int spare_registers(Op op);

class Operations {
 public:
  Operations(Encoder& encoder, bool is_double) : encoder_(encoder), double_(is_double) {}

  void emit(const Placed& placed);
  void load(int reg, const Address& from);
  void store(int reg, const Address& to);
  void move(int to, int from);
  void add(int to, int a, const Operand& b);

 private:
  Opcode packed(std::uint8_t byte) const;                  // ...pd / ...ps of map 0F
  Opcode bits(std::uint8_t vex, std::uint8_t evex) const;  // bitwise
  Address literal(Literal which) const;
  void compare(int k_or_reg, int a, const Operand& b, std::uint8_t predicate, int within = 0);
  void choose(int out, int k_or_reg, int otherwise, const Operand& where_set);
  void truth(int out, int k_or_reg);
  void binary(std::uint8_t byte, bool commutes, const Placed& p);
  void fused(std::uint8_t kind, const Placed& p);
  void smaller_or_larger(std::uint8_t byte, const Placed& p);
  void sign(const Placed& p);
  void gated_product(const Placed& p);
  void integer_power(const Placed& p);

  Encoder& encoder_;
  bool double_;
};

}  // namespace costate::ad::x86
