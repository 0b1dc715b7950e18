# SPDX-License-Identifier: Apache-2.0
# Device tests on the PTX machine: the share of cases that each program runs, tests for sm_80, the CUDA examples, and the
# check that every kernel has run.

# A slow program runs one of every n of its cases (cuda/backend/share.hpp), unless SLICESORT_TEST_PTX is ALL.
if(NOT SLICESORT_TEST_PTX STREQUAL "ALL")
  foreach(_test_and_share IN ITEMS
      cuda_every_call=24 cuda_runtime_calls=16 cuda_graph=32 cuda_streams=8 cuda_attention=4
      cuda_sinkhorn=3
      cuda_slicing_sort=6 cuda_slicing_sort_sizes=12 cuda_slicing_sort_in_place=4 cuda_slicing_sort_lengths=3
      cuda_softmax_attention_sizes=4 cuda_softmax_attention_bias=2
      cuda_linear_attention=3 cuda_linear_attention_native_products=2 cuda_linear_attention_pieces=2
      cuda_pointwise_attention=2 cuda_pointwise_attention_gradients=2)
    string(REGEX MATCH "^(.*)=(.*)$" _match ${_test_and_share})
    set_property(TEST ${CMAKE_MATCH_1} APPEND PROPERTY ENVIRONMENT SLICESORT_TEST_SHARE=${CMAKE_MATCH_2})
    set_tests_properties(${CMAKE_MATCH_1} PROPERTIES COST 2000)
  endforeach()
endif()

# Data larger than shared memory uses other kernels. A limit of 16 KiB selects them with less data. With 99 KiB, the limit of
# most devices after sm_80, wide tiles of attention are not prefetched.
_slicesort_device_test(ptx_small_shared_memory slicesort_cuda_long_columns "--test-case=*larger than shared memory*")
set_property(TEST ptx_small_shared_memory APPEND PROPERTY ENVIRONMENT SLICESORT_PTX_SHARED=16384)
_slicesort_device_test(ptx_small_shared_memory_attention slicesort_test_softmax_attention_sizes "--test-case=blocks of several warps*")
set_property(TEST ptx_small_shared_memory_attention APPEND PROPERTY ENVIRONMENT SLICESORT_PTX_SHARED=101376)

# Every call on small tensors; no case is skipped.
_slicesort_device_test(ptx_small slicesort_cuda_every_call --test-case=small*)

# The kernels of bfloat16 are compiled for sm_80, with ALL also for sm_90. Devices of sm_80 have no clusters, and less
# shared memory.
set(_slicesort_bfloat16_architectures 80-virtual)
if(SLICESORT_TEST_PTX STREQUAL "ALL")
  list(APPEND _slicesort_bfloat16_architectures 90-virtual)
endif()
set_target_properties(slicesort_remote_bfloat16 PROPERTIES CUDA_ARCHITECTURES "${_slicesort_bfloat16_architectures}")
_slicesort_device_test(ptx_small_sm_80 slicesort_cuda_every_call --test-case=small*bfloat16*)
_slicesort_device_test(ptx_softmax_attention_sm_80 slicesort_test_softmax_attention --test-case=*bfloat16*)
foreach(_test IN ITEMS ptx_small_sm_80 ptx_softmax_attention_sm_80)
  set_property(TEST ${_test} APPEND PROPERTY ENVIRONMENT SLICESORT_PTX_DEVICE=sm_80)
endforeach()

# The CUDA examples must print the output in their comments.
function(_slicesort_example_on_ptx stem)
  add_executable(slicesort_ptx_example_${stem} ${ARGN})
  target_link_libraries(slicesort_ptx_example_${stem} PRIVATE slicesort_cuda_developer)
  target_compile_options(slicesort_ptx_example_${stem} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
  set_target_properties(slicesort_ptx_example_${stem} PROPERTIES CUDA_ARCHITECTURES 90-virtual)
  add_dependencies(slicesort_ptx_example_${stem} slicesort_ptx_runtime)
  list(GET ARGN 0 _first)
  _slicesort_device_test(ptx_example_${stem} ${SLICESORT_PYTHON} ${PROJECT_SOURCE_DIR}/examples/check_output.py
    ${_first} $<TARGET_FILE:slicesort_ptx_example_${stem}>)
endfunction()
file(GLOB _slicesort_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cu)
foreach(_source IN LISTS _slicesort_examples)
  get_filename_component(_stem ${_source} NAME_WE)
  _slicesort_example_on_ptx(${_stem} ${_source})
endforeach()
set(_slicesort_example ${PROJECT_SOURCE_DIR}/examples/separate_compilation)
_slicesort_example_on_ptx(separate_compilation ${_slicesort_example}/main.cpp ${_slicesort_example}/sort_on_gpu.cu)

# Runs after all tests that run kernels. tests/run removes the logs of earlier runs.
get_property(_slicesort_tests DIRECTORY PROPERTY TESTS)
set(_slicesort_on_ptx)
foreach(_test IN LISTS _slicesort_tests)
  get_test_property(${_test} LABELS _label)
  if(_label STREQUAL "ptx")
    list(APPEND _slicesort_on_ptx ${_test})
  endif()
endforeach()
add_test(NAME ptx_coverage COMMAND ${SLICESORT_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/ptx/check_coverage.py ${_slicesort_log})
set_tests_properties(ptx_coverage PROPERTIES DEPENDS "${_slicesort_on_ptx}")
