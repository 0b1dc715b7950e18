// SPDX-License-Identifier: Apache-2.0
// Uploads values from the host to the workspace as kernel arguments. This needs no memory copy and
// no synchronization, so calls can be captured in a CUDA graph.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Uploads up to `max_count` values, which the kernel's arguments hold as `Stored`.
template <class Stored>
struct upload_kernel {
  static constexpr int max_threads = 128;
  static constexpr int max_count = 3840 / static_cast<int>(sizeof(Stored));

  index_t* output;
  int count;
  Stored values[static_cast<std::size_t>(max_count)];

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    for (int i = block.rank(); i < count; i += block.size()) output[i] = values[i];
  }
};

struct uploaded_values {
  index_t first = 0;
  bool uniform = true;  // true if all values are equal
};

// Computes and uploads all values. Returns false if some value does not fit in `Stored`.
template <class Stored, class Grid, class ValueOf>
bool upload_as(Grid const& grid, index_t count, ValueOf const& value_of, index_t* output,
               bool always, uploaded_values& uploaded) {
  using Kernel = upload_kernel<Stored>;
  uploaded = {};
  Kernel kernel{};
  for (index_t i = 0; i < count; ++i) {
    index_t const value = value_of(i);
    if (value != static_cast<Stored>(value)) return false;
    if (i == 0) uploaded.first = value;
    if (value != uploaded.first) uploaded.uniform = false;
    kernel.values[kernel.count++] = static_cast<Stored>(value);
    bool const is_last = i + 1 == count;
    if (kernel.count < Kernel::max_count && !(is_last && (always || !uploaded.uniform))) continue;
    kernel.output = output + (i + 1 - kernel.count);
    grid.run(kernel, 1, Kernel::max_threads);
    kernel.count = 0;
  }
  return true;
}

// Uploads value_of(0) .. value_of(count - 1) to `output`. May skip the upload if all values are
// equal and `always` is false.
template <class Grid, class ValueOf>
uploaded_values upload_values(Grid const& grid, index_t count, ValueOf const& value_of,
                              index_t* output, bool always) {
  uploaded_values uploaded;
  if (!upload_as<std::int32_t>(grid, count, value_of, output, always, uploaded))
    upload_as<index_t>(grid, count, value_of, output, always, uploaded);
  return uploaded;
}

SLICESORT_DETAIL_END
