// SPDX-License-Identifier: Apache-2.0
// Validated arguments of a call that moves rows of x to y, as a backend receives them.
#pragma once

#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

template <class Op, class T>
struct transfer_forward {
  using element = T;
  static constexpr char const* name = Op::forward_name;
  static constexpr grad_mode mode = grad_mode::overwrite;
  typename Op::config config{};
  tensor3<T const> x{};
  tensor3<T> y{};
  typename Op::forward_state state{};  // saved for backward
  bool saving = false;                 // true if `state` is written
  tensor1<index_t const> lengths{};

  tensor3<T const> source() const { return x; }
  tensor3<T> target() const { return y; }
  typename Op::shape shape() const { return Op::shape_of(x.extents(), config); }
};

template <class Op, class T>
struct transfer_backward {
  using element = T;
  static constexpr char const* name = Op::backward_name;
  typename Op::config config{};
  tensor3<T const> dy{};
  const_index_tensor3 state{};
  tensor3<T> dx{};
  grad_mode mode{};
  tensor1<index_t const> lengths{};

  tensor3<T const> source() const { return dy; }
  tensor3<T> target() const { return dx; }
  typename Op::shape shape() const { return Op::shape_of(dy.extents(), config); }
};

// Base class of an operator's tag, which names its functions in error messages. The tag may define
// a `config`, its own type of state, and a `shape` with the arguments of the workspace size.
template <class Op>
struct transfer_op {
  struct config {};
  using forward_state = index_tensor3;
  using shape = extents3;
  template <class Config>
  static extents3 shape_of(extents3 x, Config const&) {
    return x;
  }
  template <class T>
  using forward = transfer_forward<Op, T>;
  template <class T>
  using backward = transfer_backward<Op, T>;
};

SLICESORT_DETAIL_END
