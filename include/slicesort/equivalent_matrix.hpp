// SPDX-License-Identifier: Apache-2.0
/// The dense matrices that nobody forms: what an operator multiplies a channel of a sample by,
/// `y[batch, :, channel] = E x[batch, :, channel]`. For tests, pictures and teaching: host memory, double
/// precision, vectors of its own, and `length^2 * channels` numbers at once. Not part of the umbrella.
///
/// Operators that look at their values (all but `shuffle` and `sparse_mix`) have another matrix for every
/// x: `E` is the one at this x, with the order of rows, or the weights, that it gives. Rows past a sample's
/// length are rows of the identity. The tensors may be of any element type; a refusal is the operator's
/// own, or an `invalid_argument` that names `batch` or `channel`.
#pragma once

#include <slicesort/csp.hpp>
#include <slicesort/detail/check.hpp>
#include <slicesort/detail/config.hpp>
#include <slicesort/detail/door.hpp>
#include <slicesort/detail/math/dense_sinkhorn.hpp>
#include <slicesort/detail/view_facts.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/sparse_mix.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace slicesort {
inline namespace SLICESORT_BUILD {

/// A square matrix, row by row.
struct dense_matrix {
  index_t size = 0;
  std::vector<double> elements;

  dense_matrix() = default;
  explicit dense_matrix(index_t n) : size(n), elements(static_cast<std::size_t>(n * n)) {}
  double& operator()(index_t row, index_t column) {
    return elements[static_cast<std::size_t>(row * size + column)];
  }
  double operator()(index_t row, index_t column) const {
    return elements[static_cast<std::size_t>(row * size + column)];
  }
};

namespace impl {

template <class T>
double as_double(T value) {
  return static_cast<double>(static_cast<detail::accumulator_t<T>>(value));
}

// Refuses what no operator has a word for, and says how many rows of the sample are valid.
inline index_t matrix_rows(detail::view_facts const& in, index_t batch, index_t channel,
                           index_t channels, forward_options options) {
  detail::checker c("equivalent_matrix");
  auto const within = [&](char const* name, index_t is, index_t below) {
    if (is < 0 || is >= below)
      c.refuse(error_kind::argument, "%s is %lld, must be in 0..%lld", name,
               static_cast<long long>(is), static_cast<long long>(below - 1));
  };
  c.view(in);
  within("batch", batch, in.extents.batch);
  within("channel", channel, channels);
  c.lengths(options.lengths, in.extents.each());
  enforce(c.result());
  return options.lengths.size() == 0 ? in.extents.length : options.lengths(batch);
}

// The sample that a matrix is asked of, in double, and memory to run operators on it.
class matrix_sample {
 public:
  template <class X>
  matrix_sample(X const& x, index_t batch, index_t channel, forward_options options)
      : channel_(channel) {
    auto const in = input(x);
    extents3 const all = in.extents();
    rows_ = matrix_rows(detail::facts("x", in, false), batch, channel, all.channels, options);
    extents_ = {1, all.length, all.channels};
    x_.resize(static_cast<std::size_t>(extents_.size()));
    y_.resize(x_.size());
    for (index_t n = 0; n < all.length; ++n)
      for (index_t c = 0; c < all.channels; ++c)
        x_[static_cast<std::size_t>(n * all.channels + c)] = as_double(in(batch, n, c));
  }

  extents3 extents() const { return extents_; }
  index_t channel() const { return channel_; }
  index_t rows() const { return rows_; }
  double value(index_t n, index_t c) const {
    return x_[static_cast<std::size_t>(n * extents_.channels + c)];
  }

  // Memory for an operator's row numbers, and the same as the state of every sample of a batch.
  index_tensor3 state(extents3 e, index_width width) {
    state_.resize(static_cast<std::size_t>(e.size()));
    extents3 const all{extents_.length, e.length, e.channels};
    strides3 const repeated{0, e.channels, 1};
    switch (width) {
      case index_width::bits8:
        return lend(reinterpret_cast<std::uint8_t*>(state_.data()), e, all, repeated);
      case index_width::bits16:
        return lend(reinterpret_cast<std::uint16_t*>(state_.data()), e, all, repeated);
      default:
        return lend(state_.data(), e, all, repeated);
    }
  }

  // call(x, y, workspace, options)
  template <class Op, class Call>
  void forward(Op const& op, Call const& call) {
    std::vector<unsigned char> scratch(op.template workspace_bytes<double>(exec::host{}, extents_));
    call(tensor3<double const>(x_.data(), extents_), tensor3<double>(y_.data(), extents_),
         workspace{scratch.data(), scratch.size()}, forward_options{{&rows_, 1}});
  }

  // Row i of the matrix is the gradient of y[i]: where y is linear in x, given the state. All of them
  // are samples of one batch. call(dy, state, dx, workspace, options)
  template <class Op, class Call>
  dense_matrix by_gradients(Op const& op, Call const& call) const {
    index_t const n = extents_.length;
    extents3 const e{n, n, extents_.channels};
    std::vector<double> dy(static_cast<std::size_t>(e.size())), dx(dy.size());
    tensor3<double> const units(dy.data(), e), rows(dx.data(), e);
    for (index_t i = 0; i < n; ++i) units(i, i, channel_) = 1;
    std::vector<unsigned char> scratch(op.template workspace_bytes<double>(exec::host{}, e));
    call(tensor3<double const>(units), repeated_, rows, workspace{scratch.data(), scratch.size()},
         backward_options{grad_mode::overwrite, {&rows_, n, 0}});
    dense_matrix m(n);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) m(i, j) = rows(i, j, channel_);
    return m;
  }

 private:
  template <class Index>
  index_tensor3 lend(Index* memory, extents3 one, extents3 all, strides3 repeated) {
    repeated_ = tensor3<Index const>(memory, all, repeated);
    return tensor3<Index>(memory, one);
  }

  index_t channel_, rows_ = 0;
  extents3 extents_;
  std::vector<double> x_, y_;
  std::vector<std::uint32_t> state_;
  const_index_tensor3 repeated_;
};

// What an operator saves of a sample: row numbers.
struct matrix_state {
  extents3 extents;
  index_width width = index_width::bits32;
};
template <class Order>
matrix_state state_of(slicing_sort<Order> const&, extents3 e) {
  return {e};
}
template <class Order>
matrix_state state_of(multi_permutation<Order> const&, extents3 e) {
  return {e};
}
inline matrix_state state_of(max_exchange const&, extents3 e) { return {{1, 1, e.channels}}; }
template <class Shift, class Alignment>
matrix_state state_of(csp<Shift, Alignment> const& op, extents3 e) {
  return {op.saved_extents(e), op.saved_width(e)};
}

// Of an operator that saves such; `weights` are arguments between x and y.
template <class Op, class... Weights>
dense_matrix matrix_by_state(Op const& op, matrix_sample s, Weights const&... weights) {
  exec::host const on;
  matrix_state const form = state_of(op, s.extents());
  typename Op::saved const saved{s.state(form.extents, form.width)};
  s.forward(op, [&](auto x, auto y, workspace w, auto options) {
    op.forward(on, x, weights..., y, saved, w, options);
  });
  return s.by_gradients(op, [&](auto dy, auto state, auto dx, workspace w, auto options) {
    op.backward(on, dy, weights..., typename Op::const_saved(state), dx, w, options);
  });
}

}  // namespace impl

