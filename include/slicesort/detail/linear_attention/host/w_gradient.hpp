// SPDX-License-Identifier: Apache-2.0
// Gradient of w: a partial sum per sample and head of k, and their sum in order.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/parallel.hpp>
#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class A>
class partial_w_gradients {
 public:
  partial_w_gradients(arena& memory, linear_attention_shape const& s)
      : shape_(s), pitch_(linear_widths(s).channels) {
    bool const needs_dw = s.with_dw && !s.empty();
    amount const size = amount(padded_rows(s.feature.w_rows)) * pitch_;
    partial_ = memory.take<A>(needs_dw ? size * s.batch * s.kv_heads : amount(0));
  }

  // Returns the cleared partial gradient of a (sample, head of k) pair, or null without dw.
  A* clear_partial(index_t pair) const {
    if (partial_ == nullptr) return nullptr;
    A* const gradient = partial_ + pair * partial_size();
    std::fill(gradient, gradient + partial_size(), A(0));
    return gradient;
  }

  template <class T>
  void reduce(host_exec const& exec, tensor3<T> dw, grad_mode mode) const {
    extents3 const e = dw.extents();
    if (e.empty()) return;
    index_t const heads = shape_.kv_heads, summed_heads = w_heads(e) == heads ? 1 : heads;
    for_each_task(exec, w_heads(e) * e.length, [&](unsigned, index_t row) {
      index_t const head = row / e.length, f = row % e.length;
      with_store<T>(mode, [&](auto store) {
        for (index_t c = 0; c < e.channels; ++c) {
          A sum(0);
          for (index_t sample = 0; partial_ != nullptr && sample < shape_.batch; ++sample)
            for (index_t h = head; h < head + summed_heads; ++h)
              sum += partial_[(sample * heads + h) * partial_size() + f * pitch_ + c];
          store.sum(dw(head, f, c), sum);
        }
      });
    });
  }

 private:
  index_t partial_size() const { return padded_rows(shape_.feature.w_rows) * pitch_; }

  linear_attention_shape shape_;
  index_t pitch_;
  A* partial_;
};

SLICESORT_DETAIL_END
