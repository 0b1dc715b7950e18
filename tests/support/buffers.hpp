// SPDX-License-Identifier: Apache-2.0
// Test buffers: contiguous tensors, strided tensors that detect writes to their gaps, and a
// workspace between red zones.
#pragma once

#include "numbers.hpp"
#if defined(SLICESORT_TEST_LINKS_HOST_KERNELS)
#  include "linked_operators.hpp"
#endif

#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace support {

using slicesort::extents3;
using slicesort::index_t;
using slicesort::strides3;
using slicesort::tensor3;

// A contiguous [batch, length, channels] tensor that owns its elements.
template <class T>
class tensor {
 public:
  tensor() = default;
  explicit tensor(extents3 e) : extents_(e), elements_(static_cast<std::size_t>(e.size())) {}

  extents3 extents() const { return extents_; }
  std::vector<T>& elements() { return elements_; }
  std::vector<T> const& elements() const { return elements_; }
  tensor3<T> view() { return {elements_.data(), extents_}; }
  tensor3<T const> view() const { return {elements_.data(), extents_}; }

  T& operator()(index_t b, index_t n, index_t c) { return elements_[offset_of(b, n, c)]; }
  T const& operator()(index_t b, index_t n, index_t c) const {
    return elements_[offset_of(b, n, c)];
  }

  // Copies the first `rows` rows of a column; by default all.
  std::vector<T> column(index_t b, index_t c, index_t rows = -1) const {
    std::vector<T> result(static_cast<std::size_t>(rows < 0 ? extents_.length : rows));
    for (std::size_t n = 0; n < result.size(); ++n)
      result[n] = (*this)(b, static_cast<index_t>(n), c);
    return result;
  }
  void set_column(index_t b, index_t c, std::vector<T> const& values) {
    for (std::size_t n = 0; n < values.size(); ++n)
      (*this)(b, static_cast<index_t>(n), c) = values[n];
  }

 private:
  std::size_t offset_of(index_t b, index_t n, index_t c) const {
    return static_cast<std::size_t>((b * extents_.length + n) * extents_.channels + c);
  }

  extents3 extents_;
  std::vector<T> elements_;
};

// Calls f(b, n, c) for every position, in row-major order.
template <class F>
void for_each_position(extents3 e, F const& f) {
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t n = 0; n < e.length; ++n)
      for (index_t c = 0; c < e.channels; ++c) f(b, n, c);
}

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// A tensor with positive strides in a buffer filled with a pattern. Detects writes outside the
// elements.
template <class T>
class strided_tensor {
 public:
  static constexpr unsigned char pattern = 0xa5;
  static constexpr index_t red_zone = 80;  // elements; more than a vector register

  strided_tensor(extents3 e, strides3 s, index_t offset = 0)
      : extents_(e), strides_(s), base_(red_zone + offset) {
    index_t span = 0;
    if (!e.empty())
      span =
          (e.batch - 1) * s.batch + (e.length - 1) * s.length + (e.channels - 1) * s.channels + 1;
    buffer_.resize(static_cast<std::size_t>(base_ + span + red_zone));
    std::memset(static_cast<void*>(buffer_.data()), pattern, buffer_.size() * sizeof(T));
    is_element_.resize(buffer_.size());
    for_each_position(
        e, [&](index_t b, index_t n, index_t c) { is_element_[offset_of(b, n, c)] = 1; });
  }
  strided_tensor(tensor<T> const& contents, strides3 s, index_t offset = 0)
      : strided_tensor(contents.extents(), s, offset) {
    for_each_position(extents_, [&](index_t b, index_t n, index_t c) {
      buffer_[offset_of(b, n, c)] = contents(b, n, c);
    });
  }

  tensor3<T> view() { return {buffer_.data() + base_, extents_, strides_}; }
  tensor3<T const> view() const { return {buffer_.data() + base_, extents_, strides_}; }

  tensor<T> contents() const {
    tensor<T> result(extents_);
    for_each_position(extents_, [&](index_t b, index_t n, index_t c) {
      result(b, n, c) = buffer_[offset_of(b, n, c)];
    });
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
  std::size_t offset_of(index_t b, index_t n, index_t c) const {
    return static_cast<std::size_t>(base_ + b * strides_.batch + n * strides_.length +
                                    c * strides_.channels);
  }

  extents3 extents_;
  strides3 strides_;
  index_t base_;
  std::vector<T> buffer_;
  std::vector<char> is_element_;  // faster than std::vector<bool>
};

// All orders of three axes, slowest first.
inline constexpr std::array<int, 3> axis_orders[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
// Strides of a tensor with axes (0 batch, 1 length, 2 channels) in `order`, slowest first, and
// `padding` elements after each whole axis.
inline strides3 strides_in_order(extents3 e, std::array<int, 3> order, index_t padding = 0) {
  index_t const extent[3] = {e.batch, e.length, e.channels};
  index_t stride[3] = {};
  index_t next_stride = 1 + (padding > 0 ? 1 : 0);
  for (int i = 2; i >= 0; --i) {
    auto const axis = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
    stride[axis] = next_stride;
    next_stride = next_stride * std::max<index_t>(extent[axis], 1) + padding;
  }
  return {stride[0], stride[1], stride[2]};
}

// A workspace of exactly `bytes`, `misalignment` bytes past a cache line, between red zones and
// filled with `fill`.
class guarded_workspace {
 public:
  explicit guarded_workspace(std::size_t bytes, std::size_t misalignment = 1,
                             unsigned char fill = 0xff)
      : bytes_(bytes), memory_(bytes + 4 * cache_line) {
    auto const address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ =
        cache_line + (cache_line - address % cache_line) % cache_line + misalignment % cache_line;
    std::memset(memory_.data(), red_zone_byte, memory_.size());
    std::memset(memory_.data() + begin_, fill, bytes_);
  }

  slicesort::workspace get() { return {memory_.data() + begin_, bytes_}; }
  bool red_zones_intact() const {
    auto const is_intact = [this](std::size_t from, std::size_t to) {
      return std::all_of(memory_.data() + from, memory_.data() + to,
                         [](unsigned char byte) { return byte == red_zone_byte; });
    };
    return is_intact(0, begin_) && is_intact(begin_ + bytes_, memory_.size());
  }

 private:
  static constexpr std::size_t cache_line = 64;
  static constexpr unsigned char red_zone_byte = 0x5a;

  std::size_t bytes_;
  std::size_t begin_;
  std::vector<unsigned char> memory_;
};

}  // namespace support
