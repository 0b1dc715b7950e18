// SPDX-License-Identifier: Apache-2.0
// Streaming attention backward on threads: a task is a head. Its queries go tile by tile past all
// keys, whose weights are formed again; the keys' gradients are added up in order, so they depend
// on no tile.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/slots.hpp>
#include <slicesort/detail/softmax_attention/host/kernels.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/row_io.hpp>
#include <slicesort/detail/softmax_attention/host/scores.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The tensors that only backward has: the output, its gradient, and the gradients to write.
template <class T>
struct attention_backward_tensors {
  tensor4<T const> dy, y;
  attention_gradients<T> to;
  grad_mode mode;

  bool of_scores() const {
    return to.dq.data() != nullptr || to.dk.data() != nullptr || to.dbias.data() != nullptr;
  }
};

template <class A>
struct attention_backward_slot {
  A *keys, *values, *dkeys, *dvalues;                    // of the head: [key][channel]
  A *queries, *dy, *rows;                                // of a tile: [lane][channel]
  A *queries_transposed, *dy_transposed, *y_transposed;  // [channel][lane]
  A *dqueries, *products;                                // [channel][lane], [key][lane]
  A *row_max, *inv_sum, *delta, *scale;                  // [lane]
  attention_ranges* ranges;
  attention_scratch<A> scores;

  attention_backward_slot(detail::arena& a, detail::attention_shape s) : scores(a) {
    constexpr index_t lanes = attention_queries;
    auto const take = [&](detail::amount n) { return a.take<A>(n); };
    detail::amount const rows_of_keys = padded_rows(s.keys), q = padded_columns(s.channels),
                         v = padded_columns(s.values),
                         widest = padded_columns(std::max(s.channels, s.values));
    keys = take(rows_of_keys * q), values = take(rows_of_keys * v);
    dkeys = take(rows_of_keys * q), dvalues = take(rows_of_keys * v);
    queries = take(lanes * q), dy = take(lanes * v), rows = take(lanes * widest);
    queries_transposed = take(q * lanes), dy_transposed = take(v * lanes),
    y_transposed = take(v * lanes);
    dqueries = take(q * lanes), products = take(lanes * attention_keys);
    row_max = take(lanes), inv_sum = take(lanes), delta = take(lanes), scale = take(lanes);
    ranges = a.take<attention_ranges>(1);
  }
};

template <class T>
class attention_backward_task {
  using A = detail::accumulator_t<T>;

 public:
  attention_backward_task(attention_rule const& rule, attention_kernels<T> const& use,
                          attention_inputs<T> const& in, tensor4<A const> state,
                          attention_backward_tensors<T> const& out,
                          attention_backward_slot<A> const& m, index_t pair)
      : rule_(rule),
        use_(use),
        in_(in),
        state_(state),
        out_(out),
        m_(m),
        shape_(detail::attention_shape::of(in)),
        head_(rule, shape_, pair),
        io_(use) {}

  void run() const {
    index_t const rows = padded_rows(head_.keys);
    load_keys(rows);
    io_.load(head_, in_.v, 0, head_.keys, m_.values, value_pitch(), rows);
    use_.to_operand_of_columns(m_.values, rows * value_pitch());
    std::fill_n(m_.dkeys, rows * key_pitch(), A(0));
    std::fill_n(m_.dvalues, rows * value_pitch(), A(0));
    std::fill_n(m_.scale, attention_queries, static_cast<A>(rule_.scale));
    for (index_t query = 0; query < head_.queries; query += attention_queries)
      process_tile(query,
                   static_cast<int>(std::min<index_t>(attention_queries, head_.queries - query)));
    if (out_.to.dk.data() != nullptr) {
      for (index_t i = 0; i < rows * key_pitch(); ++i) m_.dkeys[i] *= m_.scale[0];
      io_.store(m_.dkeys, key_pitch(), head_, out_.to.dk, 0, head_.keys, out_.mode);
    }
    if (out_.to.dv.data() != nullptr)
      io_.store(m_.dvalues, value_pitch(), head_, out_.to.dv, 0, head_.keys, out_.mode);
    io_.clear(head_, out_.to.dk, head_.keys, shape_.keys, out_.mode);
    io_.clear(head_, out_.to.dv, head_.keys, shape_.keys, out_.mode);
    io_.clear(head_, out_.to.dq, head_.queries, shape_.queries, out_.mode);
    io_.clear(head_, out_.to.dbias, head_.queries, shape_.queries, out_.mode);
  }

