// SPDX-License-Identifier: Apache-2.0
// Parameters of permute.
#pragma once

#include <slicesort/detail/core/transfer_params.hpp>

SLICESORT_DETAIL_BEGIN

struct permute_op : transfer_op<permute_op> {
  static constexpr char const *forward_name = "permute.forward",
                              *backward_name = "permute.backward",
                              *workspace_bytes_name = "permute.workspace_bytes";
  using forward_state = const_index_tensor3;
};

SLICESORT_DETAIL_END
