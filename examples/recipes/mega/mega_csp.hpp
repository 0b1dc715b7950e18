// SPDX-License-Identifier: Apache-2.0
// MEGA with channel-wise sample permutation in place of attention (CSP, section 4.2):
//   y = csp(SiLU(v)) SiLU(r)
// `moving_average` and the projections come before it. As in the published code, there are no
// queries and keys.
#pragma once

#include "../support.hpp"
#include "gates.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/options.hpp>
#include <slicesort/saved.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

namespace recipes {

template <class T>
struct mega_csp_params {
  tensor4<T const> r, v;  // projections, [batch, 1, length, values]
};
template <class T>
struct mega_csp_grads {
  tensor4<T> dr, dv;
};

// `Csp` is a ss::csp.
template <class T, class Exec, class Csp = ss::csp<>>
class mega_csp {
 public:
  using params_type = mega_csp_params<T>;
  using grads_type = mega_csp_grads<T>;

  mega_csp(Exec const& exec, Csp const& csp) : exec_(exec), memory_(exec), csp_(csp) {}

  void forward(mega_csp_params<T> const& params, tensor4<T> y, ss::row_lengths lengths = {}) {
    extents4 const e = params.v.extents();
    memory_.clear();
    lengths_ = lengths;
    order_ = order({e.batch, e.length, e.channels});
    permuted_ = memory_.template tensor<T>(e);
    for_each_gate(exec_, e, write_silu<T>{params.v, lengths, permuted_});
    csp_.forward(exec_, head(permuted_, 0), head(permuted_, 0), order_, memory_.workspace(),
                 lengths);
    for_each_gate(exec_, e, write_gated<T>{permuted_, params.r, lengths, y});
  }

  void backward(tensor4<T const> dy, mega_csp_params<T> const& params, tensor4<T const>,
                mega_csp_grads<T> const& grads) {
    typename memory<Exec>::scope const temporaries(memory_);
    extents4 const e = params.v.extents();
    auto const d = memory_.template tensor<T>(e);
    for_each_gate(exec_, e,
                  write_gated_gradients<T>{permuted_, params.r, lengths_, dy, d, grads.dr});
    csp_.backward(exec_, head(d, 0), order_, head(d, 0), memory_.workspace(), lengths_);
    for_each_gate(exec_, e, write_silu_gradient<T>{params.v, d, lengths_, grads.dv});
  }

 private:
  // The order that csp saves, in the narrowest type.
  ss::index_tensor3 order(extents3 e) {
    extents3 const saved = csp_.saved_extents(e);
    switch (csp_.saved_width(e)) {
      case ss::index_width::bits8:
        return order<std::uint8_t>(saved);
      case ss::index_width::bits16:
        return order<std::uint16_t>(saved);
      case ss::index_width::bits32:
        break;
    }
    return order<std::int32_t>(saved);
  }
  template <class Index>
  tensor3<Index> order(extents3 e) {
    return head(memory_.template tensor<Index>({e.batch, 1, e.length, e.channels}), 0);
  }

  Exec exec_;
  memory<Exec> memory_;
  Csp csp_;
  ss::row_lengths lengths_;
  ss::index_tensor3 order_;
  tensor4<T> permuted_;
};

}  // namespace recipes
