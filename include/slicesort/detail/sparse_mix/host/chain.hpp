// SPDX-License-Identifier: Apache-2.0
// Takes some channels of a sample through the factors of sparse_mix.
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

// What all tasks of a call share.
template <class T>
struct mix_call {
  mix_kernels<T> use;
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

  mix_chain(mix_call<T> const& call, column_chunk run, index_t length, A* staged)
      : call_(call),
        run_(run),
        rows_(valid_rows(call.lengths, run.batch, length)),
        staged_(staged) {}

  mix_call<T> const& call() const { return call_; }
  column_chunk const& run() const { return run_; }
  index_t rows() const { return rows_; }

  // Copies the valid rows of the chain's channels from a tensor to a tile, and back.
  void load(tensor3<T const> from, A* tile) const {
    if (from.strides().channels == 1)
      return call_.use.load(from.data() + from.offset(run_.batch, 0, run_.channel),
                            from.strides().length, rows_, run_.channels, tile, mix_columns);
    for_each_element(from, run_, 0, rows_, [=](index_t c, index_t i, T const& element) {
      tile[i * mix_columns + c] = static_cast<A>(element);
    });
  }
  void store(A const* tile, tensor3<T> to, grad_mode mode) const {
    if (to.strides().channels == 1) {
      auto const store_or_add = mode == grad_mode::accumulate ? call_.use.add
                                : streams_to(to)              ? call_.use.stream
                                                              : call_.use.store;
      return store_or_add(tile, rows_, run_.channels, first_of(to), to.strides().length);
    }
    with_store<T>(mode, [&](auto store) {
      for_each_element(to, run_, 0, rows_, [=](index_t c, index_t i, T& element) {
        store.sum(element, tile[i * mix_columns + c]);
      });
    });
  }

  // Sets `ahead[k]` to how many rows after a row its link first + k is: 0..rows-1.
  void wrapped_offsets(index_t factor, index_t first, int links, index_t* ahead) const {
    index_t const* const offset = call_.offsets + factor * call_.config.links + first;
    for (int k = 0; k < links; ++k)
      ahead[k] = 0 <= offset[k] && offset[k] < rows_ ? offset[k] : wrapped(offset[k], rows_);
  }

  // Whether mix can store its sums in a tensor itself. Kernels form sums of whole tiles.
  bool mixes_into(tensor3<T> to) const { return run_.channels == mix_columns && streams_to(to); }

  // Applies one factor, or its transpose. Sums begin with `start` (null: 0; may be `to`). If it
  // mixes_into `stream` too, a row is stored there when it is formed, for memory has time then;
  // with `last`, the result is needed there alone.
  void mix(mix_direction direction, index_t factor, A const* start, A const* from, A* to,
           bool round, tensor3<T> const* stream = nullptr, bool last = false) const {
    row_span<T> s{};
    s.from = from, s.to = to, s.width = static_cast<int>(run_.channels);
    index_t const all = call_.config.links;
    index_t ahead[mix_links];
    for (index_t first = 0; first == 0 || first < all; first += s.links) {
      s.links = static_cast<int>(std::min<index_t>(all - first, max_links));
      s.start = first == 0 ? start : to;
      bool const complete = first + s.links == all;
      s.round = round && complete;
      if (complete && stream != nullptr) {
        s.stream = first_of(*stream), s.stream_pitch = stream->strides().length;
        if (last) s.to = nullptr;
      }
      index_t const link_pitch = bring_weights(factor, first, s);
      wrapped_offsets(factor, first, s.links, ahead);
      if (direction == mix_direction::backward)
        for (int k = 0; k < s.links; ++k) ahead[k] = ahead[k] == 0 ? 0 : rows_ - ahead[k];
      for_each_row_span(ahead, s.links, rows_, s.row, [&](index_t begin, index_t end) {
        s.first = begin, s.last = end;
        for (int k = 0; k < s.links; ++k) {
          s.weight[k] = k * link_pitch;
          if (direction == mix_direction::backward) s.weight[k] += s.row[k] * s.weight_pitch;
          s.row[k] *= mix_columns;
        }
        call_.use.sums(s);
      });
      if (s.links == 0) break;
    }
  }

 private:
  static constexpr int max_links = std::is_same_v<T, A> ? mix_links : mix_staged_links;

  // Makes the weights of some links ready, and returns the distance from one link to the next.
  index_t bring_weights(index_t factor, index_t first, row_span<T>& s) const {
    tensor3<T const> const w = call_.weights[factor];
    T const* const from = w.data() + w.offset(run_.batch, 0, first);
    strides3 const at = w.strides();
    if constexpr (std::is_same_v<T, A>) {
      s.weights = from, s.weight_pitch = at.length;
      return at.channels;
    } else {
      s.weights = staged_, s.weight_pitch = s.links;
      if (at.channels == 1 && at.length == s.links)
        call_.use.load(from, 0, 1, rows_ * s.links, staged_, 0);
      else if (at.channels == 1)
        call_.use.load(from, at.length, rows_, s.links, staged_, s.links);
      else
        for (index_t i = 0; i < rows_; ++i)
          for (int k = 0; k < s.links; ++k)
            staged_[i * s.links + k] = static_cast<A>(from[i * at.length + k * at.channels]);
      return 1;
    }
  }
  // Whether a tensor is stored around the caches: it is large, and its rows are whole cache lines.
  bool streams_to(tensor3<T> to) const {
    constexpr index_t size = sizeof(T);
    return to.strides().channels == 1 && worth_streaming<T>(to.extents()) &&
           reinterpret_cast<std::uintptr_t>(first_of(to)) % 64 == 0 &&
           to.strides().length * size % 64 == 0 && run_.channels * size % 64 == 0;
  }
  T* first_of(tensor3<T> t) const { return t.data() + t.offset(run_.batch, 0, run_.channel); }

  mix_call<T> const& call_;
  column_chunk const run_;
  index_t const rows_;
  A* const staged_;
};

SLICESORT_DETAIL_END
