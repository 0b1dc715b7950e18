// SPDX-License-Identifier: Apache-2.0
// Sigmoid and SiLU of every element, on the host and on a GPU. On the host, vectors compute the
// sigmoids of a part of a row.
#pragma once

#include "../support.hpp"

#include <slicesort/sigmoid.hpp>

#include <algorithm>

namespace recipes {

// A number and its sigmoid.
struct gate {
  double argument, share;

  RECIPES_HD double silu() const { return argument * share; }
  RECIPES_HD double silu_slope() const { return share * (1 + argument * (1 - share)); }
};

// Calls a functor of a row for every element of a tensor, in any order. `F` defines
// - `gates`, the number of gates of an element;
// - `row(position)`, the functor of a row, which holds the addresses of its tensors and defines
//   `argument(channel, i)`, the argument of gate i, also for rows past the lengths, and
//   `operator()(channel, gates)`.
template <class F>
struct call_with_gates {
  F f;

  RECIPES_HD void operator()(position const& p) const {
    auto const row = f.row(p);
    gate gates[F::gates];
    for (int i = 0; i < F::gates; ++i) {
      gates[i].argument = row.argument(p.channel, i);
      gates[i].share = ss::sigmoid(gates[i].argument);
    }
    row(p.channel, gates);
  }
};
template <class Exec, class F>
void for_each_gate(Exec const& exec, extents4 e, F const& f) {
  if constexpr (Exec::backend::host_memory) {
    for_each_row(exec, e, [&](position const& p) {
      auto const row = f.row(p);
      constexpr index_t width = 64;
      double arguments[F::gates][width], shares[F::gates][width];
      for (index_t first = 0; first < e.channels; first += width) {
        index_t const count = std::min(width, e.channels - first);
        for (int i = 0; i < F::gates; ++i) {
          for (index_t c = 0; c < count; ++c) arguments[i][c] = row.argument(first + c, i);
          ss::sigmoid(exec, arguments[i], shares[i], count);
        }
        for (index_t c = 0; c < count; ++c) {
          gate gates[F::gates];
          for (int i = 0; i < F::gates; ++i) gates[i] = {arguments[i][c], shares[i][c]};
          row(first + c, gates);
        }
      }
    });
  } else {
    for_each_position(exec, e, call_with_gates<F>{f});
  }
}

}  // namespace recipes
