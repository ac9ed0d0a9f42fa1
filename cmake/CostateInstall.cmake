# Installing, and what find_package(costate) finds afterwards.
include(CMakePackageConfigHelpers)

# costate_install(): after every layer is declared.
function(costate_install)
  get_property(layers GLOBAL PROPERTY COSTATE_LAYERS)
  set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/costate)

  install(TARGETS costate costate_flags ${layers} EXPORT costateTargets)
  install(EXPORT costateTargets NAMESPACE costate:: DESTINATION ${package_folder})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/costate/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/costate
          FILES_MATCHING PATTERN "*.h")

  # What every System is held to, as sources: whoever tests a physics of their own compiles it with their GoogleTest.
  set(contract ${CMAKE_INSTALL_DATADIR}/costate/contract)
  install(FILES ${PROJECT_SOURCE_DIR}/tests/allocation_guard.h ${PROJECT_SOURCE_DIR}/tests/allocation_guard.cpp
                ${PROJECT_SOURCE_DIR}/tests/expect_error.h
          DESTINATION ${contract}/tests)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/tests/system/ DESTINATION ${contract}/tests/system
          FILES_MATCHING REGEX "/(contract|entry_points|transpose_check)[.](h|cpp)$" PATTERN program EXCLUDE)
  file(WRITE ${PROJECT_BINARY_DIR}/package/contract.h "#pragma once\n#include \"tests/system/contract.h\"\n")
  install(FILES ${PROJECT_BINARY_DIR}/package/contract.h DESTINATION ${contract}/costate/contract)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/scenes DESTINATION ${CMAKE_INSTALL_DATADIR}/costate)
  file(GLOB studies ${PROJECT_SOURCE_DIR}/examples/*.toml)
  install(FILES ${studies} DESTINATION ${CMAKE_INSTALL_DATADIR}/costate/examples)

  # For those who set include paths by hand: platform.h looks for this file beside itself.
  file(WRITE ${PROJECT_BINARY_DIR}/package/built_for.h
       "// The register width, in bytes, that these libraries were built for.\n"
       "#pragma once\n#ifndef COSTATE_EXPECT_SIMD_BYTES\n#define COSTATE_EXPECT_SIMD_BYTES ${COSTATE_SIMD_BYTES}\n#endif\n")
  install(FILES ${PROJECT_BINARY_DIR}/package/built_for.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/costate/core)

  # Every package that a layer links: static libraries hand their private ones on as well.
  get_property(packages GLOBAL PROPERTY COSTATE_PACKAGES)
  list(REMOVE_DUPLICATES packages)
  set(COSTATE_FIND_PACKAGES "")
  foreach(package IN LISTS packages)
    string(APPEND COSTATE_FIND_PACKAGES "find_dependency(${package})\n")
  endforeach()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/costateConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/package/costateConfig.cmake INSTALL_DESTINATION ${package_folder})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/costateConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/costateConfig.cmake ${PROJECT_BINARY_DIR}/package/costateConfigVersion.cmake
          DESTINATION ${package_folder})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endfunction()
