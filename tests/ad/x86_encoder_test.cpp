// The encoder's bytes are those that an assembler (llvm-mc) writes for the same instruction.
#include "costate/ad/machine/x86_encoder.h"

#include <gtest/gtest.h>

namespace costate::ad::x86 {
namespace {

using Bytes = std::vector<unsigned>;

Bytes bytes_of(int vector_bytes, void (*write)(Encoder&)) {
  Encoder encoder(vector_bytes, std::pmr::get_default_resource());
  write(encoder);
  return Bytes(encoder.code().begin(), encoder.code().end());
}
Bytes zmm(void (*write)(Encoder&)) { return bytes_of(64, write); }
Bytes ymm(void (*write)(Encoder&)) { return bytes_of(32, write); }
Bytes xmm(void (*write)(Encoder&)) { return bytes_of(16, write); }

constexpr Opcode kAddPd{1, 1, 0x58, true}, kAddPs{1, 0, 0x58, false}, kMulPd{1, 1, 0x59, true};
constexpr Opcode kLoadPd{1, 1, 0x10, true}, kStorePd{1, 1, 0x11, true}, kStorePs{1, 0, 0x11, false};
constexpr Opcode kComparePd{1, 1, 0xc2, true}, kComparePs{1, 0, 0xc2, false};

TEST(X86Encoder, RegistersOf512Bits) {
  EXPECT_EQ(zmm([](Encoder& e) { e.vector(kAddPd, 1, 2, 3); }), (Bytes{0x62, 0xf1, 0xed, 0x48, 0x58, 0xcb}));
  EXPECT_EQ(zmm([](Encoder& e) { e.vector(kAddPd, 31, 17, 8); }),
            (Bytes{0x62, 0x41, 0xf5, 0x40, 0x58, 0xf8}));
  EXPECT_EQ(zmm([](Encoder& e) { e.vector(kAddPs, 9, 30, 21); }),
            (Bytes{0x62, 0x31, 0x0c, 0x40, 0x58, 0xcd}));
  // vsqrtpd zmm1, zmm25
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector({1, 1, 0x51, true}, 1, 0, 25);
            }),
            (Bytes{0x62, 0x91, 0xfd, 0x48, 0x51, 0xc9}));
}

TEST(X86Encoder, MemoryOf512BitsCountsWholeVectorsInAShortDisplacement) {
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kAddPd, 5, 6, Address{General::rdi, false, 128});
            }),
            (Bytes{0x62, 0xf1, 0xcd, 0x48, 0x58, 0x6f, 0x02}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kAddPd, 20, 6, Address{General::rdi, false, 100});
            }),
            (Bytes{0x62, 0xe1, 0xcd, 0x48, 0x58, 0xa7, 0x64, 0x00, 0x00, 0x00}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kAddPd, 5, 22, Address{General::rdi, true, 16384});
            }),
            (Bytes{0x62, 0xf1, 0xcd, 0x40, 0x58, 0xac, 0x07, 0x00, 0x40, 0x00, 0x00}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kLoadPd, 17, 0, Address{General::r8, true, 0});
            }),
            (Bytes{0x62, 0xc1, 0xfd, 0x48, 0x10, 0x0c, 0x00}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kStorePd, 17, 0, Address{General::r8, true, 0});
            }),
            (Bytes{0x62, 0xc1, 0xfd, 0x48, 0x11, 0x0c, 0x00}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kStorePs, 3, 0, Address{General::rcx, false, -64});
            }),
            (Bytes{0x62, 0xf1, 0x7c, 0x48, 0x11, 0x59, 0xff}));
}

TEST(X86Encoder, Masks) {
  // vmovupd zmm4{k1}{z}, [rcx+64]; vmovupd zmm4{k2}, zmm5
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kLoadPd, 4, 0, Address{General::rcx, false, 64}, {1, true});
            }),
            (Bytes{0x62, 0xf1, 0xfd, 0xc9, 0x10, 0x61, 0x01}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector(kLoadPd, 4, 0, 5, {2, false});
            }),
            (Bytes{0x62, 0xf1, 0xfd, 0x4a, 0x10, 0xe5}));
  // vcmpgtpd k1, zmm19, [rcx]; vcmpneqps k1{k1}, zmm3, zmm18
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector_immediate(kComparePd, 1, 19, Address{General::rcx, false, 0}, 14);
            }),
            (Bytes{0x62, 0xf1, 0xe5, 0x40, 0xc2, 0x09, 0x0e}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector_immediate(kComparePs, 1, 3, 18, 4, {1, false});
            }),
            (Bytes{0x62, 0xb1, 0x64, 0x49, 0xc2, 0xca, 0x04}));
  // vblendmpd zmm30{k1}, zmm2, zmm29; korw k1, k1, k2
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector({2, 1, 0x65, true}, 30, 2, 29, {1, false});
            }),
            (Bytes{0x62, 0x02, 0xed, 0x49, 0x65, 0xf5}));
  EXPECT_EQ(zmm([](Encoder& e) { e.mask_or(1, 1, 2); }), (Bytes{0xc5, 0xf4, 0x45, 0xca}));
}

