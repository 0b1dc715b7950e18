// SPDX-License-Identifier: Apache-2.0
// Streaming attention backward on host threads. A task computes one head of k, with its group of
// query heads: for each query tile, it recomputes the weights of all keys. Key gradients are summed
// by query head, then in query order, so they do not depend on the tiling. With a sparse mask,
// several query tiles share gathered keys.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/host/backward_tile.hpp>
#include <slicesort/detail/attention/host/bias_sums.hpp>
#include <slicesort/detail/attention/host/forward.hpp>
#include <slicesort/detail/attention/host/gathered_keys.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/shared_bias.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class A>
struct attention_backward_workspace {
  attention_backward_scratch<A> scratch;
  attention_query_tile<A> tiles[gathering_tiles];  // without gathering, only the first is used
  attention_kv_rows<A> kv;  // key and value rows of the head, with their gradient sums
  A *dkeys, *dvalues;       // gradient sums of the head
  gathered_keys* gathered;

  attention_backward_workspace(arena& memory, attention_shape shape, bool gathers_keys)
      : scratch(memory, shape), kv(memory, shape, gathers_keys ? tile_keys : shape.keys) {
    index_t const query_tiles = gathers_keys ? gathering_tiles : 1;
    for (index_t t = 0; t < query_tiles; ++t) tiles[t] = attention_query_tile<A>(memory, shape);
    gathered = memory.take<gathered_keys>(gathers_keys ? 1 : 0);
    dkeys = kv.dkeys, dvalues = kv.dvalues;
    if (!gathers_keys) return;
    amount const rows = padded_rows(shape.keys);
    dkeys = memory.take<A>(rows * padded_columns(shape.channels));
    dvalues = memory.take<A>(rows * padded_columns(shape.values));
  }
};

template <class T>
class attention_backward_task {
  using A = accumulator_t<T>;

 public:
  attention_backward_task(attention_config const& config, attention_kernels<T> const& kernels,
                          attention_inputs<T> const& in, tensor4<A const> state,
                          attention_backward_tensors<T> const& out,
                          attention_backward_workspace<A> const& memory, index_t flat_head)
      : config_(config),
        memory_(memory),
        spans_all_lanes_(kernels.uses_native_products()),
        steps_(config, kernels, in, state, out, memory.scratch, flat_head) {}

  // Adds the gradients of a query head. The first one of a group clears the key sums, the last one
  // stores them.
  void run(bool is_first, bool is_last) const {
    steps_.clear_distance_sums();
    if (config_.mask.gathers_keys())
      process_gathered(is_first);
    else
      process_dense(is_first);
    steps_.clear_padding_queries();
    if (is_last) steps_.store_kv_grads(memory_.dkeys, memory_.dvalues);
  }

 private:
  void process_dense(bool is_first) const {
    attention_head const& head = steps_.head();
    attention_kv_rows<A> kv = memory_.kv;
    kv.rows = padded_rows(head.keys);
    if (is_first) {
      steps_.load_and_pack_kv(kv, [&](tensor4<T const> from, A* to, index_t pitch) {
        steps_.io().load(head, from, 0, head.keys, to, pitch, kv.rows);
      });
      clear_sums(kv.rows);
    }
    for (index_t query = 0; query < head.queries; query += tile_queries)
      process_tile(kv, query, steps_.valid_queries(query));
  }
  void process_tile(attention_kv_rows<A> const& kv, index_t query, int count) const {
    attention_query_tile<A> const& tile = memory_.tiles[0];
    steps_.begin_tile(tile, query, count);
    index_t dbias_end = 0;  // dbias is complete up to this key
    for (index_t key = tile.ranges->hull.first / tile_keys * tile_keys;
         key < tile.ranges->hull.last; key += tile_keys) {
      key_range const visible =
          tile.ranges->visible_keys(key, std::min(key + tile_keys, steps_.head().keys));
      if (visible.first == visible.last) continue;
      int const keys = static_cast<int>(visible.last - visible.first);
      steps_.compute_scores(tile, kv, query, count, visible);
      steps_.compute_score_grads(tile, kv, {}, visible.first, keys,
                                 steps_.compute_keep_mask(query, visible.first, keys));
      steps_.clear_dbias(query, count, dbias_end, visible.first);
      steps_.store_dbias(query, {0, count}, 0, visible.first, keys);
      steps_.add_gradients(tile, kv, {}, count, visible.first, keys);
      dbias_end = visible.last;
    }
    steps_.clear_dbias(query, count, dbias_end, steps_.shape().keys);
    steps_.store_dq(tile, query, count);
  }

