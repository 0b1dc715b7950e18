// SPDX-License-Identifier: Apache-2.0
// Streaming attention backward on threads: a task is a head. Its queries go tile by tile past all
// keys, whose weights are formed again; the keys' gradients are added up in order, so they depend
// on no tile. With a sparse mask some tiles of queries gather the keys that they look at.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/softmax_attention/host/backward_tile.hpp>
#include <slicesort/detail/softmax_attention/host/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/host/gathered_keys.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/shared_bias.hpp>
#include <slicesort/detail/softmax_attention/host/simd_table.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class A>
struct attention_backward_slot {
  attention_backward_scratch<A> scratch;
  attention_query_tile<A> tiles[gathering_tiles];  // one, if keys are not gathered
  attention_key_rows<A> of;                        // of the head, or gathered
  A *dkeys, *dvalues;                              // of the head
  gathered_keys* gathered;

  attention_backward_slot(arena& a, attention_shape s, bool sparse)
      : scratch(a, s), of(a, s, sparse ? attention_keys : s.keys) {
    index_t const some = sparse ? gathering_tiles : 1;
    for (index_t t = 0; t < some; ++t) tiles[t] = attention_query_tile<A>(a, s);
    gathered = a.take<gathered_keys>(sparse ? 1 : 0);
    dkeys = of.dkeys, dvalues = of.dvalues;
    if (!sparse) return;
    amount const rows = padded_rows(s.keys);
    dkeys = a.take<A>(rows * padded_columns(s.channels));
    dvalues = a.take<A>(rows * padded_columns(s.values));
  }
};

template <class T>
class attention_backward_task {
  using A = accumulator_t<T>;

 public:
  attention_backward_task(attention_config const& config, attention_kernels<T> const& use,
                          attention_inputs<T> const& in, tensor4<A const> state,
                          attention_backward_tensors<T> const& out,
                          attention_backward_slot<A> const& m, index_t pair)
      : config_(config),
        m_(m),
        all_lanes_(use.native()),
        work_(config, use, in, state, out, m.scratch, pair) {}

  void run() const {
    work_.clear_distance_sums();
    if (config_.mask.sparse())
      walk_gathered();
    else
      walk();
    work_.finish(m_.dkeys, m_.dvalues);
  }

 private:
  void walk() const {
    attention_head const& head = work_.head();
    attention_key_rows<A> of = m_.of;
    of.rows = padded_rows(head.keys);
    work_.load_keys(of, [&](tensor4<T const> from, A* to, index_t pitch) {
      work_.io().load(head, from, 0, head.keys, to, pitch, of.rows);
    });
    clear_sums(of.rows);
    for (index_t query = 0; query < head.queries; query += attention_queries)
      process_tile(of, query, work_.valid(query));
  }
  void process_tile(attention_key_rows<A> const& of, index_t query, int count) const {
    attention_query_tile<A> const& tile = m_.tiles[0];
    work_.begin(tile, query, count);
    index_t done = 0;  // keys whose dbias is written
    for (index_t key = tile.ranges->any.first / attention_keys * attention_keys;
         key < tile.ranges->any.last; key += attention_keys) {
      key_range const some =
          tile.ranges->within(key, std::min(key + attention_keys, work_.head().keys));
      if (some.first == some.last) continue;
      int const keys = static_cast<int>(some.last - some.first);
      work_.form_scores(tile, of, query, count, some);
      work_.form_dscores(tile, of, {}, some.first, keys, work_.kept(query, some.first, keys));
      work_.clear_dbias(query, count, done, some.first);
      work_.store_dbias(query, {0, count}, 0, some.first, keys);
      work_.add_gradients(tile, of, {}, count, some.first, keys);
      done = some.last;
    }
    work_.clear_dbias(query, count, done, work_.shape().keys);
    work_.store_dq(tile, query, count);
  }

  void walk_gathered() const {
    constexpr index_t step = gathering_tiles * attention_queries;
    clear_sums(padded_rows(work_.head().keys));
    for (index_t query = 0; query < work_.head().queries; query += step)
      process_tiles(query, std::min(query + step, work_.head().queries));
  }
  // Some tiles, which gather keys together.
  void process_tiles(index_t first, index_t last) const {
    attention_head const& head = work_.head();
    key_range any{head.keys, 0};
    each_tile(first, last, [&](attention_query_tile<A> const& tile, index_t query, int count) {
      work_.begin(tile, query, count);
      work_.clear_dbias(query, count, 0, work_.shape().keys);
      key_range const own = tile.ranges->any;
      any = {std::min(any.first, own.first), std::max(any.last, own.last)};
    });
    gathered_keys& gathered = *m_.gathered;
    gathered.begin({first, last, any.first, any.last});
    while (gathered.find(config_.mask, head)) {
      attention_key_rows<A> of = m_.of;
      of.rows = padded_rows(gathered.count);
      bool loaded = false;
      each_tile(first, last, [&](attention_query_tile<A> const& tile, index_t query, int count) {
        gathered.find_pairs(config_.mask, head, query, count);
        gathered.each_part(all_lanes_, [&](gathered_part part) {
          if (!loaded) load(of, gathered);
          loaded = true;
          process_part(tile, of, query, count, part);
        });
      });
      if (loaded) put_back(of, gathered);
    }
    each_tile(first, last, [&](attention_query_tile<A> const& tile, index_t query, int count) {
      work_.store_dq(tile, query, count);
    });
  }
  void process_part(attention_query_tile<A> const& tile, attention_key_rows<A> const& of,
                    index_t query, int count, gathered_part part) const {
    work_.form_scores(tile, of, query, count, *m_.gathered, part);
    work_.form_dscores(tile, of, part.lanes, part.first, part.keys,
                       work_.kept(query, *m_.gathered, part));
    lane_range const lanes{part.lanes.first, std::min(part.lanes.last, count)};
    m_.gathered->each_run_of(part, [&](int row, int rows) {
      work_.store_dbias(query, lanes, row - part.first, m_.gathered->keys[row], rows);
    });
    work_.add_gradients(tile, of, part.lanes, count, part.first, part.keys);
  }

