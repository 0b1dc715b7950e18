// SPDX-License-Identifier: Apache-2.0
// Uploads numbers from the host to the workspace as kernel arguments. Calls need no memory copy and
// no synchronization, so they can be captured.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Uploads a batch of numbers, stored as the narrow type `Number`.
template <class Number>
struct upload_kernel {
  static constexpr int max_threads = 128;
  static constexpr int max_count = 3840 / static_cast<int>(sizeof(Number));

  index_t* output;
  int count;
  Number numbers[static_cast<std::size_t>(max_count)];

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    for (int i = block.rank(); i < count; i += block.size()) output[i] = numbers[i];
  }
};

struct uploaded_values {
  index_t first = 0;
  bool uniform = true;  // all numbers equal the first
};

// Computes and uploads all numbers. Returns false if a number does not fit in `Number`.
template <class Number, class Grid, class NumberOf>
bool upload_as(Grid const& grid, index_t count, NumberOf const& number_of, index_t* memory,
               bool always, uploaded_values& uploaded) {
  using Kernel = upload_kernel<Number>;
  uploaded = {};
  Kernel kernel{};
  for (index_t i = 0; i < count; ++i) {
    index_t const number = number_of(i);
    if (number != static_cast<Number>(number)) return false;
    if (i == 0) uploaded.first = number;
    if (number != uploaded.first) uploaded.uniform = false;
    kernel.numbers[kernel.count++] = static_cast<Number>(number);
    bool const last = i + 1 == count;
    if (kernel.count < Kernel::max_count && !(last && (always || !uploaded.uniform))) continue;
    kernel.output = memory + (i + 1 - kernel.count);
    grid.run(kernel, 1, Kernel::max_threads);
    kernel.count = 0;
  }
  return true;
}

// Uploads number_of(0) .. number_of(count - 1) to `memory`. May skip the upload if all numbers are
// equal and `always` is false.
template <class Grid, class NumberOf>
uploaded_values upload_values(Grid const& grid, index_t count, NumberOf const& number_of,
                              index_t* memory, bool always) {
  uploaded_values uploaded;
  if (!upload_as<std::int32_t>(grid, count, number_of, memory, always, uploaded))
    upload_as<index_t>(grid, count, number_of, memory, always, uploaded);
  return uploaded;
}

SLICESORT_DETAIL_END
