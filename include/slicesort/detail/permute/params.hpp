// SPDX-License-Identifier: Apache-2.0
// Validated arguments of a permute call, as a backend receives them.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class T>
struct permute_forward {
  using element = T;
  static constexpr char const* name = "permute.forward";
  tensor3<T const> x;
  const_index_tensor3 perm;
  tensor3<T> y;
  tensor1<index_t const> lengths;

  extents3 shape() const { return x.extents(); }
};

template <class T>
struct permute_backward {
  using element = T;
  static constexpr char const* name = "permute.backward";
  tensor3<T const> dy;
  const_index_tensor3 perm;
  tensor3<T> dx;
  grad_mode mode;
  tensor1<index_t const> lengths;

  extents3 shape() const { return dy.extents(); }
};

struct permute_op {
  static constexpr char const* workspace_bytes_name = "permute.workspace_bytes";
  using shape = extents3;  // arguments of the workspace size
  template <class T>
  using forward = permute_forward<T>;
  template <class T>
  using backward = permute_backward<T>;
};

SLICESORT_DETAIL_END
