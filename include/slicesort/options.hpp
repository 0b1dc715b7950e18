// SPDX-License-Identifier: Apache-2.0
/// Options of a call, always its last argument: what every sequence operator takes, and
/// attention's.
#pragma once

#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace v0 {

/// `lengths[b]` leading rows of sample `b` are valid, `0 <= lengths[b] <= length`. Without lengths
/// (the default) every row is. Permutation operators copy the rows past the length through.
struct forward_options {
  tensor1<index_t const> lengths{};
};

/// `mode` says whether the gradient overwrites or accumulates; `lengths` must be those of forward.
struct backward_options {
  grad_mode mode = grad_mode::overwrite;
  tensor1<index_t const> lengths{};
};

/// Of attention: `lengths[b]` leading rows of the keys and values of sample `b` are valid, and so
/// many of its queries as `query_lengths` says; by default all. Rows past a length are not read;
/// queries past theirs put out zeros.
struct attention_options {
  tensor1<index_t const> lengths{}, query_lengths{};
};

/// `mode` holds for all gradients; the lengths must be those of forward.
struct attention_backward_options {
  grad_mode mode = grad_mode::overwrite;
  tensor1<index_t const> lengths{}, query_lengths{};
};

}  // namespace v0
}  // namespace slicesort
