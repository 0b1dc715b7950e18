// SPDX-License-Identifier: Apache-2.0
// Buffer for the saved order of csp, with any width and strides. It is filled with garbage and
// surrounded by red zones.
#pragma once

#include "support/buffers.hpp"

#include <slicesort/saved.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace support {

class guarded_order_buffer {
 public:
  guarded_order_buffer(extents3 e, slicesort::index_width width, strides3 s, index_t offset = 0)
      : extents_(e), strides_(s), width_(width), base_(red_zone + offset) {
    index_t span = 0;
    if (!e.empty())
      span =
          (e.batch - 1) * s.batch + (e.length - 1) * s.length + (e.channels - 1) * s.channels + 1;
    bytes_.assign(static_cast<std::size_t>(base_ + span + red_zone) * element_bytes(),
                  garbage_tensor);
    is_element_.resize(static_cast<std::size_t>(base_ + span + red_zone));
    for_each_position(
        e, [&](index_t b, index_t n, index_t c) { is_element_[offset_of(b, n, c)] = true; });
  }
  guarded_order_buffer(extents3 e, slicesort::index_width width)
      : guarded_order_buffer(e, width, slicesort::row_major(e)) {}

  slicesort::index_tensor3 view() {
    unsigned char* const data = bytes_.data() + static_cast<std::size_t>(base_) * element_bytes();
    switch (width_) {
      case slicesort::index_width::bits8:
        return tensor3<std::uint8_t>(data, extents_, strides_);
      case slicesort::index_width::bits16:
        return tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(data), extents_, strides_);
      default:
        return tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(data), extents_, strides_);
    }
  }
  // Returns the saved order, widened to 32 bits.
  tensor<std::uint32_t> contents() const {
    tensor<std::uint32_t> result(extents_);
    for_each_position(extents_, [&](index_t b, index_t n, index_t c) {
      std::memcpy(&result(b, n, c), bytes_.data() + offset_of(b, n, c) * element_bytes(),
                  element_bytes());
    });
    return result;
  }
  void set_contents(tensor<std::uint32_t> const& values) {
    for_each_position(extents_, [&](index_t b, index_t n, index_t c) {
      std::memcpy(bytes_.data() + offset_of(b, n, c) * element_bytes(), &values(b, n, c),
                  element_bytes());
    });
  }
  bool padding_intact() const {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (!is_element_[i / element_bytes()] && bytes_[i] != garbage_tensor) return false;
    return true;
  }

 private:
  static constexpr unsigned char garbage_tensor = 0xcb;
  static constexpr index_t red_zone = 80;

  std::size_t element_bytes() const { return static_cast<std::size_t>(width_); }
  std::size_t offset_of(index_t b, index_t n, index_t c) const {
    return static_cast<std::size_t>(base_ + b * strides_.batch + n * strides_.length +
                                    c * strides_.channels);
  }

  extents3 extents_;
  strides3 strides_;
  slicesort::index_width width_;
  index_t base_;
  std::vector<unsigned char> bytes_;
  std::vector<bool> is_element_;
};

}  // namespace support
