# SPDX-License-Identifier: Apache-2.0
# tw_library(): libtilewright, what other programs link (docs/runtime.md), and how it is installed.
#
#   cmake --install <build> --component runtime        the library
#   cmake --install <build> --component development    headers, tilewright.pc, the CMake package
#   cmake --install <build> --component tools          the programs
#
# Everything of ours is linked into it and hidden: runtime/exports.map names what is seen. It opens
# the CUDA driver and NVIDIA's libraries when it needs them, so it loads everywhere.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(tw_library)
  set(map "${PROJECT_SOURCE_DIR}/src/runtime/exports.map")
  # api.cc holds the functions, and pulls what they need out of the archives.
  add_library(tilewright-library SHARED runtime/api.cc)
  add_library(tilewright::runtime ALIAS tilewright-library)
  target_link_libraries(tilewright-library PRIVATE tw_runtime)
  target_include_directories(tilewright-library INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  # Of the libraries behind the archives only those that something in here calls.
  target_link_options(tilewright-library PRIVATE
    "LINKER:--version-script=${map}" LINKER:--as-needed)
  if(NOT TILEWRIGHT_SANITIZE)  # a sanitizer's functions are the program's
    target_link_options(tilewright-library PRIVATE LINKER:-z,defs)
  endif()
  set_target_properties(tilewright-library PROPERTIES
    OUTPUT_NAME tilewright
    EXPORT_NAME runtime
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS "${map}"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

  install(TARGETS tilewright-library EXPORT tilewright
          LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime
          NAMELINK_COMPONENT development)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tilewright"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/tilewright")
  install(EXPORT tilewright NAMESPACE tilewright:: FILE tilewrightTargets.cmake
          DESTINATION "${package}" COMPONENT development)
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/tilewrightConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/package/tilewrightConfig.cmake" INSTALL_DESTINATION "${package}")
  # Before 1.0 a minor version may change the interface.
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/tilewrightConfigVersion.cmake"
                                   COMPATIBILITY SameMinorVersion)
  # Relative to itself, so that an installed tree can be moved.
  file(RELATIVE_PATH TILEWRIGHT_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tilewright.pc.in"
                 "${PROJECT_BINARY_DIR}/package/tilewright.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/tilewrightConfig.cmake"
                "${PROJECT_BINARY_DIR}/package/tilewrightConfigVersion.cmake"
          DESTINATION "${package}" COMPONENT development)
  install(FILES "${PROJECT_BINARY_DIR}/package/tilewright.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endfunction()
