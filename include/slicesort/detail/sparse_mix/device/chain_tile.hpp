// SPDX-License-Identifier: Apache-2.0
// A whole chain of factors in shared memory: a block loads all rows of some channels of one sample,
// and keeps them there from factor to factor. A thread forms its rows' outputs in registers, and
// when all threads have, stores them over their inputs; so one copy of a tile is enough. A weight
// serves all channels that a thread takes.
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

// A thread has Rows rows of Channels channels.
template <class T, int Rows, int Channels>
struct mix_tile_kernel {
  // With 1024 threads a thread has 64 registers, which are too few for the numbers of eight rows.
  static constexpr int max_threads = Rows > 4 ? 768 : 1024;
  static constexpr int rows = Rows, channels = Channels;
  using A = accumulator_t<T>;
  using cell = mix_cell<T>;

  packed_weights<A> factors;
  int first_factor, count;  // of the chain's factors, at least one
  tensor1<index_t const> lengths;
  tensor3<T const> in;
  tensor3<T> out;
  tensor_stack<T> states;
  int every, saved;  // after every `every` factors a state is saved, `saved` states in all
  mix_start start;
  bool back;  // the last factor first
  grad_mode mode;
  int row_threads;  // threads for the rows of one group of channels: a multiple of 8
  int groups;       // groups of Channels channels
  bool rows_adjacent;

  // Pieces of neighboring rows are adjacent.
  using piece = mix_piece<T, Channels>;
  using cell_type = typename cell::type;
  static constexpr int cells = piece::cells, pieces = Channels / piece::channels;
  // The distance between two pieces of a row, which puts them in different banks.
  SLICESORT_HD int pitch() const { return (static_cast<int>(in.extents().length) + 7) / 8 * 8 + 4; }
  SLICESORT_HD int size() const { return groups * pieces * pitch(); }
  template <class SharedAllocator>
  SLICESORT_HD piece* shared(SharedAllocator& shared_memory) const {
    // If every sum begins with the chain's first input, a copy of it stays behind the tile.
    int const tiles_kept = start == mix_start::first ? 2 : 1;
    return shared_memory.template allocate<piece>(static_cast<std::size_t>(tiles_kept) *
                                                  static_cast<std::size_t>(size()));
  }

  SLICESORT_HD int width() const { return groups * Channels; }
  SLICESORT_HD index_t tiles() const { return divide_up(in.extents().channels, width()); }
  index_t blocks() const { return in.extents().batch * tiles(); }
  int threads() const { return row_threads * groups; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    piece* const tile = shared(block);
    index_t const sample = block.index() / tiles();
    index_t const channel = block.index() % tiles() * width();
    auto const n = static_cast<int>(valid_rows(lengths, sample, in.extents().length));
    load(block, tile, cell_of(block, sample, channel), n);
    block.sync();
    thread_work mine{block.rank() % row_threads, n, sample,
                     channel + block.rank() / row_threads * Channels};
    piece* const own = tile + block.rank() / row_threads * pieces * pitch();
    A values[static_cast<std::size_t>(Rows)][static_cast<std::size_t>(Channels)] = {};
    if (n > 0) fetch(own, mine, values);
    int next = 0, wait = every;  // the state to save next, and the factors until then
    for (int step = 0; step < count; ++step) {
      // Row numbers are recomputed wherever they are needed, because registers are full of values.
      mine.slot = Block::opaque(mine.slot);
      if (n > 0) mix(block, own, mine, first_factor + (back ? count - 1 - step : step), values);
      block.sync();
      mine.slot = Block::opaque(mine.slot);
      put_back(own, mine, values);
      block.sync();
      if (next < saved && --wait == 0) {
        store(block, tile, states[next++], grad_mode::overwrite, cell_of(block, sample, channel),
              n);
        wait = every;
      }
    }
    store(block, tile, out, mode, cell_of(block, sample, channel), n);
  }

