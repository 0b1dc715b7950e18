// SPDX-License-Identifier: Apache-2.0
// merge_attention: what a call is about. For every query, over the parts p that have keys for it:
//   m = max m_p,  w_p = l_p exp(m_p - m),  l = sum w_p,  y = sum y_p (w_p / l)
// in the order of the parts, in the accumulator's type, rounded once. Without keys in any part
// y = 0, m = -infinity and l = 0.
//
// There is no backward. In that of a part's attention the weights exp(s - m_p) / l_p and
// delta = <dy, y_p> come from its state and its y; those of the merged softmax are exp(s - m) / l
// and <dy, y>, so the same backward, given the merged state and the merged y, forms the gradients
// of the whole.
#pragma once

#include <slicesort/attention_tensors.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <array>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

template <class T>
struct merge_attention_forward {
  using element = T;
  static constexpr char const* name = "merge_attention.forward";
  static constexpr std::size_t max_parts = attention_parts<T>::max_parts;
  std::array<attention_part<T>, max_parts> parts{};
  int count = 0;                      // of the parts that there are
  tensor4<T> y{};                     // may be that of part 0
  tensor4<accumulator_t<T>> state{};  // likewise
  bool saving = false;                // whether the state is written

  extents4 shape() const { return parts[0].y.extents(); }
};

// Without `backward`: each part's attention has it.
struct merge_attention_op {
  using shape = extents4;  // of y
  template <class T>
  using forward = merge_attention_forward<T>;
};

SLICESORT_DETAIL_END
