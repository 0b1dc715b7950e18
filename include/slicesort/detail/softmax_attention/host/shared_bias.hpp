// SPDX-License-Identifier: Apache-2.0
// The gradient of a bias of pairs that samples or heads share, in a pass of its own: a task is a
// tile of queries, for which it forms the gradients of the scores of one head after the other
// again, and adds them up.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/softmax_attention/host/backward_tile.hpp>
#include <slicesort/detail/softmax_attention/host/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/host/gathered_keys.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/simd_table.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class A>
struct shared_bias_slot {
  attention_backward_scratch<A> scratch;
  attention_query_tile<A> tile;
  attention_key_rows<A> of;
  gathered_keys* gathered;
  shared_sums<A> total;

  shared_bias_slot(arena& a, attention_shape s, bool sparse)
      : scratch(a, s),
        tile(a, s),
        of(a, s, attention_keys),
        gathered(a.take<gathered_keys>(sparse ? 1 : 0)),
        total(a, s) {}
};

template <class T>
class shared_bias_task {
  using A = accumulator_t<T>;

 public:
  shared_bias_task(attention_config const& config, attention_kernels<T> const& use,
                   attention_inputs<T> const& in, tensor4<A const> state,
                   attention_backward_tensors<T> const& out, attention_shape const& s,
                   shared_bias_slot<A>& m)
      : config_(config), use_(use), in_(in), state_(state), out_(out), shape_(s), m_(m) {}

  void run(index_t group, index_t query) const {
    m_.total.clear(shape_.keys);
    for_each_of_group(shape_, group, [&](index_t pair) {
      attention_backward_tile<T> const work(config_, use_, in_, state_, out_, m_.scratch, pair);
      int const count = work.valid(query);
      if (count == 0) return;
      m_.total.reach(count, work.head().keys);
      work.begin(m_.tile, query, count);
      if (config_.mask.sparse())
        walk_gathered(work, query, count);
      else
        walk(work, query, count);
    });
    m_.total.store(row_access<T>(use_), shape_, group, query, out_.to.dbias, out_.mode);
  }

 private:
  void walk(attention_backward_tile<T> const& work, index_t query, int count) const {
    attention_ranges const& ranges = *m_.tile.ranges;
    for (index_t key = ranges.any.first / attention_keys * attention_keys; key < ranges.any.last;
         key += attention_keys) {
      key_range const some = ranges.within(key, std::min(key + attention_keys, work.head().keys));
      if (some.first == some.last) continue;
      int const keys = static_cast<int>(some.last - some.first);
      attention_key_rows<A> of = m_.of;
      of.rows = padded_rows(keys), of.first = some.first;
      work.load_keys(of, [&](tensor4<T const> from, A* to, index_t pitch) {
        work.io().load(work.head(), from, some.first, keys, to, pitch, of.rows);
      });
      work.form_scores(m_.tile, of, query, count, some);
      work.form_dscores(m_.tile, of, {}, 0, keys, work.kept(query, some.first, keys));
      work.add_dscores({0, count}, 0, keys, rows_from(some.first), attention_queries);
    }
  }
  void walk_gathered(attention_backward_tile<T> const& work, index_t query, int count) const {
    gathered_keys& gathered = *m_.gathered;
    key_range const any = m_.tile.ranges->any;
    gathered.begin({query, query + count, any.first, any.last});
    while (gathered.find(config_.mask, work.head())) {
      attention_key_rows<A> of = m_.of;
      of.rows = padded_rows(gathered.count);
      work.load_keys(of, [&](tensor4<T const> from, A* to, index_t pitch) {
        load_gathered(work.io(), work.head(), from, gathered, to, pitch);
      });
      gathered.find_pairs(config_.mask, work.head(), query, count);
      gathered.each_part(use_.native(), [&](gathered_part part) {
        work.form_scores(m_.tile, of, query, count, gathered, part);
        work.form_dscores(m_.tile, of, part.lanes, part.first, part.keys,
                          work.kept(query, gathered, part));
        lane_range const lanes{part.lanes.first, std::min(part.lanes.last, count)};
        gathered.each_run_of(part, [&](int row, int rows) {
          work.add_dscores(lanes, row - part.first, rows, rows_from(gathered.keys[row]),
                           attention_queries);
        });
      });
    }
  }
  A* rows_from(index_t key) const { return m_.total.sums + key * attention_queries; }

  attention_config const& config_;
  attention_kernels<T> const& use_;
  attention_inputs<T> const& in_;
  tensor4<A const> const state_;
  attention_backward_tensors<T> const& out_;
  attention_shape const& shape_;
  shared_bias_slot<A>& m_;
};

SLICESORT_DETAIL_END
