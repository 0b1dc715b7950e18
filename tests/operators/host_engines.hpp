// SPDX-License-Identifier: Apache-2.0
// Instantiations that operators and models share on the host. Generated units (units.cmake) compile
// them once. csp calls sort_tiles from code of one instruction set.
#pragma once

#include "compiled_once.hpp"
#include "vector_kernels.hpp"

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/permutation/host/permute_tile.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/policies/host_gemm.hpp>

#define SLICESORT_TEST_SORT_TILES(linkage, set, T)                                 \
  linkage template void                                                            \
  slicesort::detail::set::sort_tiles<T, slicesort::detail::set::values_codec<T>>(  \
      slicesort::detail::column_tile<T> const*, int);                              \
  linkage template void                                                            \
  slicesort::detail::set::sort_tiles<T, slicesort::detail::set::indexed_codec<T>>( \
      slicesort::detail::column_tile<T> const*, int);
#define SLICESORT_TEST_HOST_ENGINES(linkage, T)                         \
  SLICESORT_TEST_FOR_EACH_SET(SLICESORT_TEST_SORT_TILES, linkage, T)    \
  SLICESORT_TEST_KERNELS(linkage, choose_gemm_kernels, gemm_kernels, T) \
  linkage template void slicesort::detail::permute_tiles(               \
      slicesort::detail::permuted_tile<T> const*, int);

SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HOST_ENGINES)
