// SPDX-License-Identifier: Apache-2.0
// Transposes blocks of a tile with the vectors of an instruction set.
#pragma once

#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Rows that are transposed at a time.
inline constexpr int transposed_batch_rows = 16;

// Returns the distance between neighboring columns of a transposed tile. It has room for the last
// batch of rows and is not a power of two.
template <class T>
constexpr index_t transposed_pitch(index_t rows) {
  return (rows + transposed_batch_rows - 1) / transposed_batch_rows * transposed_batch_rows +
         96 / static_cast<index_t>(sizeof(T));
}

template <std::size_t Bytes>
using uint_of_size =
    std::conditional_t<Bytes == 8, std::uint64_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint16_t>>;

// Transposes a [Rows, Columns] block with the vectors of an instruction set.
template <int Rows, int Columns, class Lane>
struct block_transpose {
  void (*run)(Lane const* from, index_t from_pitch, Lane* to, index_t to_pitch) = nullptr;

  block_transpose() = default;
  explicit block_transpose(isa set) {
    with_isa(set, [&](auto target) { choose_transpose(target, *this); });
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/host/simd/transpose.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

SLICESORT_DETAIL_END
