// SPDX-License-Identifier: Apache-2.0
// Calls with states on a grid. The rows of a call are copied to the workspace behind the rows that
// the state's partial tile holds, so tiles are aligned to the start of the sequence. The other
// kernels then see one sequence of `rows` rows. state.hpp defines the elements of a state.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/linear_attention/device/row_sums.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/device/sums.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Workspace of a call with states. Null if the call has none.
template <class A>
struct linear_carried {
  index_t* lengths;     // [sample]: rows of the state's partial tile and the call
  index_t* offsets;     // [sample]: rows of the state's partial tile
  index_t* first_rows;  // [sample]: rows of the full tiles before it
  A *q, *k, *v, *dy;    // [pair of q or k][row][channels or values]
  A* results;           // [pair of q or k][row][channels or values]
  // For each pair of k.
  A* initial_sums;    // S and Z before the first tile, or U and u after the last one
  A* first_sums;      // U and u before the first tile
  A* initial_maxima;  // maximum before the first tile

  bool is_used() const { return lengths != nullptr; }
};

// Rows of a call with states in the workspace. A tile without valid rows follows the last one, so
// every state is the sums before a tile.
inline index_t carried_rows(index_t rows) {
  return (divide_up(rows, index_t{linear_tile}) + 1) * linear_tile;
}

// Computes the position of each sample. One thread per sample.
template <class A>
struct positions_kernel {
  static constexpr int max_threads = linear_threads;

  tensor4<A const> initial;
  tensor1<index_t const> lengths;
  index_t samples, rows;
  linear_carried<A> carried;

  index_t blocks() const { return divide_up(samples, index_t{linear_threads}); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const sample = block.index() * linear_threads + block.rank();
    if (sample >= samples) return;
    linear_position const position = position_of(initial, sample);
    carried.offsets[sample] = position.rows;
    carried.lengths[sample] = position.rows + valid_rows(lengths, sample, rows);
    carried.first_rows[sample] = position.tiles * linear_tile;
  }
};

// Copies the rows of a tensor to the workspace. Rows of the state are those of v, or zeros.
template <class T>
struct gather_rows_kernel : row_tiles {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  index_t const* offsets;
  tensor4<T const> source;
  linear_state_layout layout;
  tensor4<A const> initial;  // null unless the source is v
  A* rows;                   // [pair][row][channels]

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    tile_position const position = position_of(block.index());
    index_t const channels = source.extents().channels, offset = offsets[position.sample];
    linear_head_state<A const> const state(initial, position.sample, position.head, layout);
    for_each_element(block, linear_tile, channels, [&](int i, index_t c) {
      index_t const row = position.first_row() + i;
      A x(0);
      if (i < position.rows)
        x = row >= offset ? static_cast<A>(source(position.sample, position.head, row - offset, c))
            : state.data != nullptr ? state.v(row, c)
                                    : A(0);
      rows[(position.row_offset + i) * channels + c] = x;
    });
  }
};

// Replaces the features of the state's rows: phi(k) from the state, and zeros for queries of the
// group.
template <class A>
struct state_features_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  index_t const* offsets;
  linear_state_layout layout;
  tensor4<A const> initial;
  index_t rows, group;
  A *query_phi, *key_phi;  // [pair of q][row][features], [pair][row][features]

  index_t blocks() const { return pairs.count; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index(), sample = pairs.sample(pair);
    linear_head_state<A const> const state(initial, sample, pairs.head(pair), layout);
    for_each_element(block, static_cast<int>(offsets[sample]), layout.features,
                     [&](int row, index_t f) {
                       key_phi[(pair * rows + row) * layout.features + f] = state.phi(row, f);
                       SLICESORT_NO_UNROLL
                       for (index_t h = pair * group; h < (pair + 1) * group; ++h)
                         query_phi[(h * rows + row) * layout.features + f] = A(0);
                     });
  }
};

