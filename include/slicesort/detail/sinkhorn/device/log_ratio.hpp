// SPDX-License-Identifier: Apache-2.0
// log(rows / columns) in kernels of sinkhorn.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/sinkhorn/params.hpp>

SLICESORT_DETAIL_BEGIN

// Arithmetic of math/exponential.hpp.
template <class Block>
struct log_ratio_arithmetic_of_block {
  Block& block;

  SLICESORT_HD_INLINE double multiply_add(double a, double b, double c) {
    return block.multiply_add(a, b, c);
  }
  SLICESORT_HD_INLINE double product(double a, double b) { return a * b; }
  SLICESORT_HD_INLINE double divide(double a, double b) { return block.divide(a, b); }
};

// Returns the log_ratio of a sample with the bits of the host.
template <class A, class Block>
SLICESORT_HD_INLINE A compute_log_ratio(Block& block, matrix_size size) {
  log_ratio_arithmetic_of_block<Block> ops{block};
  return size.template log_ratio<A>(ops);
}

SLICESORT_DETAIL_END
