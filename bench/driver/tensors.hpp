// SPDX-License-Identifier: Apache-2.0
// Tensors as a user of the library would hold them: buffers of their own, workspace allocated once.
#pragma once

#include "buffer.hpp"

#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>

namespace bench {

namespace ss = slicesort;

// Saved indices.
class index_buffer {
 public:
  index_buffer() = default;
  // `e` is the shape of the indices.
  index_buffer(ss::extents3 e, ss::index_width width)
      : extents_(e),
        width_(width),
        bytes_(static_cast<std::size_t>(e.size()) * static_cast<std::size_t>(width)) {}
  // Indices of rows below `length`, in the narrowest type that holds them.
  index_buffer(ss::extents3 e, ss::index_t length)
      : index_buffer(e, length > 65536 ? ss::index_width::bits32 : ss::index_width::bits16) {}

  // Calls `f` with a pointer to the indices, of their type.
  template <class F>
  void visit(F const& f) const {
    if (width_ == ss::index_width::bits32)
      f(reinterpret_cast<std::uint32_t*>(bytes_.data()));
    else if (width_ == ss::index_width::bits16)
      f(reinterpret_cast<std::uint16_t*>(bytes_.data()));
    else
      f(bytes_.data());
  }
  ss::index_tensor3 view() const {
    ss::index_tensor3 v;
    visit([&](auto* data) { v = ss::tensor3(data, extents_); });
    return v;
  }
  // As an argument of forward; an empty buffer asks for nothing.
  ss::saved_permutation saved() const {
    if (bytes() == 0) return ss::no_saved;
    return view();
  }
  std::uint32_t operator[](std::size_t i) const {
    std::uint32_t row = 0;
    visit([&](auto* data) { row = data[i]; });
    return row;
  }
  std::size_t bytes() const { return bytes_.bytes(); }

 private:
  ss::extents3 extents_;
  ss::index_width width_ = ss::index_width::bits16;
  buffer<unsigned char> bytes_;
};

template <class T>
ss::tensor3<T> view(buffer<T> const& b, ss::extents3 e) {
  return {b.data(), e};
}
template <class T>
ss::tensor3<T const> const_view(buffer<T> const& b, ss::extents3 e) {
  return {b.data(), e};
}

inline ss::workspace lend(buffer<unsigned char> const& b) { return {b.data(), b.bytes()}; }

}  // namespace bench
