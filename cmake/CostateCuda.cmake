# Turns on the CUDA language. Included by the root, because a language belongs to the folder that enables it and those below.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "COSTATE_CUDA is on, but there is no nvcc: install the CUDA toolkit, name it with "
                      "-D CMAKE_CUDA_COMPILER=/path/to/nvcc, or leave COSTATE_CUDA off")
endif()
set(CMAKE_CUDA_ARCHITECTURES ${COSTATE_CUDA_ARCH})
enable_language(CUDA)
string(REPLACE "-DNDEBUG" "" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")  # asserts stay, as in C++
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc knows C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