  void process_gathered(bool is_first) const {
    constexpr index_t queries_per_group = gathering_tiles * tile_queries;
    if (is_first) clear_sums(padded_rows(steps_.head().keys));
    for (index_t query = 0; query < steps_.head().queries; query += queries_per_group)
      process_tiles(query, std::min(query + queries_per_group, steps_.head().queries));
  }
  // Processes query tiles against the keys gathered for them.
  void process_tiles(index_t first, index_t last) const {
    attention_head const& head = steps_.head();
    key_range hull{head.keys, 0};
    for_each_tile(first, last, [&](attention_query_tile<A> const& tile, index_t query, int count) {
      steps_.begin_tile(tile, query, count);
      steps_.clear_dbias(query, count, 0, steps_.shape().keys);
      key_range const tile_hull = tile.ranges->hull;
      hull = {std::min(hull.first, tile_hull.first), std::max(hull.last, tile_hull.last)};
    });
    gathered_keys& gathered = *memory_.gathered;
    gathered.start_search({first, last, hull.first, hull.last});
    while (gathered.find_next(config_.mask, head)) {
      attention_kv_rows<A> kv = memory_.kv;
      kv.rows = padded_rows(gathered.count);
      bool loaded = false;
      for_each_tile(first, last,
                    [&](attention_query_tile<A> const& tile, index_t query, int count) {
                      gathered.find_visible_pairs(config_.mask, head, query, count);
                      gathered.for_each_segment(spans_all_lanes_, [&](gathered_segment segment) {
                        if (!loaded) load_kv_and_sums(kv, gathered);
                        loaded = true;
                        process_segment(tile, kv, query, count, segment);
                      });
                    });
      if (loaded) store_sums(kv, gathered);
    }
    for_each_tile(first, last, [&](attention_query_tile<A> const& tile, index_t query, int count) {
      steps_.store_dq(tile, query, count);
    });
  }
  void process_segment(attention_query_tile<A> const& tile, attention_kv_rows<A> const& kv,
                       index_t query, int count, gathered_segment segment) const {
    steps_.compute_scores(tile, kv, query, count, *memory_.gathered, segment);
    steps_.compute_score_grads(tile, kv, segment.lanes, segment.first, segment.keys,
                               steps_.compute_keep_mask(query, *memory_.gathered, segment));
    lane_range const lanes{segment.lanes.first, std::min(segment.lanes.last, count)};
    memory_.gathered->for_each_interval_in(segment, [&](int row, int rows) {
      steps_.store_dbias(query, lanes, row - segment.first, memory_.gathered->keys[row], rows);
    });
    steps_.add_gradients(tile, kv, segment.lanes, count, segment.first, segment.keys);
  }

  void load_kv_and_sums(attention_kv_rows<A> const& kv, gathered_keys const& gathered) const {
    steps_.load_and_pack_kv(kv, [&](tensor4<T const> from, A* to, index_t pitch) {
      load_gathered(steps_.io(), steps_.head(), from, gathered, to, pitch);
    });
    // Restores the gradient sums of these keys.
    index_t const key_pitch = steps_.key_pitch(), value_pitch = steps_.value_pitch();
    gathered.for_each_interval([&](int first, int rows) {
      index_t const key = gathered.keys[first];
      std::copy_n(memory_.dkeys + key * key_pitch, rows * key_pitch, kv.dkeys + first * key_pitch);
      std::copy_n(memory_.dvalues + key * value_pitch, rows * value_pitch,
                  kv.dvalues + first * value_pitch);
    });
    index_t const padding_rows = kv.rows - gathered.count;
    std::fill_n(kv.dkeys + gathered.count * key_pitch, padding_rows * key_pitch, A(0));
    std::fill_n(kv.dvalues + gathered.count * value_pitch, padding_rows * value_pitch, A(0));
  }
  void store_sums(attention_kv_rows<A> const& kv, gathered_keys const& gathered) const {
    index_t const key_pitch = steps_.key_pitch(), value_pitch = steps_.value_pitch();
    gathered.for_each_interval([&](int first, int rows) {
      index_t const key = gathered.keys[first];
      std::copy_n(kv.dkeys + first * key_pitch, rows * key_pitch, memory_.dkeys + key * key_pitch);
      std::copy_n(kv.dvalues + first * value_pitch, rows * value_pitch,
                  memory_.dvalues + key * value_pitch);
    });
  }
  void clear_sums(index_t rows) const {
    std::fill_n(memory_.dkeys, rows * steps_.key_pitch(), A(0));
    std::fill_n(memory_.dvalues, rows * steps_.value_pitch(), A(0));
  }
  // Calls f(tile, first_query, count) for each tile of a range of queries.
  template <class F>
  void for_each_tile(index_t first, index_t last, F const& f) const {
    for (index_t query = first, t = 0; query < last; query += tile_queries, ++t)
      f(memory_.tiles[t], query, steps_.valid_queries(query));
  }