 private:
  index_t key_pitch() const { return padded_columns(shape_.channels); }
  index_t value_pitch() const { return padded_columns(shape_.values); }
  // The keys as an operand of sums over keys; as one of sums over channels they are m_.keys. Exact
  // products take the same numbers for both; pairs lie in the buffer's two halves.
  A* keys_for_sums() const {
    return use_.native() ? m_.keys + padded_rows(head_.keys) * use_.words(key_pitch()) : m_.keys;
  }

  void load_keys(index_t rows) const {
    A* const numbers = use_.native() ? m_.dkeys : m_.keys;  // dkeys are not begun yet
    io_.load(head_, in_.k, 0, head_.keys, numbers, key_pitch(), rows);
    if (!use_.native()) return;
    use_.pair_columns(numbers, rows * key_pitch(), m_.keys);
    use_.pair_rows(numbers, key_pitch(), rows, keys_for_sums());
  }

  void process_tile(index_t query, int count) const {
    begin(query, count);
    index_t done = 0;  // keys whose dbias is written
    for (index_t key = m_.ranges->any.first / attention_keys * attention_keys;
         key < m_.ranges->any.last; key += attention_keys) {
      key_range const some = m_.ranges->within(key, std::min(key + attention_keys, head_.keys));
      if (some.first == some.last) continue;
      form(query, count, some);
      clear_dbias(query, count, done, some.first);
      if (out_.to.dbias.data() != nullptr) store_dbias(query, count, some);
      add_gradients(count, some);
      done = some.last;
    }
    clear_dbias(query, count, done, shape_.keys);
    if (out_.to.dq.data() == nullptr) return;
    transpose_back(m_.dqueries, count, shape_.channels, m_.scale, m_.rows, key_pitch());
    io_.store(m_.rows, key_pitch(), head_, out_.to.dq, query, count, out_.mode);
  }

  void begin(index_t query, int count) const {
    constexpr int lanes = attention_queries;
    index_t const q = key_pitch(), v = value_pitch();
    io_.load(head_, in_.q, query, count, m_.queries, q, lanes);
    transpose_rows(m_.queries, q, lanes, shape_.channels, m_.queries_transposed);
    io_.load(head_, out_.dy, query, count, m_.dy, v, lanes);
    transpose_rows(m_.dy, v, lanes, shape_.values, m_.dy_transposed);
    io_.load(head_, out_.y, query, count, m_.rows, v, lanes);
    transpose_rows(m_.rows, v, lanes, shape_.values, m_.y_transposed);
    use_.row_dots(m_.dy_transposed, m_.y_transposed, shape_.values, m_.delta);
    use_.to_operand_of_rows(m_.queries, q, lanes);
    use_.to_operand_of_rows(m_.queries_transposed, lanes, shape_.channels);
    use_.to_operand_of_rows(m_.dy, v, lanes);
    use_.to_operand_of_rows(m_.dy_transposed, lanes, shape_.values);
    for (int i = 0; i < lanes; ++i) {
      m_.row_max[i] = i < count ? state_(head_.batch, head_.head, query + i, 0) : A(0);
      m_.inv_sum[i] = i < count ? inverse_sum(state_(head_.batch, head_.head, query + i, 1)) : A(0);
    }
    std::fill_n(m_.dqueries, q * lanes, A(0));
    m_.ranges->evaluate(rule_.mask, query, count, head_.keys);
  }

  // Computes P and dS = P * (dP - D) of a tile.
  void form(index_t query, int count, key_range some) const {
    constexpr int lanes = attention_queries;
    index_t const q = use_.words(key_pitch()), v = use_.words(value_pitch());
    int const keys = static_cast<int>(some.last - some.first),
              rows = static_cast<int>(padded_rows(keys));
    m_.scores.form(use_, rule_, *m_.ranges, head_, in_.bias, {query, count, some.first, keys},
                   m_.keys + some.first * q, q, m_.queries_transposed, shape_.channels);
    if (out_.of_scores())
      use_.multiply({{m_.values + some.first * v, v, 1},
                     {m_.dy_transposed, lanes},
                     {m_.products, lanes},
                     {rows, lanes, use_.words(shape_.values)}});
    use_.dscore({m_.scores.scores, m_.products, keys, {m_.row_max, m_.inv_sum, m_.delta}});
  }

