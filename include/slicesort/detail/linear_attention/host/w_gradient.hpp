// SPDX-License-Identifier: Apache-2.0
// The gradient of the matrix of random features: each sample and head has a part, and parts are
// added up in order.
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
class gradients_of_w {
 public:
  gradients_of_w(arena& a, linear_attention_shape const& s)
      : shape_(s), pitch_(linear_widths(s).channels) {
    bool const wanted = s.with_dw && !s.empty();
    amount const part = amount(padded_rows(s.feature.rows_of_w)) * pitch_;
    parts_ = a.take<A>(wanted ? part * s.batch * s.heads : amount(0));
  }

  // The part of a sample and head, as zeros; null if it is not wanted.
  A* begin(index_t pair) const {
    if (parts_ == nullptr) return nullptr;
    A* const part = parts_ + pair * part_size();
    std::fill(part, part + part_size(), A(0));
    return part;
  }

  template <class T>
  void add_up(host_exec const& ops, tensor3<T> dw, grad_mode mode) const {
    extents3 const e = dw.extents();
    if (e.empty()) return;
    index_t const heads = shape_.heads, own_heads = heads_of_w(e) == heads ? 1 : heads;
    for_each_task(ops, heads_of_w(e) * e.length, [&](unsigned, index_t row) {
      index_t const head = row / e.length, f = row % e.length;
      with_store<T>(mode, [&](auto put) {
        for (index_t c = 0; c < e.channels; ++c) {
          A sum(0);  // stays it where there are no rows, and no parts
          for (index_t sample = 0; parts_ != nullptr && sample < shape_.batch; ++sample)
            for (index_t h = head; h < head + own_heads; ++h)
              sum += parts_[(sample * heads + h) * part_size() + f * pitch_ + c];
          put.sum(dw(head, f, c), sum);
        }
      });
    });
  }

 private:
  index_t part_size() const { return padded_rows(shape_.feature.rows_of_w) * pitch_; }

  linear_attention_shape shape_;
  index_t pitch_;
  A* parts_;
};

SLICESORT_DETAIL_END
