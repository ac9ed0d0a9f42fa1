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
