# SPDX-License-Identifier: Apache-2.0
# The learning layer as a target for the programs and tests that include it: headers alone.
if(TARGET slicesort_learning)
  return()
endif()
find_package(Threads REQUIRED)
add_library(slicesort_learning INTERFACE)
target_include_directories(slicesort_learning INTERFACE ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(slicesort_learning INTERFACE slicesort_developer Threads::Threads)
