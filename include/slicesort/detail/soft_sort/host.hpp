// SPDX-License-Identifier: Apache-2.0
// Host backend of soft_sort and soft_rank. A task sorts a chunk of columns into y, and then solves
// the isotonic regression of each column in per-thread memory.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/simd/lane_values.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/unfused.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/soft_sort/params.hpp>
#include <slicesort/detail/soft_sort/pools.hpp>
#include <slicesort/detail/sort/host/sort_chunk.hpp>
#include <slicesort/policies/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/soft_sort/host/exponentials.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

// Elements that a vector of exponentials may take past the last one.
inline constexpr std::size_t exponential_lanes = 8;

// One column in per-thread memory.
template <class T>
struct soft_column {
  T* values;             // forward: sorted values; backward: gradients
  T* results;            // soft_rank: results by source row; backward: dx
  T const* x;            // backward: input; null if not entropic
  std::uint32_t* perm;   // source row of each sorted row; forward of soft_sort: not used
  std::uint32_t* pools;  // first sorted row of each row's pool
  double* exponentials;  // [rows, padded by a vector]; scratch memory if entropic
  index_t rows;
};

template <bool Ranks, bool Entropic, class T>
class soft_column_solver {
 public:
  soft_column_solver(double strength, isa instructions, pool_stack const& stack)
      : strength_(strength),
        inverse_(inverse_strength(strength)),
        instructions_(fused_isa(instructions)),
        stack_(stack) {}

  // Replaces the sorted values by those of the regression, or writes the ranks to the results.
  // Returns false if the sorted values do not change.
  bool forward(soft_column<T> const& column, bool ascends) {
    if (!Ranks && is_hard(column, ascends)) {
      for (index_t n = 0; n < column.rows; ++n) column.pools[n] = static_cast<std::uint32_t>(n);
      return false;
    }
    // soft_rank reads the sorted rows from the last to the first.
    index_t const rows = column.rows, step = Ranks ? -1 : 1, first = Ranks ? rows - 1 : 0;
    T* const values = column.values + (rows == 0 ? 0 : first);
    double const sign = ascends != Ranks ? -1 : 1;
    auto const value = [=](index_t row) { return sign * widened(values[row * step]); };
    unfused<double> math{};
    isotonic_regression<Ranks, Entropic> const regression(inverse_, rows, value);
    double* const exponentials = column.exponentials;
    if (regression.shares_scale) {
      double const maximum = value(0);
      for (index_t row = 0; row < rows; ++row)
        exponentials[row] = regression.exponent(value(row), maximum);
      replace_by_exponentials(column);
    }
    auto const exponential = [=](index_t row) { return exponentials[row]; };
    index_t const count = regression.find_pools(math, value, exponential, stack_);
    for (index_t i = 0; i < count; ++i) {
      row_pool const pool =
          stack_.load(i, i + 1 < count ? static_cast<index_t>(stack_.starts[i + 1]) : rows, value);
      regression.for_each_result(math, pool, value, exponential, [&](index_t row, double result) {
        if constexpr (Ranks)
          column.results[column.perm[rows - 1 - row]] = narrowed<T>(result);
        else
          values[row] = narrowed<T>(sign * result);
      });
      index_t const sorted = Ranks ? rows - pool.end : pool.start;
      std::fill_n(column.pools + sorted, pool.end - pool.start, static_cast<std::uint32_t>(sorted));
    }
    return true;
  }

  // Computes the gradients of a column, by source row.
  void backward(soft_column<T> const& column, bool ascends) const {
    std::uint32_t const* const perm = column.perm;
    pool_gradient<Ranks, Entropic> const gradients{inverse_, ascends != Ranks ? -1.0 : 1.0};
    unfused<double> math{};
    auto const gradient = [&](index_t n) { return widened(column.values[Ranks ? perm[n] : n]); };
    double* const exponentials = column.exponentials;
    if constexpr (Entropic) {
      auto const value = [&](index_t n) { return widened(column.x[perm[n]]); };
      bool pooled = false;
      for_each_pool(column, [&](index_t start, index_t end) {
        exponentials[start] = 0;
        if (end - start == 1) return;
        pooled = true;
        gradients.for_each_exponent(
            start, end, value, [&](index_t n, double exponent) { exponentials[n] = exponent; });
      });
      if (pooled) replace_by_exponentials(column);
    }
    for_each_pool(column, [&](index_t start, index_t end) {
      if (end - start == 1)
        column.results[perm[start]] = Ranks ? T(0.0F) : column.values[start];
      else
        gradients(math, start, end, exponentials, 1, gradient,
                  [&](index_t n, double result) { column.results[perm[n]] = narrowed<T>(result); });
    });
  }

