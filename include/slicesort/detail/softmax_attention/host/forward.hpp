// SPDX-License-Identifier: Apache-2.0
// Streaming attention forward on threads: a task is some tiles of queries of a head, which see the
// keys tile by tile with a running maximum and sum; with a sparse mask, keys that they gather.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
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
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

SLICESORT_DETAIL_BEGIN

// How queries are divided into tasks. The tiles of a task share the keys that are loaded. Results
// do not depend on the division.
struct attention_tasks {
  index_t tiles, each, tasks;  // tiles of a head, tiles of a task, tasks of a head

  attention_tasks(attention_shape s, unsigned threads, std::size_t element, bool sparse)
      : tiles(s.empty() ? 0 : (s.queries + attention_queries - 1) / attention_queries) {
    auto const all = static_cast<std::size_t>(tiles);
    if (all == 0) {
      each = 1, tasks = 0;
      return;
    }
    if (sparse) {  // tiles that gather keys together
      each = std::min<index_t>(tiles, gathering_tiles);
      tasks = (tiles + each - 1) / each;
      return;
    }
    // The queries and sums of the tiles of a task stay in a cache of two megabytes.
    amount const bytes =
        (amount(s.channels) + padded_columns(s.values) + 1) * attention_queries * element;
    std::size_t const limit =
        std::clamp<std::size_t>((std::size_t{1} << 20) / bytes.number(), 1, 24);
    // Two tasks for every thread, if there is enough to do.
    std::size_t const fair =
        threads > 1 ? (amount(s.batch) * s.heads * all).number() / (2 * std::size_t{threads}) : all;
    each = static_cast<index_t>(std::clamp<std::size_t>(std::min(fair, all), 1, limit));
    tasks = (tiles + each - 1) / each;
  }
};

// The memory of a task: all its tiles of queries, and one tile of keys at a time.
template <class A>
struct attention_slot {
  attention_ranges* ranges;
  A *queries, *sums;        // [tile][channel][lane]
  A *row_max, *row_sum;     // [tile][lane]
  A *keys, *values;         // [key][channel]
  A *rows, *rescale;        // [lane][channel], [lane]
  gathered_keys* gathered;  // of sparse masks
  attention_scratch<A> scores;

  attention_slot(arena& a, attention_shape s, index_t tiles, bool sparse) : scores(a) {
    constexpr index_t lanes = attention_queries;
    amount const all = tiles * lanes;
    ranges = a.take<attention_ranges>(tiles);
    queries = a.take<A>(all * s.channels);
    sums = a.take<A>(all * padded_rows(s.values));
    row_max = a.take<A>(all);
    row_sum = a.take<A>(all);
    keys = a.take<A>(amount(attention_keys) * padded_columns(s.channels));
    values = a.take<A>(amount(attention_keys) * padded_columns(s.values));
    rows = a.take<A>(amount(lanes) * padded_columns(std::max(s.channels, s.values)));
    rescale = a.take<A>(lanes);
    gathered = a.take<gathered_keys>(sparse ? 1 : 0);
  }
};

template <class T>
class attention_forward_task {
  using A = accumulator_t<T>;

 public:
  attention_forward_task(attention_config const& config, attention_kernels<T> const& use,
                         attention_inputs<T> const& in, index_t pair)
      : config_(config),
        use_(use),
        in_(in),
        shape_(attention_shape(in)),
        head_(config.lengths, shape_, pair),
        io_(use) {}

