// SPDX-License-Identifier: Apache-2.0
// Applies a whole chain of factors in shared memory. A block loads all rows of some channels of one
// sample. Each thread computes the outputs of its rows in registers. After a barrier, the outputs
// overwrite the inputs, so one copy of the tile is enough. A thread uses each weight for all of its
// channels.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/sparse_mix/device/cell.hpp>
#include <slicesort/detail/sparse_mix/device/factor.hpp>
#include <slicesort/detail/sparse_mix/device/packed_weights.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Each thread computes `Rows` rows of `Channels` channels.
template <class T, int Rows, int Channels>
struct mix_tile_kernel {
  // With 1024 threads, each thread has 64 registers, which are too few for eight rows.
  static constexpr int max_threads = Rows > 4 ? 768 : 1024;
  static constexpr int rows = Rows, channels = Channels;
  using A = accumulator_t<T>;
  using cell = mix_cell<T>;

  packed_weights<A> factors;
  int first_factor, factor_count;  // factors to apply, at least one
  tensor1<index_t const> lengths;
  tensor3<T const> input;
  tensor3<T> output;
  tensor_stack<T> states;
  int state_interval;  // factors from one saved state to the next
  int saved_state_count;
  mix_start start;
  bool backward;  // true to apply the last factor first
  grad_mode mode;
  int row_threads;  // threads for the rows of one group of channels: a multiple of 8
  int groups;       // number of groups of `Channels` channels
  bool rows_adjacent;

  using channel_vector = mix_vector<T, Channels>;
  using cell_type = typename cell::type;
  static constexpr int cells_per_vector = channel_vector::cells,
                       vectors_per_group = Channels / channel_vector::channels;
  // Distance between two vectors of a row, padded to avoid bank conflicts.
  SLICESORT_HD int pitch() const {
    return (static_cast<int>(input.extents().length) + 7) / 8 * 8 + 4;
  }
  SLICESORT_HD int vectors_per_tile() const { return groups * vectors_per_group * pitch(); }
  template <class SharedAllocator>
  SLICESORT_HD channel_vector* shared(SharedAllocator& allocator) const {
    // If every sum starts from the chain's first input, a copy of this input follows the tile.
    int const copies = start == mix_start::first ? 2 : 1;
    return allocator.template allocate<channel_vector>(
        static_cast<std::size_t>(copies) * static_cast<std::size_t>(vectors_per_tile()));
  }

  SLICESORT_HD int width() const { return groups * Channels; }
  SLICESORT_HD index_t tiles_per_sample() const {
    return divide_up(input.extents().channels, width());
  }
  index_t blocks() const { return input.extents().batch * tiles_per_sample(); }
  int threads() const { return row_threads * groups; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    channel_vector* const tile = shared(block);
    index_t const sample = block.index() / tiles_per_sample();
    index_t const channel = block.index() % tiles_per_sample() * width();
    auto const n = static_cast<int>(valid_rows(lengths, sample, input.extents().length));
    load_tile(block, tile, cell_of(block, sample, channel), n);
    block.sync();
    thread_work work{block.rank() % row_threads, n, sample,
                     channel + block.rank() / row_threads * Channels};
    channel_vector* const group = tile + block.rank() / row_threads * vectors_per_group * pitch();
    A values[static_cast<std::size_t>(Rows)][static_cast<std::size_t>(Channels)] = {};
    if (n > 0) load_rows(group, work, values);
    int next_state = 0, factors_until_state = state_interval;
    for (int step = 0; step < factor_count; ++step) {
      // Opaque, to recompute row indices instead of keeping them in registers.
      work.first_row = Block::opaque(work.first_row);
      if (n > 0)
        apply_factor(block, group, work, first_factor + (backward ? factor_count - 1 - step : step),
                     values);
      block.sync();
      work.first_row = Block::opaque(work.first_row);
      store_rows(group, work, values);
      block.sync();
      if (next_state < saved_state_count && --factors_until_state == 0) {
        store_tile(tile, states[next_state++], grad_mode::overwrite,
                   cell_of(block, sample, channel), n);
        factors_until_state = state_interval;
      }
    }
    store_tile(tile, output, mode, cell_of(block, sample, channel), n);
  }

