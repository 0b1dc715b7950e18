// SPDX-License-Identifier: Apache-2.0
// What backward does with a tile of queries and some keys: forms weights again, and adds to
// gradients.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/host/gathered_keys.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/scores.hpp>
#include <slicesort/detail/softmax_attention/host/simd_table.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// The tensors that only backward has: the output, its gradient, and the gradients to write.
template <class T>
struct attention_backward_tensors {
  tensor4<T const> dy, y;
  attention_gradients<T> to;
  grad_mode mode;
  // Sums of dscores over the queries of every head: [sample and head][query - key + keys - 1], from
  // the last key of the first query on; null: not wanted.
  accumulator_t<T>* distance_sums = nullptr;

  bool of_scores() const {
    return to.dq.data() != nullptr || to.dk.data() != nullptr || to.dbias.data() != nullptr ||
           distance_sums != nullptr;
  }
  bool any() const { return of_scores() || to.dv.data() != nullptr; }
};

// A tile of queries.
template <class A>
struct attention_query_tile {
  A *queries, *dy;                        // [lane][channel]
  A *queries_transposed, *dy_transposed;  // [channel][lane]
  A* dqueries;                            // [channel][lane]
  A *row_max, *inv_sum, *delta;           // [lane]
  attention_ranges* ranges;

  attention_query_tile() = default;
  attention_query_tile(arena& a, attention_shape s) {
    constexpr index_t lanes = attention_queries;
    amount const q = padded_columns(s.channels), v = padded_columns(s.values);
    queries = a.take<A>(lanes * q), dy = a.take<A>(lanes * v);
    queries_transposed = a.take<A>(q * lanes), dy_transposed = a.take<A>(v * lanes);
    dqueries = a.take<A>(q * lanes);
    row_max = a.take<A>(lanes), inv_sum = a.take<A>(lanes), delta = a.take<A>(lanes);
    ranges = a.take<attention_ranges>(1);
  }
};

// Rows of keys and values, operands of products, and of their gradients: [key][channel].
template <class A>
struct attention_key_rows {
  A *keys, *values, *dkeys, *dvalues;
  index_t rows;       // whole blocks
  index_t first = 0;  // the key of row 0, if all are neighbors

  attention_key_rows() = default;
  attention_key_rows(arena& a, attention_shape s, index_t most) {
    amount const q = padded_columns(s.channels), v = padded_columns(s.values);
    rows = padded_rows(most);
    keys = a.take<A>(rows * q), values = a.take<A>(rows * v);
    dkeys = a.take<A>(rows * q), dvalues = a.take<A>(rows * v);
  }
};

template <class A>
struct attention_backward_scratch {
  A *rows, *y_transposed;  // [lane][channel], [channel][lane]
  A *products, *scale;     // [key][lane], [lane]
  attention_scratch<A> scores;

  attention_backward_scratch(arena& a, attention_shape s) : scores(a) {
    constexpr index_t lanes = attention_queries;
    rows = a.take<A>(amount(lanes) * padded_columns(std::max(s.channels, s.values)));
    y_transposed = a.take<A>(amount(padded_columns(s.values)) * lanes);
    products = a.take<A>(lanes * attention_keys), scale = a.take<A>(lanes);
  }
};

template <class T>
class attention_backward_tile {
  using A = accumulator_t<T>;
  using tile = attention_query_tile<A>;
  using key_rows = attention_key_rows<A>;

 public:
  attention_backward_tile(attention_config const& config, attention_kernels<T> const& use,
                          attention_inputs<T> const& in, tensor4<A const> state,
                          attention_backward_tensors<T> const& out,
                          attention_backward_scratch<A> const& m, index_t pair)
      : config_(config),
        use_(use),
        in_(in),
        state_(state),
        out_(out),
        m_(m),
        shape_(attention_shape(in)),
        head_(config.lengths, shape_, pair),
        io_(use) {
    std::fill_n(m_.scale, attention_queries, static_cast<A>(config_.scale));
  }

