// SPDX-License-Identifier: Apache-2.0
// max_exchange on the host. One pass over a chunk copies its rows and updates the running maxima of
// its columns. Then two elements of each column are exchanged.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/max_exchange/host/running_maximum.hpp>
#include <slicesort/detail/max_exchange/params.hpp>
#include <slicesort/dtype.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Loads rows `row` and `other[c]` of each column c of a chunk. `store_exchanged` exchanges them.
template <class T>
class row_exchange {
 public:
  template <class Row>
  row_exchange(tensor3<T const> source, tensor3<T> target, column_chunk chunk, index_t row,
               Row const* other, grad_mode mode)
      : target_(target), chunk_(chunk), row_(row) {
    with_store<T>(mode, [&](auto store) {
      for (index_t c = 0; c < chunk.channels; ++c) {
        index_t const channel = chunk.channel + c, other_row = static_cast<index_t>(other[c]);
        T new_row_value{}, new_other_value{};  // initialized to avoid a g++ warning
        if (mode == grad_mode::accumulate) {
          new_row_value = target(chunk.batch, row, channel);
          new_other_value = target(chunk.batch, other_row, channel);
        }
        store(new_row_value, source(chunk.batch, other_row, channel));
        store(new_other_value, source(chunk.batch, row, channel));
        other_rows_[c] = other_row, row_values_[c] = new_row_value,
        other_values_[c] = new_other_value;
      }
    });
  }

  void store_exchanged() const {
    for (index_t c = 0; c < chunk_.channels; ++c) {
      target_(chunk_.batch, row_, chunk_.channel + c) = row_values_[c];
      target_(chunk_.batch, other_rows_[c], chunk_.channel + c) = other_values_[c];
    }
  }

 private:
  tensor3<T> target_;
  column_chunk chunk_;
  index_t row_;
  index_t other_rows_[tile_columns];
  T row_values_[tile_columns], other_values_[tile_columns];
};

template <>
struct host_implementation<max_exchange_op> : needs_no_workspace {
  template <class T>
  static void forward(host_exec const& exec, transfer_forward<max_exchange_op, T> const& params,
                      workspace) {
    extents3 const extents = params.x.extents();
    index_t const row = params.config.row;
    isa const set = resolve_isa(exec.instructions);
    for_each_column_chunk(exec, extents, [&](unsigned, column_chunk chunk) {
      constexpr index_t cached_rows = 64;  // rows that stay in the L1 cache until they are copied
      index_t const rows = valid_rows(params.lengths, chunk.batch, extents.length);
      running_maximum<T> maximum(row);
      for (index_t first = 0; first < rows; first += cached_rows) {
        index_t const last = std::min(first + cached_rows, rows);
        scan_chunk(set, params.x, chunk, first, last, maximum);
        transfer_rows(params.x, params.y, chunk, first, last, grad_mode::overwrite);
      }
      transfer_rows(params.x, params.y, chunk, rows, extents.length, grad_mode::overwrite);
      row_exchange<T>(params.x, params.y, chunk, row, maximum.row, grad_mode::overwrite)
          .store_exchanged();
      if (params.saving)
        with_index_type(params.state,
                        [&](auto state) { store_columns(maximum.row, 1, state, chunk, 0, 1); });
    });
  }

  template <class T>
  static void backward(host_exec const& exec, transfer_backward<max_exchange_op, T> const& params,
                       workspace) {
    tensor3<T const> const dy = params.dy;
    tensor3<T> const dx = params.dx;
    extents3 const extents = dy.extents();
    bool const whole_rows = params.mode == grad_mode::overwrite && dy.strides().channels == 1 &&
                            dx.strides().channels == 1;
    if (whole_rows)
      for_each_wide_chunk(exec, extents, [&](column_chunk chunk) {
        transfer_rows(dy, dx, chunk, 0, extents.length, params.mode);
      });
    for_each_column_chunk(exec, extents, [&](unsigned, column_chunk chunk) {
      std::uint32_t maximum[tile_columns];
      with_index_type(params.state,
                      [&](auto state) { load_columns(state, chunk, 0, 1, maximum, 1); });
      // Loads the rows to exchange first, because the copy below may overwrite them (in place or
      // accumulating).
      row_exchange<T> const exchange(dy, dx, chunk, params.config.row, maximum, params.mode);
      if (!whole_rows) transfer_rows(dy, dx, chunk, 0, extents.length, params.mode);
      exchange.store_exchanged();
    });
  }
};

SLICESORT_DETAIL_END
