// SPDX-License-Identifier: Apache-2.0
// slicing_sort and permute with types, ranks and policies of run time. A `Call` says where and with
// what scratch memory: `on`, an execution policy, and `scratch(bytes)`, a workspace.
#pragma once

#include "named_order.hpp"

#include <slicesort/permute.hpp>
#include <slicesort/slicing_sort.hpp>

#include <string>

namespace bindings {

template <class Call>
void slicing_sort(Call& call, std::string const& order, array const& x, array const& y,
                  optional_array const& perm, optional_array const& lengths) {
  ss::slicing_sort<named_order> const op{named_order(order)};
  with_element(x, [&](auto zero) {
    using T = decltype(zero);
    auto const in = view3<T const>(x);
    auto const scratch = call.scratch(op.template workspace_bytes<T>(call.on, in.extents()));
    op.forward(call.on, in, view3<T>(y), saved(perm), scratch, {lengths_of(lengths)});
  });
}
/// Also the backward pass of `permute`.
template <class Call>
void slicing_sort_backward(Call& call, array const& dy, array const& perm, array const& dx,
                           optional_array const& lengths) {
  ss::slicing_sort<> const op;
  with_element(dy, [&](auto zero) {
    using T = decltype(zero);
    auto const in = view3<T const>(dy);
    auto const scratch = call.scratch(op.template workspace_bytes<T>(call.on, in.extents()));
    op.backward(call.on, in, {index_view(perm)}, view3<T>(dx), scratch,
                {ss::grad_mode::overwrite, lengths_of(lengths)});
  });
}

template <class Call>
void permute(Call& call, array const& x, array const& perm, array const& y,
             optional_array const& lengths) {
  ss::permute const op;
  with_element(x, [&](auto zero) {
    using T = decltype(zero);
    auto const in = view3<T const>(x);
    auto const scratch = call.scratch(op.template workspace_bytes<T>(call.on, in.extents()));
    op.forward(call.on, in, {index_view(perm)}, view3<T>(y), scratch, {lengths_of(lengths)});
  });
}

}  // namespace bindings
