// SPDX-License-Identifier: Apache-2.0
// The library's masks of rows and blocks, chosen at run time. One type, so that attention is
// compiled once for all of them.
#pragma once

#include "named_order.hpp"

#include <slicesort/mask.hpp>

#include <string>

namespace bindings {

/// A mask (`slicesort/mask.hpp`) by its name.
class named_mask {
 public:
  explicit named_mask(std::string const& text) {
    policy const p("mask", text,
                   {{"full"},
                    {"causal", 0, 1, "causal{offset}"},
                    {"window", 2, 2, "window{left, right}"},
                    {"block_local", 1, 1, "block_local{size}"},
                    {"strided", 1, 2, "strided{stride, near_by}"}});
    kind_ = static_cast<kind>(p.form());
    a_ = p.integer(0);
    b_ = p.integer(1);
  }

  BINDINGS_HD ss::key_range range(index_t query, index_t keys) const {
    switch (kind_) {
      case kind::causal:
        return ss::mask::causal{a_}.range(query, keys);
      case kind::window:
        return ss::mask::window{a_, b_}.range(query, keys);
      case kind::block_local:
        return ss::mask::block_local{a_}.range(query, keys);
      default:
        return {0, keys};
    }
  }
  BINDINGS_HD bool allows(index_t query, index_t key) const {
    return kind_ != kind::strided || ss::mask::strided{a_, b_}.allows(query, key);
  }
  BINDINGS_HD bool meets(index_t first_query, index_t last_query, index_t first_key,
                         index_t last_key) const {
    return visit(
        [&](auto const& m) { return m.meets(first_query, last_query, first_key, last_key); });
  }
  BINDINGS_HD bool covers(index_t first_query, index_t last_query, index_t first_key,
                          index_t last_key) const {
    return visit(
        [&](auto const& m) { return m.covers(first_query, last_query, first_key, last_key); });
  }
  char const* validate(index_t keys) const {
    switch (kind_) {
      case kind::causal:
        return ss::mask::causal{a_}.validate(keys);
      case kind::window:
        return ss::mask::window{a_, b_}.validate(keys);
      case kind::block_local:
        return ss::mask::block_local{a_}.validate(keys);
      case kind::strided:
        return ss::mask::strided{a_, b_}.validate(keys);
      default:
        return nullptr;
    }
  }

 private:
  template <class F>
  BINDINGS_HD bool visit(F const& f) const {
    switch (kind_) {
      case kind::causal:
        return f(ss::mask::causal{a_});
      case kind::window:
        return f(ss::mask::window{a_, b_});
      case kind::block_local:
        return f(ss::mask::block_local{a_});
      case kind::strided:
        return f(ss::mask::strided{a_, b_});
      default:
        return f(ss::mask::full{});
    }
  }

  enum class kind { full, causal, window, block_local, strided };
  kind kind_;
  index_t a_ = 0, b_ = 0;  // its parameters
};

}  // namespace bindings
