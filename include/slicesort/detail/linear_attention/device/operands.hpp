// SPDX-License-Identifier: Apache-2.0
// The (sample, head) pairs of a call that the workspace holds, and the operands of their kernels.
#pragma once

#include <slicesort/detail/linear_attention/device/features.hpp>
#include <slicesort/detail/linear_attention/device/layout.hpp>
#include <slicesort/detail/linear_attention/device/matrix.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// `Params` are the parameters of forward or backward.
template <class Params>
class linear_operands {
 public:
  using T = typename Params::element;
  using A = accumulator_t<T>;

  linear_operands(Params const& call_params, linear_attention_shape const& call_shape,
                  linear_grid_layout<A> const& grid_layout, linear_pairs call_pairs)
      : pairs(call_pairs),
        kv_pairs(call_pairs.kv()),
        queries{lengths_of(call_params.lengths.queries, call_shape, grid_layout),
                call_shape.queries},
        keys{lengths_of(call_params.lengths.keys, call_shape, grid_layout), call_shape.keys},
        rescales_sums(call_params.causal && call_params.feature.has_maximum()),
        params(call_params),
        shape(call_shape),
        layout(grid_layout) {}

  bool uses_states() const { return layout.carried.is_used(); }

 protected:
  linear_pairs const pairs, kv_pairs;  // of heads of q and of k
  linear_side const queries, keys;
  bool const rescales_sums;  // when the running maximum of the keys grows
  Params const& params;
  linear_attention_shape const& shape;
  linear_grid_layout<A> const& layout;

  A const* from_tile_start() const {
    return rescales_sums ? layout.factors.from_tile_start : nullptr;
  }
  A const* to_tile_end() const { return rescales_sums ? layout.factors.to_tile_end : nullptr; }

  // Rows of an input, from its tensor or from the workspace of a call with states.
  linear_operand<T> rows_of(tensor4<T const> tensor, A const* carried, index_t group = 1) const {
    linear_operand<T> operand{tensor};
    operand.group = group;
    if (carried == nullptr) return operand;
    operand.values = carried;
    operand.rows = keys.rows;
    operand.pitch = tensor.extents().channels;
    return operand;
  }
  linear_operand<T> query_rows() const { return rows_of(params.in.q, layout.carried.q); }
  // Rows of keys and values for a kernel with pairs of q or of k.
  linear_operand<T> key_rows(linear_pairs const& kernel_pairs) const {
    return rows_of(params.in.k, layout.carried.k, kernel_pairs.group);
  }
  linear_operand<T> value_rows(linear_pairs const& kernel_pairs) const {
    return rows_of(params.in.v, layout.carried.v, kernel_pairs.group);
  }
  linear_state_layout state_layout() const { return {params.feature.count, shape.values}; }
  feature_operand<T> features_of_queries() const {
    return make_feature_operand(params.in.q, layout.queries, queries, 1);
  }
  feature_operand<T> features_of_keys(linear_pairs const& kernel_pairs) const {
    return make_feature_operand(params.in.k, layout.keys, keys, kernel_pairs.group);
  }
  bool maps_while_loading() const { return params.feature.is_elementwise() && !uses_states(); }

 private:
  // Lengths of the rows that kernels process.
  static tensor1<index_t const> lengths_of(tensor1<index_t const> lengths,
                                           linear_attention_shape const& s,
                                           linear_grid_layout<A> const& layout) {
    return layout.carried.is_used() ? tensor1<index_t const>(layout.carried.lengths, s.batch)
                                    : lengths;
  }
  feature_operand<T> make_feature_operand(tensor4<T const> x, linear_features<A> const& buffers,
                                          linear_side const& side, index_t group) const {
    feature_operand<T> operand{x};
    operand.group = group;
    if (maps_while_loading()) {
      operand.map = {params.feature.kind, static_cast<A>(params.feature.eps)};
      return operand;
    }
    operand.values = buffers.phi;
    operand.rows = side.rows;
    operand.pitch = params.feature.count;
    return operand;
  }
};

SLICESORT_DETAIL_END
