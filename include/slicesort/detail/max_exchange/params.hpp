// SPDX-License-Identifier: Apache-2.0
// Parameters of max_exchange. The saved state, [batch, 1, channels], is the row of each column's
// maximum. It is always a valid row, so backward needs no lengths.
#pragma once

#include <slicesort/detail/core/transfer_params.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

struct max_exchange_op : transfer_op<max_exchange_op> {
  static constexpr char const *forward_name = "max_exchange.forward",
                              *backward_name = "max_exchange.backward",
                              *workspace_bytes_name = "max_exchange.workspace_bytes";
  struct config {
    index_t row;  // readout row
  };
};

SLICESORT_DETAIL_END
