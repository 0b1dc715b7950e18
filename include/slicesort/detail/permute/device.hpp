// SPDX-License-Identifier: Apache-2.0
// permute on the device: forward gathers, backward scatters.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/permutation/device/permutation_rows.hpp>
#include <slicesort/detail/permutation/device/permute_columns.hpp>
#include <slicesort/detail/permute/params.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

SLICESORT_DETAIL_BEGIN

// Permutations of samples with lengths. Padding rows map to themselves, regardless of the stored
// index.
template <class Index>
struct ragged_rows {
  permutation_rows<Index> perm;
  tensor1<index_t const> lengths;
  index_t length;

  struct column {
    typename permutation_rows<Index>::column perm;
    index_t valid;

    SLICESORT_HD_INLINE index_t operator[](index_t row) const {
      return row < valid ? perm[row] : row;
    }
    SLICESORT_HD_INLINE indexed_iterator<column> walk(row_range rows) const {
      return {*this, rows.first, rows.step};
    }
  };
  SLICESORT_HD_INLINE column column_at(column_index index) const {
    return {perm.column_at(index), valid_rows(lengths, index.batch, length)};
  }
};

template <>
struct device_implementation<permute_op> {
  template <class T, class Grid>
  static void plan(Grid const& grid, extents3 const& extents, arena& memory) {
    (void)permute_layout<T>(memory, grid, extents);
  }
  template <class Grid, class T>
  static void forward(Grid const& grid, transfer_forward<permute_op, T> const& params,
                      workspace w) {
    run(grid, column_transfer<T>{params.x, params.y, /*gather=*/true, grad_mode::overwrite}, params,
        w);
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, transfer_backward<permute_op, T> const& params,
                       workspace w) {
    run(grid, column_transfer<T>{params.dy, params.dx, /*gather=*/false, params.mode}, params, w);
  }

 private:
  template <class Grid, class T, class Params>
  static void run(Grid const& grid, column_transfer<T> const& transfer, Params const& params,
                  workspace w) {
    arena memory(w);
    extents3 const extents = transfer.x.extents();
    permute_layout<T> const layout(memory, grid, extents);
    with_row_numbers(index_rows(params.state), [&](auto const& rows) {
      if (params.lengths.data() == nullptr)
        permute_columns(grid, transfer, rows, layout);
      else
        permute_columns(grid, transfer, make_ragged(rows, params.lengths, extents.length), layout);
    });
  }
  template <class Index>
  static ragged_rows<Index> make_ragged(permutation_rows<Index> const& rows,
                                        tensor1<index_t const> lengths, index_t length) {
    return {rows, lengths, length};
  }
};

SLICESORT_DETAIL_END