  // Computes y and the state of some tiles of queries.
  void run(attention_slot<A> const& m, index_t first_tile, index_t tiles, tensor4<T> y,
           tensor4<A> state) const {
    key_range any{head_.keys, 0};
    for (index_t t = 0; t < tiles; ++t) {
      begin(m, t, (first_tile + t) * attention_queries);
      any = {std::min(any.first, m.ranges[t].any.first), std::max(any.last, m.ranges[t].any.last)};
    }
    bool const sparse = config_.mask.sparse();
    if (sparse) add_gathered(m, first_tile, tiles, any);
    for (index_t key = any.first / attention_keys * attention_keys; !sparse && key < any.last;
         key += attention_keys) {
      index_t const end = std::min(key + attention_keys, head_.keys);
      bool loaded = false;
      for (index_t t = 0; t < tiles; ++t) {
        key_range const some = m.ranges[t].within(key, end);
        if (some.first == some.last) continue;
        if (!loaded) {
          io_.load(head_, in_.k, key, end - key, m.keys, key_pitch(), padded_rows(end - key));
          io_.load(head_, in_.v, key, end - key, m.values, value_pitch(), end - key);
          make_operands(m, end - key);
          loaded = true;
        }
        index_t const first = some.first - key, words = use_.words(key_pitch()),
                      query = (first_tile + t) * attention_queries;
        int const keys = static_cast<int>(some.last - some.first);
        use_.multiply(m.scores.product(use_, config_.scale, in_.bias, {}, keys,
                                       m.keys + first * words, words, queries(m, t),
                                       shape_.channels));
        m.scores.mask(use_, config_, m.ranges[t], head_, in_.bias,
                      {query, valid(query), some.first, keys});
        add_values(m, t, {}, first, keys,
                   m.scores.kept(use_, config_, head_, query, some.first, nullptr, keys));
      }
    }
    for (index_t t = 0; t < tiles; ++t)
      finish(m, t, (first_tile + t) * attention_queries, y, state);
  }

 private:
  // Gathers the keys of a sparse mask, which the tiles share.
  void add_gathered(attention_slot<A> const& m, index_t first_tile, index_t tiles,
                    key_range any) const {
    gathered_keys& gathered = *m.gathered;
    index_t const first_query = first_tile * attention_queries, words = use_.words(key_pitch());
    gathered.begin({first_query, std::min(first_query + tiles * attention_queries, head_.queries),
                    any.first, any.last});
    while (gathered.find(config_.mask, head_)) {
      bool loaded = false;
      for (index_t t = 0; t < tiles; ++t) {
        index_t const query = first_query + t * attention_queries;
        if (valid(query) == 0) break;
        gathered.find_pairs(config_.mask, head_, query, valid(query));
        gathered.each_part(use_.native(), [&](gathered_part part) {
          if (!loaded) {
            load_gathered(io_, head_, in_.k, gathered, m.keys, key_pitch());
            load_gathered(io_, head_, in_.v, gathered, m.values, value_pitch());
            make_operands(m, gathered.count);
            loaded = true;
          }
          use_.multiply(m.scores.product(use_, config_.scale, in_.bias, part.lanes, part.keys,
                                         m.keys + part.first * words, words, queries(m, t),
                                         shape_.channels));
          m.scores.mask(use_, config_, gathered, part, head_, in_.bias, query, valid(query));
          add_values(
              m, t, part.lanes, part.first, part.keys,
              m.scores.kept(use_, config_, head_, query, 0, gathered.keys + part.first, part.keys));
        });
      }
    }
  }

  index_t key_pitch() const { return padded_columns(shape_.channels); }
  index_t value_pitch() const { return padded_columns(shape_.values); }
  A* queries(attention_slot<A> const& m, index_t t) const {
    return m.queries + t * shape_.channels * attention_queries;
  }
  A* sums(attention_slot<A> const& m, index_t t) const {
    return m.sums + t * padded_rows(shape_.values) * attention_queries;
  }
  int valid(index_t query) const {
    return static_cast<int>(std::clamp<index_t>(head_.queries - query, 0, attention_queries));
  }

  void begin(attention_slot<A> const& m, index_t t, index_t query) const {
    int const count = valid(query);
    io_.load(head_, in_.q, query, count, m.rows, key_pitch(), attention_queries);
    use_.rows_to_lanes(m.rows, key_pitch(), shape_.channels, queries(m, t));
    use_.to_operand_of_rows(queries(m, t), attention_queries, shape_.channels);
    std::fill_n(sums(m, t), padded_rows(shape_.values) * attention_queries, A(0));
    std::fill_n(m.row_max + t * attention_queries, attention_queries, minus_infinity<A>());
    std::fill_n(m.row_sum + t * attention_queries, attention_queries, A(0));
    m.ranges[t].evaluate(config_.mask, head_, query, count);
  }

