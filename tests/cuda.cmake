# SPDX-License-Identifier: Apache-2.0
# Programs that require a CUDA compiler. Without a GPU they are built as well, and run on the PTX machine if
# SLICESORT_TEST_PTX is set. Otherwise their cases are skipped, except those of tests/cuda/link.

# Compiles host code without optimization: at -O2 it takes a quarter of the compile time of a CUDA unit, and little of the
# run time.
string(REGEX REPLACE "-O[1-3s]" "-O0" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
# C++ sources that only call the CUDA backend: the kernels take the run time.
set(_slicesort_optimize_calls $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)

# _slicesort_device is gpu, ptx (the PTX machine) or empty, if kernels cannot run.
set(_slicesort_device)
set(_slicesort_environment)
list(GET CMAKE_CUDA_ARCHITECTURES -1 _slicesort_architecture)
if(NOT _slicesort_no_gpu)
  set(_slicesort_device gpu)
elseif(SLICESORT_TEST_PTX)
  set(_slicesort_device ptx)
  set(_slicesort_log ${PROJECT_BINARY_DIR}/ptx_log)
  file(MAKE_DIRECTORY ${_slicesort_log})
  # The cases of SLICESORT_FULL would take hours.
  set(_slicesort_environment SLICESORT_FULL=0 SLICESORT_PTX_LOG=${_slicesort_log}
    LD_PRELOAD=$<TARGET_FILE:slicesort_ptx_runtime>)
endif()

add_library(slicesort_cuda_developer INTERFACE)
target_link_libraries(slicesort_cuda_developer INTERFACE slicesort_developer slicesort_cuda CUDA::cudart)
target_compile_features(slicesort_cuda_developer INTERFACE cuda_std_17)
target_include_directories(slicesort_cuda_developer INTERFACE ${CMAKE_CURRENT_SOURCE_DIR} ${_slicesort_generated})
target_compile_options(slicesort_cuda_developer INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:$<${_slicesort_if_errors}:-Werror=all-warnings>;-Xcompiler=-Wall,-Wextra$<${_slicesort_if_errors}:$<COMMA>-Werror>>)
if(_slicesort_device STREQUAL "ptx")
  # The PTX machine reads uncompressed text.
  target_compile_options(slicesort_cuda_developer INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--no-compress>)
  add_subdirectory(ptx/runtime)
  add_subdirectory(ptx/counters)
endif()

# _slicesort_objects(NAME SOURCE [DEFINITION...]): adds an object library of one source.
function(_slicesort_objects name source)
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE slicesort_cuda_developer ${_slicesort_doctest})
  target_compile_definitions(${name} PRIVATE ${ARGN})
  target_compile_options(${name} PRIVATE "${_slicesort_optimize_calls}")
endfunction()

# Makes the kernels of all operators available to plain C++ sources. Each element type is one object.
add_library(slicesort_test_device STATIC cuda/backend/device.cpp cuda/backend/image.cpp)
target_link_libraries(slicesort_test_device PUBLIC slicesort_cuda_developer)
if(_slicesort_device STREQUAL "ptx")
  add_dependencies(slicesort_test_device slicesort_ptx_runtime)  # preloaded at run time
endif()
add_library(slicesort_test_remote STATIC)
target_link_libraries(slicesort_test_remote PUBLIC slicesort_test_device)
# If kernels cannot run, only the types of the programs below are compiled, to PTX, and the operator suite is built without
# the CUDA backend. compile/check_kernels.py compiles all types to machine code.
set(_slicesort_call_types float double bfloat16)
set(_slicesort_remote_types ${_slicesort_call_types})
if(_slicesort_device)
  list(APPEND _slicesort_remote_types float16)
endif()
set(_slicesort_first SLICESORT_TEST_FIRST)
foreach(_type IN LISTS _slicesort_remote_types)
  _slicesort_objects(slicesort_remote_${_type} cuda/backend/remote.cu SLICESORT_TEST_DTYPE=${_type} ${_slicesort_first})
  if(NOT _slicesort_device STREQUAL "gpu")
    set_target_properties(slicesort_remote_${_type} PROPERTIES CUDA_ARCHITECTURES 90-virtual)
  endif()
  target_sources(slicesort_test_remote PRIVATE $<TARGET_OBJECTS:slicesort_remote_${_type}>)
  set(_slicesort_first)
endforeach()
_slicesort_objects(slicesort_test_skip cuda/backend/skip.cpp)
_slicesort_objects(slicesort_test_needs_device cuda/backend/skip.cpp SLICESORT_TEST_NEEDS_DEVICE)

