// SPDX-License-Identifier: Apache-2.0
// Dropout by a counter-based hash: which elements are kept follows from the seed, the layer's name,
// the step and the element's number, so backward draws nothing again and no thread matters.
#pragma once

#include "learning/call.hpp"
#include "learning/layers/site.hpp"

#include <cstdint>

namespace learning {

/// Sets elements to 0 with the probability of the model's conventions, and divides the others by
/// what is left of 1, in training.
template <class T>
class dropout {
 public:
  explicit dropout(site<T> const& at)
      : stream_(stream_of(at.at("dropout").name)), rate_(at.rules.dropout) {}

  /// Forward, of x, and backward, of its gradient, in place.
  void apply(call<T>& c, matrix<T> x) const {
    if (rate_ <= 0 || !c.training) return;
    random_stream const random(c.seed, stream_);
    auto const least = static_cast<std::uint32_t>(rate_ * 0x1p32);
    auto const scale = static_cast<T>(1 / (1 - rate_));
    c.each_tile(x.rows, [&](index_t first, index_t count, index_t) {
      for (index_t r = first; r < first + count; ++r) {
        std::uint64_t const place =
            (c.step << 40) + static_cast<std::uint64_t>(r) * static_cast<std::uint64_t>(x.columns);
        T* const row = x.row(r);
        for (index_t i = 0; i < x.columns; ++i)
          row[i] =
              random.bits32(place + static_cast<std::uint64_t>(i)) >= least ? row[i] * scale : T(0);
      }
    });
  }

 private:
  std::uint64_t stream_;
  double rate_;
};

}  // namespace learning