 private:
  // Loads and stores take one cell at a time; neighboring threads take neighboring cells.
  struct cell_index {
    tile_walk walk;
    index_t sample, channel;  // the first channel of the cell
    int channels;             // how many of the cell's channels the tensor has
  };
  template <class Block>
  SLICESORT_HD_INLINE cell_index cell_of(Block& block, index_t sample, index_t channel) const {
    // Opaque, because what is computed here would otherwise stay in registers from factor to
    // factor.
    tile_walk const here(Block::opaque(block.rank()), block.size(), width() / cell::channels,
                         rows_adjacent);
    index_t const c = channel + here.column * cell::channels, left = in.extents().channels - c;
    int const inside = left < 0                ? 0
                       : left < cell::channels ? static_cast<int>(left)
                                               : cell::channels;
    return {here, sample, c, inside};
  }
  // The cells of a column of the tile.
  SLICESORT_HD_INLINE row_walk<cell_type> walk_tile(piece* tile, int column,
                                                    row_range range) const {
    piece* const first = tile + column / cells * pitch() + range.first;
    return {first->value + column % cells, range.step * cells};
  }
  // The first elements of the same cells of a tensor; there must be one.
  template <class Element>
  SLICESORT_HD_INLINE row_walk<Element> walk_tensor(tensor3<Element> const& t,
                                                    cell_index const& here, row_range range) const {
    index_t const channel = here.channels == 0 ? 0 : here.channel;
    return column_of<Element>(t, {here.sample, channel}).walk(0, range);
  }

  // Loads the valid rows into the tile, and copies the others straight to the outputs.
  template <class Block>
  SLICESORT_HD_INLINE void load(Block&, piece* tile, cell_index const& here, int n) const {
    row_range const range = here.walk.rows(n);
    if (range.first < range.end) {
      auto from = walk_tensor(in, here, range);
      auto to = walk_tile(tile, here.walk.column, range);
      int const copy = start == mix_start::first ? size() * cells : 0;  // how far behind
      copy_rows<4>(
          range,
          [&](int) {
            T const* const element = &from.next();
            T elements[static_cast<std::size_t>(cell::channels)];
            SLICESORT_UNROLL
            for (int j = 0; j < cell::channels; ++j)
              elements[j] =
                  j < here.channels ? element[j * in.strides().channels] : static_cast<T>(A(0));
            return cell::of(elements);
          },
          [&](int, cell_type value) {
            cell_type* const there = &to.next();
            *there = value;
            if (copy != 0) there[copy] = value;
          });
    }
    auto const length = static_cast<int>(in.extents().length);
    int const first = here.walk.first_row, step = here.walk.step;
    int const before = first < n ? divide_up(n - first, step) : 0;
    for (int row = first + before * step; row < length; row += step)
      for (int j = 0; j < here.channels; ++j) {
        T const value = in(here.sample, row, here.channel + j);
        for (int s = 0; s < saved; ++s) states(s, here.sample, row, here.channel + j) = value;
        store_or_accumulate<Block>(mode, out(here.sample, row, here.channel + j), value);
      }
  }

  template <class Block>
  SLICESORT_HD_INLINE void store(Block&, piece* tile, tensor3<T> to, grad_mode how,
                                 cell_index const& here, int n) const {
    row_range const range = here.walk.rows(n);
    if (range.first >= range.end) return;
    auto from = walk_tile(tile, here.walk.column, range);
    auto target = walk_tensor(to, here, range);
    SLICESORT_UNROLL_4
    for (int row = range.first; row < range.end; row += range.step) {
      cell_type const value = from.next();
      T* const element = &target.next();
      SLICESORT_UNROLL
      for (int j = 0; j < cell::channels; ++j)
        if (j < here.channels)
          store_or_accumulate_sum(how, element[j * to.strides().channels], cell::value(value, j));
    }
  }

  // A thread has rows slot, slot + row_threads, .. of n, and channels from `channel` on. A row past
  // the end is read as the last one and not written.
  struct thread_work {
    int slot, n;
    index_t sample, channel;
  };
  using values_of_rows = A[static_cast<std::size_t>(Rows)][static_cast<std::size_t>(Channels)];

  SLICESORT_HD_INLINE int row_of(thread_work mine, int r) const {
    int const row = mine.slot + r * row_threads, last = mine.n - 1;
    return row < last ? row : last;  // a minimum, which is one instruction
  }

