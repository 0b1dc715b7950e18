// SPDX-License-Identifier: Apache-2.0
// What operators share on the host: generated units (units.cmake) compile it once for all of
// them. csp sorts tiles from within the code of an instruction set.
#pragma once

#include "compiled_once.hpp"

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/move/host/permute_tile.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>

#define SLICESORT_TEST_SORT_TILES(linkage, set, T)        \
  linkage template void slicesort::impl::set::sort_tiles( \
      slicesort::impl::set::target, slicesort::impl::column_tile<T> const*, int);
#if SLICESORT_X86_DISPATCH
#  define SLICESORT_TEST_SORT_TILES_OF_SETS(linkage, T) \
    SLICESORT_TEST_SORT_TILES(linkage, portable, T)     \
    SLICESORT_TEST_SORT_TILES(linkage, avx2, T)         \
    SLICESORT_TEST_SORT_TILES(linkage, avx512, T)
#else
#  define SLICESORT_TEST_SORT_TILES_OF_SETS(linkage, T) \
    SLICESORT_TEST_SORT_TILES(linkage, portable, T)
#endif
#define SLICESORT_TEST_HOST_ENGINES(linkage, T)                                                   \
  SLICESORT_TEST_SORT_TILES_OF_SETS(linkage, T)                                                   \
  linkage template void slicesort::impl::sort_tiles(slicesort::isa,                               \
                                                    slicesort::impl::column_tile<T> const*, int); \
  linkage template void slicesort::impl::permute_tiles(slicesort::impl::permuted_tile<T> const*,  \
                                                       int);

SLICESORT_TEST_COMPILED_ONCE(SLICESORT_TEST_HOST_ENGINES)
