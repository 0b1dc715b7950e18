// SPDX-License-Identifier: Apache-2.0
// Calls slicing_sort with given views and a workspace of exactly the required size.
#pragma once

#include "check.hpp"

#include <doctest/doctest.h>

namespace support {

template <class T, class X, class Y, class Perm>
void forward(sort_problem<T> const& p, any_exec const& exec, X const& x, Y const& y,
             Perm const& perm) {
  ss::slicing_sort<pattern_order> const op(pattern_order{p.order});
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.x.extents()));
  op.forward(exec, x, y, {perm}, scratch.get(), {p.lengths_view()});
  CHECK(scratch.red_zones_intact());
}
template <class T, class DY, class DX, class Perm>
void backward(sort_problem<T> const& p, any_exec const& exec, DY const& dy, Perm const& perm,
              DX const& dx, ss::grad_mode mode = ss::grad_mode::overwrite) {
  ss::slicing_sort<pattern_order> const op(pattern_order{p.order});
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.x.extents()));
  op.backward(exec, dy, {perm}, dx, scratch.get(), {mode, p.lengths_view()});
  CHECK(scratch.red_zones_intact());
}

}  // namespace support
