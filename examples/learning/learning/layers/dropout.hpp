// SPDX-License-Identifier: Apache-2.0
// Dropout by a counter-based hash: the kept elements depend on the seed, the layer's name, the pass
// and the element's index alone, so that backward recomputes them and threads have no effect.
#pragma once

#include "learning/context.hpp"
#include "learning/layers/parameter_scope.hpp"

#include <algorithm>
#include <cstdint>

namespace learning {

/// In training, sets elements to 0 with probability p and multiplies the others by 1 / (1 - p).
template <class T>
class dropout {
 public:
  explicit dropout(parameter_scope<T> const& scope)
      : stream_(stream_of(scope.child("dropout").name)), rate_(scope.rules.dropout) {}

  /// Applies dropout to x, or backward to its gradient. Writes the result to y, which may be x.
  void apply(context<T>& c, matrix<T const> x, matrix<T> y) const {
    bool const drops = rate_ > 0 && c.training, in_place = x.data == y.data;
    if (!drops && in_place) return;
    random_stream const random(c.seed, stream_);
    auto const threshold = static_cast<std::uint32_t>(rate_ * 0x1p32);
    auto const scale = static_cast<T>(1 / (1 - rate_));
    auto const columns = static_cast<std::uint64_t>(x.columns);
    c.for_each_row(x, [&](index_t r) {
      if (!in_place) std::copy_n(x.row(r), x.columns, y.row(r));
      if (drops)
        drop_row(random, (c.pass << 40) + static_cast<std::uint64_t>(r) * columns, threshold, scale,
                 y.row(r), x.columns);
    });
  }
  void apply(context<T>& c, matrix<T> x) const { apply(c, x, x); }

 private:
  // Takes all arguments by value: a store to the row could alias a reference and prevent
  // vectorization.
  static void drop_row(random_stream random, std::uint64_t position, std::uint32_t threshold,
                       T scale, T* row, index_t columns) {
    for (index_t i = 0; i < columns; ++i) {
      bool const keep = random.bits32(position + static_cast<std::uint64_t>(i)) >= threshold;
      row[i] = keep ? row[i] * scale : T(0);
    }
  }

  std::uint64_t stream_;
  double rate_;
};

}  // namespace learning
