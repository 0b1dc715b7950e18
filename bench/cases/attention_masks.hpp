// SPDX-License-Identifier: Apache-2.0
// Masks of the attention cases, by name. The oracle uses the library's masks, which tests/mask
// verifies.
#pragma once

#include "driver/case.hpp"

#include <slicesort/policies/mask.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace bench {

// A named mask for sequences of one length. Sizes follow the Long Range Arena's code, for BigBird
// the authors' code. The short sequences of --smoke have smaller sizes.
class attention_mask {
 public:
  attention_mask(std::string name, ss::index_t length) : name_(std::move(name)), length_(length) {}

  // Calls f with the library's mask. with_dense supports only masks that are not sparse.
  template <class F>
  auto with_dense(F const& f) const {
    if (name_ == "window") return f(window());
    if (name_ == "block_local") return f(ss::mask::block_local{block()});
    return f(ss::mask::full{});
  }
  template <class F>
  auto with(F const& f) const {
    ss::mask::fixed const fixed{block(), block() / 5};
    if (name_ == "strided") return f(ss::mask::strided{(length_ + block() - 1) / block()});
    if (name_ == "window_globals")
      return f(ss::mask::either{window(), ss::mask::globals{is_short() ? 2 : 8}});
    if (name_ == "causal") return f(ss::mask::causal{});
    if (name_ == "fixed") return f(fixed);
    if (name_ == "causal_fixed")
      return f(ss::mask::both{ss::mask::causal{}, ss::mask::fixed{fixed.block, fixed.tail, true}});
    if (name_ == "bigbird") {
      ss::mask::bigbird mask;
      mask.block = is_short() ? 4 : 64, mask.seed = 1, mask.keys = length_;
      return f(mask);
    }
    return with_dense(f);
  }

  // Returns a predicate that is true if a query of the head sees a key.
  std::function<bool(ss::index_t query, ss::index_t key)> visibility(ss::index_t head) const {
    return with([head](auto const& mask) -> std::function<bool(ss::index_t, ss::index_t)> {
      return [mask = ss::detail::mask_of_head(mask, 0, head)](ss::index_t query, ss::index_t key) {
        return ss::detail::is_visible_pair(mask, query, key);
      };
    });
  }
  // Counts the visible pairs of all heads.
  double count_pairs(ss::index_t heads) const {
    return with([&](auto const& mask) {
      using Mask = std::decay_t<decltype(mask)>;
      auto const n = static_cast<double>(length_);
      if (std::is_same_v<Mask, ss::mask::full>) return static_cast<double>(heads) * n * n;
      // Only BigBird's heads differ; there, a pair of blocks is visible as a whole.
      ss::index_t block_size = 1;
      if constexpr (std::is_same_v<Mask, ss::mask::bigbird>) block_size = mask.block;
      ss::index_t const distinct_heads = ss::detail::has_for_head<Mask> ? heads : 1;
      double sum = 0;
      for (ss::index_t head = 0; head < distinct_heads; ++head) {
        auto const head_mask = ss::detail::mask_of_head(mask, 0, head);
        for (ss::index_t query = 0; query < length_; query += block_size)
          for (ss::index_t key = 0; key < length_; key += block_size)
            if (ss::detail::is_visible_pair(head_mask, query, key))
              sum += static_cast<double>(std::min(block_size, length_ - query) *
                                         std::min(block_size, length_ - key));
      }
      return sum * static_cast<double>(heads / distinct_heads);
    });
  }

 private:
  bool is_short() const { return length_ < 64; }
  ss::index_t block() const { return is_short() ? 10 : 50; }
  ss::mask::window window() const {
    return is_short() ? ss::mask::window{3, 4} : ss::mask::window{255, 256};
  }

  std::string name_;
  ss::index_t length_;
};

}  // namespace bench