  SLICESORT_HD_INLINE void fetch(piece const* own, thread_work mine, values_of_rows& values) const {
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      SLICESORT_UNROLL
      for (int p = 0; p < pieces; ++p) {
        piece const loaded = own[p * pitch() + row_of(mine, r)];
        SLICESORT_UNROLL
        for (int j = 0; j < piece::channels; ++j)
          values[r][p * piece::channels + j] = loaded.number(j);
      }
    }
  }

  // Applies one factor to the thread's rows in `values`.
  template <class Block>
  SLICESORT_HD_INLINE void mix(Block& block, piece const* own, thread_work mine, index_t factor,
                               values_of_rows& values) const {
    std::uint32_t const* const jumps = factors.jumps_of(mine.sample, factor);
    A const* weights = factors.weights_of(mine.sample, factor);  // of one link after the other
    // Most topologies link a row with itself first, and its values are in registers already.
    auto const links = static_cast<std::uint32_t>(factors.links);
    bool const itself = links > 0 && jumps[0] == 0 && start != mix_start::first;
    mine.slot = Block::opaque(mine.slot);
    if (itself) {
      add_own(block, weights, mine, values);
      weights += factors.length;
    } else if (start != mix_start::own) {
      begin(own + size(), mine, values);
    }

    for (std::uint32_t k = itself ? 1 : 0; k < links; ++k) {
      std::uint32_t const jump = jumps[k];
      mine.slot = Block::opaque(mine.slot);
      SLICESORT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        auto const row = static_cast<std::uint32_t>(row_of(mine, r));
        A const weight = weights[row];
        auto const from =
            static_cast<int>(row_behind(row, jump, static_cast<std::uint32_t>(mine.n)));
        SLICESORT_UNROLL
        for (int p = 0; p < pieces; ++p) {
          piece const loaded = own[p * pitch() + from];
          SLICESORT_UNROLL
          for (int j = 0; j < piece::channels; ++j) {
            int const c = p * piece::channels + j;
            values[r][c] = block.fused_multiply_add(weight, loaded.number(j), values[r][c]);
          }
        }
      }
      weights += factors.length;
    }
  }

  // Sets what sums begin with, unless that is the row's own value. `first`: the rows of the chain's
  // first input, if needed.
  SLICESORT_HD_INLINE void begin(piece const* first, thread_work mine,
                                 values_of_rows& values) const {
    if (start == mix_start::first) return fetch(first, mine, values);
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      SLICESORT_UNROLL
      for (int c = 0; c < Channels; ++c) values[r][c] = A(0);
    }
  }
  // Adds the rows' own inputs, for residuals that do not need the chain's first input.
  template <class Block>
  SLICESORT_HD_INLINE void add_own(Block& block, A const* weights, thread_work mine,
                                   values_of_rows& values) const {
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      A const weight = weights[row_of(mine, r)];
      SLICESORT_UNROLL
      for (int c = 0; c < Channels; ++c) {
        A const value = values[r][c];
        values[r][c] =
            block.fused_multiply_add(weight, value, start == mix_start::own ? value : A(0));
      }
    }
  }

  // Stores `values`, rounded, over the inputs.
  SLICESORT_HD_INLINE void put_back(piece* own, thread_work mine, values_of_rows& values) const {
    SLICESORT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      int const row = mine.slot + r * row_threads;
      SLICESORT_UNROLL
      for (int p = 0; p < pieces; ++p) {
        piece rounded;
        SLICESORT_UNROLL
        for (int j = 0; j < cells; ++j) {
          T elements[static_cast<std::size_t>(cell::channels)];
          A* const sums = values[r] + p * piece::channels + j * cell::channels;
          SLICESORT_UNROLL
          for (int i = 0; i < cell::channels; ++i) elements[i] = static_cast<T>(sums[i]);
          rounded.value[j] = cell::of(elements);
          SLICESORT_UNROLL
          for (int i = 0; i < cell::channels; ++i) sums[i] = cell::value(rounded.value[j], i);
        }
        if (row < mine.n) own[p * pitch() + row] = rounded;
      }
    }
  }
};

SLICESORT_DETAIL_END
