// SPDX-License-Identifier: Apache-2.0
// shuffle on the device: sorts the hashes of a full column, then permutes rows. The permutation of
// a shorter sample is the full one without the rows past its length.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/slices.hpp>
#include <slicesort/detail/device/tuning.hpp>
#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/detail/math/packed_key.hpp>
#include <slicesort/detail/permutation/device/chained_launch.hpp>
#include <slicesort/detail/permutation/device/permute_columns.hpp>
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

// Computes hashes[0, n, c], the hash of row n in the sequence of channel c.
struct hash_rows_kernel {
  static constexpr int max_threads = 256;

  std::uint64_t seed;
  tensor3<raw_key32> hashes;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const extents = hashes.extents();
    index_t const i = block.index() * block.size() + block.rank();
    if (i >= extents.size()) return;
    index_t const row = i / extents.channels, channel = i - row * extents.channels;
    hashes.data()[i] = {
        counter_hash32(seed, static_cast<std::uint64_t>(channel), static_cast<std::uint64_t>(row))};
  }
};

// Computes the permutations of shorter samples: the valid rows in the order of the full column.
// Padding rows stay in place. Every thread processes consecutive rows of its column. The position
// of its first valid row is the number of valid rows of the preceding threads.
struct shorten_orders_kernel {
  static constexpr int max_threads = 256;

  index_rows full_order;     // shared by all samples
  index_rows sample_orders;  // [batch, length, channels]
  extents3 extents;          // extents of sample_orders
  tensor1<index_t const> lengths;
  int width, threads;

  template <class SharedAllocator>
  SLICESORT_HD std::uint32_t* shared(SharedAllocator& allocator) const {
    return allocator.template allocate<std::uint32_t>(static_cast<std::size_t>(threads));
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    std::uint32_t* const valid_rows_per_thread = shared(block);
    auto const [walk, column_number, has_column, column] =
        column_work(block, extents, width, false);
    index_column const order_column(full_order, column);
    index_t const valid = has_column ? valid_rows(lengths, column.batch, extents.length) : 0;
    index_t const rows_per_thread = divide_up(extents.length, walk.step);
    index_t const first = walk.first_row * rows_per_thread;
    index_t const end =
        first + rows_per_thread < extents.length ? first + rows_per_thread : extents.length;

    std::uint32_t valid_rows_of_thread = 0;
    if (has_column)
      for (index_t i = first; i < end; ++i)
        valid_rows_of_thread += static_cast<index_t>(order_column[i]) < valid;
    valid_rows_per_thread[block.rank()] = valid_rows_of_thread;
    block.sync();
    if (!has_column) return;

    index_t output_row = 0;
    for (int thread = walk.column; thread < block.rank(); thread += width)
      output_row += valid_rows_per_thread[thread];
    index_column const sample_column(sample_orders, column);
    for (index_t i = first; i < end; ++i) {
      std::uint32_t const source = order_column[i];
      if (static_cast<index_t>(source) < valid) sample_column.set(output_row++, source);
      if (i >= valid) sample_column.set(i, static_cast<std::uint32_t>(i));
    }
  }
};

template <class Form>
struct device_implementation<shuffle_op<Form>> {
  template <class T, class Grid>
  static void plan(Grid const& grid, extents3 const& extents, arena& memory) {
    (void)layout<T>(memory, grid, extents);
  }

  template <class Grid, class T>
  static void forward(Grid const& grid, transfer_forward<shuffle_op<Form>, T> const& params,
                      workspace w) {
    run(grid, params.config.seed,
        column_transfer<T>{params.x, params.y, /*gather=*/true, grad_mode::overwrite},
        params.lengths, w);
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, transfer_backward<shuffle_op<Form>, T> const& params,
                       workspace w) {
    run(grid, params.config.seed,
        column_transfer<T>{params.dy, params.dx, /*gather=*/false, params.mode}, params.lengths, w);
  }