# _slicesort_device_test(NAME PROGRAM...): adds a test that runs on a GPU or on the PTX machine, and is skipped without
# both. COST makes CTest start these tests first, since they take longest.
function(_slicesort_device_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "${_slicesort_device}" COST 1000
    ENVIRONMENT "SLICESORT_TEST_BACKEND=cuda;${_slicesort_environment}")
  if(NOT _slicesort_device STREQUAL "ptx")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()
# _slicesort_gpu_test(NAME PROGRAM...): adds a test that requires a GPU.
function(_slicesort_gpu_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu COST 1000)
endfunction()

# All units must agree on SLICESORT_TEST_CUDA, since the layout of any_exec depends on it.
if(_slicesort_device)
  foreach(_op IN LISTS _slicesort_operators)
    if(TARGET slicesort_helpers_${_op})
      target_compile_definitions(slicesort_helpers_${_op} PRIVATE SLICESORT_TEST_CUDA)
      target_link_libraries(slicesort_helpers_${_op} PRIVATE slicesort_test_remote)
    endif()
  endforeach()
endif()
# Runs the operator tests that define SLICESORT_TEST_EVERY_BACKEND (support/backends.hpp) on the CUDA backend, too.
foreach(_source IN LISTS _slicesort_sources)
  file(STRINGS ${_source} _slicesort_every_backend REGEX "^#define SLICESORT_TEST_EVERY_BACKEND$")
  _slicesort_program_name(${_source} _stem)
  get_target_property(_libraries slicesort_test_${_stem} LINK_LIBRARIES)
  if(_slicesort_device AND _libraries MATCHES "slicesort_host_")
    target_compile_definitions(slicesort_test_${_stem} PRIVATE SLICESORT_TEST_CUDA)
    target_link_libraries(slicesort_test_${_stem} PRIVATE slicesort_test_remote)
  endif()
  if(_slicesort_every_backend)
    if(_slicesort_device)
      target_link_libraries(slicesort_test_${_stem} PRIVATE slicesort_test_skip)
      _slicesort_device_test(cuda_${_stem} slicesort_test_${_stem})
    else()
      _slicesort_gpu_test(cuda_${_stem} ${CMAKE_COMMAND} -E echo "SKIP: there is no GPU")
      set_tests_properties(cuda_${_stem} PROPERTIES SKIP_REGULAR_EXPRESSION "there is no GPU")
    endif()
  endif()
endforeach()

