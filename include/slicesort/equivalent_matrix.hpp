// SPDX-License-Identifier: Apache-2.0
/// The dense matrix `E` of an operator for one channel of a sample,
/// `y[batch, :, channel] = E x[batch, :, channel]`. For tests, plots and teaching: it uses host
/// memory and double precision, and allocates up to `length^2 * channels` doubles. Not part of the
/// umbrella header.
///
/// The matrix depends on x, except for `permute`, `shuffle`, `sparse_mix`, `short_convolution` and
/// `decaying_sum`. Rows past a sample's length are rows of the identity. The tensors may have any
/// element type. Reports the errors of the operator, or an `invalid_argument` that names `batch`,
/// `channel` or `head`.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/csp.hpp>
#include <slicesort/decaying_sum.hpp>
#include <slicesort/dense_matrix.hpp>
#include <slicesort/detail/attention/check.hpp>
#include <slicesort/detail/attention/pair_check.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/detail/equivalent_matrix/head.hpp>
#include <slicesort/detail/equivalent_matrix/sample.hpp>
#include <slicesort/detail/linear_attention/check.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/linear_attention.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/options.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/pointwise_attention.hpp>
#include <slicesort/policies/attention_algorithm.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/policies/score_function.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/short_convolution.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/sinkhorn.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/soft_sort.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/sparse_mix.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

SLICESORT_DETAIL_BEGIN

template <class Order>
matrix_state_shape state_shape_of(slicing_sort<Order> const&, extents3 e) {
  return {e};
}
template <class Order>
matrix_state_shape state_shape_of(multi_permutation<Order> const&, extents3 e) {
  return {e};
}
inline matrix_state_shape state_shape_of(max_exchange const&, extents3 e) {
  return {{1, 1, e.channels}};
}
template <class Shift, class Alignment>
matrix_state_shape state_shape_of(csp<Shift, Alignment> const& op, extents3 e) {
  return {op.saved_extents(e), op.saved_width(e)};
}

// Computes the matrix of an operator that saves state; `weights` are its arguments between x and y.
template <class Op, class... Weights>
dense_matrix compute_matrix_from_state(Op const& op, matrix_sample sample,
                                       Weights const&... weights) {
  exec::host const exec;
  matrix_state_shape const state_shape = state_shape_of(op, sample.extents());
  typename Op::saved const saved{sample.state(state_shape.extents, state_shape.width)};
  sample.forward([&](auto x, auto y, workspace memory, auto options) {
    op.forward(exec, x, weights..., y, saved, memory, options);
  });
  return sample.compute_matrix([&](auto dy, auto state, auto dx, workspace memory, auto options) {
    op.backward(exec, dy, weights..., typename Op::const_saved(state), dx, memory, options);
  });
}

// Computes the Jacobian of an operator that saves pools. The sample is repeated, once per row.
template <class Op>
dense_matrix compute_jacobian(Op const& op, matrix_sample const& sample) {
  exec::host const exec;
  tensor3<double const> const x = sample.repeated();
  extents3 const e = x.extents();
  auto const size = static_cast<std::size_t>(e.size());
  std::vector<double> y(size);
  std::vector<std::uint32_t> perm(size), pools(size);
  index_t const rows = sample.rows();
  saved_pools const state{tensor3<std::uint32_t>(perm.data(), e),
                          tensor3<std::uint32_t>(pools.data(), e)};
  scratch memory;
  op.forward(exec, x, tensor3<double>(y.data(), e), state, memory,
             {tensor1<index_t const>(&rows, e.batch, 0)});
  return sample.compute_matrix([&](auto dy, auto, auto dx, workspace buffer, auto options) {
    op.backward(exec, dy, x, state, dx, buffer, options);
  });
}

// Broadcasts the permutation of one sample to a batch.
template <class T>
const_index_tensor3 repeat_permutation(tensor3<T const> x, const_index_tensor3 perm,
                                       index_t batch) {
  checker c("equivalent_matrix");
  view_info const info = describe("x", x, false);
  check_permutation(c, describe("perm", perm, false), info, info);
  enforce(c.result());
  extents3 const e{perm.extents().length, perm.extents().length, perm.extents().channels};
  strides3 const strides = perm.strides(), repeated{0, strides.length, strides.channels};
  auto const repeat = [&](auto const* rows) -> const_index_tensor3 {
    return tensor3(rows + batch * strides.batch, e, repeated);
  };
  if (perm.width() == index_width::bits16)
    return repeat(static_cast<std::uint16_t const*>(perm.data()));
  return repeat(static_cast<std::uint32_t const*>(perm.data()));
}