  attention_shape const& shape() const { return shape_; }
  attention_head const& head() const { return head_; }
  row_access<T> const& io() const { return io_; }
  index_t key_pitch() const { return padded_columns(shape_.channels); }
  index_t value_pitch() const { return padded_columns(shape_.values); }
  int valid(index_t query) const {
    return static_cast<int>(std::clamp<index_t>(head_.queries - query, 0, attention_queries));
  }

  // Makes operands of keys and values that load(tensor, to, pitch) brings. Before that the keys'
  // gradients hold nothing.
  template <class Load>
  void load_keys(key_rows const& to, Load const& load) const {
    index_t const q = key_pitch(), v = value_pitch();
    A* const numbers = use_.native() ? to.dkeys : to.keys;
    load(in_.k, numbers, q);
    if (use_.native()) {
      use_.pair_columns(numbers, to.rows * q, to.keys);
      use_.pair_rows(numbers, q, to.rows, keys_for_sums(to));
    }
    load(in_.v, to.values, v);
    use_.to_operand_of_columns(to.values, to.rows * v);
  }

  void begin(tile const& t, index_t query, int count) const {
    constexpr int lanes = attention_queries;
    index_t const q = key_pitch(), v = value_pitch();
    io_.load(head_, in_.q, query, count, t.queries, q, lanes);
    use_.rows_to_lanes(t.queries, q, shape_.channels, t.queries_transposed);
    io_.load(head_, out_.dy, query, count, t.dy, v, lanes);
    use_.rows_to_lanes(t.dy, v, shape_.values, t.dy_transposed);
    io_.load(head_, out_.y, query, count, m_.rows, v, lanes);
    use_.rows_to_lanes(m_.rows, v, shape_.values, m_.y_transposed);
    use_.row_dots(t.dy_transposed, m_.y_transposed, shape_.values, t.delta);
    use_.to_operand_of_rows(t.queries, q, lanes);
    use_.to_operand_of_rows(t.queries_transposed, lanes, shape_.channels);
    use_.to_operand_of_rows(t.dy, v, lanes);
    use_.to_operand_of_rows(t.dy_transposed, lanes, shape_.values);
    for (int i = 0; i < lanes; ++i) {
      row_statistics<A> of{A(0), A(0)};
      if (i < count) of = saved_statistics(state_, {head_.sample, head_.head}, query + i);
      t.row_max[i] = of.max;
      t.inv_sum[i] = inverse_sum(of.sum);
    }
    std::fill_n(t.dqueries, q * lanes, A(0));
    t.ranges->evaluate(config_.mask, head_, query, count);
  }

  // The scores of a tile and of keys `some`, or of a part of it and of gathered keys.
  void form_scores(tile const& t, key_rows const& of, index_t query, int count,
                   key_range some) const {
    index_t const q = use_.words(key_pitch());
    int const keys = static_cast<int>(some.last - some.first);
    use_.multiply(m_.scores.product(use_, config_.scale, in_.bias, {}, keys,
                                    of.keys + (some.first - of.first) * q, q, t.queries_transposed,
                                    shape_.channels));
    m_.scores.mask(use_, config_, *t.ranges, head_, in_.bias, {query, count, some.first, keys});
  }
  void form_scores(tile const& t, key_rows const& of, index_t query, int count,
                   gathered_keys const& gathered, gathered_part part) const {
    index_t const q = use_.words(key_pitch());
    use_.multiply(m_.scores.product(use_, config_.scale, in_.bias, part.lanes, part.keys,
                                    of.keys + part.first * q, q, t.queries_transposed,
                                    shape_.channels));
    m_.scores.mask(use_, config_, gathered, part, head_, in_.bias, query, count);
  }

  // Bits of the weights of the scores that dropout keeps.
  std::uint64_t const* kept(index_t query, index_t key, int rows) const {
    return m_.scores.kept(use_, config_, head_, query, key, nullptr, rows);
  }
  std::uint64_t const* kept(index_t query, gathered_keys const& gathered,
                            gathered_part part) const {
    return m_.scores.kept(use_, config_, head_, query, 0, gathered.keys + part.first, part.keys);
  }