/// A permutation matrix: the stable order of the channel.
template <class Order, class X>
dense_matrix equivalent_matrix(slicing_sort<Order> const& op, X const& x, index_t batch,
                               index_t channel, forward_options options = {}) {
  return impl::matrix_by_state(op, impl::matrix_sample(x, batch, channel, options));
}

/// `sum over k of weights[k - 1] * P^k`. `weights` as the operator takes them, or `uniform_weights`.
template <class Order, class X, class Weights>
dense_matrix equivalent_matrix(multi_permutation<Order> const& op, X const& x,
                               Weights const& weights, index_t batch, index_t channel,
                               forward_options options = {}) {
  impl::matrix_sample s(x, batch, channel, options);
  if constexpr (std::is_same_v<Weights, uniform_weights_t>) {
    return impl::matrix_by_state(op, s, weights);
  } else {
    std::vector<double> copy;
    for (index_t k = 0; k < weights.size(); ++k) copy.push_back(static_cast<double>(weights(k)));
    return impl::matrix_by_state(op, s, tensor1<double const>(copy.data(), weights.size()));
  }
}

/// The identity with the first maximum's row and the operator's exchanged.
template <class X>
dense_matrix equivalent_matrix(max_exchange const& op, X const& x, index_t batch, index_t channel,
                               forward_options options = {}) {
  return impl::matrix_by_state(op, impl::matrix_sample(x, batch, channel, options));
}

