// SPDX-License-Identifier: Apache-2.0
// CSP's mixer, with a shift and an alignment.
#pragma once

#include "learning/mixers/projected.hpp"
#include "learning/mixers/sorting.hpp"

#include <slicesort/csp.hpp>

namespace learning::mixers {

/// Returns the shift of a layer; `power` and `power_ceil` depend on it.
template <class Shift>
Shift shift_of_layer(Shift shift, index_t /*layer*/, index_t /*layers*/) {
  return shift;
}
inline ss::shift::power shift_of_layer(ss::shift::power, index_t layer, index_t layers) {
  return {layer, layers};
}
inline ss::shift::power_ceil shift_of_layer(ss::shift::power_ceil, index_t layer, index_t layers) {
  return {layer, layers};
}

template <class Shift, class Alignment, class T>
class csp_core : public saving_core<csp_core<Shift, Alignment, T>, ss::csp<Shift, Alignment>,
                                    ss::saved_order, T> {
 public:
  struct config {
    ss::grouping groups = ss::group_size{2};
    Shift shift{};
    Alignment alignment{};
  };
  csp_core(parameter_scope<T> const& scope, config const& options)
      : csp_core::saving_core(ss::csp<Shift, Alignment>(
            options.groups, shift_of_layer(options.shift, scope.layer, scope.layers),
            order_of_layer(options.alignment, scope.layer, scope.layers))) {}
  extents3 saved_extents(extents3 e) const { return this->op_.saved_extents(e); }
  ss::index_width index_width(extents3 e) const { return this->op_.saved_width(e); }
};

/// CSP, eq. 3 to 5.
template <class Shift = ss::shift::linear, class Alignment = ss::reference, class T = float>
using csp = projected<csp_core<Shift, Alignment, T>>;

}  // namespace learning::mixers
