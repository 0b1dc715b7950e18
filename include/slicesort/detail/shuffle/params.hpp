// SPDX-License-Identifier: Apache-2.0
// Parameters of shuffle, and its forms: one permutation for all channels, or one per channel.
#pragma once

#include <slicesort/detail/core/transfer_params.hpp>

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

template <class Form>
struct shuffle_op : transfer_op<shuffle_op<Form>> {
  static constexpr char const *forward_name = "shuffle.forward",
                              *backward_name = "shuffle.backward",
                              *workspace_bytes_name = "shuffle.workspace_bytes";
  struct config {
    std::uint64_t seed;
  };
};

SLICESORT_DETAIL_END
