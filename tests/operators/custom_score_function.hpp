// SPDX-License-Identifier: Apache-2.0
// A user-defined score function of pointwise_attention, which is not 0 for a score of 0, and
// infinite for one of -infinity.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/pointwise_attention/params.hpp>
#include <slicesort/policies/score_function.hpp>

namespace support {

// s^2 / 4 + s + 1 / 2, or 1 / s, which is infinite for a score of 0
struct custom_score_function {
  bool is_reciprocal = false;

  template <class A>
  SLICESORT_HD A value(A score) const {
    return is_reciprocal ? A(1) / score : score * score * A(0.25) + score + A(0.5);
  }
  template <class A>
  SLICESORT_HD A slope(A score) const {
    return is_reciprocal ? A(-1) / (score * score) : score * A(0.5) + A(1);
  }
};

}  // namespace support

// Tags of units.cmake, without a comma.
SLICESORT_DETAIL_BEGIN

template <class Mask>
using squared_relu_attention_op = pointwise_attention_op<Mask, score_function::squared_relu>;
template <class Mask>
using custom_attention_op = pointwise_attention_op<Mask, support::custom_score_function>;

SLICESORT_DETAIL_END
