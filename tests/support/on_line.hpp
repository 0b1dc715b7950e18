// SPDX-License-Identifier: Apache-2.0
// Tensors at or beside cache lines, to test streaming stores.
#pragma once

#include "buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace support {

// A tensor `offset` elements past a cache line, with red zones.
template <class T>
class on_line {
 public:
  on_line(extents3 e, strides3 s, std::size_t offset = 0) : storage_(buffer_bytes(e, s), pattern) {
    auto const address = reinterpret_cast<std::uintptr_t>(storage_.data());
    auto* const first = storage_.data() + 64 + (64 - address % 64) + offset * sizeof(T);
    view_ = {reinterpret_cast<T*>(first), e, s};
  }
  on_line(tensor<T> const& contents, strides3 s, std::size_t offset = 0)
      : on_line(contents.extents(), s, offset) {
    set(contents);
  }

  tensor3<T> view() const { return view_; }
  void set(tensor<T> const& contents) {
    for_each_position(view_.extents(),
                      [&](index_t b, index_t n, index_t c) { view_(b, n, c) = contents(b, n, c); });
  }
  tensor<T> contents() const {
    tensor<T> t(view_.extents());
    for_each_position(view_.extents(),
                      [&](index_t b, index_t n, index_t c) { t(b, n, c) = view_(b, n, c); });
    return t;
  }
  // Overwrites the elements with the pattern and checks the whole buffer.
  bool padding_intact() {
    T untouched;
    std::memset(static_cast<void*>(&untouched), pattern, sizeof(T));
    for_each_position(view_.extents(),
                      [&](index_t b, index_t n, index_t c) { view_(b, n, c) = untouched; });
    return std::all_of(storage_.begin(), storage_.end(),
                       [](unsigned char byte) { return byte == pattern; });
  }

 private:
  static constexpr unsigned char pattern = 0xa5;
  static std::size_t buffer_bytes(extents3 e, strides3 s) {
    index_t const span =
        (e.batch - 1) * s.batch + (e.length - 1) * s.length + (e.channels - 1) * s.channels + 1;
    return static_cast<std::size_t>(span + 64) * sizeof(T) + 256;
  }

  std::vector<unsigned char> storage_;
  tensor3<T> view_;
};

}  // namespace support
