// SPDX-License-Identifier: Apache-2.0
// Kernels of top_k. Forward: a block selects the rows of one column.
//
// 1. A radix select finds the k-th key, four bits of it at a time: every thread counts the digits
//    of its rows in its own counters, so there are no atomics.
// 2. A pass over the column collects the keys below it, and as many equal keys as are needed, in
//    the order of rows.
// 3. If the output is sorted, a bitonic network sorts the selected keys, in shared memory if they
//    fit, else in the workspace.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/detail/top_k/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class T, class Order>
struct select_rows_kernel {
  static constexpr int max_threads = 256;
  static constexpr int digit_bits = 4, digits = 1 << digit_bits, sums_per_digit = 8;
  using key = bits_t<T>;

  top_k_config<Order> config;
  tensor3<T const> x;
  tensor3<T> values;   // null: not written
  index_rows indices;  // null: not written
  tensor1<index_t const> lengths;
  index_t first_column = 0;  // column of block 0
  int threads = 0;
  // Memory of the sort: `capacity` entries for each block, a power of two; 0 if nothing is sorted.
  index_t capacity = 0;
  bool sorts_in_shared = false;
  key* workspace_keys = nullptr;
  std::uint32_t* workspace_rows = nullptr;

  struct shared_buffers {
    std::uint32_t* counts;         // [digits, threads]
    std::uint32_t* sums;           // [digits, sums_per_digit]
    std::uint32_t *below, *equal;  // [threads] each
    key* keys;                     // [capacity]; null if in the workspace
    std::uint32_t* rows;           // [capacity]
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_buffers shared(SharedAllocator& allocator) const {
    auto const thread_count = static_cast<std::size_t>(threads);
    shared_buffers buffers{};
    buffers.counts = allocator.template allocate<std::uint32_t>(digits * thread_count);
    buffers.sums = allocator.template allocate<std::uint32_t>(digits * sums_per_digit);
    buffers.below = allocator.template allocate<std::uint32_t>(thread_count);
    buffers.equal = allocator.template allocate<std::uint32_t>(thread_count);
    if (sorts_in_shared) {
      buffers.keys = allocator.template allocate<key>(static_cast<std::size_t>(capacity));
      buffers.rows = allocator.template allocate<std::uint32_t>(static_cast<std::size_t>(capacity));
    }
    return buffers;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    shared_buffers buffers = shared(block);
    if (!sorts_in_shared && capacity != 0) {
      buffers.keys = workspace_keys + block.index() * capacity;
      buffers.rows = workspace_rows + block.index() * capacity;
    }
    extents3 const extents = x.extents();
    column_index const column = column_index_of(first_column + block.index(), extents.channels);
    column_keys const input{column_of<T const>(x, column),
                            ascends(config.order, column.channel, extents.channels),
                            config.nan_last};
    auto const valid =
        static_cast<std::uint32_t>(valid_rows(lengths, column.batch, extents.length));
    auto const limit = static_cast<std::uint32_t>(config.k);
    std::uint32_t const selected = limit < valid ? limit : valid;
    if (selected > 0) {
      std::uint32_t needed = selected;  // rows with the k-th key
      key const threshold = find_threshold(block, buffers, input, valid, needed);
      collect(block, buffers, input, column, valid, threshold, needed);
      if (capacity != 0) {
        sort(block, buffers, selected);
        for (auto n = static_cast<std::uint32_t>(block.rank()); n < selected;
             n += static_cast<std::uint32_t>(block.size()))
          store(column, n, buffers.rows[n]);
      }
    }
    for (std::uint32_t n = selected + static_cast<std::uint32_t>(block.rank()); n < limit;
         n += static_cast<std::uint32_t>(block.size()))
      store(column, n, n);
  }

 private:
  // Keys of a column; smaller keys come first.
  struct column_keys {
    column_of<T const> column;
    bool ascending, nan_last;

    SLICESORT_HD_INLINE key operator[](std::uint32_t row) const {
      key const value = ordered_key(column[row], ascending);
      return nan_last && value == 0 ? static_cast<key>(~key{0}) : value;  // 0: NaN that descends
    }
  };

  // Returns the key of rank `needed`, and sets `needed` to the number of rows with that key that
  // are among the first.
  template <class Block>
  SLICESORT_HD key find_threshold(Block& block, shared_buffers const& buffers,
                                  column_keys const& input, std::uint32_t valid,
                                  std::uint32_t& needed) const {
    int const rank = block.rank(), size = block.size();
    int const threads_per_sum = size / sums_per_digit;
    key prefix = 0, prefix_mask = 0;
    SLICESORT_NO_UNROLL
    for (int shift = 8 * static_cast<int>(sizeof(key)) - digit_bits; shift >= 0;
         shift -= digit_bits) {
      SLICESORT_NO_UNROLL
      for (int d = 0; d < digits; ++d) buffers.counts[d * size + rank] = 0;
      SLICESORT_NO_UNROLL
      for (auto row = static_cast<std::uint32_t>(rank); row < valid;
           row += static_cast<std::uint32_t>(size)) {
        key const value = input[row];
        if ((value & prefix_mask) == prefix)
          ++buffers.counts[static_cast<int>((value >> shift) & (digits - 1)) * size + rank];
      }
      block.sync();
      SLICESORT_NO_UNROLL
      for (int i = rank; i < digits * sums_per_digit; i += size) {
        std::uint32_t sum = 0;
        SLICESORT_NO_UNROLL
        for (int t = 0; t < threads_per_sum; ++t) sum += buffers.counts[i * threads_per_sum + t];
        buffers.sums[i] = sum;
      }
      block.sync();
      int digit = 0;
      SLICESORT_NO_UNROLL
      for (; digit < digits - 1; ++digit) {
        std::uint32_t count = 0;
        SLICESORT_UNROLL
        for (int i = 0; i < sums_per_digit; ++i) count += buffers.sums[digit * sums_per_digit + i];
        if (needed <= count) break;
        needed -= count;
      }
      prefix = static_cast<key>(prefix | static_cast<key>(static_cast<key>(digit) << shift));
      prefix_mask =
          static_cast<key>(prefix_mask | static_cast<key>(static_cast<key>(digits - 1) << shift));
    }
    return prefix;
  }

