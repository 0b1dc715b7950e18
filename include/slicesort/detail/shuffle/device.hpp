// SPDX-License-Identifier: Apache-2.0
// shuffle on a grid: the permutations of a full column by sorting its hashes, then the rows move.
// The permutation of fewer rows is what remains of the full one when the other rows are left out.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/permutation/device/chained_launch.hpp>
#include <slicesort/detail/permutation/device/permute_columns.hpp>
#include <slicesort/detail/shuffle/device/shuffled_rows.hpp>
#include <slicesort/detail/shuffle/params.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/order.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class Form>
struct device_implementation<shuffle_op<Form>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, extents3 const& e, arena& a) {
    (void)layout<T>(a, grid, e);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, transfer_forward<shuffle_op<Form>, T> const& p,
                      workspace w) {
    run(grid, p.config.seed, column_permutation<T>{p.x, p.y, {}, true, grad_mode::overwrite},
        p.lengths, w);
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, transfer_backward<shuffle_op<Form>, T> const& p,
                       workspace w) {
    run(grid, p.config.seed, column_permutation<T>{p.dy, p.dx, {}, false, p.mode}, p.lengths, w);
  }

 private:
  template <class T>
  struct layout {
    void* order = nullptr;  // the permutations of a full column: [1, length, one or channels]
    raw_key32* hashes = nullptr;
    sort_layout<raw_key32> sort;
    index_t samples = 0;      // at one time, where they have lengths
    void* shorter = nullptr;  // their permutations: [samples, length, one or channels]
    permute_layout<T> permute;

    template <class Grid>
    layout(arena& a, Grid const& grid, extents3 e) {
      if (e.empty()) return;
      extents3 const orders = orders_of(e);
      order = take_scratch_rows(a, orders);
      samples =
          std::clamp<index_t>(grid_tuning_of<T>(grid).chunk_elements / orders.size(), 1, e.batch);
      // Once rows move, the memory of the sort is free.
      a.overlap(
          [&](arena& sorting) {
            hashes = sorting.take<raw_key32>(static_cast<std::size_t>(orders.size()));
            sort = sort_layout<raw_key32>(sorting, grid, orders);
          },
          [&](arena& moving) {
            shorter = take_scratch_rows(moving, {samples, orders.length, orders.channels});
            permute = permute_layout<T>(moving, grid, e);
          });
    }
  };

  static extents3 orders_of(extents3 e) { return {1, e.length, Form::shared ? 1 : e.channels}; }

  // The row numbers as kernels see them: columns that channels, or samples, share have a stride of
  // 0.
  static index_rows rows_in(void* data, extents3 e, bool of_samples) {
    strides3 const s = row_major(e);
    return scratch_rows(data, e,
                        {of_samples ? s.batch : 0, s.length, Form::shared ? 0 : s.channels});
  }

  template <class Grid, class T>
  static void run(Grid const& grid, std::uint64_t seed, column_permutation<T> job,
                  tensor1<index_t const> lengths, workspace w) {
    int const threads = grid_tuning_of<T>(grid).element_threads;
    extents3 const e = job.in.extents();
    if (e.empty()) return;
    arena a(w);
    layout<T> const m(a, grid, e);
    extents3 const orders = orders_of(e);
    index_rows const order = rows_in(m.order, orders, false);
    tensor3<raw_key32> const hashes(m.hashes, orders);
    grid.run(hash_rows_kernel{seed, hashes}, divide_up(orders.size(), threads), threads);
    sort_columns(grid, columns_view<raw_key32, ascending>{{}, hashes, {}, order, {}}, m.sort);
    job.perm = order;
    if (lengths.data() == nullptr) return permute_columns(grid, job, m.permute);

    for (index_t first = 0; first < e.batch; first += m.samples) {
      extents3 const some{std::min(m.samples, e.batch - first), e.length, e.channels};
      column_permutation<T> part = job;
      part.in = slice_batch(job.in, first, some);
      part.out = slice_batch(job.out, first, some);
      extents3 const shorter{some.batch, orders.length, orders.channels};
      part.perm = rows_in(m.shorter, shorter, true);
      shorten_orders(grid, order, part.perm, shorter, slice_batch(lengths, first, some), threads);
      permute_columns(grid, part, m.permute);
    }
  }
  template <class Grid>
  static void shorten_orders(Grid const& grid, index_rows order, index_rows shorter, extents3 e,
                             tensor1<index_t const> lengths, int threads) {
    int const width =
        static_cast<int>(std::min<index_t>(power_of_two_below(e.channels), warp_threads));
    shorten_orders_kernel kernel{};
    kernel.order = order;
    kernel.shorter = shorter;
    kernel.extents = e;
    kernel.lengths = lengths;
    kernel.width = width;
    kernel.threads = threads;
    grid.run(kernel, divide_up(e.batch * e.channels, width), threads);
  }
};

SLICESORT_DETAIL_END
