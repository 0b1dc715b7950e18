// SPDX-License-Identifier: Apache-2.0
// Parameters of slicing_sort.
#pragma once

#include <slicesort/detail/core/transfer_params.hpp>

SLICESORT_DETAIL_BEGIN

template <class Order>
struct slicing_sort_op : transfer_op<slicing_sort_op<Order>> {
  static constexpr char const *forward_name = "slicing_sort.forward",
                              *backward_name = "slicing_sort.backward",
                              *workspace_bytes_name = "slicing_sort.workspace_bytes";
  struct config {
    Order order;
  };
};

SLICESORT_DETAIL_END
