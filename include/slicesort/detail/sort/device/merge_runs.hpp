// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs of a column pairwise. Every block and thread finds its range of the output in
// both runs by binary search (merge path), so the work is balanced for any values. Ties take the
// first run, whose rows come first, so the merge is stable without comparing rows.
#pragma once

#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/merge_path.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

inline constexpr int merge_items_per_thread = 8;

template <class View>
struct merge_runs_kernel {
  static constexpr int max_threads = 512;
  static constexpr int items = merge_items_per_thread;
  using T = typename View::element;

  View view;
  index_t first_column, columns;  // columns of this launch, as in sort_tile
  index_t run_rows = 0;           // rows of an input run
  sorted_runs<T> input{}, output{};
  bool is_last = false;  // true if the merge writes the view's tensors instead of `output`
  int threads = 0;       // threads of a block

  SLICESORT_HD index_t rows_per_block() const { return static_cast<index_t>(threads) * items; }
  SLICESORT_HD index_t blocks_per_run_pair() const {
    return divide_up(2 * run_rows, rows_per_block());
  }
  SLICESORT_HD index_t run_pairs() const { return divide_up(view.length(), 2 * run_rows); }
  index_t blocks() const { return columns * run_pairs() * blocks_per_run_pair(); }

  struct shared_buffers {
    T* values;
    std::uint32_t* rows;
  };
  template <class SharedAllocator>
  SLICESORT_HD shared_buffers shared(SharedAllocator& allocator) const {
    auto const count = static_cast<std::size_t>(rows_per_block());
    shared_buffers buffers{allocator.template allocate<T>(count), nullptr};
    if (input.rows != nullptr) buffers.rows = allocator.template allocate<std::uint32_t>(count);
    return buffers;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    shared_buffers const buffers = shared(block);
    // Neighboring blocks write neighboring columns of the same rows.
    index_t const column_in_launch = block.index() % columns,
                  block_of_column = block.index() / columns;
    typename View::column_index const column = view.locate(first_column + column_in_launch);
    bool const ascending = view.ascending(column);
    index_t const valid = view.valid(column);

    index_t const start = block_of_column / blocks_per_run_pair() * 2 * run_rows;
    index_t const remaining = valid - start < 0 ? 0 : valid - start;
    index_t const a_size = remaining < run_rows ? remaining : run_rows;
    index_t const b_size = remaining - a_size < run_rows ? remaining - a_size : run_rows;
    index_t const total = a_size + b_size;
    index_t const begin = block_of_column % blocks_per_run_pair() * rows_per_block();
    if (begin >= total) return;  // the same for all threads of the block
    index_t const end = begin + rows_per_block() < total ? begin + rows_per_block() : total;

    // Ranges of both runs that merge into the output [begin, end).
    index_t const a_start = input.offset(column_in_launch) + start, b_start = a_start + a_size;
    run_keys const a_keys{input.values + a_start, ascending},
        b_keys{input.values + b_start, ascending};
    index_t const a_begin = merge_path(a_keys, a_size, b_keys, b_size, begin);
    index_t const a_end = merge_path(a_keys, a_size, b_keys, b_size, end);
    index_t const b_begin = begin - a_begin;
    int const a_count = static_cast<int>(a_end - a_begin);
    int const count = static_cast<int>(end - begin);
    for (int i = block.rank(); i < count; i += block.size()) {
      index_t const source =
          i < a_count ? a_start + a_begin + i : b_start + b_begin + (i - a_count);
      buffers.values[i] = input.values[source];
      if (buffers.rows != nullptr) buffers.rows[i] = input.rows[source];
    }
    block.sync();

    T values[items];
    std::uint32_t rows[items];
    int const thread_begin = block.rank() * items;
    if (thread_begin < count)
      merge_items(buffers, ascending, a_count, count, thread_begin, values, rows);
    block.sync();
    SLICESORT_UNROLL
    for (int i = 0; i < items; ++i)
      if (thread_begin + i < count) {
        buffers.values[thread_begin + i] = values[i];
        if (buffers.rows != nullptr) buffers.rows[thread_begin + i] = rows[i];
      }
    block.sync();
    store(buffers, block, column, column_in_launch, start + begin, count);
  }

 private:
  using bits = bits_t<T>;

  struct run_keys {
    T const* values;
    bool ascending;
    SLICESORT_HD bits operator()(index_t i) const { return ordered_key(values[i], ascending); }
  };

  // Computes elements [thread_begin, thread_begin + items) of the merge of [0, a_count) and
  // [a_count, count).
  SLICESORT_HD static void merge_items(shared_buffers const& buffers, bool ascending, int a_count,
                                       int count, int thread_begin, T (&values)[items],
                                       std::uint32_t (&rows)[items]) {
    run_keys const a{buffers.values, ascending}, b{buffers.values + a_count, ascending};
    merge_iterator<run_keys> merge(a, a_count, b, count - a_count, thread_begin);
    SLICESORT_UNROLL
    for (int k = 0; k < items; ++k) {
      bool const take_a = merge.next_is_a();
      int const source = take_a ? merge.a_row() : a_count + merge.b_row();
      if (source < count) {
        values[k] = buffers.values[source];
        if (buffers.rows != nullptr) rows[k] = buffers.rows[source];
      }
      merge.advance(take_a);
    }
  }

  template <class Block>
  SLICESORT_HD void store(shared_buffers const& buffers, Block& block,
                          typename View::column_index column, index_t column_in_launch,
                          index_t first, int count) const {
    if (is_last) {
      if (view.needs_values()) {
        auto const y = view.results(column);
        for (int i = block.rank(); i < count; i += block.size()) y[first + i] = buffers.values[i];
      }
      if (view.needs_rows()) {
        auto const perm = view.source_rows(column);
        for (int i = block.rank(); i < count; i += block.size())
          perm.set(first + i, buffers.rows[i]);
      }
    } else {
      index_t const offset = output.offset(column_in_launch) + first;
      for (int i = block.rank(); i < count; i += block.size()) {
        output.values[offset + i] = buffers.values[i];
        if (buffers.rows != nullptr) output.rows[offset + i] = buffers.rows[i];
      }
    }
  }
};

SLICESORT_DETAIL_END
