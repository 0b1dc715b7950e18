// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs of a column pairwise. Every thread finds the start of its part of the output
// in both runs by bisection (merge path), so the work is balanced for any values. Ties take the
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

inline constexpr int merge_items = 8;  // elements that one thread merges

template <class View>
struct merge_runs_kernel {
  static constexpr int max_threads = 512;
  static constexpr int items = merge_items;
  using T = typename View::element;

  View view;
  index_t first_column, columns;  // columns of this launch, as in sort_tile
  index_t run_rows = 0;           // rows of an input run
  sorted_runs<T> input{}, output{};
  bool last = false;  // true if the merge writes the view's tensors instead of `output`
  int threads = 0;    // threads of a block

  SLICESORT_HD index_t part_rows() const { return static_cast<index_t>(threads) * items; }
  SLICESORT_HD index_t parts() const { return divide_up(2 * run_rows, part_rows()); }
  SLICESORT_HD index_t pairs() const { return divide_up(view.length(), 2 * run_rows); }
  index_t blocks() const { return columns * pairs() * parts(); }

  struct memory {
    T* values;
    std::uint32_t* rows;
  };
  template <class SharedAllocator>
  SLICESORT_HD memory shared(SharedAllocator& shared_memory) const {
    auto const count = static_cast<std::size_t>(part_rows());
    memory buffers{shared_memory.template allocate<T>(count), nullptr};
    if (input.rows != nullptr) buffers.rows = shared_memory.template allocate<std::uint32_t>(count);
    return buffers;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const buffers = shared(block);
    // Neighboring blocks write neighboring columns of the same rows.
    index_t const number = block.index() % columns, part = block.index() / columns;
    typename View::column_index const column = view.locate(first_column + number);
    bool const ascending = view.ascending(column);
    index_t const valid = view.valid(column);

    index_t const start = part / parts() * 2 * run_rows;
    index_t const remaining = valid - start < 0 ? 0 : valid - start;
    index_t const a_size = remaining < run_rows ? remaining : run_rows;
    index_t const b_size = remaining - a_size < run_rows ? remaining - a_size : run_rows;
    index_t const total = a_size + b_size;
    index_t const from = part % parts() * part_rows();
    if (from >= total) return;  // the same for all threads of the block
    index_t const to = from + part_rows() < total ? from + part_rows() : total;

    // Ranges of both runs that form the output [from, to).
    index_t const a_start = input.offset(number) + start, b_start = a_start + a_size;
    key_at const a_keys{input.values + a_start, ascending},
        b_keys{input.values + b_start, ascending};
    index_t const a_from = merge_path(a_keys, a_size, b_keys, b_size, from);
    index_t const a_to = merge_path(a_keys, a_size, b_keys, b_size, to);
    index_t const b_from = from - a_from;
    int const a_count = static_cast<int>(a_to - a_from);
    int const count = static_cast<int>(to - from);
    for (int i = block.rank(); i < count; i += block.size()) {
      index_t const source = i < a_count ? a_start + a_from + i : b_start + b_from + (i - a_count);
      buffers.values[i] = input.values[source];
      if (buffers.rows != nullptr) buffers.rows[i] = input.rows[source];
    }
    block.sync();

    T value[items];
    std::uint32_t row[items];
    int const begin = block.rank() * items;
    if (begin < count) merge(buffers, ascending, a_count, count, begin, value, row);
    block.sync();
    SLICESORT_UNROLL
    for (int i = 0; i < items; ++i)
      if (begin + i < count) {
        buffers.values[begin + i] = value[i];
        if (buffers.rows != nullptr) buffers.rows[begin + i] = row[i];
      }
    block.sync();
    store(buffers, block, column, number, start + from, count);
  }

 private:
  using bits = bits_t<T>;

  struct key_at {
    T const* values;
    bool ascending;
    SLICESORT_HD bits operator()(index_t i) const { return ordered_key(values[i], ascending); }
  };

  // Computes elements [begin, begin + items) of the merge of [0, a_count) and [a_count, count).
  SLICESORT_HD static void merge(memory const& buffers, bool ascending, int a_count, int count,
                                 int begin, T (&value)[items], std::uint32_t (&row)[items]) {
    key_at const a{buffers.values, ascending}, b{buffers.values + a_count, ascending};
    merge_steps<key_at> steps(a, a_count, b, count - a_count, begin);
    SLICESORT_UNROLL
    for (int k = 0; k < items; ++k) {
      bool const take_a = steps.from_a();
      int const from = take_a ? steps.a_row() : a_count + steps.b_row();
      if (from < count) {
        value[k] = buffers.values[from];
        if (buffers.rows != nullptr) row[k] = buffers.rows[from];
      }
      steps.advance(take_a);
    }
  }

  template <class Block>
  SLICESORT_HD void store(memory const& buffers, Block& block, typename View::column_index column,
                          index_t number, index_t first, int count) const {
    if (last) {
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
      index_t const to = output.offset(number) + first;
      for (int i = block.rank(); i < count; i += block.size()) {
        output.values[to + i] = buffers.values[i];
        if (buffers.rows != nullptr) output.rows[to + i] = buffers.rows[i];
      }
    }
  }
};

SLICESORT_DETAIL_END