// Replaces the maxima of the state's keys, and continues the maximum before them.
template <class A>
struct state_maxima_kernel {
  static constexpr int max_threads = linear_tile;

  linear_pairs pairs;
  index_t const* offsets;
  index_t const* first_rows;
  linear_state_layout layout;
  tensor4<A const> initial;
  index_t rows;
  A* maxima;          // [pair][row]
  A* initial_maxima;  // [pair]

  index_t blocks() const { return pairs.count; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index(), sample = pairs.sample(pair), row = block.rank();
    linear_head_state<A const> const state(initial, sample, pairs.head(pair), layout);
    A* const running = maxima + pair * rows;
    if (row < offsets[sample]) running[row] = state.maximum_at(row);
    if (row != 0) return;
    if (first_rows[sample] > 0) {
      A const before = state[linear_state_layout::maximum];
      if (running[0] < before) running[0] = before;
      initial_maxima[pair] = before;
    } else {
      initial_maxima[pair] = running[0];
    }
  }
};

// Loads S and Z of the initial state, or zeros. One element per thread.
template <class A>
struct load_sums_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  linear_state_layout layout;
  tensor4<A const> state;
  A* sums;  // [pair][S, Z]

  index_t blocks() const {
    return pairs.count * divide_up(layout.sums_size(), index_t{linear_threads});
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const size = layout.sums_size(), pair_blocks = divide_up(size, index_t{linear_threads});
    index_t const pair = block.index() / pair_blocks;
    index_t const n = block.index() % pair_blocks * linear_threads + block.rank();
    if (n >= size) return;
    linear_head_state<A const> const head(state, pairs.sample(pair), pairs.head(pair), layout);
    sums[pair * size + n] = head.data == nullptr ? A(0) : head[linear_state_layout::matrix + n];
  }
};
// Adds U and u of the last state to the sums of the tile that it ends in, whose keys do not see
// them. One element per thread.
template <class A>
struct add_last_sums_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  index_t const* lengths;
  linear_state_layout layout;
  tensor4<A const> dlast;
  tile_sums<A> sums;

  index_t blocks() const {
    return pairs.count * divide_up(layout.sums_size(), index_t{linear_threads});
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const size = layout.sums_size(), pair_blocks = divide_up(size, index_t{linear_threads});
    index_t const pair = block.index() / pair_blocks, sample = pairs.sample(pair);
    index_t const n = block.index() % pair_blocks * linear_threads + block.rank();
    if (n >= size) return;
    linear_head_state<A const> const head(dlast, sample, pairs.head(pair), layout);
    A& sum = sums.begin(pair, lengths[sample] / linear_tile)[n];
    sum = block.fused_multiply_add(head[linear_state_layout::matrix + n], A(1), sum);
  }
};

// Stores the last state. One element per thread.
template <class A>
struct store_state_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  index_t const *lengths, *first_rows;
  linear_state_layout layout;
  index_t rows;
  A const *phi, *v, *maxima;  // [pair][row]..; maxima are null without random_exp
  A const* initial_maxima;    // [pair]
  tile_sums<A> sums;          // before each tile
  tensor4<A> last;

  SLICESORT_HD index_t blocks_per_pair() const {
    return divide_up(layout.size(), index_t{linear_threads});
  }
  index_t blocks() const { return pairs.count * blocks_per_pair(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index() / blocks_per_pair(), sample = pairs.sample(pair);
    index_t const i = block.index() % blocks_per_pair() * linear_threads + block.rank();
    if (i >= layout.size()) return;
    linear_head_state<A> const state(last, sample, pairs.head(pair), layout);
    index_t const tile = lengths[sample] / linear_tile;
    index_t const count = lengths[sample] % linear_tile;
    index_t const first = pair * rows + tile * linear_tile;
    index_t const tiles = first_rows[sample] / linear_tile + tile;
    auto const row_element = [&](A const* values, index_t element, index_t width) {
      return values != nullptr && element / width < count ? values[first * width + element] : A(0);
    };
    if (i == linear_state_layout::rows)
      state[i] = static_cast<A>(count);
    else if (i == linear_state_layout::tiles)
      state[i] = static_cast<A>(tiles);
    else if (i == linear_state_layout::maximum)
      state[i] = maxima == nullptr || tiles == 0 ? A(0)
                 : tile == 0                     ? initial_maxima[pair]
                                                 : maxima[first - 1];
    else if (i < layout.phi())
      state[i] = sums.begin(pair, tile)[i - linear_state_layout::matrix];
    else if (i < layout.v())
      state[i] = row_element(phi, i - layout.phi(), layout.features);
    else if (i < layout.maxima())
      state[i] = row_element(v, i - layout.v(), layout.values);
    else
      state[i] = row_element(maxima, i - layout.maxima(), 1);
  }
};

