// SPDX-License-Identifier: Apache-2.0
// Loads and stores the state of causal linear attention of one head on the host, and its gradient.
// state.hpp defines its elements.
#pragma once

#include <slicesort/detail/linear_attention/host/causal_tile.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class T>
struct causal_state : causal_tiles<T> {
  using base = causal_tiles<T>;
  using layout = linear_state_layout;

  using base::base;
  using base::tile, base::width, base::memory, base::head, base::position, base::context;
  using typename base::A;

  // The tasks of a group have the same last state, which that of the first head stores.
  bool saves_state() const {
    return context.last.data() != nullptr && head.head % base::shape.group() == 0;
  }
  bool needs_state_gradient() const { return context.dinitial.data() != nullptr; }

  // Loads S and Z, or U and u, or zeros, with cleared padding.
  void load_sums(linear_head_state<A const> const& state, linear_sums<A> const& sums) const {
    if (state.data == nullptr) return sums.clear(width);
    load_rows(state, layout::matrix, state.layout.features, state.layout.values, sums.matrix,
              width.values);
    load_rows(state, state.layout.z(), 1, state.layout.features, sums.row, width.features);
    std::fill(sums.matrix + state.layout.features * width.values,
              sums.matrix + width.features * width.values, A(0));
    if (sums.transposed != nullptr) base::transpose(sums);
  }
  void store_sums(linear_sums<A> const& sums, linear_head_state<A> const& state) const {
    store_rows(sums.matrix, width.values, state.layout.features, state.layout.values, state,
               layout::matrix);
    store_rows(sums.row, width.features, 1, state.layout.features, state, state.layout.z());
  }

  // Loads the features and values of the state's keys to the first rows of the tile.
  void load_features(causal_rows const& rows) const {
    auto const state = base::initial_state();
    load_rows(state, state.layout.phi(), rows.first_query, state.layout.features, memory.keys.phi,
              width.features);
  }
  // Loads the values of the tile's keys and appends zero rows up to `padded`.
  pitched_rows<A const> load_values(causal_rows const& rows, int padded) const {
    auto const state = base::initial_state();
    int const offset = rows.first_query;
    load_rows(state, state.layout.v(), offset, state.layout.values, memory.values, width.values);
    base::io.load(head, base::in.v, rows.first, rows.new_keys(),
                  memory.values + offset * width.values, width.values, padded - offset);
    return {memory.values, width.values};
  }

  // Stores the position after the piece.
  void store_position() const {
    auto const state = base::state_of(context.last);
    state[layout::rows] = static_cast<A>(rows_after());
    state[layout::tiles] = static_cast<A>(tiles_after());
  }
  // Stores the state after the last tile, which has `rows` keys, or 0 if it is in the sums.
  void store_state(A maximum, int rows, A const* maxima) const {
    auto const state = base::state_of(context.last);
    store_position();
    state[layout::maximum] = base::has_maximum() && tiles_after() > 0 ? maximum : A(0);
    store_sums(memory.key_sums, state);
    store_tile_rows(memory.keys.phi, width.features, rows, state.layout.features, state,
                    state.layout.phi());
    store_tile_rows(memory.values, width.values, rows, state.layout.values, state,
                    state.layout.v());
    store_tile_rows(maxima, 1, maxima == nullptr ? 0 : rows, 1, state, state.layout.maxima());
  }
  // Copies a state or its gradient where there are no rows, or zeros if `from` has no state.
  void copy_state(tensor4<A const> from, tensor4<A> to) const {
    auto const source = base::state_of(from);
    auto const destination = base::state_of(to);
    for (index_t i = 0; i < destination.layout.size(); ++i)
      destination[i] = source.data == nullptr ? A(0) : source[i];
  }

  // Number of keys in the partial tile after the piece. Their U and u are 0.
  int rows_after() const { return static_cast<int>((head.keys + position.rows) % tile); }
  index_t tiles_after() const { return position.tiles + (head.keys + position.rows) / tile; }

  linear_head_state<A const> dlast() const { return base::state_of(context.dlast); }
  linear_head_state<A> dinitial() const { return base::state_of(context.dinitial); }
  // Adds the gradient of the last state to that of the features, or values, of its keys.
  void add_feature_gradients(A* dphi, int rows) const {
    auto const state = dlast();
    for (int j = 0; j < rows && state.data != nullptr; ++j)
      for (index_t f = 0; f < state.layout.features; ++f)
        dphi[j * width.features + f] += state.phi(j, f);
  }
  void add_value_gradients(A* dv, int rows) const {
    auto const state = dlast();
    for (int j = 0; j < rows && state.data != nullptr; ++j)
      for (index_t c = 0; c < state.layout.values; ++c) dv[j * width.values + c] += state.v(j, c);
  }
  // Store the gradient of the features, or values, of the initial state's keys, the first `rows`.
  void store_feature_gradients(A const* dphi, int rows) const {
    if (!needs_state_gradient()) return;
    auto const state = dinitial();
    store_tile_rows(dphi, width.features, rows, state.layout.features, state, state.layout.phi());
  }
  void store_value_gradients(A const* dv, int rows) const {
    if (!needs_state_gradient()) return;
    auto const state = dinitial();
    store_tile_rows(dv, width.values, rows, state.layout.values, state, state.layout.v());
  }
  // Stores the gradient of S and Z. Those of positions and maxima are 0.
  void store_sum_gradients() const {
    auto const state = dinitial();
    for (index_t i = 0; i < layout::matrix; ++i) state[i] = A(0);
    store_tile_rows(nullptr, 1, 0, 1, state, state.layout.maxima());
    store_sums(memory.query_sums, state);
  }

 private:
  // Loads `rows` rows from an element of a state on, and clears their padding.
  static void load_rows(linear_head_state<A const> const& state, index_t first, index_t rows,
                        index_t columns, A* to, index_t pitch) {
    for (index_t r = 0; r < rows; ++r, to += pitch, first += columns) {
      if (state.stride == 1)
        std::copy_n(&state[first], columns, to);
      else
        for (index_t c = 0; c < columns; ++c) to[c] = state[first + c];
      std::fill(to + columns, to + pitch, A(0));
    }
  }
  static void store_rows(A const* from, index_t pitch, index_t rows, index_t columns,
                         linear_head_state<A> const& state, index_t first) {
    for (index_t r = 0; r < rows; ++r, from += pitch, first += columns)
      if (state.stride == 1)
        std::copy_n(from, columns, &state[first]);
      else
        for (index_t c = 0; c < columns; ++c) state[first + c] = from[c];
  }
  // Stores rows of a partial tile, and zeros for the rest of the tile.
  static void store_tile_rows(A const* from, index_t pitch, int rows, index_t columns,
                              linear_head_state<A> const& state, index_t first) {
    store_rows(from, pitch, rows, columns, state, first);
    for (index_t i = rows * columns; i < layout::max_rows * columns; ++i) state[first + i] = A(0);
  }
};

SLICESORT_DETAIL_END
