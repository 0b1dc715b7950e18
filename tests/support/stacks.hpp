// SPDX-License-Identifier: Apache-2.0
// Stacks of tensors in strided memory that detects writes to gaps, and memory layouts for
// operators.
#pragma once

#include "buffers.hpp"

#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace support {

using slicesort::extents4;
using slicesort::stack_extents;
using slicesort::stack_strides;
using slicesort::strides4;
using slicesort::tensor4;
using slicesort::tensor_stack;

template <class Kind>
std::array<index_t, 4> axes_array(slicesort::axes4<Kind> e) {
  return {e.batch, e.heads, e.length, e.channels};
}
template <class Kind>
std::array<index_t, 4> axes_array(slicesort::stack_axes<Kind> e) {
  return {e.outer, e.batch, e.length, e.channels};
}

// Calls f(i, j, row, channel) for every position of a tensor of rank 4, in row-major order.
template <class Kind, template <class> class Axes, class F>
void for_each_position(Axes<Kind> e, F const& f) {
  auto const [first, second, length, channels] = axes_array(e);
  for (index_t i = 0; i < first; ++i)
    for (index_t j = 0; j < second; ++j)
      for (index_t n = 0; n < length; ++n)
        for (index_t c = 0; c < channels; ++c) f(i, j, n, c);
}

// Like strided_tensor, with four axes and contiguous contents. A stride of 0 repeats elements.
template <class T, template <class> class View>
class strided_memory {
 public:
  static constexpr unsigned char pattern = 0xa5;
  static constexpr index_t red_zone = 80;
  using extents_type = decltype(View<T>().extents());
  using strides_type = decltype(View<T>().strides());

  strided_memory(extents_type e, strides_type s, index_t shift = 0)
      : extents_(e), strides_(s), base_(red_zone + shift) {
    index_t span = 0;
    if (!e.empty()) {
      auto const [first, second, length, channels] = axes_array(e);
      span = 1 + offset_of(first - 1, second - 1, length - 1, channels - 1);
    }
    buffer_.resize(static_cast<std::size_t>(base_ + span + red_zone));
    std::memset(static_cast<void*>(buffer_.data()), pattern, buffer_.size() * sizeof(T));
    is_element_.resize(buffer_.size());
    for_each_offset([&](std::size_t, std::size_t offset) { is_element_[offset] = 1; });
  }
  strided_memory(extents_type e, std::vector<T> const& contents, strides_type s, index_t shift = 0)
      : strided_memory(e, s, shift) {
    for_each_offset([&](std::size_t i, std::size_t offset) { buffer_[offset] = contents[i]; });
  }

  View<T> view() { return {buffer_.data() + base_, extents_, strides_}; }
  View<T const> view() const { return {buffer_.data() + base_, extents_, strides_}; }
  std::vector<T> contents() const {
    std::vector<T> result(static_cast<std::size_t>(extents_.size()));
    for_each_offset([&](std::size_t i, std::size_t offset) { result[i] = buffer_[offset]; });
    return result;
  }
  bool padding_intact() const {
    T untouched;
    std::memset(static_cast<void*>(&untouched), pattern, sizeof(T));
    for (std::size_t i = 0; i < buffer_.size(); ++i)
      if (!is_element_[i] && !same_bits(buffer_[i], untouched)) return false;
    return true;
  }

 private:
  index_t offset_of(index_t i, index_t j, index_t n, index_t c) const {
    auto const [outer, inner, row, column] = axes_array(strides_);
    return i * outer + j * inner + n * row + c * column;
  }
  template <class F>
  void for_each_offset(F const& f) const {
    std::size_t index = 0;
    for_each_position(extents_, [&](index_t i, index_t j, index_t n, index_t c) {
      f(index++, static_cast<std::size_t>(base_ + offset_of(i, j, n, c)));
    });
  }

  extents_type extents_;
  strides_type strides_;
  index_t base_;
  std::vector<T> buffer_;
  std::vector<char> is_element_;  // faster than std::vector<bool>
};
template <class T>
using strided_stack = strided_memory<T, tensor_stack>;
template <class T>
using strided_heads = strided_memory<T, tensor4>;

// Returns strides of the axes in `order`, slowest first. Axes are numbered from the first.
template <class Extents, class Strides = decltype(row_major(Extents()))>
Strides strides_in_order(Extents e, std::array<int, 4> order, index_t padding = 0) {
  std::array<index_t, 4> const extent = axes_array(e);
  std::array<index_t, 4> stride{};
  index_t next_stride = 1 + (padding > 0 ? 1 : 0);
  for (int i = 3; i >= 0; --i) {
    auto const axis = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    stride[axis] = next_stride;
    next_stride = next_stride * std::max<index_t>(extent[axis], 1) + padding;
  }
  return {stride[0], stride[1], stride[2], stride[3]};
}

// Memory layout of a call's tensors. Number 0 is contiguous; the others give every tensor a
// different order of axes, with gaps, slices of packed weights and misaligned starts.
struct memory_layout {
  int number = 0;

  static constexpr int count = 6;
  strides3 strides(extents3 e, int tensor) const {
    if (number == 0) return row_major(e);
    return strides_in_order(e, axis_orders[(number + tensor) % 6],
                            number % 2 == 0 ? 0 : 1 + tensor);
  }
  template <class Extents>
  auto strides(Extents e, int tensor) const {
    constexpr std::array<int, 4> orders[] = {{0, 1, 2, 3}, {1, 2, 0, 3}, {2, 1, 3, 0},
                                             {3, 0, 1, 2}, {1, 0, 3, 2}, {0, 2, 1, 3}};
    if (number == 0) return row_major(e);
    return strides_in_order(e, orders[(number + tensor) % 6], (number + tensor) % 3);
  }
  index_t shift(int tensor) const { return number == 0 ? 0 : (number * 7 + tensor * 3) % 17; }
};

}  // namespace support