  // Collects the selected rows in the order of rows: stores them, or hands them to the sort.
  template <class Block>
  SLICESORT_HD void collect(Block& block, shared_buffers const& buffers, column_keys const& input,
                            column_index column, std::uint32_t valid, key threshold,
                            std::uint32_t needed) const {
    auto const rank = static_cast<std::uint32_t>(block.rank()),
               size = static_cast<std::uint32_t>(block.size());
    std::uint32_t const rows_per_thread = divide_up(valid, size);
    std::uint32_t const begin = rank * rows_per_thread < valid ? rank * rows_per_thread : valid;
    std::uint32_t const end = valid - begin < rows_per_thread ? valid : begin + rows_per_thread;
    std::uint32_t below = 0, equal = 0;
    SLICESORT_NO_UNROLL
    for (std::uint32_t row = begin; row < end; ++row) {
      key const value = input[row];
      below += value < threshold;
      equal += value == threshold;
    }
    std::uint32_t below_sum = below, equal_sum = equal;  // of this thread and those before
    SLICESORT_NO_UNROLL
    for (std::uint32_t step = 1; step < size; step *= 2) {
      buffers.below[rank] = below_sum, buffers.equal[rank] = equal_sum;
      block.sync();
      if (rank >= step) {
        below_sum += buffers.below[rank - step];
        equal_sum += buffers.equal[rank - step];
      }
      block.sync();
    }
    std::uint32_t below_before = below_sum - below, equal_before = equal_sum - equal;
    SLICESORT_NO_UNROLL
    for (std::uint32_t row = begin; row < end; ++row) {
      key const value = input[row];
      if (value > threshold || (value == threshold && equal_before >= needed)) continue;
      std::uint32_t const n = below_before + (equal_before < needed ? equal_before : needed);
      below_before += value < threshold;
      equal_before += value == threshold;
      if (capacity == 0) {
        store(column, n, row);
      } else {
        buffers.keys[n] = value;
        buffers.rows[n] = row;
      }
    }
  }

  // Sorts entries by key and row.
  template <class Block>
  SLICESORT_HD void sort(Block& block, shared_buffers const& buffers, std::uint32_t count) const {
    auto const rank = static_cast<std::uint32_t>(block.rank()),
               size = static_cast<std::uint32_t>(block.size());
    std::uint32_t padded = 1;
    while (padded < count) padded *= 2;
    for (std::uint32_t n = count + rank; n < padded; n += size) {
      buffers.keys[n] = static_cast<key>(~key{0});
      buffers.rows[n] = ~std::uint32_t{0};
    }
    block.sync();
    SLICESORT_NO_UNROLL
    for (std::uint32_t merged = 2; merged <= padded && merged != 0; merged *= 2) SLICESORT_NO_UNROLL
    for (std::uint32_t distance = merged / 2; distance > 0; distance /= 2) {
      SLICESORT_NO_UNROLL
      for (std::uint32_t i = rank; i < padded / 2; i += size) {
        std::uint32_t const low = i & (distance - 1), a = (i - low) * 2 + low, b = a + distance;
        key const a_key = buffers.keys[a], b_key = buffers.keys[b];
        std::uint32_t const a_row = buffers.rows[a], b_row = buffers.rows[b];
        bool const in_order = a_key < b_key || (a_key == b_key && a_row < b_row);
        if (in_order == ((a & merged) == 0)) continue;
        buffers.keys[a] = b_key, buffers.keys[b] = a_key;
        buffers.rows[a] = b_row, buffers.rows[b] = a_row;
      }
      block.sync();
    }
  }

  // Stores input row `row` as output row n.
  SLICESORT_HD void store(column_index column, std::uint32_t n, std::uint32_t row) const {
    if (values.data() != nullptr)
      column_of<T>(values, column)[n] = column_of<T const>(x, column)[row];
    if (indices.is_present()) index_column(indices, column).set(n, row);
  }
};

// Scatters k rows of dy into dx, whose other rows are set to 0 unless gradients accumulate.
template <class T>
struct scatter_selected_kernel {
  static constexpr int max_threads = 512;

  tensor3<T const> dy;
  index_rows indices;
  tensor3<T> dx;
  grad_mode mode;
  int width = 1;
  bool rows_adjacent = false;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    auto const [walk, column_number, has_column, column] =
        column_work(block, dx.extents(), width, rows_adjacent);
    column_of<T> const target(dx, column);
    if (has_column && mode == grad_mode::overwrite)
      for (index_t n = walk.first_row; n < dx.extents().length; n += walk.step) target[n] = T{};
    block.sync();
    if (!has_column) return;
    index_t const k = dy.extents().length;
    if (k == 0) return;
    column_of<T const> const source(dy, column);
    index_column const rows(indices, column);
    for (index_t n = walk.first_row; n < k; n += walk.step)
      store_or_accumulate<Block>(mode, target[rows[n]], source[n]);
  }
};

SLICESORT_DETAIL_END
