// SPDX-License-Identifier: Apache-2.0
// permute on a grid: the engine gathers forward, and scatters backward.
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

// The permutations of samples with lengths, as the permute kernels read them: rows past a length
// stay where they are, whatever is stored for them.
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
    SLICESORT_HD_INLINE indexed_walk<column> walk(row_range rows) const {
      return {*this, rows.first, rows.step};
    }
  };
  SLICESORT_HD_INLINE column open(column_index at) const {
    return {perm.open(at), valid_rows(lengths, at.batch, length)};
  }
};

template <>
struct device_implementation<permute_op> {
  template <class T, class Grid>
  static void plan(Grid const& grid, extents3 const& e, arena& a) {
    (void)permute_layout<T>(a, grid, e);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, permute_forward<T> const& p, workspace w) {
    run(grid, column_transfer<T>{p.x, p.y, true, grad_mode::overwrite}, index_rows(p.perm),
        p.lengths, w);
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, permute_backward<T> const& p, workspace w) {
    run(grid, column_transfer<T>{p.dy, p.dx, false, p.mode}, index_rows(p.perm), p.lengths, w);
  }

 private:
  template <class Grid, class T>
  static void run(Grid const& grid, column_transfer<T> const& transfer, index_rows perm,
                  tensor1<index_t const> lengths, workspace w) {
    arena a(w);
    extents3 const e = transfer.in.extents();
    permute_layout<T> const m(a, grid, e);
    with_row_numbers(perm, [&](auto const& rows) {
      if (lengths.data() == nullptr)
        permute_columns(grid, transfer, rows, m);
      else
        permute_columns(grid, transfer, ragged(rows, lengths, e.length), m);
    });
  }
  template <class Index>
  static ragged_rows<Index> ragged(permutation_rows<Index> const& rows,
                                   tensor1<index_t const> lengths, index_t length) {
    return {rows, lengths, length};
  }
};

SLICESORT_DETAIL_END