/// A permutation matrix, `T S`: the shift, and block by block the order of the groups.
template <class Shift, class Alignment, class X>
dense_matrix equivalent_matrix(csp<Shift, Alignment> const& op, X const& x, index_t batch,
                               index_t channel, forward_options options = {}) {
  return impl::matrix_by_state(op, impl::matrix_sample(x, batch, channel, options));
}

/// A permutation matrix that depends on the seed, the length and the channel alone.
template <class Form, class X>
dense_matrix equivalent_matrix(shuffle<Form> const& op, X const& x, index_t batch, index_t channel,
                               forward_options options = {}) {
  impl::matrix_sample const s(x, batch, channel, options);
  return s.by_gradients(op, [&](auto dy, auto, auto dx, workspace w, auto o) {
    op.backward(exec::host{}, dy, dx, w, o);
  });
}

/// `T S`: the shift, and block by block the doubly stochastic matrices of the groups; the identity for the
/// reference channel. Not by gradients, which go through T too.
template <class Shift, class X>
dense_matrix equivalent_matrix(sinkhorn_csp<Shift> const& op, X const& x, index_t batch,
                               index_t channel, forward_options options = {}) {
  impl::matrix_sample s(x, batch, channel, options);
  // Refuses what is wrong with the policies.
  s.forward(op, [&](auto from, auto to, workspace w, auto o) {
    op.forward(exec::host{}, from, to, w, o);
  });
  index_t const reference = op.reference().channel, rows = s.rows(), group = op.group(s.extents());
  dense_matrix m(s.extents().length);
  for (index_t n = 0; n < m.size; ++n)
    if (n >= rows || channel == reference) m(n, n) = 1;
  if (channel == reference) return m;
  index_t const shift = op.shift_of(channel, s.extents(), rows);
  for (index_t first = 0; first < rows; first += group) {
    auto const source = [&](index_t j) { return (first + j + rows - shift) % rows; };
    detail::dense_sinkhorn(
        std::min(group, rows - first), op.relaxation().tau, op.relaxation().iterations,
        [&](index_t i) { return s.value(first + i, reference); },
        [&](index_t j) { return s.value(source(j), channel); },
        [&](index_t i, index_t j, double t) { m(first + i, source(j)) = t; });
  }
  return m;
}

/// The product of the factors, the first on the right, with what the residual adds: the same for every
/// channel and every x. `w` as the operator takes it.
template <class Topology, class Residual, class W>
dense_matrix equivalent_matrix(sparse_mix<Topology, Residual> const& op, W const& w, index_t batch,
                               forward_options options = {}) {
  auto const in = impl::input_stack(w);
  extents4 const all = in.extents();
  index_t const rows = impl::matrix_rows(
      detail::facts("w", in, false, {"factors", "batch", "length", "links"}), batch, 0, 1, options);
  extents4 const one{all.outer, 1, all.length, all.channels};
  std::vector<double> weights(static_cast<std::size_t>(one.size()));
  tensor4<double> const mine(weights.data(), one);
  for (index_t m = 0; m < one.outer; ++m)
    for (index_t n = 0; n < one.length; ++n)
      for (index_t k = 0; k < one.channels; ++k)
        mine(m, 0, n, k) = impl::as_double(in(m, batch, n, k));
  // Mixes the unit vectors, a channel each: y is the matrix.
  dense_matrix unit(all.length), mixed(all.length);
  for (index_t n = 0; n < unit.size; ++n) unit(n, n) = 1;
  extents3 const e{1, unit.size, unit.size};
  exec::host const on;
  std::vector<unsigned char> scratch(op.template workspace_bytes<double>(on, e, one));
  op.forward(on, tensor3<double const>(unit.elements.data(), e), mine,
             tensor3<double>(mixed.elements.data(), e), no_saved, {scratch.data(), scratch.size()},
             {{&rows, 1}});
  return mixed;
}

}  // namespace SLICESORT_BUILD
}  // namespace slicesort
