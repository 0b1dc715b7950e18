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
    auto const columns = static_cast<std::uint64_t>(x.columns);
    c.parallel_rows(x, [&](index_t first, index_t count) {
      for (index_t r = first; r < first + count; ++r)
        drop(random, (c.step << 40) + static_cast<std::uint64_t>(r) * columns, least, scale,
             x.row(r), x.columns);
    });
  }

 private:
  // All by value: a store to the row could change what lies behind a reference, and compilers would
  // then form no vectors.
  static void drop(random_stream random, std::uint64_t place, std::uint32_t least, T scale, T* row,
                   index_t columns) {
    for (index_t i = 0; i < columns; ++i) {
      bool const kept = random.bits32(place + static_cast<std::uint64_t>(i)) >= least;
      row[i] = kept ? row[i] * scale : T(0);
    }
  }

  std::uint64_t stream_;
  double rate_;
};

}  // namespace learning
