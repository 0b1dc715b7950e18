// SPDX-License-Identifier: Apache-2.0
// The tile sorter for one instruction set, in the order in which its parts build on each other.
// A whole row of a tile of 16-bit words in one register is a case of its own.

// clang-format off
#include <slicesort/detail/sort/host/rows.inl>
#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/sort/host/wide_rows.inl>
#endif
#include <slicesort/detail/sort/host/network.inl>
#include <slicesort/detail/sort/host/codec.inl>
#if SLICESORT_VECTOR_BYTES == 64
#  include <slicesort/detail/sort/host/wide_codec.inl>
#  include <slicesort/detail/sort/host/wide_ties.inl>
#endif
#include <slicesort/detail/sort/host/ties.inl>
#include <slicesort/detail/sort/host/tile_sorter.inl>
// clang-format on