 private:
  // Calls f(start, end) for the pools of a column. Ends where a kernel ends, also for pools that no
  // forward call saved.
  template <class F>
  static void for_each_pool(soft_column<T> const& column, F const& f) {
    for (index_t start = 0, end = 0; start < column.rows; start = end) {
      while (end < column.rows && static_cast<index_t>(column.pools[end]) == start) ++end;
      end = std::max(end, start + 1);
      f(start, end);
    }
  }
  void replace_by_exponentials(soft_column<T> const& column) const {
    std::fill_n(column.exponentials + column.rows, exponential_lanes, 0.0);
    with_isa(instructions_,
             [&](auto target) { compute_exponentials(target, column.exponentials, column.rows); });
  }
  // True if every row is certainly alone in its pool, as it is for small strengths. With entropy,
  // rows are merged if their gap exceeds 1 / strength up to a rounding error of exp.
  bool is_hard(soft_column<T> const& column, bool ascends) const {
    if (strength_ == 0) return true;
    double const sign = ascends ? 1 : -1, limit = Entropic ? inverse_ - 0x1p-10 : inverse_;
    int violations = 0;
    for (index_t n = 1; n < column.rows; ++n)
      violations += static_cast<int>(
          sign * (widened(column.values[n]) - widened(column.values[n - 1])) >= limit);
    return violations == 0;
  }

  double strength_, inverse_;
  isa instructions_;
  pool_stack stack_;
};

template <class Form, class Order>
struct host_implementation<soft_operation<Form, Order>> {
  template <class T>
  static void plan(host_exec const& exec, extents3 const& extents, arena& memory) {
    (void)layout_of<T>(memory, exec, extents);
  }

  template <class T>
  static void forward(host_exec const& exec, soft_sort_forward<Form, Order, T> const& params,
                      workspace memory);

  template <class T>
  static void backward(host_exec const& exec, soft_sort_backward<Form, Order, T> const& params,
                       workspace memory);

 private:
  // Columns of one sample, the stack of one column, and memory to sort a chunk.
  template <class T>
  struct thread_layout {
    index_t pitch;
    T *values, *results, *x;
    std::uint32_t *perm, *pools;
    double* exponentials;
    pool_stack stack;
    chunk_sort_scratch<T> sorting;

    thread_layout(arena& memory, extents3 e)
        : pitch(column_pitch(e.length)),
          values(memory.take<T>(elements(e))),
          results(memory.take<T>(elements(e))),
          x(memory.take<T>(elements(e))),
          perm(memory.take<std::uint32_t>(elements(e))),
          pools(memory.take<std::uint32_t>(elements(e))),
          exponentials(memory.take<double>(static_cast<std::size_t>(pitch) + exponential_lanes)),
          stack{memory.take<std::uint32_t>(static_cast<std::size_t>(pitch)),
                memory.take<double>(static_cast<std::size_t>(pitch)),
                memory.take<double>(static_cast<std::size_t>(pitch)), 1},
          sorting(memory, e) {}
    static std::size_t elements(extents3 e) {
      return static_cast<std::size_t>(column_chunks(e, tile_columns).channels() *
                                      column_pitch(e.length));
    }
    soft_column<T> column(index_t c, index_t rows, bool reads_x) const {
      index_t const first = c * pitch;
      soft_column<T> column{};
      column.values = values + first;
      column.results = results + first;
      if (reads_x) column.x = x + first;
      column.perm = perm + first;
      column.pools = pools + first;
      column.exponentials = exponentials;
      column.rows = rows;
      return column;
    }
  };
  template <class T>
  using layout = per_thread<thread_layout<T>, extents3>;
  template <class T>
  static layout<T> layout_of(arena& memory, host_exec const& exec, extents3 e) {
    return {memory, exec.threads, column_chunks(e, tile_columns).count(), e};
  }