  // Turns scores into P, and computes dS = P * (dP - D). Where weights are dropped, P becomes 0.
  void form_dscores(tile const& t, key_rows const& of, lane_range lanes, index_t first, int keys,
                    std::uint64_t const* kept) const {
    index_t const v = use_.words(value_pitch());
    if (out_.of_scores()) {
      // [keys, channels] x [channels, queries] -> [keys, queries]
      strided_rows<A> const values{of.values + first * v, v, 1};
      pitched_rows<A const> const dy{t.dy_transposed + lanes.first, attention_queries};
      pitched_rows<A> const dweights{m_.products + lanes.first, attention_queries};
      use_.multiply(
          {values,
           dy,
           dweights,
           {static_cast<int>(padded_rows(keys)), lanes.count(), use_.words(shape_.values)}});
    }
    dscore_call<A> call{m_.scores.scores, m_.products, keys, {t.row_max, t.inv_sum, t.delta}};
    call.drop = {kept, static_cast<A>(config_.drop.scale)};
    call.lanes = lanes;
    use_.dscore(call);
  }

  // Adds P^T dO to dV, dS K to dQ and dS^T Q to dK. P and dS do not outlive it.
  void add_gradients(tile const& t, key_rows const& of, lane_range lanes, int count, index_t first,
                     int keys) const {
    constexpr int pitch = attention_queries;
    index_t const q = key_pitch(), v = value_pitch(), words = use_.words(pitch);
    int const rows = static_cast<int>(padded_rows(keys)), lane = lanes.first;
    index_t const depth = use_.words(std::min(lanes.last, count) - lane);
    typename product_params<A>::epilogue_params const add{true, nullptr, A(1)};
    A *const weights = m_.scores.scores, *dscores_for_sums = m_.products;
    if (use_.native()) {  // all lanes
      use_.pair_columns(weights, index_t{rows} * pitch, weights);
      dscores_for_sums = weights + rows * words;  // over keys; the tile's second half is free now
      use_.pair_rows(m_.products, pitch, keys, dscores_for_sums);
      use_.pair_columns(m_.products, index_t{rows} * pitch, m_.products);
    }
    if (out_.to.dv.data() != nullptr) {  // [keys, queries] x [queries, channels]
      strided_rows<A> const kept_weights{weights + lane, words, 1};
      pitched_rows<A const> const dy{t.dy + lane * v, v};
      pitched_rows<A> const dv{of.dvalues + first * v, v};
      use_.multiply({kept_weights, dy, dv, {rows, static_cast<int>(v), depth}, add});
    }
    if (out_.to.dq.data() != nullptr) {  // [channels, keys] x [keys, queries]
      strided_rows<A> const transposed_keys{keys_for_sums(of) + use_.words(first) * q, 1, q};
      pitched_rows<A const> const dscores{dscores_for_sums + lane, pitch};
      pitched_rows<A> const dq{t.dqueries + lane, pitch};
      use_.multiply(
          {transposed_keys,
           dscores,
           dq,
           {static_cast<int>(padded_rows(shape_.channels)), lanes.count(), use_.words(keys)},
           add});
    }
    if (out_.to.dk.data() != nullptr) {  // [keys, queries] x [queries, channels]
      strided_rows<A> const dscores{m_.products + lane, words, 1};
      pitched_rows<A const> const queries{t.queries + lane * q, q};
      pitched_rows<A> const dk{of.dkeys + first * q, q};
      use_.multiply({dscores, queries, dk, {rows, static_cast<int>(q), depth}, add});
    }
  }

