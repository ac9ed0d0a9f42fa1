#include "costate/ad/machine/x86_encoder.h"

#include <cassert>

namespace costate::ad::x86 {
namespace {

constexpr int kIndex = static_cast<int>(General::rax);

// Bit `bit` of a register number, inverted as the prefixes want it.
unsigned inverted(int number, int bit) { return ((static_cast<unsigned>(number) >> bit) & 1u) ^ 1u; }

}  // namespace

void Encoder::number(std::int32_t value) {
  const auto bits = static_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) byte((bits >> shift) & 0xffu);
}

void Encoder::vector(Opcode opcode, int reg, int second, const Operand& rm, Lanes lanes) {
  assert(reg < registers() && second < registers() && rm.reg < registers());
  const bool memory = rm.is_memory();
  const int base = memory ? static_cast<int>(rm.address.base) : rm.reg;
  const unsigned r = inverted(reg, 3), b = inverted(base, 3);
  // The index register is rax; an rm register has its fifth bit in the place of the index.
  const unsigned x = memory ? 1u : inverted(rm.reg, 4);
  const unsigned wide = opcode.wide ? 0x80u : 0u;
  const unsigned v_pp = (~static_cast<unsigned>(second) & 15u) << 3 | opcode.prefix;
  if (evex()) {
    byte(0x62);
    byte(r << 7 | x << 6 | b << 5 | inverted(reg, 4) << 4 | opcode.map);
    byte(wide | v_pp | 4u);
    byte((lanes.zero_others ? 0x80u : 0u) | 2u << 5 | inverted(second, 4) << 3 |
         static_cast<unsigned>(lanes.k));
  } else {
    assert(lanes.k == 0);
    const unsigned length = bytes_ == 32 ? 4u : 0u;
    if (opcode.map == 1 && x == 1 && b == 1) {
      byte(0xc5);
      byte(r << 7 | v_pp | length);
    } else {
      byte(0xc4);
      byte(r << 7 | x << 6 | b << 5 | opcode.map);
      byte((opcode.map == 2 ? wide : 0u) | v_pp | length);
    }
  }
  byte(opcode.byte);
  mod_rm(reg, rm);
}

void Encoder::vector_immediate(Opcode opcode, int reg, int second, const Operand& rm, std::uint8_t immediate,
                               Lanes lanes) {
  vector(opcode, reg, second, rm, lanes);
  byte(immediate);
}

void Encoder::mod_rm(int reg, const Operand& rm) {
  const unsigned middle = (static_cast<unsigned>(reg) & 7u) << 3;
  if (!rm.is_memory()) return byte(3u << 6 | middle | (static_cast<unsigned>(rm.reg) & 7u));
  const std::int32_t displacement = rm.address.displacement;
  const std::int32_t unit = evex() ? bytes_ : 1;
  const std::int32_t small = displacement / unit;
  const bool is_small = displacement % unit == 0 && small >= -128 && small <= 127;
  const unsigned mod = displacement == 0 ? 0u : is_small ? 1u : 2u;
  const unsigned base = static_cast<unsigned>(rm.address.base) & 7u;
  if (rm.address.indexed) {
    byte(mod << 6 | middle | 4u);
    byte(static_cast<unsigned>(kIndex) << 3 | base);
  } else {
    byte(mod << 6 | middle | base);
  }
  if (mod == 1) byte(static_cast<unsigned>(small) & 0xffu);
  if (mod == 2) number(displacement);
}

void Encoder::mask_or(int to, int a, int b) {  // VEX.L1.0F.W0 45 /r
  byte(0xc5);
  byte(0x84u | (~static_cast<unsigned>(a) & 15u) << 3);
  byte(0x45);
  byte(3u << 6 | static_cast<unsigned>(to) << 3 | static_cast<unsigned>(b));
}

void Encoder::load_pointer(General to, const Address& from) {  // REX.W 8B /r
  assert(!from.indexed);
  const auto reg = static_cast<unsigned>(to), base = static_cast<unsigned>(from.base);
  byte(0x48u | (reg >> 3) << 2 | base >> 3);
  byte(0x8b);
  const bool is_small = from.displacement >= -128 && from.displacement <= 127;
  byte((is_small ? 1u : 2u) << 6 | (reg & 7u) << 3 | (base & 7u));
  if (is_small) return byte(static_cast<unsigned>(from.displacement) & 0xffu);
  number(from.displacement);
}

void Encoder::clear_index() {  // xor eax, eax
  byte(0x31);
  byte(0xc0);
}

void Encoder::add_to_index(std::int8_t amount) {  // add rax, imm8
  byte(0x48);
  byte(0x83);
  byte(0xc0);
  byte(static_cast<unsigned>(amount) & 0xffu);
}

void Encoder::jump_back_if_index_below_rdx(std::size_t target) {
  for (const unsigned b : {0x48u, 0x39u, 0xd0u, 0x0fu, 0x82u}) byte(b);  // cmp rax, rdx; jb rel32
  number(static_cast<std::int32_t>(target) - static_cast<std::int32_t>(position() + 4));
}

void Encoder::clear_upper_halves() {
  for (const unsigned b : {0xc5u, 0xf8u, 0x77u}) byte(b);
}

void Encoder::ret() { byte(0xc3); }

void Encoder::align(std::size_t boundary) {
  while (position() % boundary != 0) byte(0x90);
}

}  // namespace costate::ad::x86
