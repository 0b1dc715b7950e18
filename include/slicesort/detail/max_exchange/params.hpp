// SPDX-License-Identifier: Apache-2.0
// Parameters of max_exchange. The saved state is [batch, 1, channels]: the row of each column's
// maximum, which is a valid one, so backward needs no lengths.
#pragma once

#include <slicesort/detail/core/transfer_params.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

struct max_exchange_op : transfer_op<max_exchange_op> {
  static constexpr char const *forward_name = "max_exchange.forward",
                              *backward_name = "max_exchange.backward",
                              *workspace_bytes_name = "max_exchange.workspace_bytes";
  struct config {
    index_t row;  // the readout row
  };
};

SLICESORT_DETAIL_END
