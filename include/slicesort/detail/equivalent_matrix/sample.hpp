// SPDX-License-Identifier: Apache-2.0
// Copies one sample to double on the host, for `equivalent_matrix`.
#pragma once

#include <slicesort/dense_matrix.hpp>
#include <slicesort/detail/core/call.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/core/view_info.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

SLICESORT_DETAIL_BEGIN

template <class T>
double as_double(T value) {
  return static_cast<double>(static_cast<accumulator_t<T>>(value));
}

// Channel or head whose matrix is computed.
struct matrix_position {
  index_t index;
  char const* name;
};
// Checks the arguments: batch, channel or head, and lengths. Returns the number of valid rows.
inline index_t check_matrix_arguments(view_info const& info, index_t batch, index_t batches,
                                      matrix_position position, index_t limit,
                                      tensor1<index_t const> lengths) {
  checker checks("equivalent_matrix");
  auto const check_index = [&](char const* name, index_t value, index_t end) {
    if (value < 0 || value >= end)
      checks.fail(error_kind::argument, "%s is %lld, must be in 0..%lld", name,
                  static_cast<long long>(value), static_cast<long long>(end - 1));
  };
  checks.view(info);
  check_index("batch", batch, batches);
  check_index(position.name, position.index, limit);
  checks.lengths("lengths", lengths, batches, info.extents.length);
  enforce(checks.result());
  return lengths.size() == 0 ? info.extents.length : lengths(batch);
}

// Copy of a sample in double, with memory to run an operator on it.
class matrix_sample {
 public:
  template <class X>
  matrix_sample(X const& x, index_t batch, index_t channel, forward_options options)
      : channel_(channel) {
    auto const view = input(x);
    extents3 const e = view.extents();
    rows_ = check_matrix_arguments(describe("x", view, false), batch, e.batch, {channel, "channel"},
                                   e.channels, options.lengths);
    extents_ = {1, e.length, e.channels};
    x_.resize(static_cast<std::size_t>(extents_.size()));
    y_.resize(x_.size());
    for (index_t n = 0; n < e.length; ++n)
      for (index_t c = 0; c < e.channels; ++c)
        x_[static_cast<std::size_t>(n * e.channels + c)] = as_double(view(batch, n, c));
  }

  extents3 extents() const { return extents_; }
  index_t channel() const { return channel_; }
  index_t rows() const { return rows_; }
  double value(index_t n, index_t c) const {
    return x_[static_cast<std::size_t>(n * extents_.channels + c)];
  }

  // The sample once per row, as a batch.
  tensor3<double const> repeated() const {
    return {x_.data(),
            {extents_.length, extents_.length, extents_.channels},
            {0, extents_.channels, 1}};
  }

  // Allocates an operator's saved state. `repeated_state_` becomes a view that repeats the state
  // for each sample of a batch.
  index_tensor3 state(extents3 e, index_width width) {
    state_.resize(static_cast<std::size_t>(e.size()));
    extents3 const batch{extents_.length, e.length, e.channels};
    strides3 const repeated{0, e.channels, 1};
    switch (width) {
      case index_width::bits8:
        return make_state(reinterpret_cast<std::uint8_t*>(state_.data()), e, batch, repeated);
      case index_width::bits16:
        return make_state(reinterpret_cast<std::uint16_t*>(state_.data()), e, batch, repeated);
      default:
        return make_state(state_.data(), e, batch, repeated);
    }
  }

  // Runs call(x, y, workspace, options) on the sample.
  template <class Call>
  void forward(Call const& call) {
    scratch memory;
    call(tensor3<double const>(x_.data(), extents_), tensor3<double>(y_.data(), extents_), memory,
         slicesort::lengths(rows_));
  }

  // Computes the matrix of an operator that is linear in x for a given state. Row i is the gradient
  // of y[i]. One call(dy, state, dx, workspace, options) computes all rows as a batch of samples.
  template <class Call>
  dense_matrix compute_matrix(Call const& call) const {
    index_t const n = extents_.length;
    extents3 const e{n, n, extents_.channels};
    std::vector<double> dy(static_cast<std::size_t>(e.size())), dx(dy.size());
    tensor3<double> const unit_gradients(dy.data(), e), rows(dx.data(), e);
    for (index_t i = 0; i < n; ++i) unit_gradients(i, i, channel_) = 1;
    scratch memory;
    call(tensor3<double const>(unit_gradients), repeated_state_, rows, memory,
         tensor1<index_t const>(&rows_, n, 0));
    dense_matrix matrix(n);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) matrix(i, j) = rows(i, j, channel_);
    return matrix;
  }

 private:
  template <class Index>
  index_tensor3 make_state(Index* memory, extents3 e, extents3 batch, strides3 repeated) {
    repeated_state_ = tensor3<Index const>(memory, batch, repeated);
    return tensor3<Index>(memory, e);
  }

  index_t channel_, rows_ = 0;
  extents3 extents_;
  std::vector<double> x_, y_;
  std::vector<std::uint32_t> state_;
  const_index_tensor3 repeated_state_;
};

// Shape and index width of an operator's saved state for one sample.
struct matrix_state_shape {
  extents3 extents;
  index_width width = index_width::bits32;
};

SLICESORT_DETAIL_END