// Adds the gradient of the last state's keys to `grads`, and stores that of the initial state's
// keys. The gradients are those of the features or of the values.
template <class A>
struct state_key_gradients_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  index_t const *lengths, *offsets;
  linear_state_layout layout;
  bool is_phi;  // false: values
  index_t rows;
  tensor4<A const> dlast;
  tensor4<A> dinitial;
  A* grads;  // [pair][row][features or values]

  index_t blocks() const { return pairs.count; }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index(), sample = pairs.sample(pair), head = pairs.head(pair);
    index_t const width = is_phi ? layout.features : layout.values;
    index_t const first_element = is_phi ? layout.phi() : layout.v();
    linear_head_state<A const> const last(dlast, sample, head, layout);
    linear_head_state<A> const initial(dinitial, sample, head, layout);
    index_t const length = lengths[sample], offset = offsets[sample];
    index_t const count = length % linear_tile, first = length - count;
    A* const pair_grads = grads + pair * rows * width;
    // Each element is read and written by one thread, so the states may share memory.
    for_each_element(block, linear_state_layout::max_rows, width, [&](int row, index_t k) {
      index_t const n = row * width + k;
      A const added = last.data != nullptr && row < count ? last[first_element + n] : A(0);
      A* const target = pair_grads + first * width + n;
      if (last.data != nullptr && row < count)
        *target = block.fused_multiply_add(*target, A(1), added);
      if (initial.data != nullptr && length != offset)
        initial[first_element + n] = row < offset ? pair_grads[n] : A(0);
    });
  }
};

// Stores the gradient of the initial state's sums; those of its position and maxima are 0. Samples
// without rows pass the gradient of the last state on. One element per thread.
template <class A>
struct state_gradient_kernel {
  static constexpr int max_threads = linear_threads;

  linear_pairs pairs;
  index_t const *lengths, *offsets;
  linear_state_layout layout;
  A const* first_sums;  // [pair][U, u]
  tensor4<A const> dlast;
  tensor4<A> dinitial;

  SLICESORT_HD index_t blocks_per_pair() const {
    return divide_up(layout.size(), index_t{linear_threads});
  }
  index_t blocks() const { return pairs.count * blocks_per_pair(); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const pair = block.index() / blocks_per_pair(), sample = pairs.sample(pair),
                  head = pairs.head(pair);
    index_t const i = block.index() % blocks_per_pair() * linear_threads + block.rank();
    if (i >= layout.size()) return;
    linear_head_state<A const> const last(dlast, sample, head, layout);
    linear_head_state<A> const initial(dinitial, sample, head, layout);
    index_t const matrix = linear_state_layout::matrix;
    if (lengths[sample] == offsets[sample])
      initial[i] = last.data == nullptr ? A(0) : last[i];
    else if (i >= matrix && i < layout.phi())
      initial[i] = first_sums[pair * (layout.phi() - matrix) + i - matrix];
    else if (i < matrix || i >= layout.maxima())
      initial[i] = A(0);
  }
};

SLICESORT_DETAIL_END