// Converts the random feature rows of one head to double.
template <class T>
tensor3<double const> copy_w(linear_attention_inputs<T> const& in, matrix_head<T> const& head,
                             std::vector<double>& copy) {
  if (is_omitted(in.w)) return {};
  checker c("equivalent_matrix");
  check_w(c, describe_w("w", in.w, false), describe("q", in.q, false), describe("k", in.k, false));
  enforce(c.result());
  extents3 const w = in.w.extents(), e{1, w.length, w.channels};
  for (index_t f = 0; f < e.length; ++f)
    for (index_t n = 0; n < e.channels; ++n)
      copy.push_back(as_double(in.w(head.head_in(w_heads(w)), f, n)));
  return {copy.data(), e};
}

// Restricts a mask to one head, for a call with this head only.
template <class Mask>
struct single_head_mask : head_mask_t<Mask> {
  void for_head(index_t) const = delete;
};
template <class Mask>
auto select_head(Mask const& mask, index_t batch, index_t head) {
  if constexpr (has_for_head<Mask>)
    return single_head_mask<Mask>{mask_of_head(mask, batch, head)};
  else
    return (void)batch, (void)head, mask;
}

SLICESORT_DETAIL_END

SLICESORT_OPERATORS_BEGIN

/// A permutation matrix: the stable order of the channel.
///
/// - **Shapes** and types of x and the other tensors are those of the operator, with any element
///   type; the matrix has `[length, length]` doubles, that of attention `[queries, keys]`.
/// - **Errors** those of the operator, and `invalid_argument` that names `batch`, `channel` or
///   `head`.
template <class Order, class X>
dense_matrix equivalent_matrix(slicing_sort<Order> const& op, X const& x, index_t batch,
                               index_t channel, forward_options options = {}) {
  return detail::compute_matrix_from_state(op, detail::matrix_sample(x, batch, channel, options));
}

/// `sum over k of weights[k - 1] * P^k`. `weights`: as for the operator, or `uniform_weights`.
template <class Order, class X, class Weights>
dense_matrix equivalent_matrix(multi_permutation<Order> const& op, X const& x,
                               Weights const& weights, index_t batch, index_t channel,
                               forward_options options = {}) {
  detail::matrix_sample sample(x, batch, channel, options);
  if constexpr (std::is_same_v<Weights, uniform_weights_t>) {
    return detail::compute_matrix_from_state(op, sample, weights);
  } else {
    std::vector<double> copy;
    for (index_t k = 0; k < weights.size(); ++k) copy.push_back(static_cast<double>(weights(k)));
    return detail::compute_matrix_from_state(op, sample,
                                             tensor1<double const>(copy.data(), weights.size()));
  }
}

/// The Jacobian of a column: entry `[i][j]` is the derivative of `y[i]` by `x[j]`. With
/// `regularization::l2` and within its pools, `y` is this matrix times `x` plus constants.
template <class Regularization, class Order, class X>
dense_matrix equivalent_matrix(soft_sort<Regularization, Order> const& op, X const& x,
                               index_t batch, index_t channel, forward_options options = {}) {
  return detail::compute_jacobian(op, detail::matrix_sample(x, batch, channel, options));
}
template <class Regularization, class Order, class X>
dense_matrix equivalent_matrix(soft_rank<Regularization, Order> const& op, X const& x,
                               index_t batch, index_t channel, forward_options options = {}) {
  return detail::compute_jacobian(op, detail::matrix_sample(x, batch, channel, options));
}

/// The identity with two rows exchanged: the row of the first maximum and the readout row.
template <class X>
dense_matrix equivalent_matrix(max_exchange const& op, X const& x, index_t batch, index_t channel,
                               forward_options options = {}) {
  return detail::compute_matrix_from_state(op, detail::matrix_sample(x, batch, channel, options));
}

/// A permutation matrix `T S`, where S is the shift and T is block diagonal, with one permutation
/// per group.
template <class Shift, class Alignment, class X>
dense_matrix equivalent_matrix(csp<Shift, Alignment> const& op, X const& x, index_t batch,
                               index_t channel, forward_options options = {}) {
  return detail::compute_matrix_from_state(op, detail::matrix_sample(x, batch, channel, options));
}

