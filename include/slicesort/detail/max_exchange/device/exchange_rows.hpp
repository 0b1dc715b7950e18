// SPDX-License-Identifier: Apache-2.0
// Kernels of max_exchange. A block processes a tile of columns. Its threads share the rows.
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
inline constexpr int exchange_at_once = 8;

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
    extents3 const e = x.extents();
    candidates const best = shared(block);
    auto const [walk, column_number, inside, position] =
        column_work(block, e, width, rows_adjacent);
    column_of<T const> const from(x, position);
    column_of<T> const to(y, position);
    // Exchanges nothing if `row` is past the length.
    auto valid =
        static_cast<std::uint32_t>(inside ? valid_rows(lengths, position.batch, e.length) : 0);
    if (valid <= row) valid = 0;

    key largest = 0;  // below every key, so the first row wins
    auto largest_row = static_cast<std::uint32_t>(row);
    bool const copying = x.data() != y.data();
    auto const end = copying && inside ? static_cast<std::uint32_t>(e.length) : valid;
    auto const step = static_cast<std::uint32_t>(walk.step);
    index_t const first = walk.first_row < static_cast<index_t>(end) ? walk.first_row : 0;
    index_t const from_jump = jump_of(walk.step, end, from.stride);
    index_t const to_jump = jump_of(walk.step, end, to.stride);
    T const* source = from.data + first * from.stride;
    T* target = to.data + first * to.stride;
    for (auto n = static_cast<std::uint32_t>(walk.first_row); n < end;) {
      T value[exchange_at_once];
      SLICESORT_UNROLL
      for (std::uint32_t k = 0; k < exchange_at_once; ++k)
        if (n + k * step < end) {
          value[k] = *source;
          source += from_jump;
        }
      SLICESORT_UNROLL
      for (int k = 0; k < exchange_at_once; ++k, n += step) {
        if (n >= end) continue;
        if (copying) {
          *target = value[k];
          target += to_jump;
        }
        key const candidate = ordered_key(value[k], true);
        if (n < valid && candidate > largest) {
          largest = candidate;
          largest_row = n;
        }
      }
    }
    best.keys[block.rank()] = largest;
    best.rows[block.rank()] = largest_row;
    block.sync();
    if (!inside || walk.first_row != 0) return;

    int const next = rows_adjacent ? 1 : width;
    for (int i = 1, rank = block.rank() + next; i < walk.step; ++i, rank += next) {
      key const other_key = best.keys[rank];
      std::uint32_t const other_row = best.rows[rank];
      if (other_key > largest || (other_key == largest && other_row < largest_row)) {
        largest = other_key;
        largest_row = other_row;
      }
    }
    T const row_value = from[row], largest_value = from[largest_row];
    to[row] = largest_value;
    to[largest_row] = row_value;
    if (maximum.present()) index_column(maximum, position).set(0, largest_row);
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
    extents3 const e = dy.extents();
    auto const [walk, column_number, inside, position] =
        column_work(block, e, width, rows_adjacent);
    column_of<T const> const from(dy, position);
    column_of<T> const to(dx, position);
    auto const exchanged_row = static_cast<std::uint32_t>(row);
    std::uint32_t const other_row = inside ? index_column(maximum, position)[0] : exchanged_row;
    T const row_value = inside ? from[row] : T{}, other_value = inside ? from[other_row] : T{};
    block.sync();  // in place, both rows are overwritten next

    auto const end = inside ? static_cast<std::uint32_t>(e.length) : 0;
    auto const step = static_cast<std::uint32_t>(walk.step);
    index_t const first = walk.first_row < static_cast<index_t>(end) ? walk.first_row : 0;
    index_t const from_jump = jump_of(walk.step, end, from.stride);
    index_t const to_jump = jump_of(walk.step, end, to.stride);
    T const* source = from.data + first * from.stride;
    T *target = to.data + first * to.stride, *accumulated = target;
    for (auto n = static_cast<std::uint32_t>(walk.first_row); n < end;) {
      T value[exchange_at_once], old[exchange_at_once] = {};
      SLICESORT_UNROLL
      for (std::uint32_t k = 0; k < exchange_at_once; ++k)
        if (n + k * step < end) {
          value[k] = *source;
          source += from_jump;
          if (mode == grad_mode::accumulate) {
            old[k] = *accumulated;
            accumulated += to_jump;
          }
        }
      SLICESORT_UNROLL
      for (int k = 0; k < exchange_at_once; ++k, n += step)
        if (n < end) {
          T const result = n == exchanged_row ? other_value : n == other_row ? row_value : value[k];
          *target = stored_or_accumulated<Block>(mode, old[k], result);
          target += to_jump;
        }
    }
  }
};

SLICESORT_DETAIL_END