  template <bool Entropic, class T>
  static void solve_chunk(isa set, soft_sort_forward<Form, Order, T> const& params,
                          column_chunk const& columns, index_t rows,
                          thread_layout<T> const& local) {
    index_t const length = params.x.extents().length, channels = params.x.extents().channels;
    soft_column_solver<Form::ranks, Entropic, T> solver(params.config.strength, set, local.stack);
    load_columns(params.y, columns, 0, rows, local.values, local.pitch);
    bool changes = false;
    for (index_t c = 0; c < columns.channels; ++c)
      changes |= solver.forward(local.column(c, rows, false),
                                ascends(params.config.order, columns.channel + c, channels));
    if (changes)
      store_columns(Form::ranks ? local.results : local.values, local.pitch, params.y, columns, 0,
                    rows);
    if (Form::ranks) clear_rows(params.y, columns, rows, length);
    if (!params.saving) return;
    for (index_t c = 0; c < columns.channels; ++c)
      for (index_t n = rows; n < length; ++n)
        local.pools[c * local.pitch + n] = static_cast<std::uint32_t>(n);
    with_index_type(params.pools, [&](auto v) {
      store_columns(local.pools, local.pitch, v, columns, 0, length);
    });
  }
  template <bool Entropic, class T>
  static void backward_chunk(isa set, soft_sort_backward<Form, Order, T> const& params,
                             column_chunk const& columns, index_t rows,
                             thread_layout<T> const& local) {
    index_t const channels = params.dy.extents().channels;
    soft_column_solver<Form::ranks, Entropic, T> const solver(params.config.strength, set,
                                                              local.stack);
    with_index_type(params.perm,
                    [&](auto v) { load_columns(v, columns, 0, rows, local.perm, local.pitch); });
    with_index_type(params.pools,
                    [&](auto v) { load_columns(v, columns, 0, rows, local.pools, local.pitch); });
    load_columns(params.dy, columns, 0, rows, local.values, local.pitch);
    if (Entropic) load_columns(params.x, columns, 0, rows, local.x, local.pitch);
    for (index_t c = 0; c < columns.channels; ++c)
      solver.backward(local.column(c, rows, Entropic),
                      ascends(params.config.order, columns.channel + c, channels));
    store_gradient(local.results, local.pitch, params.dx, columns, 0, rows, params.mode);
    index_t const length = params.dy.extents().length;
    if (!Form::ranks)
      transfer_rows(params.dy, params.dx, columns, rows, length, params.mode);
    else if (params.mode == grad_mode::overwrite)
      clear_rows(params.dx, columns, rows, length);
  }

  template <class T>
  static void clear_rows(tensor3<T> tensor, column_chunk columns, index_t first, index_t last) {
    for_each_element(tensor, columns, first, last,
                     [](index_t, index_t, T& element) { element = T(0.0F); });
  }
};

template <class Form, class Order>
template <class T>
void host_implementation<soft_operation<Form, Order>>::forward(
    host_exec const& exec, soft_sort_forward<Form, Order, T> const& params, workspace memory) {
  arena allocator(memory);
  extents3 const e = params.x.extents();
  layout<T> const buffers = layout_of<T>(allocator, exec, e);
  column_chunks const chunks(e, tile_columns);
  for_each_task(exec, chunks.count(), [&](unsigned thread, index_t task) {
    sample_chunk const chunk = chunks[task];
    thread_layout<T> const local = buffers[thread];
    chunk_permutation const perm = sort_chunk<T>(exec.instructions, params.config.order, params,
                                                 chunk, local.sorting, Form::ranks);
    for (index_t sample = 0; sample < chunk.batches; ++sample) {
      column_chunk const columns = chunk[sample];
      index_t const rows = valid_rows(params.lengths, columns.batch, e.length);
      if (Form::ranks) perm.load(chunk, sample, rows, local.perm, local.pitch);
      if (params.config.entropic)
        solve_chunk<true>(exec.instructions, params, columns, rows, local);
      else
        solve_chunk<false>(exec.instructions, params, columns, rows, local);
    }
  });
}

template <class Form, class Order>
template <class T>
void host_implementation<soft_operation<Form, Order>>::backward(
    host_exec const& exec, soft_sort_backward<Form, Order, T> const& params, workspace memory) {
  arena allocator(memory);
  extents3 const e = params.dy.extents();
  layout<T> const buffers = layout_of<T>(allocator, exec, e);
  for_each_column_chunk(exec, e, [&](unsigned thread, column_chunk columns) {
    thread_layout<T> const local = buffers[thread];
    index_t const rows = valid_rows(params.lengths, columns.batch, e.length);
    if (params.config.entropic)
      backward_chunk<true>(exec.instructions, params, columns, rows, local);
    else
      backward_chunk<false>(exec.instructions, params, columns, rows, local);
  });
}

SLICESORT_DETAIL_END
