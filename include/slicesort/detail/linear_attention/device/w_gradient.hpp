// SPDX-License-Identifier: Apache-2.0
// dw: the parts of pairs, in order, until the last of them is there.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/linear_attention/device/rows.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// A thread takes an element of dw.
template <class T>
struct w_gradient_body {
  static constexpr int max_threads = linear_threads;
  using A = accumulator_t<T>;

  linear_pairs pairs;
  A const* parts;     // [pair][feature][channel]
  bool begins, ends;  // whether these pairs are the first, the last
  A* sums;            // as dw
  tensor3<T> dw;      // of one head: the sum over all heads
  grad_mode mode;

  SLICESORT_HD index_t size() const { return dw.extents().length * dw.extents().channels; }
  index_t blocks() const {
    return divide_up(heads_of_w(dw.extents()) * size(), index_t{linear_threads});
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    extents3 const e = dw.extents();
    index_t const n = block.index() * linear_threads + block.rank();
    if (n >= heads_of_w(e) * size()) return;
    index_t const head = n / size(), element = n % size();
    A sum = begins ? A(0) : sums[n];
    for (index_t pair = 0; pair < pairs.count; ++pair)
      if (heads_of_w(e) == 1 || pairs.head(pair) == head)
        sum = block.fused_multiply_add(sum, A(1), parts[pair * size() + element]);
    if (ends)
      store_or_accumulate_sum(mode, dw(head, element / e.channels, element % e.channels), sum);
    else
      sums[n] = sum;
  }
};

SLICESORT_DETAIL_END
