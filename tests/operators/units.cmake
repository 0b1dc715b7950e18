# SPDX-License-Identifier: Apache-2.0
# Compiles the operators' backends once for all test programs: for each operator and element type, one unit of host code
# and one of kernels on the block executor. An edit of an operator rebuilds that operator only, and a program waits only
# for the operators that it uses.
#
# An operator is a folder of include/slicesort/detail/ with a params.hpp. Its tag is <op>_op unless other tags are listed
# here. Orders and masks are selected at run time.
set(_slicesort_tags_csp "csp_op<false>" "csp_op<true>")
set(_slicesort_tags_linear_attention "linear_attention_op<slicesort::detail::built_in_feature>")
set(_slicesort_tags_multi_permutation "multi_permutation_op<support::pattern_order>")
set(_slicesort_tags_pointwise_attention
  "pointwise_attention_op<support::pattern_mask>" "squared_relu_attention_op<support::pattern_mask>")
set(_slicesort_tags_shuffle "shuffle_op<slicesort::shared_by_channels>" "shuffle_op<slicesort::per_channel>")
set(_slicesort_tags_slicing_sort "slicing_sort_op<support::pattern_order>")
set(_slicesort_tags_soft_sort "soft_sort_op<support::pattern_order>" "soft_rank_op<support::pattern_order>")
set(_slicesort_tags_softmax_attention
  "streaming_attention_op<support::pattern_mask>" "materialized_attention_op<support::pattern_mask>")
set(_slicesort_tags_top_k "top_k_op<support::pattern_order>")
# Tags that some element types lack (types_of_tags.hpp).
set(_slicesort_CUSTOM_tags_linear_attention "linear_attention_op<support::custom_feature>")
set(_slicesort_CUSTOM_tags_pointwise_attention "custom_attention_op<support::pattern_mask>")
set(_slicesort_EVERY_MASK_tags_pointwise_attention "pointwise_attention_op<support::range_mask>"
  "pointwise_attention_op<support::sparse_mask>" "custom_attention_op<support::range_mask>")
set(_slicesort_EVERY_MASK_tags_softmax_attention
  "streaming_attention_op<support::range_mask>" "streaming_attention_op<support::sparse_mask>"
  "materialized_attention_op<support::range_mask>" "materialized_attention_op<support::sparse_mask>")
# Tables of vector kernels, by operator, after the function that fills the table. Without these lines, g++ would compile the
# kernels into every program, since it instantiates inline members in spite of "extern template".
set(_slicesort_kernels_linear_attention "choose_kernels, linear_attention_kernels")
set(_slicesort_kernels_pointwise_attention "choose_kernels, attention_kernels")
set(_slicesort_kernels_short_convolution "choose_convolution_kernels, convolution_kernels")
set(_slicesort_kernels_sinkhorn "choose_sinkhorn_kernels, sinkhorn_kernels")
set(_slicesort_kernels_softmax_attention "choose_kernels, attention_kernels")
set(_slicesort_kernels_sparse_mix "choose_kernels, mix_kernels")
# Operators without backward: their tags are passed to instantiate_FORWARD.
set(_slicesort_forward_only merge_attention)

