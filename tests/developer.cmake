# SPDX-License-Identifier: Apache-2.0
# What slicesort's own programs (tests, benches, examples) share: warnings, sanitizers, CTest and, where
# there is one, the CUDA compiler. Nothing here reaches whoever links slicesort::slicesort.

if(PROJECT_IS_TOP_LEVEL)
  get_property(_slicesort_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT _slicesort_multi_config AND NOT CMAKE_BUILD_TYPE)
    message(WARNING "CMAKE_BUILD_TYPE was not given, so slicesort's own programs are built as Release.")
    set_property(CACHE CMAKE_BUILD_TYPE PROPERTY VALUE Release)
  endif()

  # For editors (.clangd), and to compile once what several build folders have in common.
  if("${CMAKE_EXPORT_COMPILE_COMMANDS}" STREQUAL "")
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  endif()
  option(SLICESORT_CCACHE "Compile slicesort's own programs by way of ccache, where there is one" ON)
  find_program(SLICESORT_CCACHE_PROGRAM ccache)
  mark_as_advanced(SLICESORT_CCACHE SLICESORT_CCACHE_PROGRAM)
  if(SLICESORT_CCACHE AND SLICESORT_CCACHE_PROGRAM)
    foreach(_slicesort_language IN ITEMS CXX CUDA)
      if(NOT DEFINED CMAKE_${_slicesort_language}_COMPILER_LAUNCHER)
        set(CMAKE_${_slicesort_language}_COMPILER_LAUNCHER ${SLICESORT_CCACHE_PROGRAM})
      endif()
    endforeach()
  endif()
endif()

# slicesort_left_out(OPTION WHAT PACKAGE): a line where AUTO leaves out what the package is missing for; ON is an error.
function(slicesort_left_out option what package)
  if(${option} STREQUAL "AUTO")
    message(STATUS "slicesort: ${what} are left out, there is no ${package}")
  else()
    message(FATAL_ERROR "${option}=${${option}}, but there is no ${package}")
  endif()
endfunction()

enable_testing()

# Here, at the top, where slicesort::blas can see it; only its own test and the benches link it. The benches take none
# but a fast one: the reference BLAS, which the test may have for want of another, is no baseline.
set(SLICESORT_FAST_BLAS "")
foreach(BLA_VENDOR IN ITEMS OpenBLAS FLAME Intel10_64lp_seq)
  find_package(BLAS QUIET)
  if(BLAS_FOUND)
    set(SLICESORT_FAST_BLAS ${BLA_VENDOR})
    break()
  endif()
endforeach()
unset(BLA_VENDOR)
if(NOT BLAS_FOUND)
  find_package(BLAS QUIET)
endif()

# Off unless CI asks (tests/run --werror): another compiler or processor may bring warnings that CI has not seen.
option(SLICESORT_WARNINGS_ARE_ERRORS "Turn warnings in slicesort's own programs into errors" OFF)
mark_as_advanced(SLICESORT_WARNINGS_ARE_ERRORS)
set(_slicesort_if_errors $<BOOL:${SLICESORT_WARNINGS_ARE_ERRORS}>)

# Link it PRIVATE to every program of this repository.
add_library(slicesort_developer INTERFACE)
target_link_libraries(slicesort_developer INTERFACE slicesort)
target_compile_options(slicesort_developer INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;$<${_slicesort_if_errors}:-Werror>>)
if(SLICESORT_SANITIZE STREQUAL "address")
  # The four left out are checked at every access and would double the compile time of the vector code;
  # the fuzz targets (tests/run_fuzz) run with all of them.
  set(_slicesort_sanitize -fsanitize=address,undefined -fno-sanitize=alignment,null,object-size,vptr
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(SLICESORT_SANITIZE STREQUAL "thread")
  set(_slicesort_sanitize -fsanitize=thread)
elseif(SLICESORT_SANITIZE)
  message(FATAL_ERROR "SLICESORT_SANITIZE is ${SLICESORT_SANITIZE}, must be address, thread or empty")
endif()
if(SLICESORT_SANITIZE)
  target_compile_options(slicesort_developer INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${_slicesort_sanitize}>)
  target_link_options(slicesort_developer INTERFACE ${_slicesort_sanitize})
endif()

# The CUDA language is enabled for this repository's own programs only, never inside another project.
if(PROJECT_IS_TOP_LEVEL AND NOT SLICESORT_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # CMake's default of 52 is older than CUDA 13 can build. With a GPU at hand its own architecture
    # will do; else two that cannot run each other's code. CMake itself reads the variable CUDAARCHS.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND "$ENV{CUDAARCHS}" STREQUAL "")
      set(CMAKE_CUDA_ARCHITECTURES 80 90)
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        RESULT_VARIABLE _slicesort_status OUTPUT_VARIABLE _slicesort_found ERROR_QUIET)
      string(REGEX MATCHALL "[0-9]+\\.[0-9]" _slicesort_found "${_slicesort_found}")
      if(_slicesort_status STREQUAL "0" AND _slicesort_found)
        string(REPLACE "." "" CMAKE_CUDA_ARCHITECTURES "${_slicesort_found}")
        list(REMOVE_DUPLICATES CMAKE_CUDA_ARCHITECTURES)
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
  else()
    slicesort_left_out(SLICESORT_CUDA "programs for the GPU" "CUDA compiler (on the path, or named by CUDACXX)")
  endif()
endif()
