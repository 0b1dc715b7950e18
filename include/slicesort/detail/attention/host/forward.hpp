// SPDX-License-Identifier: Apache-2.0
// Streaming attention forward on host threads. A task computes several query tiles of a head. It
// processes the keys tile by tile with an online softmax, or a function of each score. With a
// sparse mask, the tiles share gathered keys.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/host/gathered_keys.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/scores.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/per_thread.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Division of a head's queries into tasks; does not affect the results. The query tiles of a task
// share loaded keys.
struct attention_tasks {
  index_t tiles_per_head, tiles_per_task, tasks_per_head;

  attention_tasks(attention_shape shape, unsigned threads, std::size_t element_bytes,
                  bool gathers_keys)
      : tiles_per_head(shape.empty() ? 0 : (shape.queries + tile_queries - 1) / tile_queries) {
    auto const head_tiles = static_cast<std::size_t>(tiles_per_head);
    if (head_tiles == 0) {
      tiles_per_task = 1, tasks_per_head = 0;
      return;
    }
    if (gathers_keys) {
      tiles_per_task = std::min<index_t>(tiles_per_head, gathering_tiles);
      tasks_per_head = (tiles_per_head + tiles_per_task - 1) / tiles_per_task;
      return;
    }
    // The queries and sums of a task must fit in a 2 MB cache.
    amount const bytes =
        (amount(shape.channels) + padded_columns(shape.values) + 1) * tile_queries * element_bytes;
    std::size_t const limit =
        std::clamp<std::size_t>((std::size_t{1} << 20) / bytes.value(), 1, 24);
    // Creates at least two tasks per thread if there are enough tiles.
    std::size_t const tiles_for_balance =
        threads > 1
            ? (amount(shape.batch) * shape.heads * head_tiles).value() / (2 * std::size_t{threads})
            : head_tiles;
    tiles_per_task = static_cast<index_t>(
        std::clamp<std::size_t>(std::min(tiles_for_balance, head_tiles), 1, limit));
    tasks_per_head = (tiles_per_head + tiles_per_task - 1) / tiles_per_task;
  }
};

// Per-thread workspace: the query tiles of a task, and one key tile.
template <class A>
struct attention_forward_workspace {
  attention_ranges* ranges;
  A *queries, *sums;        // [tile][channel][lane]
  A *row_max, *row_sum;     // [tile][lane]
  A *keys, *values;         // [key][channel]
  A *rows, *rescale;        // [lane][channel], [lane]
  gathered_keys* gathered;  // null unless the mask is sparse
  attention_scratch<A> scores;

  attention_forward_workspace(arena& memory, attention_shape shape, index_t tiles,
                              bool gathers_keys)
      : scores(memory) {
    constexpr index_t lanes = tile_queries;
    amount const queries_in_task = tiles * lanes;
    ranges = memory.take<attention_ranges>(tiles);
    queries = memory.take<A>(queries_in_task * shape.channels);
    sums = memory.take<A>(queries_in_task * padded_rows(shape.values));
    row_max = memory.take<A>(queries_in_task);
    row_sum = memory.take<A>(queries_in_task);
    keys = memory.take<A>(amount(tile_keys) * padded_columns(shape.channels));
    values = memory.take<A>(amount(tile_keys) * padded_columns(shape.values));
    rows = memory.take<A>(amount(lanes) * padded_columns(std::max(shape.channels, shape.values)));
    rescale = memory.take<A>(lanes);
    gathered = memory.take<gathered_keys>(gathers_keys ? 1 : 0);
  }
};

template <class T>
class attention_forward_task {
  using A = accumulator_t<T>;

 public:
  attention_forward_task(attention_config const& config, attention_kernels<T> const& kernels,
                         attention_inputs<T> const& in, index_t flat_head)
      : config_(config),
        kernels_(kernels),
        in_(in),
        shape_(attention_shape(in)),
        head_(config.lengths, shape_, flat_head),
        io_(kernels) {}