/// The permutation matrix of a column of `saved`. Ignores the values of x.
template <class X>
dense_matrix equivalent_matrix(permute const& op, X const& x, const_saved_permutation saved,
                               index_t batch, index_t channel, forward_options options = {}) {
  detail::matrix_sample const sample(x, batch, channel, options);
  const_index_tensor3 const perm = detail::repeat_permutation(detail::input(x), saved.view, batch);
  return sample.compute_matrix([&](auto dy, auto, auto dx, workspace memory, auto call_options) {
    op.backward(exec::host{}, dy, {perm}, dx, memory, call_options);
  });
}

/// A permutation matrix that depends only on the seed, the length and the channel.
template <class Form, class X>
dense_matrix equivalent_matrix(shuffle<Form> const& op, X const& x, index_t batch, index_t channel,
                               forward_options options = {}) {
  detail::matrix_sample const sample(x, batch, channel, options);
  return sample.compute_matrix([&](auto dy, auto, auto dx, workspace memory, auto call_options) {
    op.backward(exec::host{}, dy, dx, memory, call_options);
  });
}

/// A band matrix with the filter of the channel in every row; 0 in rows past the length. It is the
/// same for every x. `weights`: as for the operator.
template <class X, class Weights>
dense_matrix equivalent_matrix(short_convolution const& op, X const& x, Weights const& weights,
                               index_t batch, index_t channel, forward_options options = {}) {
  detail::matrix_sample const s(x, batch, channel, options);
  auto const filters = detail::input(weights);
  index_t const channels = detail::extents_of(x).channels, groups = filters.extents().channels;
  detail::checker c("equivalent_matrix");
  detail::check_filters(c, detail::describe("weights", filters, false), channels, "x");
  detail::enforce(c.result());
  std::vector<double> filter;
  for (index_t k = 0; k < filters.extents().length; ++k)
    filter.push_back(detail::as_double(filters(0, k, channel / (channels / groups))));
  tensor3<double const> const view(filter.data(), {1, filters.extents().length, 1});
  return s.compute_matrix([&](auto dy, auto, auto dx, workspace w, auto o) {
    op.backward(exec::host{}, dy, view, dx, w, o);
  });
}

/// A Toeplitz matrix with `sum over the states of w * a^(i - j)` at (i, j), lower triangular unless
/// the direction is `reverse` or `both`; 0 in rows past the length. It is the same for every x.
/// `in`: as for the operator, with constant a.
template <class X, class T>
dense_matrix equivalent_matrix(decaying_sum const& op, X const& x, decay_inputs<T> const& in,
                               index_t batch, index_t channel, forward_options options = {}) {
  detail::matrix_sample const s(x, batch, channel, options);
  extents4 const shape{1, op.numbers(), 1, detail::extents_of(x).channels};
  detail::checker c("equivalent_matrix");
  if (in.a.extents() != shape || (in.w.data() != nullptr && in.w.extents() != shape))
    c.fail(error_kind::argument, "a and w must be [1, %lld, 1, %lld], constant along the length",
           static_cast<long long>(shape.heads), static_cast<long long>(shape.channels));
  detail::enforce(c.result());
  std::vector<double> numbers;
  for (auto const& tensor : {in.a, in.w})
    for (index_t j = 0; j < op.numbers() && tensor.data() != nullptr; ++j)
      numbers.push_back(detail::as_double(tensor(0, j, 0, channel)));
  return s.compute_matrix([&](auto dy, auto, auto dx, workspace memory, auto call_options) {
    // Every channel of the call has the numbers of this one.
    auto const view = [&](double const* first) {
      return tensor4<double const>(first, {1, op.numbers(), 1, dy.extents().channels},
                                   {0, 1, 0, 0});
    };
    decay_inputs<double> copies{view(numbers.data())};
    if (in.w.data() != nullptr) copies.w = view(numbers.data() + op.numbers());
    op.backward(exec::host{}, dy, dy, copies, {dx}, {}, memory, call_options);
  });
}

