// SPDX-License-Identifier: Apache-2.0
// Parameters of merge_attention. For every query, over the parts p that have keys for it:
//   m = max m_p,  w_p = l_p exp(m_p - m),  l = sum w_p,  y = sum y_p (w_p / l)
// in the order of the parts, in the accumulator type, rounded once. If no part has keys, y = 0, m =
// -infinity and l = 0.
//
// There is no backward operator. The backward pass of a part computes its weights exp(s - m_p) /
// l_p and delta = <dy, y_p> from its state and y. Given the merged state and the merged y instead,
// it computes exp(s - m) / l and <dy, y>, and so the gradients of attention over all parts.
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
  int count = 0;                      // number of parts
  tensor4<T> y{};                     // may alias y of part 0
  tensor4<accumulator_t<T>> state{};  // may alias the state of part 0
  bool saving = false;                // true if the state is saved

  extents4 shape() const { return parts[0].y.extents(); }
};

// Has no `backward`; see the top of this file.
struct merge_attention_op {
  using shape = extents4;  // shape of y
  template <class T>
  using forward = merge_attention_forward<T>;
};

SLICESORT_DETAIL_END
