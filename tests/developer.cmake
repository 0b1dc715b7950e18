# SPDX-License-Identifier: Apache-2.0
# Options that the repository's programs (tests, benches, examples) share: warnings, sanitizers, CTest and, if
# present, the CUDA compiler. Programs that link slicesort::slicesort are not affected.

if(PROJECT_IS_TOP_LEVEL)
  get_property(_slicesort_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(NOT _slicesort_multi_config AND NOT CMAKE_BUILD_TYPE)
    message(WARNING "CMAKE_BUILD_TYPE was not given, so slicesort's own programs are built as Release.")
    set_property(CACHE CMAKE_BUILD_TYPE PROPERTY VALUE Release)
  endif()

  # Editors read the compile commands (.clangd). ccache lets build folders share objects.
  if("${CMAKE_EXPORT_COMPILE_COMMANDS}" STREQUAL "")
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  endif()
  option(SLICESORT_CCACHE "Compile slicesort's own programs through ccache, if present" ON)
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

# slicesort_left_out(OPTION PROGRAMS PACKAGE): reports that PACKAGE is missing. If OPTION is AUTO, PROGRAMS are not built;
# otherwise it is an error.
function(slicesort_left_out option programs package)
  if(${option} STREQUAL "AUTO")
    message(STATUS "slicesort: ${programs} are left out, there is no ${package}")
  else()
    message(FATAL_ERROR "${option}=${${option}}, but there is no ${package}")
  endif()
endfunction()

enable_testing()

# Finds a BLAS at the top level, where slicesort::blas can see it; only its test and the benches link it. The benches
# require a fast one; the test also accepts the reference BLAS.
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

# CI turns it on (tests/run --werror). It is off by default, since other compilers may have other warnings.
option(SLICESORT_WARNINGS_ARE_ERRORS "Turn warnings in slicesort's own programs into errors" OFF)
mark_as_advanced(SLICESORT_WARNINGS_ARE_ERRORS)
set(_slicesort_if_errors $<BOOL:${SLICESORT_WARNINGS_ARE_ERRORS}>)

# Every program of this repository links it PRIVATE.
add_library(slicesort_developer INTERFACE)
target_link_libraries(slicesort_developer INTERFACE slicesort)
target_compile_options(slicesort_developer INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wsign-conversion;-Wshadow;$<${_slicesort_if_errors}:-Werror>>)
if(SLICESORT_SANITIZE STREQUAL "address")
  # The four disabled checks, made at every access, would double the compile time of the vector code. The fuzz targets
  # (tests/run_fuzz) have all checks.
  # Undefined behaviour executes an invalid instruction, which AddressSanitizer reports with the line (tests/run sets
  # ASAN_OPTIONS): calls that print a message take a fifth of the compile time.
  set(_slicesort_sanitize -fsanitize=address,undefined -fno-sanitize=alignment,null,object-size,vptr
    -fsanitize-undefined-trap-on-error -fno-omit-frame-pointer)
elseif(SLICESORT_SANITIZE STREQUAL "thread")
  set(_slicesort_sanitize -fsanitize=thread)
elseif(SLICESORT_SANITIZE)
  message(FATAL_ERROR "SLICESORT_SANITIZE is ${SLICESORT_SANITIZE}, must be address, thread or empty")
endif()
if(SLICESORT_SANITIZE)
  target_compile_options(slicesort_developer INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${_slicesort_sanitize}>)
  target_link_options(slicesort_developer INTERFACE ${_slicesort_sanitize})
endif()

# Enables CUDA for this repository's own programs only, never inside another project.
if(PROJECT_IS_TOP_LEVEL AND NOT SLICESORT_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # CUDA 13 does not support CMake's default, 52. Compiles for the present GPU, or else for two architectures that
    # cannot run each other's code. CMake itself reads the variable CUDAARCHS.
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