/// The matrix that the operator computes, of the shape of the logits; 0 past the valid rows and
/// columns.
template <class X>
dense_matrix equivalent_matrix(sinkhorn const& op, X const& logits, index_t batch,
                               sinkhorn_options options = {}) {
  auto const view_of_logits = detail::input(logits);
  extents3 const e = view_of_logits.extents();
  detail::checker c("equivalent_matrix");
  c.view(detail::describe("logits", view_of_logits, false));
  if (c.ok() && (batch < 0 || batch >= e.batch))
    c.fail(error_kind::argument, "batch is %lld, must be in 0..%lld", static_cast<long long>(batch),
           static_cast<long long>(e.batch - 1));
  c.lengths(options.lengths, e);
  c.lengths("column_lengths", options.column_lengths, e.batch, e.channels);
  detail::enforce(c.result());
  dense_matrix matrix(e.length, e.channels);
  for (index_t i = 0; i < e.length; ++i)
    for (index_t j = 0; j < e.channels; ++j)
      matrix(i, j) = detail::as_double(view_of_logits(batch, i, j));
  index_t const rows = detail::valid_rows(options.lengths, batch, e.length),
                columns = detail::valid_rows(options.column_lengths, batch, e.channels);
  tensor3<double> const view(matrix.elements.data(), {1, e.length, e.channels});
  basic_scratch<std::vector<unsigned char>> memory;
  op.forward(exec::host{}, view, view, memory,
             row_and_column_lengths(lengths(rows), lengths(columns)));
  return matrix;
}

/// `T S`, where S is the shift and T is block diagonal, with one doubly stochastic matrix per
/// group; the identity for the reference channel. It is not computed by backward, whose gradients
/// also propagate through T.
template <class Shift, class X>
dense_matrix equivalent_matrix(sinkhorn_csp<Shift> const& op, X const& x, index_t batch,
                               index_t channel, forward_options options = {}) {
  detail::matrix_sample sample(x, batch, channel, options);
  // Checks the policies.
  sample.forward([&](auto from, auto to, workspace memory, auto call_options) {
    op.forward(exec::host{}, from, to, memory, call_options);
  });
  index_t const reference = op.reference().channel, rows = sample.rows(),
                group = op.group(sample.extents());
  dense_matrix matrix(sample.extents().length);
  for (index_t n = 0; n < matrix.size; ++n)
    if (n >= rows || channel == reference) matrix(n, n) = 1;
  if (channel == reference) return matrix;
  index_t const shift = op.shift_of(channel, sample.extents(), rows);
  for (index_t first = 0; first < rows; first += group) {
    auto const source = [&](index_t j) { return (first + j + rows - shift) % rows; };
    index_t const size = std::min(group, rows - first);
    dense_matrix logits(size);
    for (index_t i = 0; i < size; ++i)
      for (index_t j = 0; j < size; ++j)
        logits(i, j) = sample.value(first + i, reference) * sample.value(source(j), channel);
    tensor3<double> const view(logits.elements.data(), {1, size, size});
    basic_scratch<std::vector<unsigned char>> memory;
    op.relaxation().forward(exec::host{}, view, view, memory);
    for (index_t i = 0; i < size; ++i)
      for (index_t j = 0; j < size; ++j) matrix(first + i, source(j)) = logits(i, j);
  }
  return matrix;
}

/// The product of the factors (the first factor is rightmost) and their residuals. It is the same
/// for every channel and every x. `w`: as for the operator.
template <class Topology, class Residual, class W>
dense_matrix equivalent_matrix(sparse_mix<Topology, Residual> const& op, W const& w, index_t batch,
                               forward_options options = {}) {
  auto const view = detail::input_stack(w);
  stack_extents const e = view.extents();
  index_t const rows = detail::check_matrix_arguments(
      detail::describe("w", view, false, {"factors", "batch", "length", "links"}), batch, e.batch,
      {0, "channel"}, 1, options.lengths);
  stack_extents const sample{e.outer, 1, e.length, e.channels};
  std::vector<double> weights(static_cast<std::size_t>(sample.size()));
  tensor_stack<double> const sample_weights(weights.data(), sample);
  for (index_t factor = 0; factor < sample.outer; ++factor)
    for (index_t n = 0; n < sample.length; ++n)
      for (index_t k = 0; k < sample.channels; ++k)
        sample_weights(factor, 0, n, k) = detail::as_double(view(factor, batch, n, k));
  // Mixes one unit vector per channel, so y is the matrix.
  dense_matrix unit(e.length), mixed(e.length);
  for (index_t n = 0; n < unit.size; ++n) unit(n, n) = 1;
  extents3 const square{1, unit.size, unit.size};
  scratch memory;
  op.forward(exec::host{}, tensor3<double const>(unit.elements.data(), square), sample_weights,
             tensor3<double>(mixed.elements.data(), square), no_saved, memory,
             slicesort::lengths(rows));
  return mixed;
}

