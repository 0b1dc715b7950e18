// SPDX-License-Identifier: Apache-2.0
// Parameters of soft_sort and soft_rank, and the regularizations.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_TYPES_BEGIN

/// Regularizations of `soft_sort` and `soft_rank` (Blondel et al., 2020, section 4).
namespace regularization {

/// Half the squared Euclidean norm. The results are piecewise linear in x.
struct l2 {
  static constexpr bool is_entropic = false;
};

/// Negative entropy (torchsort's "kl"). The results are smooth within a pool of rows.
struct entropic {
  static constexpr bool is_entropic = true;
};

}  // namespace regularization

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// Forms of the operator.
struct soft_values {
  static constexpr bool ranks = false;
  static constexpr char const *forward_name = "soft_sort.forward",
                              *backward_name = "soft_sort.backward",
                              *workspace_bytes_name = "soft_sort.workspace_bytes";
};
struct soft_ranks {
  static constexpr bool ranks = true;
  static constexpr char const *forward_name = "soft_rank.forward",
                              *backward_name = "soft_rank.backward",
                              *workspace_bytes_name = "soft_rank.workspace_bytes";
};

// Finite for any strength > 0. The value for strength 0 is not used.
inline double inverse_strength(double strength) {
  double const inverse = 1 / strength;
  return inverse < 0x1p1023 ? inverse : 0x1p1023;
}

template <class Order>
struct soft_sort_config {
  double strength;
  bool entropic;
  Order order;
};

template <class Form, class Order, class T>
struct soft_sort_forward {
  using element = T;
  static constexpr char const* name = Form::forward_name;
  soft_sort_config<Order> config{};
  tensor3<T const> x{};
  tensor3<T> y{};
  index_tensor3 perm{};   // source row of each sorted row
  index_tensor3 pools{};  // first sorted row of each sorted row's pool
  bool saving = false;    // true if `perm` and `pools` are written
  tensor1<index_t const> lengths{};

  extents3 shape() const { return x.extents(); }
};

template <class Form, class Order, class T>
struct soft_sort_backward {
  using element = T;
  static constexpr char const* name = Form::backward_name;
  soft_sort_config<Order> config{};
  tensor3<T const> dy{};
  tensor3<T const> x{};  // empty if not entropic
  const_index_tensor3 perm{};
  const_index_tensor3 pools{};
  tensor3<T> dx{};
  grad_mode mode{};
  tensor1<index_t const> lengths{};

  extents3 shape() const { return dy.extents(); }
};

template <class Form, class Order>
struct soft_operation {
  static constexpr char const* workspace_bytes_name = Form::workspace_bytes_name;
  using config = soft_sort_config<Order>;
  using shape = extents3;
  template <class T>
  using forward = soft_sort_forward<Form, Order, T>;
  template <class T>
  using backward = soft_sort_backward<Form, Order, T>;
};
template <class Order>
using soft_sort_op = soft_operation<soft_values, Order>;
template <class Order>
using soft_rank_op = soft_operation<soft_ranks, Order>;

SLICESORT_DETAIL_END
