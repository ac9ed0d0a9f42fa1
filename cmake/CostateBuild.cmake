# What every target shares: language level, instruction set, warnings, sanitizers; and how a layer and its tests are declared.
include(GNUInstallDirs)
include(CostateInstructionSet)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Asserts state our own bugs and cost little next to a kernel: keep them in a release build.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the sources, so that every clone finds what another one compiled; and what ccache asks for before it
  # keeps objects that were made with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

# Flags that change the layout of a Pack or the bits of a result: whoever includes our headers needs the same ones.
add_library(costate_flags INTERFACE)
target_compile_features(costate_flags INTERFACE cxx_std_20)
target_compile_options(costate_flags INTERFACE
  "$<BUILD_INTERFACE:-march=${COSTATE_ARCH}>" "$<INSTALL_INTERFACE:${COSTATE_PORTABLE_ARCH}>"
  -ffp-contract=fast -fno-math-errno
  # g++ 12 with AVX-512 loses stores to structures passed by value (tests/core/compiler_test.cpp); the culprit is this pass.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-dse>)
target_compile_definitions(costate_flags INTERFACE COSTATE_EXPECT_SIMD_BYTES=${COSTATE_SIMD_BYTES})
set_target_properties(costate_flags PROPERTIES EXPORT_NAME flags)
# Flags for our own sources only. -Wrestrict sees ghosts in std::string concatenation (GCC bug 105329). Clang takes & of
# two masks for a slip where a mask is a bool: one world; and std::stable_sort calls what libstdc++ itself deprecates.
add_library(costate_warnings INTERFACE)
target_compile_options(costate_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wno-psabi $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> -Wshadow -Wnon-virtual-dtor
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-bitwise-instead-of-logical;-Wno-deprecated-declarations>")
if(PROJECT_IS_TOP_LEVEL AND NOT COSTATE_FUZZ)  # inside another project a new compiler's warning must not stop the build
  target_compile_options(costate_warnings INTERFACE -Werror)
endif()
# g++ collects its own garbage seldom: a tenth of the time of a source with many templates, for 200 MB more of memory.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>
                      $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=300>)
endif()
if(COSTATE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(COSTATE_SANITIZE_THREADS)  # costate/core/parallel.cpp says what oneTBB orders, tests/threads.supp what it does itself
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
endif()
if(COSTATE_COVERAGE)  # read by tools/coverage.py; threads add to the same counts
  add_compile_options(--coverage -fprofile-update=atomic -fno-inline)
  add_link_options(--coverage)
endif()

# For sources that use Eigen: g++ 12 takes the undefined registers of its own AVX-512 headers for uninitialised variables.
set(COSTATE_EIGEN_OPTIONS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(COSTATE_EIGEN_OPTIONS -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
# For what is compiled once and run little: tests, the command line, the Python module, and the layers that read
# and draw. The libraries they call are optimised as ever.
# (g++ contracts a * b + c from -O2 on, or with -fexpensive-optimizations: a kernel that a test instantiates itself has
# the bits of the library's. Its warnings about uninitialised variables and about bounds see ghosts below -O2.)
add_library(costate_quickly_compiled INTERFACE)
target_compile_options(costate_quickly_compiled INTERFACE $<$<CONFIG:Release>:-O1>
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-fexpensive-optimizations;-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")

set_property(GLOBAL PROPERTY COSTATE_LAYERS "")
set_property(GLOBAL PROPERTY COSTATE_PACKAGES "")

# g++'s preprocessor names the precompiled header in its output: ccache reads it there. (Behind a precompiled header g++ 12
# takes std::string for our own code and warns of copies in it that cannot happen.)
function(costate_cache_precompiled target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()

# What nearly every source reads first, read once: the first layer precompiles it, the others take it from there. Half of
# what a small source costs. A build that sets CMAKE_DISABLE_PRECOMPILE_HEADERS finds a forgotten #include.
set(COSTATE_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional>
  <span> <string> <string_view> <utility> <vector>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND COSTATE_COMMON_HEADERS <immintrin.h>)
endif()

# costate_layer(core SOURCES a.cpp b.cpp DEPENDS TBB::tbb): library costate_core, alias costate::core. QUICKLY_COMPILED: one
# without kernels, that reads files or draws. (It precompiles for itself: g++ 12 crashes on a precompiled header that was
# optimised otherwise.)
function(costate_layer name)
  cmake_parse_arguments(ARG "QUICKLY_COMPILED" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(costate_${name} STATIC ${ARG_SOURCES})
  add_library(costate::${name} ALIAS costate_${name})
  set_target_properties(costate_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(costate_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(costate_${name} PUBLIC costate_flags ${ARG_DEPENDS}
                                        PRIVATE $<BUILD_INTERFACE:costate_warnings> ${ARG_PRIVATE_DEPENDS})
  if(ARG_QUICKLY_COMPILED)
    target_link_libraries(costate_${name} PRIVATE $<BUILD_INTERFACE:costate_quickly_compiled>)
  endif()
  if(ARG_QUICKLY_COMPILED OR name STREQUAL "core")
    target_precompile_headers(costate_${name} PRIVATE ${COSTATE_COMMON_HEADERS})
  else()
    target_precompile_headers(costate_${name} REUSE_FROM costate_core)
  endif()
  costate_cache_precompiled(costate_${name})
  set_property(GLOBAL APPEND PROPERTY COSTATE_LAYERS costate_${name})
  # Whoever finds the installed package must find these too. An imported target is named after its package.
  foreach(dependency IN LISTS ARG_DEPENDS ARG_PRIVATE_DEPENDS)
    if(dependency MATCHES "^([^:]+)::" AND NOT CMAKE_MATCH_1 STREQUAL "costate")
      set_property(GLOBAL APPEND PROPERTY COSTATE_PACKAGES ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

# costate::costate: every layer.
function(costate_umbrella)
  get_property(layers GLOBAL PROPERTY COSTATE_LAYERS)
  add_library(costate INTERFACE)
  add_library(costate::costate ALIAS costate)
  target_link_libraries(costate INTERFACE ${layers})
endfunction()

# costate_tests(core DEPENDS costate::core SOURCES a_test.cpp ...): one executable per folder of tests.
function(costate_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${ARG_DEPENDS} costate_test_main costate_warnings costate_quickly_compiled)
  target_precompile_headers(test_${name} REUSE_FROM costate_test_main)
  costate_cache_precompiled(test_${name})
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}/ DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${name};${ARG_LABELS}" TIMEOUT 600)
endfunction()

# costate_example(foo [DEPENDS ...] [ARGS ...]): examples/foo.cpp becomes bin/foo. It is a test too: it must end well and,
# where examples/expected/foo.txt exists, print that (tools/compare_text.py).
function(costate_example name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;ARGS" ${ARGN})
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE costate::costate costate_warnings ${ARG_DEPENDS})
  if(name STREQUAL "first_gradient")  # the first one: the others take its precompiled headers
    target_precompile_headers(${name} PRIVATE <costate/costate.h>)
  else()
    target_precompile_headers(${name} REUSE_FROM first_gradient)
  endif()
  costate_cache_precompiled(${name})
  if(NOT COSTATE_TESTS)
    return()
  endif()
  set(expected ${CMAKE_CURRENT_SOURCE_DIR}/expected/${name}.txt)
  find_package(Python3 COMPONENTS Interpreter)
  if(EXISTS ${expected} AND Python3_FOUND)
    add_test(NAME examples/${name} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/compare_text.py ${expected}
                                           $<TARGET_FILE:${name}> ${ARG_ARGS})
  else()
    add_test(NAME examples/${name} COMMAND ${name} ${ARG_ARGS})
  endif()
  set_tests_properties(examples/${name} PROPERTIES LABELS examples TIMEOUT 600)
endfunction()