  void load(attention_key_rows<A> const& of, gathered_keys const& gathered) const {
    work_.load_keys(of, [&](tensor4<T const> from, A* to, index_t pitch) {
      load_gathered(work_.io(), work_.head(), from, gathered, to, pitch);
    });
    // The sums go on where they are.
    index_t const q = work_.key_pitch(), v = work_.value_pitch();
    gathered.each_run([&](int first, int rows) {
      index_t const key = gathered.keys[first];
      std::copy_n(m_.dkeys + key * q, rows * q, of.dkeys + first * q);
      std::copy_n(m_.dvalues + key * v, rows * v, of.dvalues + first * v);
    });
    index_t const beyond = of.rows - gathered.count;
    std::fill_n(of.dkeys + gathered.count * q, beyond * q, A(0));
    std::fill_n(of.dvalues + gathered.count * v, beyond * v, A(0));
  }
  void put_back(attention_key_rows<A> const& of, gathered_keys const& gathered) const {
    index_t const q = work_.key_pitch(), v = work_.value_pitch();
    gathered.each_run([&](int first, int rows) {
      index_t const key = gathered.keys[first];
      std::copy_n(of.dkeys + first * q, rows * q, m_.dkeys + key * q);
      std::copy_n(of.dvalues + first * v, rows * v, m_.dvalues + key * v);
    });
  }
  void clear_sums(index_t rows) const {
    std::fill_n(m_.dkeys, rows * work_.key_pitch(), A(0));
    std::fill_n(m_.dvalues, rows * work_.value_pitch(), A(0));
  }
  // f(tile, its first query, queries)
  template <class F>
  void each_tile(index_t first, index_t last, F const& f) const {
    for (index_t query = first, t = 0; query < last; query += attention_queries, ++t)
      f(m_.tiles[t], query, work_.valid(query));
  }

  attention_config const& config_;
  attention_backward_slot<A> const& m_;
  bool all_lanes_;
  attention_backward_tile<T> const work_;
};

// Workspace of a call.
template <class T>
struct streaming_backward_layout {
  using A = accumulator_t<T>;
  A* distance_sums;
  per_thread<attention_backward_slot<A>, attention_shape, bool> each;

  streaming_backward_layout(arena& a, host_exec const& exec, attention_shape const& s, bool sparse)
      : distance_sums(take_distance_sums<A>(a, s)),
        each(a, exec.threads, amount(s.empty() ? 0 : s.batch) * s.heads, s, sparse) {}
};
// Of the pass after it, for a bias that is shared.
template <class T>
struct shared_bias_layout {
  index_t tasks;
  per_thread<shared_bias_slot<accumulator_t<T>>, attention_shape, bool> each;

  shared_bias_layout(arena& a, host_exec const& exec, attention_shape const& s, bool sparse)
      : tasks(tasks_of_shared(s)), each(a, exec.threads, tasks, s, sparse) {}
};

template <class T>
void streaming_backward(host_exec const& exec, attention_config const& config,
                        attention_inputs<T> const& in, tensor4<accumulator_t<T> const> state,
                        attention_backward_tensors<T> const& out, workspace w) {
  tensor4<T> const dbias = out.to.dbias;
  attention_shape const s(in.q.extents(), in.v.extents(), dbias.extents());
  bool const sparse = config.mask.sparse();
  if (s.empty()) return clear_sums(dbias, out.mode);
  attention_kernels<T> const use(exec.instructions, config.multiply);
  arena a(w), after(w);
  streaming_backward_layout<T> const m(a, exec, s, sparse);
  auto own = out;
  if (s.dbias.form != bias_gradient::of_pairs) own.to.dbias = {};
  own.distance_sums = m.distance_sums;
  if (own.any())
    for_each_task(exec, s.pairs(), [&](unsigned slot, index_t task) {
      auto const memory = m.each[slot];
      attention_backward_task<T>(config, use, in, state, own, memory, task).run();
    });
  if (s.dbias.form == bias_gradient::relative)
    add_up_distances(exec, row_access<T>(use), s, m.distance_sums, dbias, out.mode);
  shared_bias_layout<T> const shared(after, exec, s, sparse);
  for_each_task(exec, shared.tasks, [&](unsigned slot, index_t task) {
    auto memory = shared.each[slot];
    index_t const tiles = tiles_of_queries(s);
    shared_bias_task<T>(config, use, in, state, out, s, memory)
        .run(task / tiles, task % tiles * attention_queries);
  });
}

SLICESORT_DETAIL_END
