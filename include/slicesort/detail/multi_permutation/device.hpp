// SPDX-License-Identifier: Apache-2.0
// multi_permutation on a grid: a sort, then the powers of its permutation.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tile_shape.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/multi_permutation/device/sum_powers.hpp>
#include <slicesort/detail/multi_permutation/device/weights_gradient.hpp>
#include <slicesort/detail/multi_permutation/params.hpp>
#include <slicesort/detail/permutation/device/chained_columns.hpp>
#include <slicesort/detail/permutation/device/chained_launch.hpp>
#include <slicesort/detail/sort/device/columns_view.hpp>
#include <slicesort/detail/sort/device/sort_columns.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

template <class Order>
struct device_implementation<multi_permutation_op<Order>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, multi_permutation_shape const& s, arena& a) {
    a.overlap([&](arena& forward) { (void)forward_layout<T>(forward, grid, s.extents); },
              [&](arena& backward) { (void)backward_layout<T>(backward, grid, s); });
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, multi_permutation_forward<Order, T> const& p, workspace w) {
    extents3 const e = p.x.extents();
    if (e.empty()) return;
    arena a(w);
    forward_layout<T> const m(a, grid, e);
    bool const adjacent = rows_are_adjacent(p.y.strides());
    for (index_t first = 0; first < e.batch; first += m.samples) {
      extents3 const some{std::min(m.samples, e.batch - first), e.length, e.channels};
      tensor3<T> const y = slice_batch(p.y, first, some);
      tensor1<index_t const> const lengths = slice_batch(p.lengths, first, some);
      tensor3<T> sorted = y;  // rows past a length as well
      if (m.sorted != nullptr) sorted = {m.sorted, some, merged_strides(some, adjacent)};
      index_rows perm;
      if (p.saving) {
        perm = slice_batch(index_rows(p.perm), first);
      } else {
        perm = scratch_rows(m.perm, some, merged_strides(some, adjacent));
      }
      sort_columns(
          grid,
          columns_view<T, Order>{p.order, slice_batch(p.x, first, some), sorted, perm, lengths},
          m.sort);
      if (m.sorted == nullptr)
        sum_powers<true>(grid, p, tensor3<T const>(sorted), perm, lengths, y);
      else
        sum_powers<false>(grid, p, tensor3<T const>(sorted), perm, lengths, y);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, multi_permutation_backward<T> const& p, workspace w) {
    extents3 const e = p.dy.extents();
    arena a(w);
    backward_layout<T> const m(a, grid, p.shape());
    if (p.needs_weight_gradient) weigh(grid, p, m.sums);
    if (e.empty()) return;
    if (m.dy == nullptr) return transpose_powers<true>(grid, p, p.dy, p.dx, p.perm, p.lengths);
    if (p.dy.data() != p.dx.data())
      return transpose_powers<false>(grid, p, p.dy, p.dx, p.perm, p.lengths);
    bool const adjacent = rows_are_adjacent(p.dx.strides());
    for (index_t first = 0; first < e.batch; first += m.samples) {
      extents3 const some{std::min(m.samples, e.batch - first), e.length, e.channels};
      copy_merged(grid, slice_batch(p.dy, first, some), m.dy, adjacent);
      transpose_powers<false>(grid, p, tensor3<T const>(m.dy, some, merged_strides(some, adjacent)),
                              slice_batch(p.dx, first, some),
                              slice_batch(index_rows(p.perm), first),
                              slice_batch(p.lengths, first, some));
    }
  }

 private:
  template <class T>
  using A = accumulator_t<T>;

  // Samples whose elements the workspace holds at one time.
  template <class T, class Grid>
  static index_t samples_at_once(Grid const& grid, extents3 e) {
    index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
    return std::clamp<index_t>(chunk / (e.length * e.channels), 1, e.batch);
  }

  template <class T>
  struct forward_layout {
    index_t samples = 0;
    sort_layout<T> sort;
    void* perm = nullptr;  // unless it is saved
    T* sorted = nullptr;   // of columns too long for shared memory

    template <class Grid>
    forward_layout(arena& a, Grid const& grid, extents3 e) {
      if (e.empty()) return;
      samples = samples_at_once<T>(grid, e);
      extents3 const some{samples, e.length, e.channels};
      sort = sort_layout<T>(a, grid, some);
      perm = take_scratch_rows(a, some);
      if (chained_width<T>(grid, chained_bytes<T>(e.length), e) == 0)
        sorted = a.take<T>(static_cast<std::size_t>(some.size()));
    }
  };

  template <class T>
  struct backward_layout {
    index_t samples = 0;
    T* dy = nullptr;         // of columns too long for shared memory, if in place
    double* sums = nullptr;  // of every column and term

    template <class Grid>
    backward_layout(arena& a, Grid const& grid, multi_permutation_shape const& s) {
      extents3 const e = s.extents;
      if (e.empty()) return;
      sums = a.take<double>(amount(e.batch * e.channels) * s.terms);
      if (chained_width<T>(grid, transposed_bytes<T>(e.length), e) > 0) return;
      samples = samples_at_once<T>(grid, e);
      dy = a.take<T>(static_cast<std::size_t>(samples * e.length * e.channels));
    }
  };
  template <class T>
  static std::size_t transposed_bytes(index_t length) {
    return chained_bytes<T>(length) + sizeof(A<T>) * static_cast<std::size_t>(length);
  }

  template <bool InShared, class Grid, class T>
  static void sum_powers(Grid const& grid, multi_permutation_forward<Order, T> const& p,
                         tensor3<T const> sorted, index_rows perm, tensor1<index_t const> lengths,
                         tensor3<T> y) {
    using kernel = sum_powers_kernel<T, InShared>;
    run_chained(grid,
                kernel{{sorted, perm, lengths, 0, rows_are_adjacent(y.strides())}, p.weights, y},
                &kernel::sorted, chained_bytes<T>(y.extents().length));
  }

  template <bool InShared, class Grid, class T>
  static void transpose_powers(Grid const& grid, multi_permutation_backward<T> const& p,
                               tensor3<T const> dy, tensor3<T> dx, index_rows perm,
                               tensor1<index_t const> lengths) {
    using kernel = transpose_powers_kernel<T, InShared>;
    run_chained(
        grid,
        kernel{{dy, perm, lengths, 0, rows_are_adjacent(dx.strides())}, p.weights, dx, p.mode},
        &kernel::gradient, transposed_bytes<T>(dx.extents().length));
  }

  template <class Grid, class T>
  static void weigh(Grid const& grid, multi_permutation_backward<T> const& p, double* sums) {
    using add_columns = add_columns_kernel<A<T>>;
    extents3 const e = p.dy.extents();
    index_t const columns = e.empty() ? 0 : e.batch * e.channels, terms = p.weights.terms;
    if (columns > 0) weights_gradient(grid, p, sums);
    grid.run(add_columns{sums, columns, terms, p.dweights, p.mode},
             divide_up(terms, add_columns::max_threads), add_columns::max_threads);
  }
  template <class Grid, class T>
  static void weights_gradient(Grid const& grid, multi_permutation_backward<T> const& p,
                               double* sums) {
    extents3 const e = p.dy.extents();
    index_t const terms = p.weights.terms;
    device_info device = grid.info();
    // Products take no more than a quarter of shared memory, if that can be.
    using body_in_shared = weights_gradient_kernel<T, true>;
    int threads = body_in_shared::max_threads;
    auto at_once = static_cast<int>(std::min<index_t>(terms, body_in_shared::max_terms_at_once));
    auto const bytes = [&] {
      return sizeof(double) * static_cast<std::size_t>(threads) * static_cast<std::size_t>(at_once);
    };
    while (threads > warp_threads && bytes() > device.shared_bytes / 4) threads /= 2;
    while (at_once > 1 && bytes() > device.shared_bytes / 4) --at_once;
    device.shared_bytes -= bytes();
    permute_tuning t = permute_tuning_of<T>(grid);
    t.shared_tile_bytes -= std::min(t.shared_tile_bytes, bytes());
    std::size_t const column = chained_bytes<T>(e.length) + sizeof(std::uint32_t);
    int const fitting =
        narrow_rows(e.length) ? tile_width(device, t, column, e.length, e.batch * e.channels) : 0;
    int const limit = static_cast<int>(power_of_two_below(threads / at_once));
    int const width = std::min(fitting > 0 ? fitting : warp_threads, limit);
    auto const run = [&](auto kernel) {
      kernel.x = {p.x, p.perm, p.lengths, width, rows_are_adjacent(p.x.strides())};
      kernel.dy = p.dy;
      kernel.sums = sums;
      kernel.terms = terms;
      kernel.terms_at_once = at_once;
      kernel.threads = threads;
      grid.run(kernel, divide_up(e.batch * e.channels, width), threads);
    };
    if (fitting > 0)
      run(weights_gradient_kernel<T, true>{});
    else
      run(weights_gradient_kernel<T, false>{});
  }
};

SLICESORT_DETAIL_END
