// SPDX-License-Identifier: Apache-2.0
// sinkhorn with run-time types.
#pragma once

#include "array.hpp"

#include <slicesort/sinkhorn.hpp>

namespace bindings {

/// Parameters of sinkhorn.
struct sinkhorn_parameters {
  double tau;
  index_t half_steps;
  bool rows_last;

  ss::sinkhorn op() const {
    return {tau, ss::half_steps{half_steps, rows_last ? ss::side::rows : ss::side::columns}};
  }
};

template <class Call>
void sinkhorn(Call& call, sinkhorn_parameters const& parameters, array const& logits,
              array const& y, optional_array const& rows, optional_array const& columns) {
  with_element(logits, [&](auto element) {
    using T = decltype(element);
    parameters.op().forward(call.exec, view3<T const>(logits), view3<T>(y), call.memory,
                            ss::row_and_column_lengths(lengths_of(rows), lengths_of(columns)));
  });
}
template <class Call>
void sinkhorn_backward(Call& call, sinkhorn_parameters const& parameters, array const& dy,
                       array const& logits, array const& dlogits, optional_array const& rows,
                       optional_array const& columns) {
  with_element(dy, [&](auto element) {
    using T = decltype(element);
    parameters.op().backward(call.exec, view3<T const>(dy), view3<T const>(logits),
                             view3<T>(dlogits), call.memory,
                             ss::row_and_column_lengths(lengths_of(rows), lengths_of(columns)));
  });
}

}  // namespace bindings
