// SPDX-License-Identifier: Apache-2.0
// Validated arguments of a shuffle call, as a backend receives them.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_OPERATORS_BEGIN

/// Form of `shuffle`: one permutation for all channels, as in the paper.
struct shared_by_channels {
  static constexpr bool shared = true;
};

/// Form of `shuffle`: a separate permutation for every channel, as in the published code.
struct per_channel {
  static constexpr bool shared = false;
};

SLICESORT_OPERATORS_END

SLICESORT_DETAIL_BEGIN

template <class T>
struct shuffle_forward {
  using element = T;
  static constexpr char const* name = "shuffle.forward";
  std::uint64_t seed;
  tensor3<T const> x;
  tensor3<T> y;
  tensor1<index_t const> lengths;

  extents3 shape() const { return x.extents(); }
};

template <class T>
struct shuffle_backward {
  using element = T;
  static constexpr char const* name = "shuffle.backward";
  std::uint64_t seed;
  tensor3<T const> dy;
  tensor3<T> dx;
  grad_mode mode;
  tensor1<index_t const> lengths;

  extents3 shape() const { return dy.extents(); }
};

template <class Form>
struct shuffle_op {
  using shape = extents3;  // arguments of the workspace size
  template <class T>
  using forward = shuffle_forward<T>;
  template <class T>
  using backward = shuffle_backward<T>;
};

SLICESORT_DETAIL_END
