// The few places where the compiler or the machine shows through.
#pragma once

// An installed copy says here which registers its libraries were built for; in this tree the build says so.
#if __has_include("costate/core/built_for.h")
#include "costate/core/built_for.h"
#endif

// Functions that also run on a GPU.
#if defined(__CUDACC__)
#define COSTATE_HD __host__ __device__
#else
#define COSTATE_HD
#endif
// Kernels are built from small functions that must disappear into one loop. (Instrumented, such loops take a
// compiler for ever.)
#if defined(__CUDACC__)
#define COSTATE_INLINE __forceinline__
#elif defined(__SANITIZE_ADDRESS__)
#define COSTATE_INLINE inline
#else
#define COSTATE_INLINE inline __attribute__((always_inline))
#endif
namespace costate {

// Bytes of one SIMD register of the instruction set this file is compiled for. It shapes Pack and so the
// binary interface: whoever includes these headers compiles with the options of the costate::core target.
#if defined(__AVX512F__)
inline constexpr int kSimdBytes = 64;
#elif defined(__AVX__)
inline constexpr int kSimdBytes = 32;
#else
inline constexpr int kSimdBytes = 16;
#endif
#if defined(COSTATE_EXPECT_SIMD_BYTES)
static_assert(kSimdBytes == COSTATE_EXPECT_SIMD_BYTES,
              "costate was built for SIMD registers of another width than this file is compiled for: link "
              "the CMake target "
              "costate::costate, which brings the right -march, and set no other");
#endif

// Every buffer starts on a cache line, which is also the widest register.
inline constexpr int kAlignment = 64;

}  // namespace costate
