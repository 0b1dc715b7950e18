// SPDX-License-Identifier: Apache-2.0
// slicing_sort and permute with element type, tensor rank and policies chosen at run time. A `Call`
// has the members `exec`, an execution policy, and `memory`, a scratch object. Each function makes
// the input's view first, so that its errors are reported first; the evaluation order of arguments
// is unspecified.
#pragma once

#include "policies/named_order.hpp"

#include <slicesort/permute.hpp>
#include <slicesort/slicing_sort.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace bindings {

template <class Call>
void slicing_sort(Call& call, std::string const& order, array const& x, array const& y,
                  optional_array const& perm, optional_array const& lengths) {
  ss::slicing_sort<named_order> const op{named_order(order)};
  with_element(x, [&](auto element) {
    using T = decltype(element);
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, view3<T>(y), saved_view(perm), call.memory, lengths_of(lengths));
  });
}
/// Also serves as the backward pass of `permute`.
template <class Call>
void slicing_sort_backward(Call& call, array const& dy, array const& perm, array const& dx,
                           optional_array const& lengths) {
  ss::slicing_sort<> const op;
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    auto const dy_view = view3<T const>(dy);
    op.backward(call.exec, dy_view, index_view(perm), view3<T>(dx), call.memory,
                lengths_of(lengths));
  });
}

/// Throws if an index in a valid row is not a row of its sample. `perm` and `lengths` must be in
/// host memory. Ignores arguments that `permute` rejects.
inline void require_rows(array const& perm, optional_array const& lengths) {
  auto const valid_rows = lengths_of(lengths);
  if (perm.rank != 3 || (lengths && valid_rows.size() != perm.extents[0])) return;
  auto const check_indices = [&](auto element) {
    using Index = decltype(element);
    auto const rows = detail::indices<Index>(perm);
    for (index_t b = 0; b < perm.extents[0]; ++b) {
      index_t const end = std::min(lengths ? valid_rows(b) : perm.extents[1], perm.extents[1]);
      for (index_t n = 0; n < end; ++n)
        for (index_t c = 0; c < perm.extents[2]; ++c)
          if (auto const row = static_cast<index_t>(rows(b, n, c)); row < 0 || row >= end)
            throw_invalid("perm[" + std::to_string(b) + ", " + std::to_string(n) + ", " +
                          std::to_string(c) + "] is " + std::to_string(row) + ", must be in 0.." +
                          std::to_string(end - 1) + " (length)");
    }
  };
  if (perm.type == dtype::u16) check_indices(std::uint16_t{});
  if (perm.type == dtype::i32) check_indices(std::int32_t{});
  if (perm.type == dtype::u32) check_indices(std::uint32_t{});
}

template <class Call>
void permute(Call& call, array const& x, array const& perm, array const& y,
             optional_array const& lengths) {
  ss::permute const op;
  with_element(x, [&](auto element) {
    using T = decltype(element);
    auto const x_view = view3<T const>(x);
    op.forward(call.exec, x_view, index_view(perm), view3<T>(y), call.memory, lengths_of(lengths));
  });
}

}  // namespace bindings
