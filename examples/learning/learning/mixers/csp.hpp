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
class csp_core : public saving_core<csp_core<Shift, Alignment, T>, ss::csp<Shift, Alignment>,
                                    ss::saved_order, T> {
 public:
  struct config {
    ss::grouping groups = ss::group_size{2};
    Shift shift{};
    Alignment alignment{};
  };
  csp_core(site<T> const& at, config const& with)
      : csp_core::saving_core(
            ss::csp<Shift, Alignment>(with.groups, shift_at(with.shift, at.layer, at.layers),
                                      order_at(with.alignment, at.layer, at.layers))) {}
  extents3 saved(extents3 e) const { return this->op_.saved_extents(e); }
  ss::index_width width(extents3 e) const { return this->op_.saved_width(e); }
};

/// CSP, eq. 3 to 5.
template <class Shift = ss::shift::linear, class Alignment = ss::reference, class T = float>
using csp = projected<csp_core<Shift, Alignment, T>>;

}  // namespace learning::mixers
