# SPDX-License-Identifier: Apache-2.0
# Install rules and the package that find_package(slicesort) finds. Included only on request: the
# modules below create cache entries that a vendoring project did not ask for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(slicesort INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(DIRECTORY include/slicesort DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS slicesort slicesort_cuda EXPORT slicesort-targets)

# Nothing here depends on the architecture, so the package lies in share/.
set(_slicesort_package ${CMAKE_INSTALL_DATADIR}/cmake/slicesort)
install(EXPORT slicesort-targets NAMESPACE slicesort:: DESTINATION ${_slicesort_package})
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/slicesortConfig.cmake @ONLY CONTENT [=[
include(CMakeFindDependencyMacro)
if("cuda" IN_LIST slicesort_FIND_COMPONENTS)
  find_dependency(CUDAToolkit)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/slicesort-targets.cmake")
foreach(_slicesort_component IN LISTS slicesort_FIND_COMPONENTS)
  if(NOT _slicesort_component STREQUAL "cuda" AND slicesort_FIND_REQUIRED_${_slicesort_component})
    set(slicesort_FOUND FALSE)
    set(slicesort_NOT_FOUND_MESSAGE "slicesort has no component ${_slicesort_component}; it has: cuda")
  endif()
endforeach()
]=])
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/slicesortConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/slicesortConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/slicesortConfigVersion.cmake DESTINATION ${_slicesort_package})
