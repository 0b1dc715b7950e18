// SPDX-License-Identifier: Apache-2.0
// Validated arguments of a shuffle call, as a backend receives them.
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
struct shuffle_op {
  using shape = extents3;  // arguments of the workspace size
  template <class T>
  using forward = shuffle_forward<T>;
  template <class T>
  using backward = shuffle_backward<T>;
};

SLICESORT_DETAIL_END
