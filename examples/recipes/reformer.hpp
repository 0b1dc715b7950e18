// SPDX-License-Identifier: Apache-2.0
// Reformer attention (Kitaev et al., Reformer: The Efficient Transformer, 2020, section 2): random
// rotations hash rows to buckets; each row attends to the rows of its chunk and of the one before,
// in a circle, among the rows sorted by bucket. Queries are the rows x, keys the same rows with
// norm 1, and a row attends to itself only if it has no other key. Several rounds are merged into
// one softmax, in which a pair that meets twice counts twice.
#pragma once

#include "row_order.hpp"
#include "support.hpp"
#include "unit_rows.hpp"

#include <slicesort/attention_tensors.hpp>
#include <slicesort/merge_attention.hpp>
#include <slicesort/options.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/tensor_view.hpp>

#include <vector>

namespace recipes {

template <class T>
struct reformer_params {
  tensor4<T const> x, v;
  tensor4<T const> rotations;  // [1, rounds, buckets / 2, channels], 1 to 16 rounds; not learned
};
template <class T>
struct reformer_grads {
  tensor4<T> dx, dv;
};

template <class T, class Exec>
class reformer {
 public:
  using params_type = reformer_params<T>;
  using grads_type = reformer_grads<T>;

  explicit reformer(Exec const& exec, index_t chunk = 64, bool causal = false)
      : exec_(exec), memory_(exec), chunk_(chunk), causal_(causal) {}

  void forward(reformer_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.x.extents(), r = params.rotations.extents();
    memory_.clear();
    lengths_ = lengths;
    x_ = zero_padding(exec_, memory_, params.x, lengths);
    v_ = zero_padding(exec_, memory_, params.v, lengths);
    keys_ = memory_.template tensor<T>(e);
    normalize_rows(exec_, x_, keys_);
    // A relative bias: a row scores 5e4 lower with itself.
    bias_ = memory_.template tensor<T>({1, 1, 1, e.length > 0 ? 2 * e.length - 1 : 0});
    fill(exec_, bias_, 0);
    if (e.length > 0) fill(exec_, tensor4<T>(&bias_(0, 0, 0, e.length - 1), {1, 1, 1, 1}), -5e4f);
    state_ = memory_.template tensor<accumulator<T>>({e.batch, e.heads, e.length, 2});

    memory<Exec> parts_memory(exec_);
    std::vector<ss::attention_part<T>> parts;
    orders_.clear();
    for (index_t i = 0; i < r.heads; ++i) {
      tensor4<T const> const rotation(&params.rotations(0, i, 0, 0), {1, 1, r.length, r.channels},
                                      params.rotations.strides());
      row_order<Exec> order(exec_, memory_, e, lengths);
      order.sort_by_bucket(x_, rotation);
      orders_.push_back(order);

      memory<Exec> round(exec_);
      auto const sorted_y = round.template tensor<T>(y.extents()),
                 part_y = parts_memory.template tensor<T>(y.extents());
      auto const sorted_state = round.template tensor<accumulator<T>>(state_.extents()),
                 part_state = parts_memory.template tensor<accumulator<T>>(state_.extents());
      attention(order).forward(exec_, inputs(round, order), as_heads(sorted_y),
                               as_heads(sorted_state), memory_.workspace());
      order.restore(round, sorted_y, part_y);
      order.restore(round, sorted_state, part_state);
      parts.push_back({part_y, part_state});
    }
    ss::merge_attention{}.forward(exec_, parts, y, state_);
  }

  // Every round takes the merged y and state.
  void backward(tensor4<T const> dy, reformer_params<T> const&, tensor4<T const> y,
                reformer_grads<T> const& grads) {
    memory<Exec> sums(exec_);
    auto const valid_dy = zero_padding(exec_, sums, dy, lengths_);
    auto const dkeys = sums.template tensor<T>(keys_.extents());
    auto mode = ss::grad_mode::overwrite;
    for (auto const& order : orders_) {
      memory<Exec> round(exec_);
      auto const dq = round.template tensor<T>(keys_.extents()),
                 dk = round.template tensor<T>(keys_.extents()),
                 dv = round.template tensor<T>(y.extents());
      attention(order).backward(exec_, as_heads(order.sorted(round, valid_dy)),
                                inputs(round, order), as_heads(order.sorted(round, y)),
                                as_heads(order.sorted(round, state_)),
                                {as_heads(dq), as_heads(dk), as_heads(dv)}, memory_.workspace());
      order.restore(round, dq, grads.dx, mode);
      order.restore(round, dk, dkeys, mode);
      order.restore(round, dv, grads.dv, mode);
      mode = ss::grad_mode::accumulate;
    }
    add_normalization_gradient<Exec, T>(exec_, x_, keys_, dkeys, grads.dx);
  }

 private:
  ss::softmax_attention<sorted_pairs> attention(row_order<Exec> const& order) const {
    return ss::softmax_attention<sorted_pairs>(
        sorted_pairs{chunk_, order.rows(), causal_, lengths_});
  }
  ss::attention_inputs<T> inputs(memory<Exec>& round, row_order<Exec> const& order) const {
    return {as_heads(order.sorted(round, x_)), as_heads(order.sorted(round, keys_)),
            as_heads(order.sorted(round, v_)), bias_};
  }
  // Heads of all samples of a contiguous tensor.
  template <class U>
  static tensor4<U> as_heads(tensor4<U> x) {
    extents4 const e = x.extents();
    return {x.data(), {1, e.batch * e.heads, e.length, e.channels}};
  }

  Exec exec_;
  memory<Exec> memory_;
  index_t chunk_;
  bool causal_;
  ss::row_lengths lengths_;
  tensor4<T const> x_, v_;  // with zeros past the lengths
  tensor4<T> keys_, bias_;
  std::vector<row_order<Exec>> orders_;  // of each round
  tensor4<accumulator<T>> state_;
};

}  // namespace recipes
