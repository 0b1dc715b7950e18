# SPDX-License-Identifier: Apache-2.0
# Target of the learning layer, for programs and tests: headers, and the safetensors reader. Not defined if a package is
# missing.
if(TARGET slicesort_learning)
  return()
endif()
find_path(SLICESORT_JSON_INCLUDE nlohmann/json.hpp)
find_path(SLICESORT_CLI11_INCLUDE CLI/CLI.hpp)
mark_as_advanced(SLICESORT_JSON_INCLUDE SLICESORT_CLI11_INCLUDE)
set(_slicesort_learning_needs "nlohmann-json or CLI11 (Debian: apt-get install nlohmann-json3-dev libcli11-dev)")
if(NOT SLICESORT_JSON_INCLUDE OR NOT SLICESORT_CLI11_INCLUDE)
  return()
endif()
find_package(Threads REQUIRED)
add_library(slicesort_learning STATIC ${CMAKE_CURRENT_LIST_DIR}/learning/files/safetensors.cpp)
target_include_directories(slicesort_learning PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/..)
target_include_directories(slicesort_learning SYSTEM PUBLIC ${SLICESORT_JSON_INCLUDE} ${SLICESORT_CLI11_INCLUDE})
target_link_libraries(slicesort_learning PUBLIC slicesort_developer Threads::Threads)