  // Computes y and the state of query tiles [first_tile, first_tile + tiles).
  void run(attention_forward_workspace<A> const& memory, index_t first_tile, index_t tiles,
           tensor4<T> y, tensor4<A> state) const {
    key_range hull{head_.keys, 0};
    for (index_t tile = 0; tile < tiles; ++tile) {
      begin_tile(memory, tile, (first_tile + tile) * tile_queries);
      hull = {std::min(hull.first, memory.ranges[tile].hull.first),
              std::max(hull.last, memory.ranges[tile].hull.last)};
    }
    bool const gathers_keys = config_.mask.gathers_keys();
    if (gathers_keys) process_gathered(memory, first_tile, tiles, hull);
    for (index_t key = hull.first / tile_keys * tile_keys; !gathers_keys && key < hull.last;
         key += tile_keys) {
      index_t const end = std::min(key + tile_keys, head_.keys);
      bool loaded = false;
      for (index_t tile = 0; tile < tiles; ++tile) {
        key_range const visible = memory.ranges[tile].visible_keys(key, end);
        if (visible.first == visible.last) continue;
        if (!loaded) {
          io_.load(head_, in_.k, key, end - key, memory.keys, key_pitch(), padded_rows(end - key));
          io_.load(head_, in_.v, key, end - key, memory.values, value_pitch(), end - key);
          pack_kv(memory, end - key);
          loaded = true;
        }
        index_t const first = visible.first - key,
                      packed_pitch = kernels_.packed_width(key_pitch()),
                      query = (first_tile + tile) * tile_queries;
        int const keys = static_cast<int>(visible.last - visible.first);
        kernels_.multiply(
            memory.scores.score_product(kernels_, config_.template scale_of<A>(head_), in_.bias, {},
                                        keys, memory.keys + first * packed_pitch, packed_pitch,
                                        queries(memory, tile), shape_.channels));
        memory.scores.add_bias_and_mask(kernels_, config_, memory.ranges[tile], head_, in_.bias,
                                        {query, valid_queries(query), visible.first, keys});
        add_values(memory, tile, {}, first, keys,
                   memory.scores.compute_keep_mask(kernels_, config_, head_, query, visible.first,
                                                   nullptr, keys));
      }
    }
    for (index_t tile = 0; tile < tiles; ++tile)
      finish_tile(memory, tile, (first_tile + tile) * tile_queries, y, state);
  }

 private:
  // Processes the visible keys of a sparse mask, which are gathered once for all tiles.
  void process_gathered(attention_forward_workspace<A> const& memory, index_t first_tile,
                        index_t tiles, key_range hull) const {
    gathered_keys& gathered = *memory.gathered;
    index_t const first_query = first_tile * tile_queries,
                  packed_pitch = kernels_.packed_width(key_pitch());
    gathered.start_search({first_query, std::min(first_query + tiles * tile_queries, head_.queries),
                           hull.first, hull.last});
    while (gathered.find_next(config_.mask, head_)) {
      bool loaded = false;
      for (index_t tile = 0; tile < tiles; ++tile) {
        index_t const query = first_query + tile * tile_queries;
        if (valid_queries(query) == 0) break;
        gathered.find_visible_pairs(config_.mask, head_, query, valid_queries(query));
        gathered.for_each_segment(kernels_.uses_native_products(), [&](gathered_segment segment) {
          if (!loaded) {
            load_gathered(io_, head_, in_.k, gathered, memory.keys, key_pitch());
            load_gathered(io_, head_, in_.v, gathered, memory.values, value_pitch());
            pack_kv(memory, gathered.count);
            loaded = true;
          }
          kernels_.multiply(memory.scores.score_product(
              kernels_, config_.template scale_of<A>(head_), in_.bias, segment.lanes, segment.keys,
              memory.keys + segment.first * packed_pitch, packed_pitch, queries(memory, tile),
              shape_.channels));
          memory.scores.add_bias_and_mask(kernels_, config_, gathered, segment, head_, in_.bias,
                                          query, valid_queries(query));
          add_values(memory, tile, segment.lanes, segment.first, segment.keys,
                     memory.scores.compute_keep_mask(kernels_, config_, head_, query, 0,
                                                     gathered.keys + segment.first, segment.keys));
        });
      }
    }
  }

  index_t key_pitch() const { return padded_columns(shape_.channels); }
  index_t value_pitch() const { return padded_columns(shape_.values); }
  A* queries(attention_forward_workspace<A> const& memory, index_t tile) const {
    return memory.queries + tile * shape_.channels * tile_queries;
  }
  A* sums(attention_forward_workspace<A> const& memory, index_t tile) const {
    return memory.sums + tile * padded_rows(shape_.values) * tile_queries;
  }
  int valid_queries(index_t query) const {
    return static_cast<int>(std::clamp<index_t>(head_.queries - query, 0, tile_queries));
  }

  void begin_tile(attention_forward_workspace<A> const& memory, index_t tile, index_t query) const {
    int const count = valid_queries(query);
    io_.load(head_, in_.q, query, count, memory.rows, key_pitch(), tile_queries);
    kernels_.rows_to_lanes(memory.rows, key_pitch(), shape_.channels, queries(memory, tile));
    kernels_.pack_rows(queries(memory, tile), tile_queries, shape_.channels);
    std::fill_n(sums(memory, tile), padded_rows(shape_.values) * tile_queries, A(0));
    std::fill_n(memory.row_max + tile * tile_queries, tile_queries, minus_infinity<A>());
    // Sums of pointwise weights are not divided.
    std::fill_n(memory.row_sum + tile * tile_queries, tile_queries,
                A(config_.weights.are_softmax() ? 0 : 1));
    memory.ranges[tile].evaluate(config_.mask, head_, query, count);
  }

