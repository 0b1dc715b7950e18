// SPDX-License-Identifier: Apache-2.0
// Sorts a chunk of columns on the calling thread, for operators that process the sorted columns of
// a chunk while they are in the cache.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/sort/host/sort_columns.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Order policy for the channels of a chunk.
template <class Order>
struct chunk_order {
  Order order;
  index_t first, channels;

  SLICESORT_HD bool ascending(index_t channel, index_t) const {
    return ascends(order, first + channel, channels);
  }
};

template <class V>
tensor3<V> chunk_of(tensor3<V> v, sample_chunk const& columns, extents3 e) {
  return {v.data() + v.offset(columns.batch, 0, columns.channel), e, v.strides()};
}

// Memory to sort a chunk of at most `tile_columns` columns, and its permutation if that is not
// saved.
template <class T>
struct chunk_sort_scratch {
  std::uint32_t* unsaved_perm;
  sort_scratch<T> sorting;

  chunk_sort_scratch(arena& memory, extents3 e)
      : unsaved_perm(memory.take<std::uint32_t>(
            static_cast<std::size_t>(column_chunks(e, tile_columns).columns() * e.length))),
        sorting(memory, {1, e.length, tile_columns}, 1) {}
};

// Permutation of a chunk: that of the whole tensor, or of the chunk alone if it is not saved.
struct chunk_permutation {
  index_tensor3 perm;
  bool whole;

  // Loads the rows of sample `sample` of the chunk. Column c starts at
  // rows_of_columns[c * pitch].
  void load(sample_chunk const& chunk, index_t sample, index_t rows, std::uint32_t* rows_of_columns,
            index_t pitch) const {
    column_chunk const columns = whole ? chunk[sample] : column_chunk{sample, 0, chunk.channels};
    with_index_type(perm,
                    [&](auto v) { load_columns(v, columns, 0, rows, rows_of_columns, pitch); });
  }
};

// Sorts a chunk of params.x into params.y. Writes params.perm if params.saving; otherwise computes
// the permutation only if `needs_perm`.
template <class T, class Order, class Params>
chunk_permutation sort_chunk(isa instructions, Order const& order, Params const& params,
                             sample_chunk const& columns, chunk_sort_scratch<T> const& scratch,
                             bool needs_perm = true) {
  extents3 const whole = params.x.extents(), e{columns.batches, whole.length, columns.channels};
  index_tensor3 perm = params.perm, chunk_perm;
  if (params.saving)
    with_index_type(perm, [&](auto v) { chunk_perm = chunk_of(v, columns, e); });
  else if (needs_perm)
    perm = chunk_perm = tensor3<std::uint32_t>(scratch.unsaved_perm, e);
  tensor1<index_t const> lengths;
  if (params.lengths.data() != nullptr)
    lengths = {params.lengths.data() + columns.batch * params.lengths.stride(), columns.batches,
               params.lengths.stride()};
  chunk_order<Order> const chunk_order_policy{order, columns.channel, whole.channels};
  sort_columns(
      exec::host{1, instructions},
      columns_to_sort<T, chunk_order<Order>>{chunk_order_policy, chunk_of(params.x, columns, e),
                                             chunk_of(params.y, columns, e), chunk_perm, lengths},
      [&](unsigned) { return scratch.sorting; });
  return {perm, params.saving};
}

SLICESORT_DETAIL_END
