// SPDX-License-Identifier: Apache-2.0
// Gradient of a bias that samples or heads share, computed in a second pass. A task is a query
// tile: it recomputes the score gradients head by head and accumulates them.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/attention/host/backward_tile.hpp>
#include <slicesort/detail/attention/host/bias_sums.hpp>
#include <slicesort/detail/attention/host/gathered_keys.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class A>
struct shared_bias_workspace {
  attention_backward_scratch<A> scratch;
  attention_query_tile<A> tile;
  attention_kv_rows<A> kv;
  gathered_keys* gathered;
  shared_sums<A> total;

  shared_bias_workspace(arena& memory, attention_shape shape, bool gathers_keys)
      : scratch(memory, shape),
        tile(memory, shape),
        kv(memory, shape, tile_keys),
        gathered(memory.take<gathered_keys>(gathers_keys ? 1 : 0)),
        total(memory, shape) {}
};

template <class T>
class shared_bias_task {
  using A = accumulator_t<T>;

 public:
  shared_bias_task(attention_config const& config, attention_kernels<T> const& kernels,
                   attention_inputs<T> const& in, tensor4<A const> state,
                   attention_backward_tensors<T> const& out, attention_shape const& shape,
                   shared_bias_workspace<A>& memory)
      : config_(config),
        kernels_(kernels),
        in_(in),
        state_(state),
        out_(out),
        shape_(shape),
        memory_(memory) {}

  void run(index_t group, index_t query) const {
    memory_.total.clear(shape_.keys);
    for_each_head_in_group(shape_, group, [&](index_t flat_head) {
      attention_backward_steps<T> const steps(config_, kernels_, in_, state_, out_, memory_.scratch,
                                              flat_head);
      int const count = steps.valid_queries(query);
      if (count == 0) return;
      memory_.total.extend_to(count, steps.head().keys);
      steps.begin_tile(memory_.tile, query, count);
      if (config_.mask.gathers_keys())
        process_gathered(steps, query, count);
      else
        process_dense(steps, query, count);
    });
    memory_.total.store(row_access<T>(kernels_), shape_, group, query, out_.grads.dbias, out_.mode);
  }

 private:
  void process_dense(attention_backward_steps<T> const& steps, index_t query, int count) const {
    attention_ranges const& ranges = *memory_.tile.ranges;
    for (index_t key = ranges.hull.first / tile_keys * tile_keys; key < ranges.hull.last;
         key += tile_keys) {
      key_range const visible =
          ranges.visible_keys(key, std::min(key + tile_keys, steps.head().keys));
      if (visible.first == visible.last) continue;
      int const keys = static_cast<int>(visible.last - visible.first);
      attention_kv_rows<A> kv = memory_.kv;
      kv.rows = padded_rows(keys), kv.first = visible.first;
      steps.load_and_pack_kv(kv, [&](tensor4<T const> from, A* to, index_t pitch) {
        steps.io().load(steps.head(), from, visible.first, keys, to, pitch, kv.rows);
      });
      steps.compute_scores(memory_.tile, kv, query, count, visible);
      steps.compute_score_grads(memory_.tile, kv, {}, 0, keys,
                                steps.compute_keep_mask(query, visible.first, keys));
      steps.add_score_grads({0, count}, 0, keys, rows_from(visible.first), tile_queries);
    }
  }
  void process_gathered(attention_backward_steps<T> const& steps, index_t query, int count) const {
    gathered_keys& gathered = *memory_.gathered;
    key_range const hull = memory_.tile.ranges->hull;
    gathered.start_search({query, query + count, hull.first, hull.last});
    while (gathered.find_next(config_.mask, steps.head())) {
      attention_kv_rows<A> kv = memory_.kv;
      kv.rows = padded_rows(gathered.count);
      steps.load_and_pack_kv(kv, [&](tensor4<T const> from, A* to, index_t pitch) {
        load_gathered(steps.io(), steps.head(), from, gathered, to, pitch);
      });
      gathered.find_visible_pairs(config_.mask, steps.head(), query, count);
      gathered.for_each_segment(kernels_.uses_native_products(), [&](gathered_segment segment) {
        steps.compute_scores(memory_.tile, kv, query, count, gathered, segment);
        steps.compute_score_grads(memory_.tile, kv, segment.lanes, segment.first, segment.keys,
                                  steps.compute_keep_mask(query, gathered, segment));
        lane_range const lanes{segment.lanes.first, std::min(segment.lanes.last, count)};
        gathered.for_each_interval_in(segment, [&](int row, int rows) {
          steps.add_score_grads(lanes, row - segment.first, rows, rows_from(gathered.keys[row]),
                                tile_queries);
        });
      });
    }
  }
  A* rows_from(index_t key) const { return memory_.total.sums + key * tile_queries; }

  attention_config const& config_;
  attention_kernels<T> const& kernels_;
  attention_inputs<T> const& in_;
  tensor4<A const> const state_;
  attention_backward_tensors<T> const& out_;
  attention_shape const& shape_;
  shared_bias_workspace<A>& memory_;
};

SLICESORT_DETAIL_END