  void pack_kv(attention_forward_workspace<A> const& memory, index_t keys) const {
    kernels_.pack_columns(memory.keys, padded_rows(keys) * key_pitch());
    kernels_.pack_rows(memory.values, value_pitch(), keys);
  }
  // Turns scores into weights and adds the weighted values from row `first` on.
  void add_values(attention_forward_workspace<A> const& memory, index_t tile, lane_range lanes,
                  index_t first, int keys, std::uint64_t const* keep) const {
    A const* rescale = nullptr;
    if (config_.weights.are_softmax()) {
      online_softmax_params<A> softmax{memory.scores.scores, keys,
                                       memory.row_max + tile * tile_queries,
                                       memory.row_sum + tile * tile_queries, memory.rescale};
      softmax.lanes = lanes;
      kernels_.update_softmax(softmax);
      rescale = memory.rescale + lanes.first;
    } else {
      kernels_.weigh_scores({memory.scores.scores, nullptr, keys, config_.weights, lanes});
    }
    if (keep != nullptr) kernels_.apply_dropout(memory.scores.scores, keys, keep, lanes);
    kernels_.pack_rows(memory.scores.scores, tile_queries, keys);
    kernels_.multiply(
        {{memory.values + kernels_.packed_width(first) * value_pitch(), 1, value_pitch()},
         {memory.scores.scores + lanes.first, tile_queries},
         {sums(memory, tile) + lanes.first, tile_queries},
         {static_cast<int>(padded_rows(shape_.values)), lanes.count(), kernels_.packed_width(keys)},
         {true, rescale, A(1)}});
  }

  void finish_tile(attention_forward_workspace<A> const& memory, index_t tile, index_t query,
                   tensor4<T> y, tensor4<A> state) const {
    index_t const count = std::min<index_t>(tile_queries, shape_.queries - query);
    A* const row_max = memory.row_max + tile * tile_queries;
    A* const row_sum = memory.row_sum + tile * tile_queries;
    for (index_t i = valid_queries(query); i < count; ++i)
      row_max[i] = minus_infinity<A>(), row_sum[i] = A(0);
    auto const scale = static_cast<A>(config_.dropout.scale);
    for (int i = 0; i < tile_queries; ++i) memory.rescale[i] = inverse_sum(row_sum[i]) * scale;
    kernels_.lanes_to_rows(sums(memory, tile), shape_.values, memory.rescale, memory.rows,
                           value_pitch());
    std::fill(memory.rows + valid_queries(query) * value_pitch(),
              memory.rows + count * value_pitch(), A(0));
    io_.store(memory.rows, value_pitch(), head_, y, query, count, grad_mode::overwrite);
    if (state.data() == nullptr) return;
    for (index_t i = 0; i < count; ++i)
      save_statistics(state, {head_.sample, head_.head}, query + i,
                      row_statistics<A>{row_max[i], row_sum[i]});
  }

  attention_config const& config_;
  attention_kernels<T> const& kernels_;
  attention_inputs<T> const& in_;
  attention_shape const shape_;
  attention_head const head_;
  row_access<T> const io_;
};

template <class T>
struct streaming_forward_layout {
  using A = accumulator_t<T>;
  attention_tasks tasks;
  per_thread<attention_forward_workspace<A>, attention_shape, index_t, bool> workspaces;

  streaming_forward_layout(arena& memory, host_exec const& exec, attention_shape const& shape,
                           bool gathers_keys)
      : tasks(shape, exec.threads, sizeof(A), gathers_keys),
        workspaces(memory, exec.threads, amount(shape.batch) * shape.heads * tasks.tasks_per_head,
                   shape, tasks.tiles_per_task, gathers_keys) {}
};

template <class T>
void streaming_forward(host_exec const& exec, attention_config const& config,
                       attention_inputs<T> const& in, tensor4<T> y, tensor4<accumulator_t<T>> state,
                       workspace workspace_memory) {
  attention_shape const shape(in);
  arena memory(workspace_memory);
  streaming_forward_layout<T> const layout(memory, exec, shape, config.mask.gathers_keys());
  attention_tasks const& tasks = layout.tasks;
  attention_kernels<T> const kernels(exec.instructions, config.product_kind);
  for_each_task(exec, shape.pairs() * tasks.tasks_per_head, [&](unsigned thread, index_t task) {
    index_t const first = task % tasks.tasks_per_head * tasks.tiles_per_task;
    attention_forward_task<T>(config, kernels, in, task / tasks.tasks_per_head)
        .run(layout.workspaces[thread], first,
             std::min(tasks.tiles_per_task, tasks.tiles_per_head - first), y, state);
  });
}

SLICESORT_DETAIL_END
