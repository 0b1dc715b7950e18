// SPDX-License-Identifier: Apache-2.0
// Rows of a tensor in the order of a walk, with adjacent channels, for the vector loops.
#pragma once

#include <slicesort/detail/decaying_sum/host/rows.hpp>
#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Rows of a chunk in the order of the walk: in place if channels are adjacent, else copies.
template <class T>
class walked_rows {
  using element = std::remove_const_t<T>;

 public:
  walked_rows(tensor4<T> tensor, column_chunk chunk, row_walk walk, element* copies)
      : base_(tensor.data()),
        pitch_(walk.direction * tensor.strides().length),
        number_pitch_(tensor.strides().heads),
        channel_stride_(chunk.channels == 1 ? 1 : tensor.strides().channels),
        numbers_(tensor.extents().heads),
        width_(chunk.channels),
        copies_(copies) {
    strides4 const s = tensor.strides();
    if (base_ != nullptr)
      base_ += chunk.batch * s.batch + walk.first * s.length + chunk.channel * s.channels;
  }
  walked_rows(tensor3<T> tensor, column_chunk chunk, row_walk walk, element* copies)
      : walked_rows(split_heads(tensor, 1), chunk, walk, copies) {}

  // Returns rows [first, first + count). Copies have the elements if they are read.
  decay_rows<T> load(index_t first, index_t count, bool reads = true) const {
    if (base_ == nullptr || channel_stride_ == 1)
      return {base_ == nullptr ? nullptr : base_ + first * pitch_, pitch_, number_pitch_};
    if (reads) for_each(first, count, [](T& from, element& copy) { copy = from; });
    return {copies_, width_, decay_tile_rows * width_};
  }
  // Stores the rows that a kernel wrote to copies.
  void store(index_t first, index_t count) const {
    if (base_ != nullptr && channel_stride_ != 1)
      for_each(first, count, [](T& to, element& copy) { to = copy; });
  }
  // True if rows should be stored past the caches.
  bool should_stream(tensor3<T> tensor) const {
    return channel_stride_ == 1 && should_stream_rows(tensor, base_, width_);
  }

 private:
  template <class F>
  void for_each(index_t first, index_t count, F const& f) const {
    for (index_t j = 0; j < numbers_; ++j)
      for (index_t n = 0; n < count; ++n)
        for (index_t c = 0; c < width_; ++c)
          f(base_[j * number_pitch_ + (first + n) * pitch_ + c * channel_stride_],
            copies_[(j * decay_tile_rows + n) * width_ + c]);
  }

  T* base_;
  index_t pitch_, number_pitch_, channel_stride_, numbers_, width_;
  element* copies_;
};

SLICESORT_DETAIL_END
