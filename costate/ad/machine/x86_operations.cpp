#include "costate/ad/machine/x86_operations.h"

#include <bit>
#include <cassert>
#include <cstdlib>

namespace costate::ad::x86 {
namespace {

// Predicates of VCMPPD (SDM, table "Comparison Predicate for VCMPPD"): those the compiler uses for < <= and
// so on, so that a NaN raises "invalid" where the interpreter raises it.
constexpr std::uint8_t kEqual = 0x00, kLess = 0x01, kLessEqual = 0x02, kUnordered = 0x03, kNotEqual = 0x04,
                       kGreaterEqual = 0x0d, kGreater = 0x0e;
constexpr std::uint8_t kRoundDown = 0x09;  // towards minus infinity, without the "inexact" exception

constexpr std::uint8_t kAdd = 0x58, kMul = 0x59, kSub = 0x5c, kMin = 0x5d, kDiv = 0x5e, kMax = 0x5f,
                       kSqrt = 0x51, kCompare = 0xc2, kLoad = 0x10, kStore = 0x11;
// VFMADD, VFMSUB, VFNMADD: the byte of form 132; 213 is 16 more, 231 another 16.
constexpr std::uint8_t kFmadd = 0x98, kFmsub = 0x9a, kFnmadd = 0x9c;

}  // namespace

template <>
double literal_value(Literal literal) {
  constexpr double values[] = {0.0, 1.0, -1.0};
  if (literal <= kMinusOne) return values[literal];
  return std::bit_cast<double>(literal == kSignBit ? std::uint64_t{1} << 63 : ~(std::uint64_t{1} << 63));
}
template <>
float literal_value(Literal literal) {
  constexpr float values[] = {0.0f, 1.0f, -1.0f};
  if (literal <= kMinusOne) return values[literal];
  return std::bit_cast<float>(literal == kSignBit ? std::uint32_t{1} << 31 : ~(std::uint32_t{1} << 31));
}

bool is_arithmetic(Op op) { return spare_registers(op) >= 0; }

unsigned memory_operands(Op op) {
  constexpr unsigned a = 1, b = 2, c = 4;
  switch (op) {
    case Op::add:
    case Op::mul:
      return a | b;
    case Op::sub:
    case Op::div:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
    case Op::select:
    case Op::gated_mul:
      return b;
    case Op::fma:
    case Op::fms:
    case Op::fnma:
      return a | b | c;
    case Op::sqrt:
    case Op::floor:
    case Op::min:
    case Op::max:
      return a;
    default:
      return 0;
  }
}

int spare_registers(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::fma:
    case Op::fms:
    case Op::fnma:
    case Op::sqrt:
    case Op::abs:
    case Op::floor:
      return 0;
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::eq:
    case Op::ne:
    case Op::logical_not:
    case Op::select:
    case Op::gated_mul:
      return 1;
    case Op::powi:
    case Op::sign:
    case Op::min:
    case Op::max:
    case Op::logical_and:
    case Op::logical_or:
      return 2;
    default:
      return -1;
  }
}

Opcode Operations::packed(std::uint8_t byte) const {
  return {1, static_cast<std::uint8_t>(double_ ? 1 : 0), byte, double_};
}
// VANDPD and VXORPD on 512 bits are not in AVX-512F; VPANDQ and VPXORQ are.
Opcode Operations::bits(std::uint8_t vex, std::uint8_t evex) const {
  return encoder_.evex() ? Opcode{1, 1, evex, double_} : packed(vex);
}

Address Operations::literal(Literal which) const { return {kPool, false, which * encoder_.bytes()}; }

void Operations::load(int reg, const Address& from) { encoder_.vector(packed(kLoad), reg, 0, from); }
void Operations::store(int reg, const Address& to) { encoder_.vector(packed(kStore), reg, 0, to); }
void Operations::move(int to, int from) {
  if (to != from) encoder_.vector(packed(kLoad), to, 0, from);
}
void Operations::add(int to, int a, const Operand& b) { encoder_.vector(packed(kAdd), to, a, b); }

// In EVEX only lanes of mask `within` can come out set.
void Operations::compare(int k_or_reg, int a, const Operand& b, std::uint8_t predicate, int within) {
  encoder_.vector_immediate(packed(kCompare), k_or_reg, a, b, predicate, {within, false});
}

