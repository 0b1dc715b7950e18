// SPDX-License-Identifier: Apache-2.0
// Masks chosen at run time. One type represents all of them, so that attention is compiled once.
#pragma once

#include "named_order.hpp"

#include <slicesort/policies/mask.hpp>

#include <cstdint>
#include <string>

namespace bindings {

/// A mask of `slicesort/policies/mask.hpp` by name, for a call with `keys` keys.
class named_mask {
  enum class kind {
    full,
    causal,
    window,
    block_local,
    strided,
    fixed,
    dilated_window,
    global_window,
    chunk_back,
    bigbird
  };

  // Calls f with the library's mask. Kernels pass a device function, `validate` a host function.
#ifdef __CUDACC__
#  pragma nv_exec_check_disable
#endif
  template <class F>
  BINDINGS_HD auto visit(F const& f) const {
    switch (kind_) {
      case kind::causal:
        return f(ss::mask::causal{a_});
      case kind::window:
        return f(ss::mask::window{a_, b_});
      case kind::block_local:
        return f(ss::mask::block_local{a_});
      case kind::strided:
        return f(ss::mask::strided{a_, b_});
      case kind::fixed:
        return f(ss::mask::fixed{a_, b_, c_ != 0});
      case kind::dilated_window:
        return f(ss::mask::dilated_window{a_, b_, c_});
      case kind::global_window:
        return f(ss::mask::either<ss::mask::window, ss::mask::globals>{{a_, b_}, {c_}});
      case kind::chunk_back:
        return f(ss::mask::chunk_back{a_, b_ != 0, keys_});
      case kind::bigbird:
        return f(
            ss::mask::bigbird{a_, b_, c_, d_, seed_, ss::mask::bigbird::unlimited, keys_, head_});
      default:
        return f(ss::mask::full{});
    }
  }

 public:
  named_mask(std::string const& text, index_t keys) : keys_(keys) {
    policy const parsed("mask", text,
                        {{"full"},
                         {"causal", 0, 1, "causal{offset}"},
                         {"window", 2, 2, "window{left, right}"},
                         {"block_local", 1, 1, "block_local{size}"},
                         {"strided", 1, 2, "strided{stride, near_by}"},
                         {"fixed", 2, 3, "fixed{block, tail, first_column}"},
                         {"dilated_window", 3, 3, "dilated_window{left, right, step}"},
                         {"global_window", 2, 3, "global_window{left, right, globals}"},
                         {"chunk_back", 1, 2, "chunk_back{size, circular}"},
                         {"bigbird", 0, 5, "bigbird{block, window, ends, random, seed}"}});
    kind_ = static_cast<kind>(parsed.alternative());
    bool const bigbird = kind_ == kind::bigbird;
    ss::mask::bigbird const defaults{};
    a_ = parsed.integer(0, bigbird ? defaults.block : 0);
    b_ = parsed.integer(1, bigbird ? defaults.window : 0);
    c_ = parsed.integer(2, bigbird ? defaults.ends : kind_ == kind::global_window ? 1 : 0);
    d_ = parsed.integer(3, defaults.random);
    seed_ = parsed.bits(4);
  }

  BINDINGS_HD named_mask for_head(index_t head) const {
    named_mask mask = *this;
    mask.head_ = head;
    return mask;
  }
  BINDINGS_HD ss::key_range range(index_t query, index_t keys) const {
    return visit(
        [&](auto const& mask) { return ss::detail::clamped_key_range(mask, query, keys); });
  }
  BINDINGS_HD bool allows(index_t query, index_t key) const {
    return visit([&](auto const& mask) { return ss::detail::allows_key(mask, query, key); });
  }
  BINDINGS_HD bool meets(index_t first_query, index_t last_query, index_t first_key,
                         index_t last_key) const {
    return visit(
        [&](auto const& mask) { return mask.meets(first_query, last_query, first_key, last_key); });
  }
  BINDINGS_HD bool covers(index_t first_query, index_t last_query, index_t first_key,
                          index_t last_key) const {
    return visit([&](auto const& mask) {
      return mask.covers(first_query, last_query, first_key, last_key);
    });
  }
  char const* validate(ss::mask_call call) const {
    return visit([&](auto const& mask) { return ss::detail::mask_error(mask, call); });
  }

 private:
  kind kind_;
  index_t a_, b_, c_, d_;  // parameters in the order of the text
  index_t keys_, head_ = 0;
  std::uint64_t seed_;
};

}  // namespace bindings
