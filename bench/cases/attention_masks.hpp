// SPDX-License-Identifier: Apache-2.0
// The masks of the attention cases, by name, each written from its definition a second time: the
// library's own are what is tested.
#pragma once

#include "driver/case.hpp"

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/policies/mask.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// Sizes are those of the Long Range Arena's code, BigBird's those of its authors; short sequences,
// which are there to run everything once, have small ones.
class attention_mask {
 public:
  attention_mask(std::string const& name, ss::index_t length)
      : kind_(name == "window"           ? kind::window
              : name == "block_local"    ? kind::block_local
              : name == "strided"        ? kind::strided
              : name == "window_globals" ? kind::window_globals
              : name == "causal"         ? kind::causal
              : name == "fixed"          ? kind::fixed
              : name == "causal_fixed"   ? kind::causal_fixed
              : name == "bigbird"        ? kind::bigbird
                                         : kind::full),
        length_(length) {}

  // Calls f with the library's mask, of the masks that are not sparse; or of all.
  template <class F>
  auto with_dense(F const& f) const {
    if (kind_ == kind::window) return f(window);
    if (kind_ == kind::block_local) return f(ss::mask::block_local{block});
    return f(ss::mask::full{});
  }
  template <class F>
  auto with(F const& f) const {
    switch (kind_) {
      case kind::strided:
        return f(ss::mask::strided{stride});
      case kind::window_globals:
        return f(ss::mask::either{window, ss::mask::globals{globals}});
      case kind::causal:
        return f(ss::mask::causal{});
      case kind::fixed:
        return f(ss::mask::fixed{block, tail});
      case kind::causal_fixed:
        return f(ss::mask::both{ss::mask::causal{}, ss::mask::fixed{block, tail, true}});
      case kind::bigbird: {
        ss::mask::bigbird mask;
        mask.block = big_block, mask.seed = seed, mask.keys = length_;
        return f(mask);
      }
      default:
        return with_dense(f);
    }
  }

  // Whether the query of a head looks at the key, from the definition.
  bool looks(ss::index_t head, ss::index_t query, ss::index_t key) const {
    bool const near_by = query - window.left <= key && key <= query + window.right;
    ss::index_t const within = key % block;
    bool const in_block = query / block == key / block, in_tail = within >= block - tail;
    switch (kind_) {
      case kind::window:
        return near_by;
      case kind::block_local:
        return in_block;
      case kind::strided:
        return (query - key) % stride == 0;
      case kind::window_globals:
        return near_by || query < globals || key < globals;
      case kind::causal:
        return key <= query;
      case kind::fixed:
        return in_block || in_tail;
      case kind::causal_fixed:
        return key <= query && (in_block || in_tail || within == 0);
      case kind::bigbird:
        return blocks_meet(head, query / big_block, key / big_block);
      default:
        return true;
    }
  }
  // How many pairs so many heads look at.
  double pairs(ss::index_t heads) const {
    auto const n = static_cast<double>(length_);
    if (kind_ == kind::full) return static_cast<double>(heads) * n * n;
    // Heads differ in BigBird alone, and there all pairs of two blocks are alike.
    ss::index_t const step = kind_ == kind::bigbird ? big_block : 1,
                      different = kind_ == kind::bigbird ? heads : 1;
    double sum = 0;
    for (ss::index_t head = 0; head < different; ++head)
      for (ss::index_t query = 0; query < length_; query += step)
        for (ss::index_t key = 0; key < length_; key += step)
          if (looks(head, query, key))
            sum += static_cast<double>(std::min(step, length_ - query) *
                                       std::min(step, length_ - key));
    return sum * static_cast<double>(heads / different);
  }

 private:
  enum class kind {
    full,
    window,
    block_local,
    strided,
    window_globals,
    causal,
    fixed,
    causal_fixed,
    bigbird
  };
  static constexpr std::uint64_t seed = 1;

  // The first and the last block are for all; the others look at themselves, at their neighbors,
  // and at three more, which a shuffle draws.
  bool blocks_meet(ss::index_t head, ss::index_t row, ss::index_t column) const {
    ss::index_t const last = (length_ - 1) / big_block;
    auto const near_by = [&](ss::index_t b) { return b - 1 <= row && row <= b + 1; };
    if (row == 0 || row == last || column == 0 || column == last || near_by(column)) return true;
    std::vector<ss::index_t> others;
    for (ss::index_t b = 1; b < last; ++b)
      if (!near_by(b)) others.push_back(b);
    auto const stream = (static_cast<std::uint64_t>(head) << 32) + static_cast<std::uint64_t>(row);
    for (std::size_t t = 0; t < std::min<std::size_t>(3, others.size()); ++t) {
      std::uint64_t const draw = ss::detail::counter_hash32(seed, stream, t);
      std::swap(others[t], others[t + (draw * (others.size() - t) >> 32)]);
      if (others[t] == column) return true;
    }
    return false;
  }

  kind const kind_;
  ss::index_t const length_;
  bool const short_ = length_ < 64;
  ss::mask::window const window = short_ ? ss::mask::window{3, 4} : ss::mask::window{255, 256};
  ss::index_t const block = short_ ? 10 : 50, tail = block / 5, globals = short_ ? 2 : 8,
                    stride = (length_ + block - 1) / block, big_block = short_ ? 4 : 64;
};

}  // namespace bench