// out = set ? where_set : otherwise, by VBLENDMPD or VBLENDVPD (whose fourth register is in an immediate).
void Operations::choose(int out, int k_or_reg, int otherwise, const Operand& where_set) {
  if (encoder_.evex()) {
    encoder_.vector({2, 1, 0x65, double_}, out, otherwise, where_set, {k_or_reg, false});
  } else {
    encoder_.vector_immediate({3, 1, static_cast<std::uint8_t>(double_ ? 0x4b : 0x4a), false}, out, otherwise,
                              where_set, static_cast<std::uint8_t>(k_or_reg << 4));
  }
}

// 1 where set, 0 elsewhere.
void Operations::truth(int out, int k_or_reg) {
  if (encoder_.evex()) {
    encoder_.vector(packed(kLoad), out, 0, literal(kOne), {k_or_reg, true});
  } else {
    encoder_.vector(bits(0x54, 0xdb), out, k_or_reg, literal(kOne));
  }
}

void Operations::binary(std::uint8_t byte, bool commutes, const Placed& p) {
  if (commutes && p.a.is_memory()) {
    encoder_.vector(packed(byte), p.out, p.b.reg, p.a);
  } else {
    encoder_.vector(packed(byte), p.out, p.a.reg, p.b);
  }
}

// Form 132 computes reg = reg * rm + second, 213 reg = second * reg + rm, 231 reg = second * rm + reg.
void Operations::fused(std::uint8_t kind, const Placed& p) {
  const auto form = [&](int which, int second, const Operand& rm) {
    const auto byte = static_cast<std::uint8_t>(kind + 16 * which);
    encoder_.vector({2, 1, byte, double_}, p.out, second, rm);
  };
  const bool over_a = p.out == p.a.reg, over_b = p.out == p.b.reg;
  if (over_a && p.b.is_memory()) return form(0, p.c.reg, p.b);
  if (over_a) return form(1, p.b.reg, p.c);
  if (over_b && p.a.is_memory()) return form(0, p.c.reg, p.a);
  if (over_b) return form(1, p.a.reg, p.c);
  if (p.c.is_memory()) {
    load(p.out, p.c.address);
  } else {
    move(p.out, p.c.reg);
  }
  if (p.a.is_memory()) return form(2, p.b.reg, p.a);
  form(2, p.a.reg, p.b);
}

// VMINPD gives its second operand where they are equal or one is NaN: with b first that is right but for a
// NaN in b.
void Operations::smaller_or_larger(std::uint8_t byte, const Placed& p) {
  const int unordered = encoder_.evex() ? 1 : p.spare[1];
  compare(unordered, p.b.reg, p.b, kUnordered);
  encoder_.vector(packed(byte), p.spare[0], p.b.reg, p.a);
  choose(p.out, unordered, p.spare[0], p.b);
}

void Operations::sign(const Placed& p) {
  if (encoder_.evex()) {
    compare(1, p.a.reg, literal(kZero), kGreater);
    compare(2, p.a.reg, literal(kZero), kLess);
    move(p.out, p.a.reg);
    encoder_.vector(packed(kLoad), p.out, 0, literal(kOne), {1, false});
    encoder_.vector(packed(kLoad), p.out, 0, literal(kMinusOne), {2, false});
  } else {
    compare(p.spare[0], p.a.reg, literal(kZero), kLess);
    choose(p.spare[0], p.spare[0], p.a.reg, literal(kMinusOne));
    compare(p.spare[1], p.a.reg, literal(kZero), kGreater);
    choose(p.out, p.spare[1], p.spare[0], literal(kOne));
  }
}

// b is masked first: no 0 * infinity.
void Operations::gated_product(const Placed& p) {
  if (encoder_.evex()) {
    compare(1, p.a.reg, literal(kZero), kNotEqual);
    encoder_.vector(packed(kLoad), p.spare[0], 0, p.b, {1, true});
  } else {
    compare(p.spare[0], p.a.reg, literal(kZero), kNotEqual);
    encoder_.vector(bits(0x54, 0xdb), p.spare[0], p.spare[0], p.b);
  }
  encoder_.vector(packed(kMul), p.out, p.a.reg, p.spare[0]);
}

