// SPDX-License-Identifier: Apache-2.0
// Stacks of tensors in strided memory whose gaps are watched, and the layouts that operators are
// tried in.
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
using slicesort::strides4;
using slicesort::tensor4;

// f(outer, batch, row, channel) for every position, outer slowest.
template <class F>
void for_each_position(extents4 e, F const& f) {
  for (index_t o = 0; o < e.outer; ++o)
    for_each_position(e.each(), [&](index_t b, index_t n, index_t c) { f(o, b, n, c); });
}

// As strided_tensor, with one axis more; contents are contiguous. A stride of 0 repeats elements.
template <class T>
class strided_stack {
 public:
  static constexpr unsigned char pattern = 0xa5;
  static constexpr index_t red_zone = 80;

  strided_stack(extents4 e, strides4 s, index_t shift = 0)
      : extents_(e), strides_(s), base_(red_zone + shift) {
    index_t span = 0;
    if (!e.empty())
      span = (e.outer - 1) * s.outer + (e.batch - 1) * s.batch + (e.length - 1) * s.length +
             (e.channels - 1) * s.channels + 1;
    buffer_.resize(static_cast<std::size_t>(base_ + span + red_zone));
    std::memset(static_cast<void*>(buffer_.data()), pattern, buffer_.size() * sizeof(T));
    owned_.resize(buffer_.size());
    each([&](std::size_t, std::size_t place) { owned_[place] = 1; });
  }
  strided_stack(extents4 e, std::vector<T> const& contents, strides4 s, index_t shift = 0)
      : strided_stack(e, s, shift) {
    each([&](std::size_t i, std::size_t place) { buffer_[place] = contents[i]; });
  }

  tensor4<T> view() { return {buffer_.data() + base_, extents_, strides_}; }
  tensor4<T const> view() const { return {buffer_.data() + base_, extents_, strides_}; }
  std::vector<T> contents() const {
    std::vector<T> result(static_cast<std::size_t>(extents_.size()));
    each([&](std::size_t i, std::size_t place) { result[i] = buffer_[place]; });
    return result;
  }
  bool gaps_untouched() const {
    T untouched;
    std::memset(static_cast<void*>(&untouched), pattern, sizeof(T));
    for (std::size_t i = 0; i < buffer_.size(); ++i)
      if (!owned_[i] && !same_bits(buffer_[i], untouched)) return false;
    return true;
  }

 private:
  template <class F>
  void each(F const& f) const {
    std::size_t i = 0;
    for_each_position(extents_, [&](index_t o, index_t b, index_t n, index_t c) {
      f(i++, static_cast<std::size_t>(base_ + o * strides_.outer + b * strides_.batch +
                                      n * strides_.length + c * strides_.channels));
    });
  }

  extents4 extents_;
  strides4 strides_;
  index_t base_;
  std::vector<T> buffer_;
  std::vector<char> owned_;  // quicker than of bits
};

// Strides of axes (0 outer, 1 batch, 2 length, 3 channels) that lie in `order`, slowest first.
inline strides4 strides_in_order(extents4 e, std::array<int, 4> order, index_t padding = 0) {
  index_t const extent[4] = {e.outer, e.batch, e.length, e.channels};
  index_t stride[4] = {};
  index_t step = 1 + (padding > 0 ? 1 : 0);
  for (int i = 3; i >= 0; --i) {
    auto const axis = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    stride[axis] = step;
    step = step * std::max<index_t>(extent[axis], 1) + padding;
  }
  return {stride[0], stride[1], stride[2], stride[3]};
}

// How a call's tensors lie in memory. Number 0 is contiguous throughout; in the others every tensor
// lies in another way, with channels apart, slices of packed weights, gaps, and not on a boundary.
struct memory_layout {
  int number = 0;

  static constexpr int count = 6;
  strides3 strides(extents3 e, int tensor) const {
    constexpr std::array<int, 3> orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    if (number == 0) return row_major(e);
    return strides_in_order(e, orders[(number + tensor) % 6], number % 2 == 0 ? 0 : 1 + tensor);
  }
  strides4 strides(extents4 e, int tensor) const {
    constexpr std::array<int, 4> orders[] = {{0, 1, 2, 3}, {1, 2, 0, 3}, {2, 1, 3, 0},
                                             {3, 0, 1, 2}, {1, 0, 3, 2}, {0, 2, 1, 3}};
    if (number == 0) return row_major(e);
    return strides_in_order(e, orders[(number + tensor) % 6], (number + tensor) % 3);
  }
  index_t shift(int tensor) const { return number == 0 ? 0 : (number * 7 + tensor * 3) % 17; }
};

}  // namespace support