  // Adds P^T dO to dV, dS K to dQ and dS^T Q to dK. P and dS do not outlive it.
  void add_gradients(int count, key_range some) const {
    constexpr int lanes = attention_queries;
    index_t const q = key_pitch(), v = value_pitch(), words = use_.words(lanes);
    int const keys = static_cast<int>(some.last - some.first),
              rows = static_cast<int>(padded_rows(keys));
    typename product_call<A>::epilogue const add{true, nullptr, A(1)};
    A *const weights = m_.scores.scores, *dscores_for_sums = m_.products;
    if (use_.native()) {
      use_.pair_columns(weights, index_t{rows} * lanes, weights);
      dscores_for_sums = weights + rows * words;  // over keys; the tile's second half is free now
      use_.pair_rows(m_.products, lanes, keys, dscores_for_sums);
      use_.pair_columns(m_.products, index_t{rows} * lanes, m_.products);
    }
    if (out_.to.dv.data() != nullptr)
      use_.multiply({{weights, words, 1},
                     {m_.dy, v},
                     {m_.dvalues + some.first * v, v},
                     {rows, static_cast<int>(v), use_.words(count)},
                     add});
    if (out_.to.dq.data() != nullptr)
      use_.multiply({{keys_for_sums() + use_.words(some.first) * q, 1, q},
                     {dscores_for_sums, lanes},
                     {m_.dqueries, lanes},
                     {static_cast<int>(padded_rows(shape_.channels)), lanes, use_.words(keys)},
                     add});
    if (out_.to.dk.data() != nullptr)
      use_.multiply({{m_.products, words, 1},
                     {m_.queries, q},
                     {m_.dkeys + some.first * q, q},
                     {rows, static_cast<int>(q), use_.words(count)},
                     add});
  }

  void store_dbias(index_t query, int count, key_range some) const {
    A row[attention_keys];
    index_t const keys = some.last - some.first, step = out_.to.dbias.strides().channels;
    for (int i = 0; i < count; ++i) {
      for (index_t j = 0; j < keys; ++j) row[j] = m_.products[j * attention_queries + i];
      io_.store(row, 0, 1, keys, head_.at(out_.to.dbias, query + i) + some.first * step, 0, step,
                out_.mode);
    }
  }
  void clear_dbias(index_t query, int count, index_t first, index_t last) const {
    tensor4<T> const to = out_.to.dbias;
    if (to.data() == nullptr || out_.mode == grad_mode::accumulate) return;
    for (int i = 0; i < count; ++i)
      for (index_t j = first; j < last; ++j)
        head_.at(to, query + i)[j * to.strides().channels] = T(0.0F);
  }

  attention_rule const& rule_;
  attention_kernels<T> const& use_;
  attention_inputs<T> const& in_;
  tensor4<A const> const state_;
  attention_backward_tensors<T> const& out_;
  attention_backward_slot<A> const& m_;
  detail::attention_shape const shape_;
  attention_head const head_;
  row_io<T> const io_;
};

// Workspace of a call.
template <class T>
struct streaming_backward_layout {
  slots<attention_backward_slot<detail::accumulator_t<T>>, detail::attention_shape> each;

  template <class Exec>
  streaming_backward_layout(detail::arena& a, Exec const& on, detail::attention_shape const& s)
      : each(a, on.threads, detail::amount(s.empty() ? 0 : s.batch) * s.heads, s) {}
};

template <class T, class Exec>
void streaming_backward(Exec const& on, attention_rule const& rule, attention_inputs<T> const& in,
                        tensor4<detail::accumulator_t<T> const> state,
                        attention_backward_tensors<T> const& out, workspace w) {
  auto const s = detail::attention_shape::of(in);
  detail::arena a(w);
  if (s.empty()) return;
  streaming_backward_layout<T> const m(a, on, s);
  attention_kernels<T> const use(on.instructions, rule.multiply);
  for_each_task(on, s.pairs(), [&](unsigned slot, index_t task) {
    auto const own = m.each[slot];
    attention_backward_task<T>(rule, use, in, state, out, own, task).run();
  });
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