# Compares attention on the CUDA backend with PyTorch.
if(_slicesort_device AND NOT _slicesort_no_torch)
  foreach(_check IN LISTS _slicesort_torch_checks)
    target_compile_definitions(slicesort_${_check}_file PRIVATE SLICESORT_TEST_CUDA)
    target_link_libraries(slicesort_${_check}_file PRIVATE slicesort_test_remote)
    _slicesort_device_test(cuda_torch_${_check} ${SLICESORT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/torch/check_${_check}.py
      $<TARGET_FILE:slicesort_${_check}_file> cuda)
    set_tests_properties(cuda_torch_${_check} PROPERTIES SKIP_RETURN_CODE 77)  # there is no torch
  endforeach()
endif()

# Tests of the CUDA backend alone.
add_library(slicesort_test_calls STATIC)
target_link_libraries(slicesort_test_calls PUBLIC slicesort_test_remote slicesort_host_operators)
foreach(_type IN LISTS _slicesort_call_types)
  _slicesort_objects(slicesort_calls_${_type} cuda/calls/calls.cpp SLICESORT_TEST_DTYPE=${_type})
  target_link_libraries(slicesort_calls_${_type} PRIVATE slicesort_host_operators)
  target_sources(slicesort_test_calls PRIVATE $<TARGET_OBJECTS:slicesort_calls_${_type}>)
endforeach()
set(_slicesort_extra_sources_cub oracles/cub.cu)
set(_slicesort_extra_sources_errors bad_launches.cu)
set(_slicesort_extra_sources_large oracles/large.cu)
set(_slicesort_extra_sources_runtime_calls interpose.cpp)
file(GLOB _slicesort_cuda_sources CONFIGURE_DEPENDS cuda/test_*.cpp cuda/test_*.cu)
if(NOT TARGET CUDA::cublas)
  list(FILTER _slicesort_cuda_sources EXCLUDE REGEX "/test_attention\\.cu$")
  _slicesort_gpu_test(cuda_attention ${CMAKE_COMMAND} -E echo "SKIP: there is no cuBLAS")
  set_tests_properties(cuda_attention PROPERTIES SKIP_REGULAR_EXPRESSION "there is no cuBLAS")
endif()
foreach(_source IN LISTS _slicesort_cuda_sources)
  get_filename_component(_stem ${_source} NAME_WE)
  string(REGEX REPLACE "^test_" "" _stem ${_stem})
  list(TRANSFORM _slicesort_extra_sources_${_stem} PREPEND cuda/ OUTPUT_VARIABLE _slicesort_extra_sources)
  add_executable(slicesort_cuda_${_stem} ${_source} ${_slicesort_extra_sources})
  if(_stem STREQUAL "recipes")  # compiles what it calls
    target_include_directories(slicesort_cuda_recipes PRIVATE ${PROJECT_SOURCE_DIR}/examples)
    target_link_libraries(slicesort_cuda_recipes PRIVATE slicesort_test_device)
  else()
    target_link_libraries(slicesort_cuda_${_stem} PRIVATE slicesort_test_calls)
  endif()
  target_link_libraries(slicesort_cuda_${_stem} PRIVATE
    slicesort_test_main slicesort_test_needs_device ${CMAKE_DL_LIBS} Threads::Threads)
  target_compile_options(slicesort_cuda_${_stem} PRIVATE "${_slicesort_optimize_calls}")
  _slicesort_device_test(cuda_${_stem} slicesort_cuda_${_stem})
endforeach()
# Compiles for one architecture the tests that gain nothing from more.
set(_slicesort_one_architecture ${_slicesort_architecture})
if(_slicesort_device STREQUAL "ptx")
  set(_slicesort_one_architecture 90-virtual)
endif()
set_target_properties(slicesort_cuda_cub slicesort_cuda_errors slicesort_cuda_known_masks slicesort_cuda_known_orders
  slicesort_cuda_large slicesort_cuda_recipes slicesort_cuda_thrust PROPERTIES CUDA_ARCHITECTURES ${_slicesort_one_architecture})
if(TARGET slicesort_cuda_attention)
  set_target_properties(slicesort_cuda_attention PROPERTIES CUDA_ARCHITECTURES ${_slicesort_one_architecture})
  if(_slicesort_device STREQUAL "ptx")
    # cuBLAS itself requires a driver.
    target_sources(slicesort_cuda_attention PRIVATE cuda/cublas/stand_in.cpp)
    target_compile_definitions(slicesort_cuda_attention PRIVATE SLICESORT_TEST_PTX)
  else()
    target_link_libraries(slicesort_cuda_attention PRIVATE slicesort_cublas CUDA::cublas)
  endif()
endif()
if(_slicesort_device STREQUAL "gpu")
  set_tests_properties(cuda_large PROPERTIES RUN_SERIAL ON)  # most of the device's memory
  set_tests_properties(cuda_streams PROPERTIES RUN_SERIAL ON)
elseif(_slicesort_device STREQUAL "ptx")
  include(ptx/device_tests.cmake)
endif()

# Tests the memory image of backend/image.hpp without a device.
add_executable(slicesort_test_image cuda/backend/image_without_device.cpp cuda/backend/image.cpp)
target_link_libraries(slicesort_test_image PRIVATE slicesort_test_main slicesort_host_slicing_sort)
add_test(NAME cuda_image COMMAND slicesort_test_image)

# Tests <slicesort/policies/cublas.cuh> with a stand-in for cuBLAS, without a device.
add_executable(slicesort_test_cublas cuda/cublas/without_device.cpp cuda/cublas/stand_in.cpp)
target_link_libraries(slicesort_test_cublas PRIVATE slicesort_test_main)
target_include_directories(slicesort_test_cublas SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
add_test(NAME cuda_cublas COMMAND slicesort_test_cublas)

# Runs compute-sanitizer on the few cases that reach every kernel except matmul's.
find_program(SLICESORT_COMPUTE_SANITIZER compute-sanitizer HINTS ${CUDAToolkit_BIN_DIR} ${CUDAToolkit_BIN_DIR}/../compute-sanitizer)
foreach(_tool IN ITEMS memcheck racecheck initcheck synccheck)
  if(SLICESORT_COMPUTE_SANITIZER)
    _slicesort_gpu_test(sanitizer_${_tool} ${SLICESORT_COMPUTE_SANITIZER} --tool ${_tool} --error-exitcode 1
      $<TARGET_FILE:slicesort_cuda_every_call> --test-case=small*)
  else()
    _slicesort_gpu_test(sanitizer_${_tool} ${CMAKE_COMMAND} -E echo "there is no compute-sanitizer")
    set_tests_properties(sanitizer_${_tool} PROPERTIES SKIP_REGULAR_EXPRESSION "there is no compute-sanitizer")
  endif()
  set_tests_properties(sanitizer_${_tool} PROPERTIES ENVIRONMENT SLICESORT_TEST_RED_ZONES=0 TIMEOUT 300)
  # slicesort_cuda_every_call omits the attention operators whose bits differ between backends.
  if(SLICESORT_COMPUTE_SANITIZER AND _slicesort_device STREQUAL "gpu")
    foreach(_program IN ITEMS softmax_attention_special_values pointwise_attention_properties)
      _slicesort_gpu_test(sanitizer_${_tool}_${_program} ${SLICESORT_COMPUTE_SANITIZER} --tool ${_tool} --error-exitcode 1
        $<TARGET_FILE:slicesort_test_${_program}>)
      set_tests_properties(sanitizer_${_tool}_${_program} PROPERTIES TIMEOUT 600
        ENVIRONMENT "SLICESORT_TEST_BACKEND=cuda;SLICESORT_TEST_RED_ZONES=0" SKIP_REGULAR_EXPRESSION "Device not supported")
    endforeach()
  endif()
endforeach()
# In some sandboxes the tool finds the device but does not support it.
if(SLICESORT_COMPUTE_SANITIZER)
  set_tests_properties(sanitizer_memcheck sanitizer_racecheck sanitizer_initcheck sanitizer_synccheck
    PROPERTIES SKIP_REGULAR_EXPRESSION "Device not supported")
endif()

# _slicesort_without_optimizer(TARGET...): compiles kernels five times faster if they are linked only. The PTX machine
# cannot run such code, which uses local memory.
function(_slicesort_without_optimizer)
  if(NOT _slicesort_device STREQUAL "gpu" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    foreach(_target IN LISTS ARGN)
      target_compile_options(${_target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--Ofast-compile=max>)
    endforeach()
  endif()
endfunction()

# Links one program from a .cpp and two .cu files, with and without relocatable device code.
foreach(_rdc IN ITEMS ON OFF)
  add_executable(slicesort_link_rdc_${_rdc} cuda/link/one_program.cpp)
  target_link_libraries(slicesort_link_rdc_${_rdc} PRIVATE slicesort_cuda_developer)
  target_compile_options(slicesort_link_rdc_${_rdc} PRIVATE "${_slicesort_optimize_calls}")
  foreach(_part IN ITEMS a b)
    set(_object slicesort_link_rdc_${_rdc}_${_part})
    _slicesort_objects(${_object} cuda/link/sort_column.cu SLICESORT_TEST_SORT_COLUMN=sort_column_${_part})
    set_target_properties(${_object} PROPERTIES
      CUDA_SEPARABLE_COMPILATION ${_rdc} CUDA_ARCHITECTURES ${_slicesort_architecture})
    _slicesort_without_optimizer(${_object})
    target_sources(slicesort_link_rdc_${_rdc} PRIVATE $<TARGET_OBJECTS:${_object}>)
  endforeach()
  set_target_properties(slicesort_link_rdc_${_rdc} PROPERTIES
    CUDA_SEPARABLE_COMPILATION ${_rdc} CUDA_RESOLVE_DEVICE_SYMBOLS ${_rdc} LINKER_LANGUAGE CUDA
    CUDA_ARCHITECTURES ${_slicesort_architecture})
  add_test(NAME link_rdc_${_rdc} COMMAND slicesort_link_rdc_${_rdc})
endforeach()

# Loads two shared libraries, compiled for different architectures, into one process.
add_executable(slicesort_link_two_libraries cuda/link/two_libraries.cpp)
target_link_libraries(slicesort_link_two_libraries PRIVATE slicesort_developer ${CMAKE_DL_LIBS})
foreach(_architecture IN ITEMS 80 90)
  set(_library slicesort_link_sm_${_architecture})
  add_library(${_library} SHARED cuda/link/sort_column.cu)
  target_link_libraries(${_library} PRIVATE slicesort_cuda_developer)
  target_compile_definitions(${_library} PRIVATE SLICESORT_TEST_SORT_COLUMN=sort_column)
  set_target_properties(${_library} PROPERTIES CUDA_ARCHITECTURES ${_architecture}-real)
  _slicesort_without_optimizer(${_library})
endforeach()
set(_slicesort_libraries $<TARGET_FILE:slicesort_link_sm_80> $<TARGET_FILE:slicesort_link_sm_90>)
add_test(NAME link_two_libraries COMMAND slicesort_link_two_libraries ${_slicesort_libraries})
find_program(SLICESORT_PYTHON python3)
if(SLICESORT_PYTHON)
  add_test(NAME link_symbols COMMAND ${SLICESORT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/link/check_symbols.py ${_slicesort_libraries})
endif()
