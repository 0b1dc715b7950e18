// SPDX-License-Identifier: Apache-2.0
// Kernels of max_exchange. A block processes a tile of columns, whose rows its threads share.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Loads in flight per thread. Row numbers fit in 32 bits, because there are at most 2^31 rows.
inline constexpr int exchange_loads_in_flight = 8;

// Copies x to y and finds the maximum of each column, then exchanges it with row `row`.
template <class T>
struct max_exchange_kernel {
  static constexpr int max_threads = 512;
  using key = bits_t<T>;

  index_t row;
  tensor3<T const> x;
  tensor3<T> y;        // may alias x
  index_rows maximum;  // one row number per column; optional
  tensor1<index_t const> lengths;
  int width, threads;
  bool rows_adjacent;

  // Maximum that each thread found.
  struct candidates {
    key* keys;
    std::uint32_t* rows;
  };
  template <class SharedAllocator>
  SLICESORT_HD candidates shared(SharedAllocator& allocator) const {
    key* const keys = allocator.template allocate<key>(static_cast<std::size_t>(threads));
    return {keys, allocator.template allocate<std::uint32_t>(static_cast<std::size_t>(threads))};
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const extents = x.extents();
    candidates const candidates_of_block = shared(block);
    auto const [walk, column_number, has_column, column] =
        column_work(block, extents, width, rows_adjacent);
    column_of<T const> const input(x, column);
    column_of<T> const output(y, column);
    // Exchanges nothing if `row` is past the length.
    auto valid = static_cast<std::uint32_t>(
        has_column ? valid_rows(lengths, column.batch, extents.length) : 0);
    if (valid <= row) valid = 0;

    key largest_key = 0;  // below every key, so the first row wins
    auto largest_row = static_cast<std::uint32_t>(row);
    bool const copying = x.data() != y.data();
    auto const end = copying && has_column ? static_cast<std::uint32_t>(extents.length) : valid;
    auto const step = static_cast<std::uint32_t>(walk.step);
    index_t const first = walk.first_row < static_cast<index_t>(end) ? walk.first_row : 0;
    index_t const input_increment = row_increment(walk.step, end, input.stride);
    index_t const output_increment = row_increment(walk.step, end, output.stride);
    T const* source = input.data + first * input.stride;
    T* target = output.data + first * output.stride;
    for (auto n = static_cast<std::uint32_t>(walk.first_row); n < end;) {
      T value[exchange_loads_in_flight];
      SLICESORT_UNROLL
      for (std::uint32_t k = 0; k < exchange_loads_in_flight; ++k)
        if (n + k * step < end) {
          value[k] = *source;
          source += input_increment;
        }
      SLICESORT_UNROLL
      for (int k = 0; k < exchange_loads_in_flight; ++k, n += step) {
        if (n >= end) continue;
        if (copying) {
          *target = value[k];
          target += output_increment;
        }
        key const candidate = ordered_key(value[k], true);
        if (n < valid && candidate > largest_key) {
          largest_key = candidate;
          largest_row = n;
        }
      }
    }
    candidates_of_block.keys[block.rank()] = largest_key;
    candidates_of_block.rows[block.rank()] = largest_row;
    block.sync();
    if (!has_column || walk.first_row != 0) return;

    int const rank_step = rows_adjacent ? 1 : width;
    for (int i = 1, rank = block.rank() + rank_step; i < walk.step; ++i, rank += rank_step) {
      key const other_key = candidates_of_block.keys[rank];
      std::uint32_t const other_row = candidates_of_block.rows[rank];
      if (other_key > largest_key || (other_key == largest_key && other_row < largest_row)) {
        largest_key = other_key;
        largest_row = other_row;
      }
    }
    T const row_value = input[row], largest_value = input[largest_row];
    output[row] = largest_value;
    output[largest_row] = row_value;
    if (maximum.is_present()) index_column(maximum, column).set(0, largest_row);
  }
};

// Copies dy to dx and exchanges rows `row` and `maximum` of each column.
template <class T>
struct exchange_rows_kernel {
  static constexpr int max_threads = 512;

  index_t row;
  tensor3<T const> dy;
  index_rows maximum;
  tensor3<T> dx;  // may alias dy
  grad_mode mode;
  int width;
  bool rows_adjacent;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const extents = dy.extents();
    auto const [walk, column_number, has_column, column] =
        column_work(block, extents, width, rows_adjacent);
    column_of<T const> const input(dy, column);
    column_of<T> const output(dx, column);
    auto const exchanged_row = static_cast<std::uint32_t>(row);
    std::uint32_t const other_row = has_column ? index_column(maximum, column)[0] : exchanged_row;
    T const row_value = has_column ? input[row] : T{},
            other_value = has_column ? input[other_row] : T{};
    block.sync();  // in place, both rows are overwritten next

    auto const end = has_column ? static_cast<std::uint32_t>(extents.length) : 0;
    auto const step = static_cast<std::uint32_t>(walk.step);
    index_t const first = walk.first_row < static_cast<index_t>(end) ? walk.first_row : 0;
    index_t const input_increment = row_increment(walk.step, end, input.stride);
    index_t const output_increment = row_increment(walk.step, end, output.stride);
    T const* source = input.data + first * input.stride;
    T *target = output.data + first * output.stride, *accumulated = target;
    for (auto n = static_cast<std::uint32_t>(walk.first_row); n < end;) {
      T value[exchange_loads_in_flight], old[exchange_loads_in_flight] = {};
      SLICESORT_UNROLL
      for (std::uint32_t k = 0; k < exchange_loads_in_flight; ++k)
        if (n + k * step < end) {
          value[k] = *source;
          source += input_increment;
          if (mode == grad_mode::accumulate) {
            old[k] = *accumulated;
            accumulated += output_increment;
          }
        }
      SLICESORT_UNROLL
      for (int k = 0; k < exchange_loads_in_flight; ++k, n += step)
        if (n < end) {
          T const result = n == exchanged_row ? other_value : n == other_row ? row_value : value[k];
          *target = stored_or_accumulated<Block>(mode, old[k], result);
          target += output_increment;
        }
    }
  }
};

SLICESORT_DETAIL_END