  void make_operands(attention_slot<A> const& m, index_t keys) const {
    use_.to_operand_of_columns(m.keys, padded_rows(keys) * key_pitch());
    use_.to_operand_of_rows(m.values, value_pitch(), keys);
  }
  // Adds values, from row `first` on, as the tile's scores weigh them, of weights that are kept.
  void add_values(attention_slot<A> const& m, index_t t, lane_range lanes, index_t first, int keys,
                  std::uint64_t const* kept) const {
    online_softmax_call<A> step{m.scores.scores, keys, m.row_max + t * attention_queries,
                                m.row_sum + t * attention_queries, m.rescale};
    step.lanes = lanes;
    use_.online_softmax(step);
    if (kept != nullptr) use_.drop(m.scores.scores, keys, kept, lanes);
    use_.to_operand_of_rows(m.scores.scores, attention_queries, keys);
    use_.multiply({{m.values + use_.words(first) * value_pitch(), 1, value_pitch()},
                   {m.scores.scores + lanes.first, attention_queries},
                   {sums(m, t) + lanes.first, attention_queries},
                   {static_cast<int>(padded_rows(shape_.values)), lanes.count(), use_.words(keys)},
                   {true, m.rescale + lanes.first, A(1)}});
  }

  void finish(attention_slot<A> const& m, index_t t, index_t query, tensor4<T> y,
              tensor4<A> state) const {
    index_t const count = std::min<index_t>(attention_queries, shape_.queries - query);
    A* const row_max = m.row_max + t * attention_queries;
    A* const row_sum = m.row_sum + t * attention_queries;
    for (index_t i = valid(query); i < count; ++i)
      row_max[i] = minus_infinity<A>(), row_sum[i] = A(0);
    auto const scale = static_cast<A>(config_.drop.scale);
    for (int i = 0; i < attention_queries; ++i) m.rescale[i] = inverse_sum(row_sum[i]) * scale;
    use_.lanes_to_rows(sums(m, t), shape_.values, m.rescale, m.rows, value_pitch());
    std::fill(m.rows + valid(query) * value_pitch(), m.rows + count * value_pitch(), A(0));
    io_.store(m.rows, value_pitch(), head_, y, query, count, grad_mode::overwrite);
    if (state.data() == nullptr) return;
    for (index_t i = 0; i < count; ++i)
      save_statistics(state, {head_.sample, head_.head}, query + i,
                      row_statistics<A>{row_max[i], row_sum[i]});
  }

  attention_config const& config_;
  attention_kernels<T> const& use_;
  attention_inputs<T> const& in_;
  attention_shape const shape_;
  attention_head const head_;
  row_access<T> const io_;
};

// Workspace of a call, and the tasks that it is cut into.
template <class T>
struct streaming_forward_layout {
  using A = accumulator_t<T>;
  attention_tasks tasks;
  per_thread<attention_slot<A>, attention_shape, index_t, bool> each;

  streaming_forward_layout(arena& a, host_exec const& exec, attention_shape const& s, bool sparse)
      : tasks(s, exec.threads, sizeof(A), sparse),
        each(a, exec.threads, amount(s.batch) * s.heads * tasks.tasks, s, tasks.each, sparse) {}
};

template <class T>
void streaming_forward(host_exec const& exec, attention_config const& config,
                       attention_inputs<T> const& in, tensor4<T> y, tensor4<accumulator_t<T>> state,
                       workspace w) {
  attention_shape const s(in);
  arena a(w);
  streaming_forward_layout<T> const m(a, exec, s, config.mask.sparse());
  attention_tasks const& tasks = m.tasks;
  attention_kernels<T> const use(exec.instructions, config.multiply);
  for_each_task(exec, s.pairs() * tasks.tasks, [&](unsigned slot, index_t task) {
    index_t const first = task % tasks.tasks * tasks.each;
    attention_forward_task<T>(config, use, in, task / tasks.tasks)
        .run(m.each[slot], first, std::min(tasks.each, tasks.tiles - first), y, state);
  });
}

SLICESORT_DETAIL_END