 private:
  // Position of a cell. Neighboring threads load and store neighboring cells.
  struct cell_index {
    thread_mapping walk;
    index_t sample, channel;  // first channel of the cell
    int channels;             // number of the cell's channels inside the tensor
  };
  template <class Block>
  SLICESORT_HD_INLINE cell_index cell_of(Block& block, index_t sample, index_t channel) const {
    // Opaque, because the compiler would otherwise keep these values in registers from factor to
    // factor.
    thread_mapping const walk(Block::opaque(block.rank()), block.size(), width() / cell::channels,
                              rows_adjacent);
    index_t const c = channel + walk.column * cell::channels,
                  remaining = input.extents().channels - c;
    int const cell_channels = remaining < 0                ? 0
                              : remaining < cell::channels ? static_cast<int>(remaining)
                                                           : cell::channels;
    return {walk, sample, c, cell_channels};
  }
  SLICESORT_HD_INLINE row_iterator<cell_type> walk_tile(channel_vector* tile, int column,
                                                        row_range range) const {
    channel_vector* const first = tile + column / cells_per_vector * pitch() + range.first;
    return {first->value + column % cells_per_vector, range.step * cells_per_vector};
  }
  // Iterates over the cell's rows in a tensor. The range must not be empty.
  template <class Element>
  SLICESORT_HD_INLINE row_iterator<Element> walk_tensor(tensor3<Element> const& t,
                                                        cell_index const& position,
                                                        row_range range) const {
    index_t const channel = position.channels == 0 ? 0 : position.channel;
    return column_of<Element>(t, {position.sample, channel}).walk(0, range);
  }

  // Loads the valid rows into the tile. Copies all other rows to the outputs.
  template <class Block>
  SLICESORT_HD_INLINE void load_tile(Block&, channel_vector* tile, cell_index const& position,
                                     int n) const {
    row_range const range = position.walk.rows(n);
    if (range.first < range.end) {
      auto source = walk_tensor(input, position, range);
      auto target = walk_tile(tile, position.walk.column, range);
      int const copy_offset = start == mix_start::first ? vectors_per_tile() * cells_per_vector : 0;
      copy_rows<4>(
          range,
          [&](int) {
            T const* const element = &source.next();
            T elements[static_cast<std::size_t>(cell::channels)];
            SLICESORT_UNROLL
            for (int j = 0; j < cell::channels; ++j)
              elements[j] = j < position.channels ? element[j * input.strides().channels]
                                                  : static_cast<T>(A(0));
            return cell::pack(elements);
          },
          [&](int, cell_type value) {
            cell_type* const cell_address = &target.next();
            *cell_address = value;
            if (copy_offset != 0) cell_address[copy_offset] = value;
          });
    }
    auto const length = static_cast<int>(input.extents().length);
    int const first = position.walk.first_row, step = position.walk.step;
    int const skipped = first < n ? divide_up(n - first, step) : 0;
    for (int row = first + skipped * step; row < length; row += step)
      for (int j = 0; j < position.channels; ++j) {
        T const value = input(position.sample, row, position.channel + j);
        for (int s = 0; s < saved_state_count; ++s)
          states(s, position.sample, row, position.channel + j) = value;
        store_or_accumulate<Block>(mode, output(position.sample, row, position.channel + j), value);
      }
  }

  SLICESORT_HD_INLINE void store_tile(channel_vector* tile, tensor3<T> view, grad_mode store_mode,
                                      cell_index const& position, int n) const {
    row_range const range = position.walk.rows(n);
    if (range.first >= range.end) return;
    auto source = walk_tile(tile, position.walk.column, range);
    auto target = walk_tensor(view, position, range);
    SLICESORT_UNROLL_4
    for (int row = range.first; row < range.end; row += range.step) {
      cell_type const value = source.next();
      T* const element = &target.next();
      SLICESORT_UNROLL
      for (int j = 0; j < cell::channels; ++j)
        if (j < position.channels)
          store_or_accumulate_sum(store_mode, element[j * view.strides().channels],
                                  cell::value(value, j));
    }
  }

  // Work of a thread: rows first_row, first_row + row_threads, ... of n, and the channels from
  // `channel` on. Rows past the end read the last row and store nothing.
  struct thread_work {
    int first_row, n;
    index_t sample, channel;
  };
  using row_values = A[static_cast<std::size_t>(Rows)][static_cast<std::size_t>(Channels)];

