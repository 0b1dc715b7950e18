// SPDX-License-Identifier: Apache-2.0
// Sorts each short column in the registers of one thread. Neighboring threads process neighboring
// columns, so loads and stores follow the rows of the tensor. Threads use separate shared memory
// and need no barrier.
#pragma once

#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/sort/device/network.hpp>
#include <slicesort/detail/sort/device/sort_row_words.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class View, int Rows>
struct sort_registers_kernel {
  static constexpr int max_threads = 128;
  using T = typename View::element;
  static constexpr bool truncates_keys = row_word<T, Rows>::truncates_keys;

  View view;

  // [Rows, max_threads]
  struct shared_buffers {
    T* values;
    std::uint8_t* order;  // null if keys are not truncated
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_buffers shared(SharedAllocator& allocator) const {
    constexpr auto count = static_cast<std::size_t>(Rows * max_threads);
    shared_buffers buffers{allocator.template allocate<T>(count), nullptr};
    if constexpr (truncates_keys) buffers.order = allocator.template allocate<std::uint8_t>(count);
    return buffers;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    shared_buffers const buffers = shared(block);
    index_t const column_number = block.index() * block.size() + block.rank();
    if (column_number >= view.columns()) return;
    column_index const column = view.locate(column_number);
    bool const ascending = view.ascending(column);
    int const length = static_cast<int>(view.length());
    int const valid = static_cast<int>(view.valid(column));
    sort_row_words<Block, T, Rows>(
        staged_column{view, column, length, view.values(column), buffers.values + block.rank()},
        order_of(buffers, block.rank()), length, valid, ascending);
  }

 private:
  static SLICESORT_HD_INLINE byte_row_order order_of(shared_buffers const& buffers, int rank) {
    if constexpr (truncates_keys)
      return {buffers.order + rank, max_threads};
    else
      return {};
  }
  struct staged_column {
    View const& view;
    column_index column;
    int length;
    column_of<T const> x;
    T* staged;  // [Rows], with stride max_threads

    template <std::size_t Count>
    SLICESORT_HD_INLINE void read(int first, bits_t<T> (&value)[Count]) const {
      constexpr int count = static_cast<int>(Count);
      if (first + count <= length) {
        SLICESORT_UNROLL
        for (int k = 0; k < count; ++k) value[k] = bit_cast<bits_t<T>>(x[first + k]);
      } else {
        load_register_rows(first, length, value, [&](int i) { return x[i]; });
      }
      SLICESORT_UNROLL
      for (int k = 0; k < count; ++k) staged[(first + k) * max_threads] = bit_cast<T>(value[k]);
    }
    SLICESORT_HD_INLINE T operator[](int row) const { return staged[row * max_threads]; }
    template <int, class SourceRow>
    SLICESORT_HD_INLINE void store(SourceRow const& source_row) const {
      if (view.needs_rows()) {
        index_column const perm(view.perm, column);
        if (perm.is_16_bit)
          store_register_rows<Rows>(static_cast<std::uint16_t*>(perm.data), perm.stride, length,
                                    source_row);
        else
          store_register_rows<Rows>(static_cast<std::uint32_t*>(perm.data), perm.stride, length,
                                    source_row);
      }
      if (!view.needs_values()) return;
      column_of<T> const y(view.y, column);
      store_register_rows<Rows>(y.data, y.stride, length,
                                [&](int i) { return (*this)[static_cast<int>(source_row(i))]; });
    }
  };
};

SLICESORT_DETAIL_END