  void store_dq(tile const& t, index_t query, int count) const {
    if (out_.to.dq.data() == nullptr) return;
    use_.lanes_to_rows(t.dqueries, shape_.channels, m_.scale, m_.rows, key_pitch());
    io_.store(m_.rows, key_pitch(), head_, out_.to.dq, query, count, out_.mode);
  }
  // Of keys `first`, `first + 1`, .., which are rows from `row` on of dS.
  void store_dbias(index_t query, lane_range lanes, int row, index_t first, index_t keys) const {
    if (out_.distance_sums != nullptr)
      add_dscores(lanes, row, static_cast<int>(keys),
                  distance_sums() + query - first + shape_.keys - 1, -1);
    if (out_.to.dbias.data() == nullptr) return;
    A of_query[attention_keys];
    index_t const step = out_.to.dbias.strides().channels;
    A const* const dscores = m_.products + row * attention_queries;
    for (int i = lanes.first; i < lanes.last; ++i) {
      for (index_t j = 0; j < keys; ++j) of_query[j] = dscores[j * attention_queries + i];
      io_.store(of_query, 0, 1, keys, head_.at(out_.to.dbias, query + i) + first * step, 0, step,
                out_.mode);
    }
  }
  void clear_distance_sums() const {
    if (out_.distance_sums != nullptr) std::fill_n(distance_sums(), shape_.distances(), A(0));
  }
  // Adds some rows of dS to rows, or diagonals, of lanes.
  void add_dscores(lane_range lanes, int row, int rows, A* to, index_t pitch) const {
    use_.add_rows({m_.products + row * attention_queries, rows, to, pitch, lanes});
  }
  void clear_dbias(index_t query, int count, index_t first, index_t last) const {
    tensor4<T> const to = out_.to.dbias;
    if (to.data() == nullptr || out_.mode == grad_mode::accumulate) return;
    for (int i = 0; i < count; ++i)
      for (index_t j = first; j < last; ++j)
        head_.at(to, query + i)[j * to.strides().channels] = T(0.0F);
  }
  // Stores the gradients of keys, which are summed up, and zeros past the lengths.
  void finish(A* dkeys, A* dvalues) const {
    if (out_.to.dk.data() != nullptr) {
      index_t const numbers = padded_rows(head_.keys) * key_pitch();
      for (index_t i = 0; i < numbers; ++i) dkeys[i] *= m_.scale[0];
      io_.store(dkeys, key_pitch(), head_, out_.to.dk, 0, head_.keys, out_.mode);
    }
    if (out_.to.dv.data() != nullptr) {
      if (config_.drop.drops()) {
        auto const scale = static_cast<A>(config_.drop.scale);
        index_t const numbers = padded_rows(head_.keys) * value_pitch();
        for (index_t i = 0; i < numbers; ++i) dvalues[i] *= scale;
      }
      io_.store(dvalues, value_pitch(), head_, out_.to.dv, 0, head_.keys, out_.mode);
    }
    io_.clear(head_, out_.to.dk, head_.keys, shape_.keys, out_.mode);
    io_.clear(head_, out_.to.dv, head_.keys, shape_.keys, out_.mode);
    io_.clear(head_, out_.to.dq, head_.queries, shape_.queries, out_.mode);
    io_.clear(head_, out_.to.dbias, head_.queries, shape_.queries, out_.mode);
  }

 private:
  A* distance_sums() const { return out_.distance_sums + head_.pair * shape_.distances(); }
  // The keys as an operand of sums over keys; as one of sums over channels they are `of.keys`.
  // Exact products take the same numbers for both; pairs lie in the buffer's two halves.
  A* keys_for_sums(key_rows const& of) const {
    return use_.native() ? of.keys + of.rows * use_.words(key_pitch()) : of.keys;
  }

  attention_config const& config_;
  attention_kernels<T> const& use_;
  attention_inputs<T> const& in_;
  tensor4<A const> const state_;
  attention_backward_tensors<T> const& out_;
  attention_backward_scratch<A> const& m_;
  attention_shape const shape_;
  attention_head const head_;
  row_access<T> const io_;
};

SLICESORT_DETAIL_END
