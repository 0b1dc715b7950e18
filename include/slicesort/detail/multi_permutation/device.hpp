// SPDX-License-Identifier: Apache-2.0
// Device backend of multi_permutation: sorts, then sums the powers of the permutation.
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
  static void plan(Grid const& grid, multi_permutation_shape const& shape, arena& memory) {
    memory.overlap([&](arena& forward) { (void)forward_layout<T>(forward, grid, shape.extents); },
                   [&](arena& backward) { (void)backward_layout<T>(backward, grid, shape); });
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, multi_permutation_forward<Order, T> const& params,
                      workspace memory) {
    extents3 const e = params.x.extents();
    if (e.empty()) return;
    arena allocator(memory);
    forward_layout<T> const buffers(allocator, grid, e);
    bool const rows_adjacent = rows_are_adjacent(params.y.strides());
    for (index_t first = 0; first < e.batch; first += buffers.samples_per_chunk) {
      extents3 const chunk{std::min(buffers.samples_per_chunk, e.batch - first), e.length,
                           e.channels};
      tensor3<T> const y = slice_batch(params.y, first, chunk);
      tensor1<index_t const> const lengths = slice_batch(params.lengths, first, chunk);
      tensor3<T> sorted = y;  // includes rows past a length
      if (buffers.sorted != nullptr)
        sorted = {buffers.sorted, chunk, one_sample_strides(chunk, rows_adjacent)};
      index_rows perm;
      if (params.saving) {
        perm = slice_batch(index_rows(params.perm), first);
      } else {
        perm = row_numbers_view(buffers.perm, chunk, one_sample_strides(chunk, rows_adjacent));
      }
      sort_columns(grid,
                   columns_view<T, Order>{params.order, slice_batch(params.x, first, chunk), sorted,
                                          perm, lengths},
                   buffers.sort);
      if (buffers.sorted == nullptr)
        sum_powers<true>(grid, params, tensor3<T const>(sorted), perm, lengths, y);
      else
        sum_powers<false>(grid, params, tensor3<T const>(sorted), perm, lengths, y);
    }
  }

  template <class Grid, class T>
  static void backward(Grid const& grid, multi_permutation_backward<T> const& params,
                       workspace memory) {
    extents3 const e = params.dy.extents();
    arena allocator(memory);
    backward_layout<T> const buffers(allocator, grid, params.shape());
    if (params.needs_weight_gradient) compute_weight_gradients(grid, params, buffers.sums);
    if (e.empty()) return;
    if (buffers.dy == nullptr)
      return transpose_powers<true>(grid, params, params.dy, params.dx, params.perm,
                                    params.lengths);
    if (params.dy.data() != params.dx.data())
      return transpose_powers<false>(grid, params, params.dy, params.dx, params.perm,
                                     params.lengths);
    bool const rows_adjacent = rows_are_adjacent(params.dx.strides());
    for (index_t first = 0; first < e.batch; first += buffers.samples_per_chunk) {
      extents3 const chunk{std::min(buffers.samples_per_chunk, e.batch - first), e.length,
                           e.channels};
      copy_as_one_sample(grid, slice_batch(params.dy, first, chunk), buffers.dy, rows_adjacent);
      transpose_powers<false>(
          grid, params,
          tensor3<T const>(buffers.dy, chunk, one_sample_strides(chunk, rows_adjacent)),
          slice_batch(params.dx, first, chunk), slice_batch(index_rows(params.perm), first),
          slice_batch(params.lengths, first, chunk));
    }
  }

 private:
  template <class T>
  using A = accumulator_t<T>;

  // Number of samples that the workspace holds at a time.
  template <class T, class Grid>
  static index_t fitting_samples(Grid const& grid, extents3 e) {
    index_t const chunk = grid_tuning_of<T>(grid).chunk_elements;
    return std::clamp<index_t>(chunk / (e.length * e.channels), 1, e.batch);
  }

  template <class T>
  struct forward_layout {
    index_t samples_per_chunk = 0;
    sort_layout<T> sort;
    void* perm = nullptr;  // null if the permutation is saved
    T* sorted = nullptr;   // sorted columns, if too long for shared memory

    template <class Grid>
    forward_layout(arena& memory, Grid const& grid, extents3 e) {
      if (e.empty()) return;
      samples_per_chunk = fitting_samples<T>(grid, e);
      extents3 const chunk{samples_per_chunk, e.length, e.channels};
      sort = sort_layout<T>(memory, grid, chunk);
      perm = allocate_row_numbers(memory, chunk);
      if (chained_width<T>(grid, chained_bytes<T>(e.length), e) == 0)
        sorted = memory.take<T>(static_cast<std::size_t>(chunk.size()));
    }
  };

  template <class T>
  struct backward_layout {
    index_t samples_per_chunk = 0;
    T* dy = nullptr;         // in place: copy of dy, if too long for shared memory
    double* sums = nullptr;  // [columns, components]

    template <class Grid>
    backward_layout(arena& memory, Grid const& grid, multi_permutation_shape const& shape) {
      extents3 const e = shape.extents;
      if (e.empty()) return;
      sums = memory.take<double>(amount(e.batch * e.channels) * shape.components);
      if (chained_width<T>(grid, transposed_bytes<T>(e.length), e) > 0) return;
      samples_per_chunk = fitting_samples<T>(grid, e);
      dy = memory.take<T>(static_cast<std::size_t>(samples_per_chunk * e.length * e.channels));
    }
  };
  template <class T>
  static std::size_t transposed_bytes(index_t length) {
    return chained_bytes<T>(length) + sizeof(A<T>) * static_cast<std::size_t>(length);
  }

  template <bool InShared, class Grid, class T>
  static void sum_powers(Grid const& grid, multi_permutation_forward<Order, T> const& params,
                         tensor3<T const> sorted, index_rows perm, tensor1<index_t const> lengths,
                         tensor3<T> y) {
    using Kernel = sum_powers_kernel<T, InShared>;
    run_chained(
        grid, Kernel{{sorted, perm, lengths, 0, rows_are_adjacent(y.strides())}, params.weights, y},
        &Kernel::sorted, chained_bytes<T>(y.extents().length));
  }

  template <bool InShared, class Grid, class T>
  static void transpose_powers(Grid const& grid, multi_permutation_backward<T> const& params,
                               tensor3<T const> dy, tensor3<T> dx, index_rows perm,
                               tensor1<index_t const> lengths) {
    using Kernel = transpose_powers_kernel<T, InShared>;
    run_chained(grid,
                Kernel{{dy, perm, lengths, 0, rows_are_adjacent(dx.strides())},
                       params.weights,
                       dx,
                       params.mode},
                &Kernel::gradient, transposed_bytes<T>(dx.extents().length));
  }

  template <class Grid, class T>
  static void compute_weight_gradients(Grid const& grid,
                                       multi_permutation_backward<T> const& params, double* sums) {
    using Kernel = add_columns_kernel<A<T>>;
    extents3 const e = params.dy.extents();
    index_t const columns = e.empty() ? 0 : e.batch * e.channels,
                  components = params.weights.components;
    if (columns > 0) compute_column_sums(grid, params, sums);
    grid.run(Kernel{sums, columns, components, params.dweights, params.mode},
             divide_up(components, Kernel::max_threads), Kernel::max_threads);
  }
  template <class Grid, class T>
  static void compute_column_sums(Grid const& grid, multi_permutation_backward<T> const& params,
                                  double* sums) {
    extents3 const e = params.dy.extents();
    index_t const components = params.weights.components;
    device_info device = grid.info();
    // Limits the products to a quarter of shared memory. With 32 threads they take at most 1 KB.
    using SharedKernel = weights_gradient_kernel<T, true>;
    int threads = SharedKernel::max_threads;
    auto const components_per_pass =
        static_cast<int>(std::min<index_t>(components, SharedKernel::max_components_per_pass));
    auto const bytes = [&] {
      return sizeof(double) * static_cast<std::size_t>(threads) *
             static_cast<std::size_t>(components_per_pass);
    };
    while (threads > warp_threads && bytes() > device.shared_bytes / 4) threads /= 2;
    device.shared_bytes -= bytes();
    permute_tuning tuning = permute_tuning_of<T>(grid);
    tuning.shared_tile_bytes -= std::min(tuning.shared_tile_bytes, bytes());
    std::size_t const bytes_per_row = chained_bytes<T>(e.length) + sizeof(std::uint32_t);
    int const fitting_width = fits_16_bits(e.length) ? tile_width(device, tuning, bytes_per_row,
                                                                  e.length, e.batch * e.channels)
                                                     : 0;
    int const max_width = static_cast<int>(bit_floor(threads / components_per_pass));
    int const width = std::min(fitting_width > 0 ? fitting_width : warp_threads, max_width);
    auto const launch = [&](auto kernel) {
      kernel.x = {params.x, params.perm, params.lengths, width,
                  rows_are_adjacent(params.x.strides())};
      kernel.dy = params.dy;
      kernel.sums = sums;
      kernel.components = components;
      kernel.components_per_pass = components_per_pass;
      kernel.threads = threads;
      grid.run(kernel, divide_up(e.batch * e.channels, width), threads);
    };
    if (fitting_width > 0)
      launch(weights_gradient_kernel<T, true>{});
    else
      launch(weights_gradient_kernel<T, false>{});
  }
};

SLICESORT_DETAIL_END
