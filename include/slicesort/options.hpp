// SPDX-License-Identifier: Apache-2.0
/// Options that every sequence operator takes, always as the last argument.
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

}  // namespace v0
}  // namespace slicesort
