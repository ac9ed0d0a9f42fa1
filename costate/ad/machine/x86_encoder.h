// Encoder: writes the few x86-64 instructions that straight arithmetic needs, one method per format.
//
// Vector instructions have three operands: reg <- vvvv op rm, where rm is a register or memory. Two formats:
//
//   VEX   C4 | ~R ~X ~B mmmmm | W ~vvvv L pp | opcode | ModRM [SIB] [disp] [imm8]              registers 0-15
//         C5 | ~R ~vvvv L pp | opcode | ...       the same with map 1, W = X = B = 0
//   EVEX  62 | ~R ~X ~B ~R' 0 mmm | W ~vvvv 1 pp | z L'L b ~V' aaa | opcode | ModRM ... [imm8] registers 0-31
//
//   mmmmm   opcode map: 1 is 0F, 2 is 0F38, 3 is 0F3A        pp   implied prefix: 0 none, 1 is 66
//   R, X, B the fourth bits of ModRM.reg, SIB.index and ModRM.rm or SIB.base; R' and V' are fifth bits of reg
//           and vvvv, and X is that of rm where rm is a register
//   L       128 or 256 bits; L'L = 2 is 512 bits              W    elements of 64 bits; ignored by
//           VEX in maps 1 and 3
//   aaa, z  the mask register k1-k7, 0 for none; whether lanes outside the mask become 0 or keep their value
//
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: section 2.3 (VEX), 2.7 (EVEX),
// table 2-2 (ModRM and SIB); an EVEX displacement of one byte counts whole operands (section 2.7.5, disp8*N).
// An instruction that operates on 512 bits is written as EVEX, a narrower one as VEX.
// Tests: tests/ad/x86_encoder_test.cpp compares with the bytes an assembler writes.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace costate::ad::x86 {

// General registers by number. Neither rsp nor rbp, r12 or r13, whose encodings are special.
enum class General : std::uint8_t { rax = 0, rcx = 1, rdx = 2, rsi = 6, rdi = 7, r8 = 8 };

// [base + displacement], or [base + rax + displacement].
struct Address {
  General base = General::rdi;
  bool indexed = false;
  std::int32_t displacement = 0;
};

// A vector register or memory.
struct Operand {
  int reg = -1;  // -1: memory
  Address address;

  Operand() = default;
  Operand(int number) : reg(number) {}
  Operand(const Address& at) : address(at) {}
  bool is_memory() const { return reg < 0; }
};

struct Opcode {
  std::uint8_t map, prefix, byte;
  bool wide;  // W
};

// Lanes that an EVEX instruction writes: those of mask register k. The others keep their value or become 0.
struct Lanes {
  int k = 0;
  bool zero_others = false;
};

class Encoder {
 public:
  // `bytes` per vector: 16 and 32 are written as VEX, 64 as EVEX.
  Encoder(int bytes, std::pmr::memory_resource* memory) : bytes_(bytes), code_(memory) {}

  int bytes() const { return bytes_; }
  bool evex() const { return bytes_ == 64; }
  int registers() const { return evex() ? 32 : 16; }
  const std::pmr::vector<std::uint8_t>& code() const { return code_; }
  std::size_t position() const { return code_.size(); }

  // reg <- second op rm. For comparisons in EVEX, reg is a mask register. Operations on one operand have
  // second = 0.
  void vector(Opcode opcode, int reg, int second, const Operand& rm, Lanes lanes = {});
  void vector_immediate(Opcode opcode, int reg, int second, const Operand& rm, std::uint8_t immediate,
                        Lanes lanes = {});
  // k[to] = k[a] | k[b]  (KORW)
  void mask_or(int to, int a, int b);

  void load_pointer(General to, const Address& from);  // mov r64, [from]; from is not indexed
  void clear_index();                                  // rax = 0
  void add_to_index(std::int8_t amount);               // rax += amount
  void jump_back_if_index_below_rdx(std::size_t target);
  void clear_upper_halves();  // vzeroupper
  void ret();
  void align(std::size_t boundary);

 private:
  void byte(unsigned value) { code_.push_back(static_cast<std::uint8_t>(value)); }
  void number(std::int32_t value);
  void mod_rm(int reg, const Operand& rm);

  int bytes_;
  std::pmr::vector<std::uint8_t> code_;
};

}  // namespace costate::ad::x86