  SLICESORT_HD_INLINE int row_of(thread_work work, int r) const {
    int const row = work.first_row + r * row_threads, last = work.n - 1;
    return row < last ? row : last;
  }

  SLICESORT_HD_INLINE void load_rows(channel_vector const* group, thread_work work,
                                     row_values& values) const {
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      SLICESORT_UNROLL
      for (int p = 0; p < vectors_per_group; ++p) {
        channel_vector const loaded = group[p * pitch() + row_of(work, r)];
        SLICESORT_UNROLL
        for (int j = 0; j < channel_vector::channels; ++j)
          values[r][p * channel_vector::channels + j] = loaded.value_at(j);
      }
    }
  }

  template <class Block>
  SLICESORT_HD_INLINE void apply_factor(Block& block, channel_vector const* group, thread_work work,
                                        index_t factor, row_values& values) const {
    std::uint32_t const* const distances = factors.distances_of(work.sample, factor);
    A const* weights = factors.weights_of(work.sample, factor);  // advances link by link
    // The first link of most topologies is the row itself, whose values are in registers already.
    auto const links = static_cast<std::uint32_t>(factors.links);
    bool const self_link_first = links > 0 && distances[0] == 0 && start != mix_start::first;
    work.first_row = Block::opaque(work.first_row);
    if (self_link_first) {
      start_with_self_link(block, weights, work, values);
      weights += factors.length;
    } else if (start != mix_start::self) {
      start_sums(group + vectors_per_tile(), work, values);
    }

    for (std::uint32_t k = self_link_first ? 1 : 0; k < links; ++k) {
      std::uint32_t const distance = distances[k];
      work.first_row = Block::opaque(work.first_row);
      SLICESORT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        auto const row = static_cast<std::uint32_t>(row_of(work, r));
        A const weight = weights[row];
        auto const linked_row =
            static_cast<int>(wrapped_row(row, distance, static_cast<std::uint32_t>(work.n)));
        SLICESORT_UNROLL
        for (int p = 0; p < vectors_per_group; ++p) {
          channel_vector const loaded = group[p * pitch() + linked_row];
          SLICESORT_UNROLL
          for (int j = 0; j < channel_vector::channels; ++j) {
            int const c = p * channel_vector::channels + j;
            values[r][c] = block.fused_multiply_add(weight, loaded.value_at(j), values[r][c]);
          }
        }
      }
      weights += factors.length;
    }
  }

  // Initializes the sums with zeros or with the rows of the chain's first input, `first`.
  SLICESORT_HD_INLINE void start_sums(channel_vector const* first, thread_work work,
                                      row_values& values) const {
    if (start == mix_start::first) return load_rows(first, work, values);
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      SLICESORT_UNROLL
      for (int c = 0; c < Channels; ++c) values[r][c] = A(0);
    }
  }
  // Applies the link of a row to itself. For residuals that do not use the chain's first input.
  template <class Block>
  SLICESORT_HD_INLINE void start_with_self_link(Block& block, A const* weights, thread_work work,
                                                row_values& values) const {
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      A const weight = weights[row_of(work, r)];
      SLICESORT_UNROLL
      for (int c = 0; c < Channels; ++c) {
        A const value = values[r][c];
        values[r][c] =
            block.fused_multiply_add(weight, value, start == mix_start::self ? value : A(0));
      }
    }
  }

  // Rounds `values` and overwrites the inputs with them.
  SLICESORT_HD_INLINE void store_rows(channel_vector* group, thread_work work,
                                      row_values& values) const {
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      int const row = work.first_row + r * row_threads;
      SLICESORT_UNROLL
      for (int p = 0; p < vectors_per_group; ++p) {
        channel_vector rounded;
        SLICESORT_UNROLL
        for (int j = 0; j < cells_per_vector; ++j) {
          T elements[static_cast<std::size_t>(cell::channels)];
          A* const sums = values[r] + p * channel_vector::channels + j * cell::channels;
          SLICESORT_UNROLL
          for (int i = 0; i < cell::channels; ++i) elements[i] = static_cast<T>(sums[i]);
          rounded.value[j] = cell::pack(elements);
          SLICESORT_UNROLL
          for (int i = 0; i < cell::channels; ++i) sums[i] = cell::value(rounded.value[j], i);
        }
        if (row < work.n) group[p * pitch() + row] = rounded;
      }
    }
  }
};

SLICESORT_DETAIL_END
