# Turns on the CUDA language where there is nvcc, and sets COSTATE_CUDA_FOUND. Included by the root, because a language
# belongs to the folder that enables it and those below.
set(COSTATE_CUDA_FOUND FALSE)
if(COSTATE_CUDA STREQUAL "AUTO" AND (COSTATE_SANITIZE OR COSTATE_SANITIZE_THREADS OR COSTATE_COVERAGE OR COSTATE_FUZZ OR CMAKE_CROSSCOMPILING
                                     OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
  return()  # builds that are about host code
endif()
if(COSTATE_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(COSTATE_CUDA_FOUND TRUE)
  elseif(NOT COSTATE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "COSTATE_CUDA is ${COSTATE_CUDA}, but there is no nvcc: install the CUDA toolkit, name it with "
                        "-D CMAKE_CUDA_COMPILER=/path/to/nvcc, or set COSTATE_CUDA to OFF")
  endif()
endif()
if(NOT COSTATE_CUDA_FOUND)
  return()
endif()
set(CMAKE_CUDA_ARCHITECTURES ${COSTATE_CUDA_ARCH})
if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
enable_language(CUDA)
string(REPLACE "-DNDEBUG" "" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")  # asserts stay, as in C++
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc knows C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