  attention_config const& config_;
  attention_backward_workspace<A> const& memory_;
  bool spans_all_lanes_;
  attention_backward_steps<T> const steps_;
};

// Workspace of the first pass, over the heads.
template <class T>
struct streaming_backward_layout {
  using A = accumulator_t<T>;
  A* distance_sums;
  per_thread<attention_backward_workspace<A>, attention_shape, bool> workspaces;

  streaming_backward_layout(arena& memory, host_exec const& exec, attention_shape const& shape,
                            bool gathers_keys)
      : distance_sums(allocate_distance_sums<A>(memory, shape)),
        workspaces(memory, exec.threads, amount(shape.empty() ? 0 : shape.batch) * shape.kv_heads,
                   shape, gathers_keys) {}
};
// Workspace of the second pass, for a bias that samples or heads share.
template <class T>
struct shared_bias_layout {
  index_t tasks;
  per_thread<shared_bias_workspace<accumulator_t<T>>, attention_shape, bool> workspaces;

  shared_bias_layout(arena& memory, host_exec const& exec, attention_shape const& shape,
                     bool gathers_keys)
      : tasks(count_shared_tasks(shape)),
        workspaces(memory, exec.threads, tasks, shape, gathers_keys) {}
};

// Lays out the workspace of forward and backward.
template <class T>
void streaming_plan(host_exec const& exec, attention_shape const& shape, bool gathers_keys,
                    arena& memory) {
  memory.overlap(
      [&](arena& forward) {
        (void)streaming_forward_layout<T>(forward, exec, shape, gathers_keys);
      },
      [&](arena& backward) {
        backward.overlap(
            [&](arena& head_pass) {
              (void)streaming_backward_layout<T>(head_pass, exec, shape, gathers_keys);
            },
            [&](arena& shared_bias_pass) {
              (void)shared_bias_layout<T>(shared_bias_pass, exec, shape, gathers_keys);
            });
      });
}

template <class T>
void streaming_backward(host_exec const& exec, attention_config const& config,
                        attention_inputs<T> const& in, tensor4<accumulator_t<T> const> state,
                        attention_backward_tensors<T> const& out, workspace workspace_memory) {
  tensor4<T> const dbias = out.grads.dbias;
  attention_shape const shape(in.q.extents(), in.v.extents(), dbias.extents());
  bool const gathers_keys = config.mask.gathers_keys();
  if (shape.empty()) return clear_dbias(dbias, out.mode);
  attention_kernels<T> const kernels(exec.instructions, config.product_kind);
  arena memory(workspace_memory), second_pass_memory(workspace_memory);
  streaming_backward_layout<T> const layout(memory, exec, shape, gathers_keys);
  auto task_out = out;
  if (shape.dbias.layout != dbias_layout::per_pair) task_out.grads.dbias = {};
  task_out.distance_sums = layout.distance_sums;
  if (task_out.needs_head_pass())
    for_each_task(exec, shape.kv_pairs(), [&](unsigned thread, index_t task) {
      auto const workspace = layout.workspaces[thread];
      for_each_head_of_kv(shape, task, [&](index_t flat_head, bool is_first, bool is_last) {
        attention_backward_task<T>(config, kernels, in, state, task_out, workspace, flat_head)
            .run(is_first, is_last);
      });
    });
  if (shape.dbias.layout == dbias_layout::relative)
    reduce_distance_sums(exec, row_access<T>(kernels), shape, layout.distance_sums, dbias,
                         out.mode);
  shared_bias_layout<T> const shared(second_pass_memory, exec, shape, gathers_keys);
  for_each_task(exec, shared.tasks, [&](unsigned thread, index_t task) {
    auto workspace = shared.workspaces[thread];
    index_t const tiles = count_query_tiles(shape);
    shared_bias_task<T>(config, kernels, in, state, out, shape, workspace)
        .run(task / tiles, task % tiles * tile_queries);
  });
}

SLICESORT_DETAIL_END