/// The attention matrix of a head, `queries x keys`: row i holds the weights of query i (zeros if
/// it sees no key), with the operator's mask and scale. `in`: as for the operator.
template <class Mask, class Algorithm, class T>
dense_matrix equivalent_matrix(softmax_attention<Mask, Algorithm> const& op,
                               attention_inputs<T> const& in, index_t batch, index_t head,
                               attention_options options = {}) {
  detail::matrix_head<T> const tensors(in.q, in.k, batch, head, options);
  std::vector<double> bias;
  attention_inputs<double> inputs{tensors.q, tensors.k, {}, {}};
  if (!detail::is_omitted(in.bias)) inputs.bias = tensors.copy_head(detail::pair_bias(in), bias);
  dense_matrix map(in.q.extents().length, in.k.extents().length);
  // One channel of zeros, and its means.
  std::vector<double> zeros(static_cast<std::size_t>(map.columns)),
      means(static_cast<std::size_t>(map.size));
  inputs.v = tensor4<double const>(zeros.data(), {1, 1, map.columns, 1});
  softmax_attention const whole(detail::select_head(op.mask(), batch, head),
                                std::optional(op.scale(in.q.extents().channels)), materialized<>{});
  scratch memory;
  whole.forward(exec::host{}, inputs, tensor4<double>(means.data(), {1, 1, map.size, 1}),
                {tensor4<double>(map.elements.data(), {1, 1, map.size, map.columns})}, memory,
                tensors.lengths);
  return map;
}

/// The attention matrix of a head, `queries x keys`: the weights of pointwise attention, which are
/// functions of the scores. `in`: as for the operator; v may be omitted.
template <class Mask, class Function, class T>
dense_matrix equivalent_matrix(pointwise_attention<Mask, Function> const& op,
                               attention_inputs<T> const& in, index_t batch, index_t head,
                               attention_options options = {}) {
  detail::matrix_head<T> const tensors(in.q, in.k, batch, head, options);
  dense_matrix map(in.q.extents().length, in.k.extents().length), unit(map.columns);
  for (index_t n = 0; n < unit.size; ++n) unit(n, n) = 1;
  std::vector<double> bias;
  attention_inputs<double> inputs{
      tensors.q, tensors.k, {unit.elements.data(), {1, 1, unit.size, unit.size}}, {}};
  if (!detail::is_omitted(in.bias)) inputs.bias = tensors.copy_head(detail::pair_bias(in), bias);
  auto const mask = detail::select_head(op.mask(), batch, head);
  using head_attention = pointwise_attention<std::decay_t<decltype(mask)>, Function>;
  head_attention const whole =
      op.scales_per_key() ? head_attention(mask, op.function(), per_key{})
                          : head_attention(mask, op.function(), op.scale(in.q.extents().channels));
  attention_options call_options = tensors.lengths;
  call_options.dropout = options.dropout;  // the operator rejects it
  scratch memory;
  whole.forward(exec::host{}, inputs,
                tensor4<double>(map.elements.data(), {1, 1, map.size, map.columns}), memory,
                call_options);
  return map;
}

/// The attention matrix of a head, `queries x keys`: row i holds the weights of query i, which are
/// feature products divided by its divisor, or zeros if the divisor is 0. This is the operator's
/// output for values that are unit vectors. `in`: as for the operator; v may be omitted.
template <class Feature, class Divisor, class Direction, class T>
dense_matrix equivalent_matrix(linear_attention<Feature, Divisor, Direction> const& op,
                               linear_attention_inputs<T> const& in, index_t batch, index_t head,
                               attention_options options = {}) {
  detail::matrix_head<T> const tensors(in.q, in.k, batch, head, options);
  dense_matrix map(in.q.extents().length, in.k.extents().length), unit(map.columns);
  for (index_t n = 0; n < unit.size; ++n) unit(n, n) = 1;
  std::vector<double> w;
  linear_attention_inputs<double> const inputs{tensors.q,
                                               tensors.k,
                                               {unit.elements.data(), {1, 1, unit.size, unit.size}},
                                               detail::copy_w(in, tensors, w)};
  attention_options call_options = tensors.lengths;
  call_options.dropout = options.dropout;  // the operator rejects it
  scratch memory;
  op.forward(exec::host{}, inputs,
             tensor4<double>(map.elements.data(), {1, 1, map.size, map.columns}), memory,
             call_options);
  return map;
}

SLICESORT_OPERATORS_END
