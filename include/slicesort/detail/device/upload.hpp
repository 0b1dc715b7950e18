// SPDX-License-Identifier: Apache-2.0
// Uploads numbers that the host has computed to the workspace, as the argument of a kernel, so that
// a call neither copies nor waits, and can be captured.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Uploads some of the numbers. `Number` is as narrow as they allow.
template <class Number>
struct upload_kernel {
  static constexpr int max_threads = 128;
  static constexpr int max_count = 3840 / static_cast<int>(sizeof(Number));

  index_t* to;
  int count;
  Number numbers[static_cast<std::size_t>(max_count)];

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    for (int i = block.rank(); i < count; i += block.size()) to[i] = numbers[i];
  }
};

// What is known about the numbers once they are uploaded.
struct uploaded_numbers {
  index_t first = 0;
  bool uniform = true;  // all numbers equal the first
};

// Computes every number once and uploads it to `memory`. Returns false if one is too wide for
// `Number`.
template <class Number, class Grid, class NumberOf>
bool upload_as(Grid const& grid, index_t count, NumberOf const& number_of, index_t* memory,
               bool always, uploaded_numbers& uploaded) {
  using kernel = upload_kernel<Number>;
  uploaded = {};
  kernel part{};
  for (index_t i = 0; i < count; ++i) {
    index_t const number = number_of(i);
    if (number != static_cast<Number>(number)) return false;
    if (i == 0) uploaded.first = number;
    if (number != uploaded.first) uploaded.uniform = false;
    part.numbers[part.count++] = static_cast<Number>(number);
    bool const last = i + 1 == count;
    if (part.count < kernel::max_count && !(last && (always || !uploaded.uniform))) continue;
    part.to = memory + (i + 1 - part.count);
    grid.run(part, 1, kernel::max_threads);
    part.count = 0;
  }
  return true;
}

// Uploads number_of(0) .. number_of(count - 1) to `memory`. If all are equal and `always` is false,
// only `first` of the result is set and `memory` may stay unwritten.
template <class Grid, class NumberOf>
uploaded_numbers upload_numbers(Grid const& grid, index_t count, NumberOf const& number_of,
                                index_t* memory, bool always) {
  uploaded_numbers uploaded;
  if (!upload_as<std::int32_t>(grid, count, number_of, memory, always, uploaded))
    upload_as<index_t>(grid, count, number_of, memory, always, uploaded);
  return uploaded;
}

SLICESORT_DETAIL_END
