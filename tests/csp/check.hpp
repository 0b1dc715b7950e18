// SPDX-License-Identifier: Apache-2.0
// Runs a csp test case in the checks that all operators share.
#pragma once

#include "problem.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cstddef>

namespace support {

// Returns a callable for check_every_way (variants.hpp).
template <class T>
auto csp_runner(csp_problem<T> const& p) {
  return [&p](any_exec const& exec, tensor3<T const> x, tensor3<T> y, tensor3<T const> dy,
              tensor3<T> dx, ss::tensor1<index_t const> lengths) {
    with_csp(p, [&](auto const& op) {
      extents3 const e = x.extents();
      guarded_order_buffer order(op.saved_extents(e), op.saved_width(e));
      std::size_t const bytes = op.template workspace_bytes<T>(exec, e);
      guarded_workspace scratch(bytes), backward_scratch(bytes, 37, 0);
      op.forward(exec, x, y, {order.view()}, scratch.get(), {lengths});
      op.backward(exec, dy, {order.view()}, dx, backward_scratch.get(),
                  {ss::grad_mode::overwrite, lengths});
      CHECK((scratch.red_zones_intact() && backward_scratch.red_zones_intact() &&
             order.padding_intact()));
    });
  };
}

}  // namespace support
