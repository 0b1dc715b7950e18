// SPDX-License-Identifier: Apache-2.0
// Preparation kernel of backward: statistics per query.
#pragma once

#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Uses four threads per query. Computes only `delta` if there is no saved state (materialized).
template <class T>
struct query_stats_kernel {
  static constexpr int max_threads = 128;
  static constexpr int queries_per_block = max_threads / 4;
  using A = accumulator_t<T>;

  tensor4<T const> dy, y;
  tensor4<A const> state;
  attention_lengths lengths;
  query_stats<A>* stats;  // [batch, heads, queries]

  SLICESORT_HD index_t tiles() const { return divide_up(y.extents().length, queries_per_block); }
  index_t blocks() const { return y.extents().batch * y.extents().heads * tiles(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents4 const extents = y.extents();
    index_t const flat_head = block.index() / tiles();
    index_t const row = block.index() % tiles() * queries_per_block + block.rank() / 4;
    head_index const head{flat_head / extents.heads, flat_head % extents.heads};
    bool const valid = row < valid_rows(lengths.queries, head.sample, extents.length);
    A delta(0);
    if (valid)
      for (index_t c = block.rank() % 4; c < extents.channels; c += 4)
        delta += static_cast<A>(dy(head.sample, head.head, row, c)) *
                 static_cast<A>(y(head.sample, head.head, row, c));
    delta = block.template reduce<4>(delta, [](A a, A b) { return a + b; });
    if (row >= extents.length || block.rank() % 4 != 0) return;
    query_stats<A> result{A(0), A(0), delta, A(0)};
    if (valid && state.data() != nullptr) {
      row_statistics<A> const saved = load_statistics(state, head, row);
      if (saved.max != minus_infinity<A>())
        result.max = saved.max, result.inv_sum = A(1) / saved.sum;
    }
    stats[flat_head * extents.length + row] = result;
  }
};

SLICESORT_DETAIL_END
