# Installs the build into a folder of its own, builds the consumer against it, runs it; then checks that compiling the
# headers for other registers is refused with advice.   cmake -D BUILD=... -D SOURCE=... -D CXX=... -D FLAGS=... -P run.cmake
function(must_succeed)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}\n${out}")
  endif()
endfunction()

set(scratch ${BUILD}/consumer)
file(REMOVE_RECURSE ${scratch})
must_succeed(${CMAKE_COMMAND} --install ${BUILD} --prefix ${scratch}/prefix)
must_succeed(${CMAKE_COMMAND} -S ${SOURCE} -B ${scratch}/build -G Ninja -D CMAKE_BUILD_TYPE=Release
             -D CMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${FLAGS}" -D CMAKE_PREFIX_PATH=${scratch}/prefix)
must_succeed(${CMAKE_COMMAND} --build ${scratch}/build)
must_succeed(${scratch}/build/consumer)
must_succeed(${scratch}/build/contract)

# Nothing lies at the root of the prefix.
file(GLOB at_root RELATIVE ${scratch}/prefix ${scratch}/prefix/*)
if(NOT at_root STREQUAL "bin;include;lib;share" AND NOT at_root STREQUAL "include;lib;share")
  message(FATAL_ERROR "the install leaves something else than bin, include, lib and share in its prefix: ${at_root}")
endif()

execute_process(COMMAND ${CXX} -std=c++20 -march=x86-64 -fsyntax-only -I${scratch}/prefix/include ${SOURCE}/main.cpp
                RESULT_VARIABLE code ERROR_VARIABLE out)
if(NOT SIMD_BYTES EQUAL 16 AND (code EQUAL 0 OR NOT out MATCHES "link the CMake target costate::costate"))
  message(FATAL_ERROR "headers compiled for narrower registers than the libraries, without the advice:\n${out}")
endif()
