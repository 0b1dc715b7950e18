// SPDX-License-Identifier: Apache-2.0
/// Options of a call, which are always its last argument.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_TYPES_BEGIN

/// `overwrite`: `dx = gradient` (the default). `accumulate`: `dx += gradient`; 16-bit types add in
/// float, and a sum that is no number is one and the same NaN.
enum class grad_mode { overwrite, accumulate };

/// Options of forward. `lengths[b]` leading rows of sample `b` are valid,
/// `0 <= lengths[b] <= length`; without lengths (the default) every row is. Permutation operators
/// copy the rows past the length through.
struct forward_options {
  tensor1<index_t const> lengths{};
};

/// Options of backward. `mode` says whether the gradient overwrites its output or is added to it;
/// `lengths` must be those of forward.
struct backward_options {
  grad_mode mode = grad_mode::overwrite;
  tensor1<index_t const> lengths{};
};

/// Dropout of attention's weights: one becomes 0 with probability `rate`, in `[0, 1)`, or is
/// divided by `1 - rate`; the sum that normalizes them still counts all. Which ones are kept
/// follows from the seed, the sample, the head, the query and the key alone, the same on every
/// backend, instruction set and thread. Another step of training takes another seed (Srivastava et
/// al., *Dropout*, 2014).
///
/// A call on a part of a batch, or of its heads, keeps the weights that a call on the whole keeps
/// if it says where the part begins, and, for a part of the heads, how many there are.
struct dropout {
  double rate = 0;
  std::uint64_t seed = 0;
  index_t first_sample = 0, first_head = 0;  ///< of the call, counted in the whole
  index_t heads = 0;                         ///< of the whole; 0: those of the call
};

/// Options of attention's forward. The leading `lengths[b]` keys and values of sample `b` are
/// valid, and the leading `query_lengths[b]` queries; by default all are. Rows past a length are
/// not read. The output of a query past its length is zero.
struct attention_options {
  tensor1<index_t const> lengths{}, query_lengths{};
  slicesort::dropout dropout{};
};

/// Options of attention's backward. `mode` holds for all gradients; lengths and dropout must be
/// those of forward.
struct attention_backward_options {
  grad_mode mode = grad_mode::overwrite;
  tensor1<index_t const> lengths{}, query_lengths{};
  slicesort::dropout dropout{};
};

SLICESORT_TYPES_END