set(_slicesort_types ${SLICESORT_TEST_TYPES})
set(_slicesort_detail ${PROJECT_SOURCE_DIR}/include/slicesort/detail)
file(GLOB _slicesort_operators CONFIGURE_DEPENDS RELATIVE ${_slicesort_detail} ${_slicesort_detail}/*/params.hpp)
list(TRANSFORM _slicesort_operators REPLACE "/params.hpp" "")

# _slicesort_unit(TEMPLATE FILE): writes FILE in the build folder from a template with @op@, @type@ and @calls@.
set(_slicesort_generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
function(_slicesort_unit template file)
  configure_file(operators/${template} ${_slicesort_generated}/${file} @ONLY)
endfunction()
# Compiles the units of two element types as one, because parsing the headers takes half a second.
function(_slicesort_library library)
  add_library(${library} STATIC ${ARGN})
  set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 2)
  target_link_libraries(${library} PRIVATE slicesort_developer)
  target_include_directories(${library} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

# _slicesort_find_include(VARIABLE OP PATTERN HEADER..): VARIABLE is TRUE if one of the operator's headers includes a file
# that matches PATTERN.
function(_slicesort_find_include variable op pattern)
  list(TRANSFORM ARGN PREPEND ${_slicesort_detail}/${op}/)
  file(GLOB_RECURSE _headers ${ARGN})
  set(${variable} FALSE PARENT_SCOPE)
  foreach(_header IN LISTS _headers)
    file(STRINGS ${_header} _found REGEX "^#include <slicesort/detail/${pattern}")
    if(_found)
      set(${variable} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Engines are code that several operators share.
set(_slicesort_host_units)
set(_slicesort_block_units)
foreach(type IN LISTS _slicesort_types)
  _slicesort_unit(host_engines.cpp.in host_engines_${type}.cpp)
  list(APPEND _slicesort_host_units ${_slicesort_generated}/host_engines_${type}.cpp)
endforeach()
foreach(type IN LISTS _slicesort_types ITEMS raw_key32)
  _slicesort_unit(block_engines.cpp.in block_engines_${type}.cpp)
  list(APPEND _slicesort_block_units ${_slicesort_generated}/block_engines_${type}.cpp)
endforeach()
_slicesort_library(slicesort_host_engines ${_slicesort_host_units})
target_compile_options(slicesort_host_engines PRIVATE ${_slicesort_optimize_vectors})
target_compile_definitions(slicesort_host_engines INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:SLICESORT_TEST_LINKS_HOST_KERNELS;SLICESORT_TEST_LINKS_HOST_ENGINES>)
target_include_directories(slicesort_host_engines INTERFACE ${_slicesort_generated})
if(NOT SLICESORT_TEST_HOST_ONLY)
  _slicesort_library(slicesort_block_engines ${_slicesort_block_units})
  target_compile_options(slicesort_block_engines PRIVATE "$<$<CONFIG:Release>:${_slicesort_optimize_programs}>")
  target_link_libraries(slicesort_block_engines PRIVATE slicesort_block_executor)
endif()

# The operators: slicesort_host_<op> has the host code, slicesort_blocks_<op> the kernels. Linking the first defines a
# macro by which the generated linked_operators.hpp declares its code extern.
set(_slicesort_linked "#if defined(SLICESORT_TEST_LINKS_HOST_ENGINES)\n#  include \"operators/host_engines.hpp\"\n#endif\n")
set(_slicesort_includes)
set(_slicesort_calls)
foreach(op IN LISTS _slicesort_operators)
  if(NOT DEFINED _slicesort_tags_${op})
    set(_slicesort_tags_${op} ${op}_op)
  endif()
  # instantiate(tag, T) for each tag
  set(_instantiate "instantiate")
  if(op IN_LIST _slicesort_forward_only)
    string(APPEND _instantiate "##_FORWARD")
  endif()
  list(TRANSFORM _slicesort_tags_${op} REPLACE "(.+)" "  ${_instantiate}(slicesort::detail::\\1, T)" OUTPUT_VARIABLE calls)
  foreach(_kind IN ITEMS CUSTOM EVERY_MASK)
    list(TRANSFORM _slicesort_${_kind}_tags_${op} REPLACE
      "(.+)" "  SLICESORT_TEST_IF_${_kind}_##T(${_instantiate}(slicesort::detail::\\1, T))" OUTPUT_VARIABLE _some_types)
    list(APPEND calls ${_some_types})
  endforeach()
  string(REPLACE ";" " \\\n" calls "${calls}")
  set(_elsewhere "SLICESORT_TEST_TAGS_OF_${op}(SLICESORT_TEST_COMPILED_ELSEWHERE, \\1)")
  set(_kernels "${_slicesort_kernels_${op}}")
  if(DEFINED _slicesort_kernels_${op})
    string(PREPEND _elsewhere "SLICESORT_TEST_KERNELS(extern, ${_kernels}, \\1)\n")
  endif()
  list(TRANSFORM _slicesort_types REPLACE "(.+)" "${_elsewhere}" OUTPUT_VARIABLE compiled_elsewhere)
  string(REPLACE ";" "\n" compiled_elsewhere "${compiled_elsewhere}")
  set(host_engines)
  _slicesort_find_include(_shares_host ${op} "(sort|permutation)/host/" host.hpp host/*)
  if(_shares_host)
    set(host_engines "#include \"operators/host_engines.hpp\"")
  endif()
  set(block_engines)
  _slicesort_find_include(_shares_blocks ${op} "sort/device/sort_columns" device.hpp device/*)
  if(_shares_blocks)
    set(block_engines "#include \"operators/block_engines.hpp\"")
  endif()
  _slicesort_unit(operator.hpp.in ${op}/operator.hpp)
  _slicesort_unit(linked_operator.hpp.in ${op}/linked.hpp)
  string(APPEND _slicesort_includes "#include \"${op}/operator.hpp\"\n")
  string(APPEND _slicesort_calls " \\\n  SLICESORT_TEST_TAGS_OF_${op}(instantiate, T)")
  string(APPEND _slicesort_linked "#if defined(SLICESORT_TEST_LINKS_${op})\n#  include \"${op}/linked.hpp\"\n#endif\n")
  # The header of the operator's tests that lists their shared helpers, if there is one.
  set(helpers)
  file(GLOB _headers ${op}/*.hpp)
  foreach(_header IN LISTS _headers)
    file(STRINGS ${_header} _found REGEX "^#define SLICESORT_TEST_HELPERS_OF_${op}")
    if(_found)
      file(RELATIVE_PATH helpers ${CMAKE_CURRENT_SOURCE_DIR} ${_header})
    endif()
  endforeach()
  set(_slicesort_host_units)
  set(_slicesort_block_units)
  set(_slicesort_helper_units)
  foreach(type IN LISTS _slicesort_types)
    if(helpers)
      _slicesort_unit(helpers.cpp.in ${op}/helpers_${type}.cpp)
      list(APPEND _slicesort_helper_units ${_slicesort_generated}/${op}/helpers_${type}.cpp)
    endif()
    set(kernels_here)
    if(DEFINED _slicesort_kernels_${op})
      set(kernels_here "SLICESORT_TEST_KERNELS(, ${_kernels}, ${type})")
    endif()
    _slicesort_unit(host_kernels.cpp.in ${op}/host_${type}.cpp)
    _slicesort_unit(block_kernels.cpp.in ${op}/blocks_${type}.cpp)
    list(APPEND _slicesort_host_units ${_slicesort_generated}/${op}/host_${type}.cpp)
    list(APPEND _slicesort_block_units ${_slicesort_generated}/${op}/blocks_${type}.cpp)
  endforeach()
  _slicesort_library(slicesort_host_${op} ${_slicesort_host_units})
  target_compile_options(slicesort_host_${op} PRIVATE ${_slicesort_optimize_vectors})
  target_compile_definitions(slicesort_host_${op} INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:SLICESORT_TEST_LINKS_HOST_KERNELS;SLICESORT_TEST_LINKS_${op}>)
  target_include_directories(slicesort_host_${op} INTERFACE ${_slicesort_generated})
  if(_shares_host)
    target_link_libraries(slicesort_host_${op} PRIVATE slicesort_host_engines)
  endif()
  if(NOT SLICESORT_TEST_HOST_ONLY)
    _slicesort_library(slicesort_blocks_${op} ${_slicesort_block_units})
    target_compile_options(slicesort_blocks_${op} PRIVATE "$<$<CONFIG:Release>:${_slicesort_optimize_programs}>")
    target_link_libraries(slicesort_blocks_${op} PRIVATE slicesort_block_executor)
    if(_shares_blocks)
      target_link_libraries(slicesort_blocks_${op} PRIVATE slicesort_block_engines)
    endif()
  endif()
  if(helpers)
    _slicesort_library(slicesort_helpers_${op} ${_slicesort_helper_units})
    target_compile_options(slicesort_helpers_${op} PRIVATE "$<$<CONFIG:Release>:${_slicesort_optimize_helpers}>")
    target_link_libraries(slicesort_helpers_${op} PRIVATE ${_slicesort_doctest} slicesort_block_executor slicesort_host_${op})
    target_compile_definitions(slicesort_helpers_${op} INTERFACE SLICESORT_TEST_LINKS_HELPERS_OF_${op})
    if(NOT SLICESORT_TEST_HOST_ONLY)
      target_link_libraries(slicesort_helpers_${op} PRIVATE slicesort_blocks_${op})
    endif()
  endif()
endforeach()
file(CONFIGURE OUTPUT ${_slicesort_generated}/linked_operators.hpp @ONLY CONTENT
"// SPDX-License-Identifier: Apache-2.0
// The operators whose host backend a program is linked with.
#pragma once

@_slicesort_linked@")
file(CONFIGURE OUTPUT ${_slicesort_generated}/all_operators.hpp @ONLY CONTENT
"// SPDX-License-Identifier: Apache-2.0
// The tags of all operators that the tests compile.
#pragma once

@_slicesort_includes@
// Expands to instantiate(tag, T) for each tag.
#define SLICESORT_TEST_OPERATORS(instantiate, T)@_slicesort_calls@
")

# All operators on the host.
add_library(slicesort_host_operators INTERFACE)
list(TRANSFORM _slicesort_operators PREPEND slicesort_host_ OUTPUT_VARIABLE _slicesort_libraries)
target_link_libraries(slicesort_host_operators INTERFACE ${_slicesort_libraries})

# _slicesort_link_operators(TARGET FOLDER SOURCE): links a program with the operator of its folder, and with every
# operator of which SOURCE includes a header of the library or of the tests.
function(_slicesort_link_operators target folder source)
  set(_operators ${folder})
  file(STRINGS ${source} _included REGEX "^#include (<slicesort/[a-z_]+\\.hpp>|\"[a-z_]+/)")
  list(TRANSFORM _included REPLACE "^#include (<slicesort/|\")([a-z_]+).*" "\\2")
  list(APPEND _operators ${_included})
  if("slicesort" IN_LIST _operators OR "equivalent_matrix" IN_LIST _operators)
    set(_operators ${_slicesort_operators})
  endif()
  if("matmul" IN_LIST _operators)
    target_link_libraries(${target} PRIVATE slicesort_host_engines)
  endif()
  foreach(_op IN LISTS _operators)
    if(TARGET slicesort_host_${_op})
      if(TARGET slicesort_helpers_${_op})
        target_link_libraries(${target} PRIVATE slicesort_helpers_${_op})
      endif()
      target_link_libraries(${target} PRIVATE slicesort_host_${_op})
      if(NOT SLICESORT_TEST_HOST_ONLY)
        target_link_libraries(${target} PRIVATE slicesort_blocks_${_op})
      endif()
    endif()
  endforeach()
endfunction()
