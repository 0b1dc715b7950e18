// SPDX-License-Identifier: Apache-2.0
// CSP's mixer, with any shift and alignment.
#pragma once

#include "learning/mixers/projected.hpp"
#include "learning/mixers/sorting.hpp"

#include <slicesort/csp.hpp>

namespace learning::mixers {

/// Shifts that depend on the layer.
template <class Shift>
Shift shift_at(Shift shift, index_t /*layer*/, index_t /*layers*/) {
  return shift;
}
inline ss::shift::power shift_at(ss::shift::power, index_t layer, index_t layers) {
  return {layer, layers};
}
inline ss::shift::power_ceil shift_at(ss::shift::power_ceil, index_t layer, index_t layers) {
  return {layer, layers};
}

template <class Shift, class Alignment, class T>
class csp_core {
 public:
  using element = T;
  struct config {
    ss::grouping groups = ss::group_size{2};
    Shift shift{};
    Alignment alignment{};
  };
  csp_core(site<T> const& at, config const& with)
      : op_(with.groups, shift_at(with.shift, at.layer, at.layers),
            order_at(with.alignment, at.layer, at.layers)) {}

  void forward(call<T>& c, tensor3<T const> v, tensor3<T> y) {
    extents3 const e = v.extents();
    order_ = keep_indices(c, op_.saved_extents(e), op_.saved_width(e));
    auto const scratch = workspace(c, op_.template workspace_bytes<T>(c.on(), e));
    c.work([&] {
      op_.forward(c.on(), v, y, saved_if_training<ss::saved_order>(c, order_), scratch,
                  {c.lengths});
    });
  }
  void backward(call<T>& c, tensor3<T const> dy, tensor3<T> dv) {
    auto const scratch = workspace(c, op_.template workspace_bytes<T>(c.on(), dy.extents()));
    c.work([&] {
      op_.backward(c.on(), dy, order_, dv, scratch, {ss::grad_mode::overwrite, c.lengths});
    });
  }

 private:
  ss::csp<Shift, Alignment> op_;
  ss::index_tensor3 order_;
};

/// CSP, eq. 3 to 5.
template <class Shift = ss::shift::linear, class Alignment = ss::reference, class T = float>
using csp = projected<csp_core<Shift, Alignment, T>>;

}  // namespace learning::mixers