 private:
  template <class T>
  struct layout {
    void* full_order = nullptr;  // permutation of full columns: [1, length, 1 or channels]
    raw_key32* hashes = nullptr;
    sort_layout<raw_key32> sort;
    index_t samples = 0;            // samples per chunk, if they have lengths
    void* sample_orders = nullptr;  // permutations of a chunk: [samples, length, 1 or channels]
    permute_layout<T> permute;

    template <class Grid>
    layout(arena& memory, Grid const& grid, extents3 extents) {
      if (extents.empty()) return;
      extents3 const order_extents = extents_of_orders(extents);
      full_order = allocate_row_numbers(memory, order_extents);
      samples = std::clamp<index_t>(grid_tuning_of<T>(grid).chunk_elements / order_extents.size(),
                                    1, extents.batch);
      // The permutation reuses the memory of the sort.
      memory.overlap(
          [&](arena& sorting) {
            hashes = sorting.take<raw_key32>(static_cast<std::size_t>(order_extents.size()));
            sort = sort_layout<raw_key32>(sorting, grid, order_extents);
          },
          [&](arena& permuting) {
            sample_orders = allocate_row_numbers(
                permuting, {samples, order_extents.length, order_extents.channels});
            permute = permute_layout<T>(permuting, grid, extents);
          });
    }
  };

  static extents3 extents_of_orders(extents3 extents) {
    return {1, extents.length, Form::shared ? 1 : extents.channels};
  }

  // Returns a view of permutations. The stride of an axis that shares one permutation is 0.
  static index_rows order_view(void* data, extents3 extents, bool per_sample) {
    strides3 const strides = row_major(extents);
    return row_numbers_view(
        data, extents,
        {per_sample ? strides.batch : 0, strides.length, Form::shared ? 0 : strides.channels});
  }

  template <class Grid, class T>
  static void run(Grid const& grid, std::uint64_t seed, column_transfer<T> columns,
                  tensor1<index_t const> lengths, workspace w) {
    int const threads = grid_tuning_of<T>(grid).element_threads;
    extents3 const extents = columns.x.extents();
    if (extents.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, extents);
    extents3 const order_extents = extents_of_orders(extents);
    index_rows const full_order = order_view(buffers.full_order, order_extents, false);
    tensor3<raw_key32> const hashes(buffers.hashes, order_extents);
    grid.run(hash_rows_kernel{seed, hashes}, divide_up(order_extents.size(), threads), threads);
    sort_columns(grid, columns_view<raw_key32, ascending>{{}, hashes, {}, full_order, {}},
                 buffers.sort);
    if (lengths.data() == nullptr)
      return permute_columns(grid, columns, full_order, buffers.permute);

    for (index_t first = 0; first < extents.batch; first += buffers.samples) {
      extents3 const chunk_extents{std::min(buffers.samples, extents.batch - first), extents.length,
                                   extents.channels};
      column_transfer<T> chunk_columns = columns;
      chunk_columns.x = slice_batch(columns.x, first, chunk_extents);
      chunk_columns.y = slice_batch(columns.y, first, chunk_extents);
      extents3 const perm_extents{chunk_extents.batch, order_extents.length,
                                  order_extents.channels};
      index_rows const perm = order_view(buffers.sample_orders, perm_extents, true);
      shorten_orders(grid, full_order, perm, perm_extents,
                     slice_batch(lengths, first, chunk_extents), threads);
      permute_columns(grid, chunk_columns, perm, buffers.permute);
    }
  }
  template <class Grid>
  static void shorten_orders(Grid const& grid, index_rows full_order, index_rows sample_orders,
                             extents3 extents, tensor1<index_t const> lengths, int threads) {
    int const width =
        static_cast<int>(std::min<index_t>(bit_floor(extents.channels), warp_threads));
    shorten_orders_kernel kernel{};
    kernel.full_order = full_order;
    kernel.sample_orders = sample_orders;
    kernel.extents = extents;
    kernel.lengths = lengths;
    kernel.width = width;
    kernel.threads = threads;
    grid.run(kernel, divide_up(extents.batch * extents.channels, width), threads);
  }
};

SLICESORT_DETAIL_END