TEST(X86Encoder, OtherMapsOf512Bits) {
  // vfmadd213pd zmm1, zmm2, zmm3; vfnmadd132pd zmm1, zmm2, [r8+rax]; vrndscaleps zmm1, [rdi], 9
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector({2, 1, 0xa8, true}, 1, 2, 3);
            }),
            (Bytes{0x62, 0xf2, 0xed, 0x48, 0xa8, 0xcb}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector({2, 1, 0x9c, true}, 1, 2, Address{General::r8, true, 0});
            }),
            (Bytes{0x62, 0xd2, 0xed, 0x48, 0x9c, 0x0c, 0x00}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.vector_immediate({3, 1, 0x08, false}, 1, 0, Address{General::rdi, false, 0}, 9);
            }),
            (Bytes{0x62, 0xf3, 0x7d, 0x48, 0x08, 0x0f, 0x09}));
}

TEST(X86Encoder, NarrowerVectors) {
  EXPECT_EQ(ymm([](Encoder& e) { e.vector(kAddPd, 1, 2, 3); }), (Bytes{0xc5, 0xed, 0x58, 0xcb}));
  EXPECT_EQ(ymm([](Encoder& e) { e.vector(kAddPs, 9, 10, 11); }), (Bytes{0xc4, 0x41, 0x2c, 0x58, 0xcb}));
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector(kAddPd, 5, 6, Address{General::rdi, false, 96});
            }),
            (Bytes{0xc5, 0xcd, 0x58, 0x6f, 0x60}));
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector(kAddPd, 5, 6, Address{General::rdi, true, 4096});
            }),
            (Bytes{0xc5, 0xcd, 0x58, 0xac, 0x07, 0x00, 0x10, 0x00, 0x00}));
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector(kLoadPd, 12, 0, Address{General::r8, true, 0});
            }),
            (Bytes{0xc4, 0x41, 0x7d, 0x10, 0x24, 0x00}));
  // vblendvpd ymm1, ymm2, ymm3, ymm4; vfmadd213pd ymm1, ymm2, ymm13; vfnmadd231ps ymm11, ymm2, [rdi-32]
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector_immediate({3, 1, 0x4b, false}, 1, 2, 3, 0x40);
            }),
            (Bytes{0xc4, 0xe3, 0x6d, 0x4b, 0xcb, 0x40}));
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector({2, 1, 0xa8, true}, 1, 2, 13);
            }),
            (Bytes{0xc4, 0xc2, 0xed, 0xa8, 0xcd}));
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector({2, 1, 0xbc, false}, 11, 2, Address{General::rdi, false, -32});
            }),
            (Bytes{0xc4, 0x62, 0x6d, 0xbc, 0x5f, 0xe0}));
  // vroundpd ymm1, ymm2, 9; vmulpd xmm8, xmm2, xmm3; vfmsub132pd xmm8, xmm2, [rdi+16]
  EXPECT_EQ(ymm([](Encoder& e) {
              e.vector_immediate({3, 1, 0x09, true}, 1, 0, 2, 9);
            }),
            (Bytes{0xc4, 0xe3, 0x7d, 0x09, 0xca, 0x09}));
  EXPECT_EQ(xmm([](Encoder& e) { e.vector(kMulPd, 8, 2, 3); }), (Bytes{0xc5, 0x69, 0x59, 0xc3}));
  EXPECT_EQ(xmm([](Encoder& e) {
              e.vector({2, 1, 0x9a, true}, 8, 2, Address{General::rdi, false, 16});
            }),
            (Bytes{0xc4, 0x62, 0xe9, 0x9a, 0x47, 0x10}));
}

TEST(X86Encoder, TheLoop) {
  EXPECT_EQ(zmm([](Encoder& e) {
              e.load_pointer(General::r8, {General::rsi, false, 80});
            }),
            (Bytes{0x4c, 0x8b, 0x46, 0x50}));
  EXPECT_EQ(zmm([](Encoder& e) {
              e.load_pointer(General::r8, {General::rsi, false, 1024});
            }),
            (Bytes{0x4c, 0x8b, 0x86, 0x00, 0x04, 0x00, 0x00}));
  EXPECT_EQ(zmm([](Encoder& e) { e.clear_index(); }), (Bytes{0x31, 0xc0}));
  EXPECT_EQ(zmm([](Encoder& e) { e.add_to_index(64); }), (Bytes{0x48, 0x83, 0xc0, 0x40}));
  // cmp rax, rdx; jb to the start, which is 9 bytes back
  EXPECT_EQ(zmm([](Encoder& e) { e.jump_back_if_index_below_rdx(0); }),
            (Bytes{0x48, 0x39, 0xd0, 0x0f, 0x82, 0xf7, 0xff, 0xff, 0xff}));
  EXPECT_EQ(zmm([](Encoder& e) { e.clear_upper_halves(); }), (Bytes{0xc5, 0xf8, 0x77}));
}

}  // namespace
}  // namespace costate::ad::x86
