// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs of a column, two at a time. Every thread finds by bisection where its part of
// the output begins in both runs (the merge path), so that the work is even whatever the values
// are. Ties go to the first run, whose rows come first: the merge is stable without comparing rows.
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
  index_t first_column, columns;  // as in sort_tile
  index_t run_rows = 0;           // of the input's runs
  sorted_runs<T> in{}, out{};
  bool last = false;  // write the view's tensors instead of `out`
  int threads = 0;    // of a block

  SLICESORT_HD index_t part_rows() const { return static_cast<index_t>(threads) * items; }
  // Blocks for a pair of runs.
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
    memory m{shared_memory.template allocate<T>(count), nullptr};
    if (in.rows != nullptr) m.rows = shared_memory.template allocate<std::uint32_t>(count);
    return m;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    memory const m = shared(block);
    // Neighboring blocks write neighboring columns of the same rows.
    index_t const column = block.index() % columns, part = block.index() / columns;
    typename View::column_index const at = view.locate(first_column + column);
    bool const ascending = view.ascending(at);
    index_t const valid = view.valid(at);

    index_t const start = part / parts() * 2 * run_rows;
    index_t const left = valid - start < 0 ? 0 : valid - start;
    index_t const a_size = left < run_rows ? left : run_rows;
    index_t const b_size = left - a_size < run_rows ? left - a_size : run_rows;
    index_t const total = a_size + b_size;
    index_t const from = part % parts() * part_rows();
    if (from >= total) return;  // the whole block
    index_t const to = from + part_rows() < total ? from + part_rows() : total;

    // The parts of both runs that end up in from .. to.
    index_t const a_start = in.offset(column) + start, b_start = a_start + a_size;
    key_at const a_all{in.values + a_start, ascending}, b_all{in.values + b_start, ascending};
    index_t const a_from = merge_path(a_all, a_size, b_all, b_size, from);
    index_t const a_to = merge_path(a_all, a_size, b_all, b_size, to);
    index_t const b_from = from - a_from;
    int const a_count = static_cast<int>(a_to - a_from);
    int const count = static_cast<int>(to - from);
    for (int i = block.rank(); i < count; i += block.size()) {
      index_t const source = i < a_count ? a_start + a_from + i : b_start + b_from + (i - a_count);
      m.values[i] = in.values[source];
      if (m.rows != nullptr) m.rows[i] = in.rows[source];
    }
    block.sync();

    T value[items];
    std::uint32_t row[items];
    int const begin = block.rank() * items;
    if (begin < count) merge(m, ascending, a_count, count, begin, value, row);
    block.sync();
    SLICESORT_UNROLL
    for (int i = 0; i < items; ++i)
      if (begin + i < count) {
        m.values[begin + i] = value[i];
        if (m.rows != nullptr) m.rows[begin + i] = row[i];
      }
    block.sync();
    store(m, block, at, column, start + from, count);
  }

 private:
  using bits = bits_t<T>;

  struct key_at {
    T const* values;
    bool ascending;
    SLICESORT_HD bits operator()(index_t i) const { return ordered_key(values[i], ascending); }
  };

  // Elements begin .. begin + items of the merge of [0, a_count) and [a_count, count).
  SLICESORT_HD static void merge(memory const& m, bool ascending, int a_count, int count, int begin,
                                 T (&value)[items], std::uint32_t (&row)[items]) {
    key_at const a{m.values, ascending}, b{m.values + a_count, ascending};
    merge_steps<key_at> next(a, a_count, b, count - a_count, begin);
    SLICESORT_UNROLL
    for (int k = 0; k < items; ++k) {
      bool const take_a = next.of_a();
      int const from = take_a ? next.a_row() : a_count + next.b_row();
      if (from < count) {
        value[k] = m.values[from];
        if (m.rows != nullptr) row[k] = m.rows[from];
      }
      next.advance(take_a);
    }
  }

  template <class Block>
  SLICESORT_HD void store(memory const& m, Block& block, typename View::column_index at,
                          index_t column, index_t first, int count) const {
    if (last) {
      if (view.needs_values()) {
        auto const y = view.results(at);
        for (int i = block.rank(); i < count; i += block.size()) y[first + i] = m.values[i];
      }
      if (view.needs_rows()) {
        auto const perm = view.numbers(at);
        for (int i = block.rank(); i < count; i += block.size()) perm.set(first + i, m.rows[i]);
      }
    } else {
      index_t const to = out.offset(column) + first;
      for (int i = block.rank(); i < count; i += block.size()) {
        out.values[to + i] = m.values[i];
        if (m.rows != nullptr) out.rows[to + i] = m.rows[i];
      }
    }
  }
};

SLICESORT_DETAIL_END
