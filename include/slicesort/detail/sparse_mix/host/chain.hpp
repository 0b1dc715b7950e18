// SPDX-License-Identifier: Apache-2.0
// Applies factors of sparse_mix to a chunk of a sample's channels.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/detail/sparse_mix/host/simd_table.hpp>
#include <slicesort/detail/sparse_mix/host/tile.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Arguments shared by the tasks of a call.
template <class T>
struct mix_call {
  mix_kernels<T> kernels;
  mix_config config;
  index_t const* offsets;  // [factors][links]
  tensor_stack<T const> weights;
  tensor1<index_t const> lengths;
};

enum class mix_direction { forward, backward };

template <class T>
class mix_chain {
 public:
  using A = accumulator_t<T>;

  mix_chain(mix_call<T> const& call, column_chunk chunk, index_t length, A* staged_weights)
      : call_(call),
        chunk_(chunk),
        rows_(valid_rows(call.lengths, chunk.batch, length)),
        staged_weights_(staged_weights) {}

  mix_call<T> const& call() const { return call_; }
  column_chunk const& chunk() const { return chunk_; }
  index_t rows() const { return rows_; }

  // Copies the valid rows of the chunk between a tensor and a tile.
  void load(tensor3<T const> from, A* tile) const {
    if (from.strides().channels == 1)
      return call_.kernels.load(from.data() + from.offset(chunk_.batch, 0, chunk_.channel),
                                from.strides().length, rows_, chunk_.channels, tile, mix_columns);
    for_each_element(from, chunk_, 0, rows_, [=](index_t c, index_t i, T const& element) {
      tile[i * mix_columns + c] = static_cast<A>(element);
    });
  }
  void store(A const* tile, tensor3<T> to, grad_mode mode) const {
    if (to.strides().channels == 1) {
      auto const store_or_add = mode == grad_mode::accumulate ? call_.kernels.add
                                : should_stream_to(to)        ? call_.kernels.stream
                                                              : call_.kernels.store;
      return store_or_add(tile, rows_, chunk_.channels, first_element(to), to.strides().length);
    }
    with_store<T>(mode, [&](auto store) {
      for_each_element(to, chunk_, 0, rows_, [=](index_t c, index_t i, T& element) {
        store.sum(element, tile[i * mix_columns + c]);
      });
    });
  }

  // Sets `distances[k]` to the row offset of link first + k, wrapped to 0..rows-1.
  void compute_distances(index_t factor, index_t first, int links, index_t* distances) const {
    index_t const* const offset = call_.offsets + factor * call_.config.links + first;
    for (int k = 0; k < links; ++k)
      distances[k] = 0 <= offset[k] && offset[k] < rows_ ? offset[k] : wrap_row(offset[k], rows_);
  }

  // Points the span to the tensor's rows for streaming stores.
  void set_stream(tensor3<T> to, row_span<T>& span) const {
    span.stream = first_element(to), span.stream_pitch = to.strides().length;
  }

  // True if `mix` can store its sums directly to the tensor: the chunk is a whole tile, and stores
  // to the tensor should stream.
  bool can_mix_into(tensor3<T> to) const {
    return chunk_.channels == mix_columns && should_stream_to(to);
  }

  // Applies one factor or its transpose to `input`. Sums start from `start`, which may be `output`;
  // null means 0. If `streamed` is given, the rows are also stored there, which requires
  // can_mix_into(*streamed). With `stream_only`, they are stored only there.
  void mix(mix_direction direction, index_t factor, A const* start, A const* input, A* output,
           bool rounds_sums, tensor3<T> const* streamed = nullptr, bool stream_only = false) const {
    row_span<T> span{};
    span.input = input, span.output = output, span.width = static_cast<int>(chunk_.channels);
    index_t const links = call_.config.links;
    index_t distances[mix_max_links_per_pass];
    for (index_t first = 0; first == 0 || first < links; first += span.links) {
      span.links = static_cast<int>(std::min<index_t>(links - first, max_links));
      span.start = first == 0 ? start : output;
      bool const complete = first + span.links == links;
      span.rounds_sums = rounds_sums && complete;
      if (complete && streamed != nullptr) {
        set_stream(*streamed, span);
        if (stream_only) span.output = nullptr;
      }
      index_t const link_pitch = load_weights(factor, first, span);
      compute_distances(factor, first, span.links, distances);
      if (direction == mix_direction::backward)
        for (int k = 0; k < span.links; ++k)
          distances[k] = distances[k] == 0 ? 0 : rows_ - distances[k];
      for_each_row_span(distances, span.links, rows_, span.row_offsets,
                        [&](index_t begin, index_t end) {
                          span.first = begin, span.last = end;
                          for (int k = 0; k < span.links; ++k) {
                            span.weight_offsets[k] = k * link_pitch;
                            if (direction == mix_direction::backward)
                              span.weight_offsets[k] += span.row_offsets[k] * span.weight_pitch;
                            span.row_offsets[k] *= mix_columns;
                          }
                          call_.kernels.mix_rows(span);
                        });
      if (span.links == 0) break;
    }
  }

  // Points the span to the weights of its links, converted to A if necessary. Returns the pitch
  // between links.
  index_t load_weights(index_t factor, index_t first, row_span<T>& span) const {
    tensor3<T const> const weights = call_.weights[factor];
    T const* const from = weights.data() + weights.offset(chunk_.batch, 0, first);
    strides3 const strides = weights.strides();
    if constexpr (std::is_same_v<T, A>) {
      span.weights = from, span.weight_pitch = strides.length;
      return strides.channels;
    } else {
      span.weights = staged_weights_, span.weight_pitch = span.links;
      if (strides.channels == 1 && strides.length == span.links)
        call_.kernels.load(from, 0, 1, rows_ * span.links, staged_weights_, 0);
      else if (strides.channels == 1)
        call_.kernels.load(from, strides.length, rows_, span.links, staged_weights_, span.links);
      else
        for (index_t i = 0; i < rows_; ++i)
          for (int k = 0; k < span.links; ++k)
            staged_weights_[i * span.links + k] =
                static_cast<A>(from[i * strides.length + k * strides.channels]);
      return 1;
    }
  }

 private:
  static constexpr int max_links =
      std::is_same_v<T, A> ? mix_max_links_per_pass : mix_max_staged_links;

  bool should_stream_to(tensor3<T> to) const {
    return should_stream_rows(to, first_element(to), chunk_.channels);
  }
  T* first_element(tensor3<T> t) const {
    return t.data() + t.offset(chunk_.batch, 0, chunk_.channel);
  }

  mix_call<T> const& call_;
  column_chunk const chunk_;
  index_t const rows_;
  A* const staged_weights_;
};

SLICESORT_DETAIL_END