// The products of strip_functions.cpp's integer_power, in their order; the first, by 1, is left out.
void Operations::integer_power(const Placed& p) {
  const auto bits_left = static_cast<unsigned>(std::abs(p.exponent));
  const int square = p.spare[0], power = p.spare[1];
  int current = p.a.reg;
  bool first = true;
  for (unsigned k = bits_left; k != 0; k >>= 1) {
    if ((k & 1) != 0) {
      if (first) {
        move(power, current);
      } else {
        encoder_.vector(packed(kMul), power, power, current);
      }
      first = false;
    }
    if (k > 1) {
      encoder_.vector(packed(kMul), square, current, current);
      current = square;
    }
  }
  if (first) load(power, literal(kOne));
  if (p.exponent < 0) {
    load(square, literal(kOne));
    encoder_.vector(packed(kDiv), p.out, square, power);
  } else {
    move(p.out, power);
  }
}

void Operations::emit(const Placed& p) {
  const int condition = encoder_.evex() ? 1 : p.spare[0];
  const auto comparison = [&](std::uint8_t predicate) {
    compare(condition, p.a.reg, p.b, predicate);
    truth(p.out, condition);
  };
  switch (p.op) {
    case Op::add:
      return binary(kAdd, true, p);
    case Op::sub:
      return binary(kSub, false, p);
    case Op::mul:
      return binary(kMul, true, p);
    case Op::div:
      return binary(kDiv, false, p);
    case Op::neg:
      return encoder_.vector(bits(0x57, 0xef), p.out, p.a.reg, literal(kSignBit));
    case Op::abs:
      return encoder_.vector(bits(0x54, 0xdb), p.out, p.a.reg, literal(kAllButSign));
    case Op::fma:
      return fused(kFmadd, p);
    case Op::fms:
      return fused(kFmsub, p);
    case Op::fnma:
      return fused(kFnmadd, p);
    case Op::sqrt:
      return encoder_.vector(packed(kSqrt), p.out, 0, p.a);
    case Op::floor:  // VRNDSCALEPD and VROUNDPD: the same byte
      return encoder_.vector_immediate({3, 1, static_cast<std::uint8_t>(double_ ? 0x09 : 0x08), double_},
                                       p.out, 0, p.a, kRoundDown);
    case Op::powi:
      return integer_power(p);
    case Op::sign:
      return sign(p);
    case Op::min:
      return smaller_or_larger(kMin, p);
    case Op::max:
      return smaller_or_larger(kMax, p);
    case Op::lt:
      return comparison(kLess);
    case Op::le:
      return comparison(kLessEqual);
    case Op::gt:
      return comparison(kGreater);
    case Op::ge:
      return comparison(kGreaterEqual);
    case Op::eq:
      return comparison(kEqual);
    case Op::ne:
      return comparison(kNotEqual);
    case Op::logical_not:
      compare(condition, p.a.reg, literal(kZero), kEqual);
      return truth(p.out, condition);
    case Op::logical_and:
      compare(condition, p.a.reg, literal(kZero), kNotEqual);
      if (encoder_.evex()) {
        compare(1, p.b.reg, literal(kZero), kNotEqual, 1);
      } else {
        compare(p.spare[1], p.b.reg, literal(kZero), kNotEqual);
        encoder_.vector(bits(0x54, 0xdb), condition, condition, p.spare[1]);
      }
      return truth(p.out, condition);
    case Op::logical_or:
      compare(condition, p.a.reg, literal(kZero), kNotEqual);
      if (encoder_.evex()) {
        compare(2, p.b.reg, literal(kZero), kNotEqual);
        encoder_.mask_or(1, 1, 2);
      } else {
        compare(p.spare[1], p.b.reg, literal(kZero), kNotEqual);
        encoder_.vector(bits(0x56, 0xeb), condition, condition, p.spare[1]);
      }
      return truth(p.out, condition);
    case Op::select:
      compare(condition, p.a.reg, literal(kZero), kNotEqual);
      return choose(p.out, condition, p.c.reg, p.b);
    case Op::gated_mul:
      return gated_product(p);
    default:
      std::abort();  // a function is a call
  }
}

}  // namespace costate::ad::x86
