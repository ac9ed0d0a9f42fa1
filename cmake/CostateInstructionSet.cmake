# The instruction set behind COSTATE_ARCH, spelled so that it means the same on another machine.
#   COSTATE_SIMD_BYTES     width of a register: the size of a Pack, so part of the binary interface
#   COSTATE_PORTABLE_ARCH  options that give a user of the installed headers that width; "native" would give the width of
#                          whatever machine they are on
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=${COSTATE_ARCH} -dM -E -x c++ /dev/null
                OUTPUT_VARIABLE macros ERROR_VARIABLE trouble RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "COSTATE_ARCH=${COSTATE_ARCH} is not an instruction set that ${CMAKE_CXX_COMPILER} knows:\n${trouble}")
endif()

# costate_has(RESULT __AVX2__ __FMA__): whether all of these are on.
macro(costate_has result)
  set(${result} TRUE)
  foreach(feature ${ARGN})
    if(NOT macros MATCHES "#define ${feature} ")
      set(${result} FALSE)
    endif()
  endforeach()
endmacro()

if(macros MATCHES "#define __AVX512F__ ")
  set(COSTATE_SIMD_BYTES 64)
elseif(macros MATCHES "#define __AVX__ ")
  set(COSTATE_SIMD_BYTES 32)
else()
  set(COSTATE_SIMD_BYTES 16)
endif()

if(NOT COSTATE_ARCH STREQUAL "native" OR NOT macros MATCHES "#define __x86_64__ ")
  set(COSTATE_PORTABLE_ARCH -march=${COSTATE_ARCH})
else()
  # The highest level of the x86-64 ABI that this machine reaches, and what it has beyond that changes the width.
  costate_has(v2 __SSE4_2__ __POPCNT__)
  costate_has(v3 __AVX2__ __FMA__ __BMI__ __BMI2__ __F16C__ __LZCNT__ __MOVBE__)
  costate_has(v4 __AVX512F__ __AVX512BW__ __AVX512CD__ __AVX512DQ__ __AVX512VL__)
  set(COSTATE_PORTABLE_ARCH -march=x86-64)
  foreach(level v2 v3 v4)
    if(${level})
      set(COSTATE_PORTABLE_ARCH -march=x86-64-${level})
    endif()
  endforeach()
  set(beyond AVX FMA AVX2 AVX512F)
  if(v4)
    set(beyond "")
  elseif(v3)
    set(beyond AVX512F)
  endif()
  foreach(extra IN LISTS beyond)
    if(macros MATCHES "#define __${extra}__ ")
      string(TOLOWER ${extra} option)
      list(APPEND COSTATE_PORTABLE_ARCH -m${option})
    endif()
  endforeach()
endif()
