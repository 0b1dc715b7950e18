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

// Computes hashes[0, n, c], the hash of row n in stream c.
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
// Rows past the length stay in place. Every thread processes consecutive rows of its column, and
// sums the valid rows of the preceding threads.
struct shorten_orders_kernel {
  static constexpr int max_threads = 256;

  index_rows order;    // shared by all samples
  index_rows shorter;  // [batch, length, channels]
  extents3 extents;    // extents of `shorter`
  tensor1<index_t const> lengths;
  int width, threads;

  template <class SharedAllocator>
  SLICESORT_HD std::uint32_t* shared(SharedAllocator& shared_memory) const {
    return shared_memory.template allocate<std::uint32_t>(static_cast<std::size_t>(threads));
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    std::uint32_t* const counts = shared(block);
    auto const [walk, number, inside, column] = column_work(block, extents, width, false);
    index_column const from(order, column);
    index_t const valid = inside ? valid_rows(lengths, column.batch, extents.length) : 0;
    index_t const rows_of_thread = divide_up(extents.length, walk.step);
    index_t const first = walk.first_row * rows_of_thread;
    index_t const last =
        first + rows_of_thread < extents.length ? first + rows_of_thread : extents.length;

    std::uint32_t count = 0;
    if (inside)
      for (index_t i = first; i < last; ++i) count += static_cast<index_t>(from[i]) < valid;
    counts[block.rank()] = count;
    block.sync();
    if (!inside) return;

    index_t n = 0;
    for (int thread = walk.column; thread < block.rank(); thread += width) n += counts[thread];
    index_column const to(shorter, column);
    for (index_t i = first; i < last; ++i) {
      std::uint32_t const source = from[i];
      if (static_cast<index_t>(source) < valid) to.set(n++, source);
      if (i >= valid) to.set(i, static_cast<std::uint32_t>(i));
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
        column_transfer<T>{params.x, params.y, true, grad_mode::overwrite}, params.lengths, w);
  }
  template <class Grid, class T>
  static void backward(Grid const& grid, transfer_backward<shuffle_op<Form>, T> const& params,
                       workspace w) {
    run(grid, params.config.seed, column_transfer<T>{params.dy, params.dx, false, params.mode},
        params.lengths, w);
  }

 private:
  template <class T>
  struct layout {
    void* order = nullptr;  // permutations of a full column: [1, length, 1 or channels]
    raw_key32* hashes = nullptr;
    sort_layout<raw_key32> sort;
    index_t samples = 0;      // samples per chunk, if they have lengths
    void* shorter = nullptr;  // their permutations: [samples, length, 1 or channels]
    permute_layout<T> permute;

    template <class Grid>
    layout(arena& memory, Grid const& grid, extents3 extents) {
      if (extents.empty()) return;
      extents3 const orders = orders_of(extents);
      order = take_scratch_rows(memory, orders);
      samples = std::clamp<index_t>(grid_tuning_of<T>(grid).chunk_elements / orders.size(), 1,
                                    extents.batch);
      // The permutation reuses the memory of the sort.
      memory.overlap(
          [&](arena& sorting) {
            hashes = sorting.take<raw_key32>(static_cast<std::size_t>(orders.size()));
            sort = sort_layout<raw_key32>(sorting, grid, orders);
          },
          [&](arena& moving) {
            shorter = take_scratch_rows(moving, {samples, orders.length, orders.channels});
            permute = permute_layout<T>(moving, grid, extents);
          });
    }
  };

  static extents3 orders_of(extents3 extents) {
    return {1, extents.length, Form::shared ? 1 : extents.channels};
  }

  // Returns a view of row numbers. Strides of axes that share one permutation are 0.
  static index_rows rows_in(void* data, extents3 extents, bool per_sample) {
    strides3 const s = row_major(extents);
    return scratch_rows(data, extents,
                        {per_sample ? s.batch : 0, s.length, Form::shared ? 0 : s.channels});
  }

  template <class Grid, class T>
  static void run(Grid const& grid, std::uint64_t seed, column_transfer<T> columns,
                  tensor1<index_t const> lengths, workspace w) {
    int const threads = grid_tuning_of<T>(grid).element_threads;
    extents3 const extents = columns.x.extents();
    if (extents.empty()) return;
    arena memory(w);
    layout<T> const buffers(memory, grid, extents);
    extents3 const orders = orders_of(extents);
    index_rows const order = rows_in(buffers.order, orders, false);
    tensor3<raw_key32> const hashes(buffers.hashes, orders);
    grid.run(hash_rows_kernel{seed, hashes}, divide_up(orders.size(), threads), threads);
    sort_columns(grid, columns_view<raw_key32, ascending>{{}, hashes, {}, order, {}}, buffers.sort);
    if (lengths.data() == nullptr) return permute_columns(grid, columns, order, buffers.permute);

    for (index_t first = 0; first < extents.batch; first += buffers.samples) {
      extents3 const chunk{std::min(buffers.samples, extents.batch - first), extents.length,
                           extents.channels};
      column_transfer<T> part = columns;
      part.x = slice_batch(columns.x, first, chunk);
      part.y = slice_batch(columns.y, first, chunk);
      extents3 const shorter{chunk.batch, orders.length, orders.channels};
      index_rows const perm = rows_in(buffers.shorter, shorter, true);
      shorten_orders(grid, order, perm, shorter, slice_batch(lengths, first, chunk), threads);
      permute_columns(grid, part, perm, buffers.permute);
    }
  }
  template <class Grid>
  static void shorten_orders(Grid const& grid, index_rows order, index_rows shorter,
                             extents3 extents, tensor1<index_t const> lengths, int threads) {
    int const width =
        static_cast<int>(std::min<index_t>(half_power_of_two(extents.channels), warp_threads));
    shorten_orders_kernel kernel{};
    kernel.order = order;
    kernel.shorter = shorter;
    kernel.extents = extents;
    kernel.lengths = lengths;
    kernel.width = width;
    kernel.threads = threads;
    grid.run(kernel, divide_up(extents.batch * extents.channels, width), threads);
  }
};

SLICESORT_DETAIL_END
