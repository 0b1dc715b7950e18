// SPDX-License-Identifier: Apache-2.0
// Validated arguments of a slicing_sort call, as a backend receives them.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class Order, class T>
struct slicing_sort_forward {
  using element = T;
  static constexpr char const* name = "slicing_sort.forward";
  Order order;
  tensor3<T const> x{};
  tensor3<T> y{};
  index_tensor3 perm{};
  bool saving = false;  // true if perm is written
  tensor1<index_t const> lengths{};

  extents3 shape() const { return x.extents(); }
};

template <class T>
struct slicing_sort_backward {
  using element = T;
  static constexpr char const* name = "slicing_sort.backward";
  tensor3<T const> dy;
  tensor3<T> dx;
  const_index_tensor3 perm;
  grad_mode mode;
  tensor1<index_t const> lengths;

  extents3 shape() const { return dy.extents(); }
};

template <class Order>
struct slicing_sort_op {
  static constexpr char const* workspace_bytes_name = "slicing_sort.workspace_bytes";
  using shape = extents3;  // arguments of the workspace size
  template <class T>
  using forward = slicing_sort_forward<Order, T>;
  template <class T>
  using backward = slicing_sort_backward<T>;
};

SLICESORT_DETAIL_END
