// SPDX-License-Identifier: Apache-2.0
// Orders chosen at run time. One type represents all of them, so that operators are compiled once.
#pragma once

#include "policy.hpp"

#include <slicesort/policies/alignment.hpp>
#include <slicesort/policies/order.hpp>

#include <string>

#ifdef __CUDACC__
#  define BINDINGS_HD __host__ __device__
#else
#  define BINDINGS_HD
#endif

namespace bindings {

/// An order of `slicesort/policies/order.hpp` by name.
class named_order {
 public:
  named_order() = default;
  explicit named_order(std::string const& text, char const* argument = "order") {
    policy const parsed(argument, text,
                        {{"ascending"},
                         {"descending"},
                         {"half_half", 0, 1, "half_half{heads}"},
                         {"interleave", 2, 2, "interleave{layer, layers}"},
                         {"haar_interleave", 1, 2, "haar_interleave{level, heads}"}});
    kind_ = static_cast<kind>(parsed.alternative());
    a_ = parsed.integer(0, 1);
    b_ = parsed.integer(1, 1);
  }

  BINDINGS_HD bool ascending(index_t channel, index_t channels) const {
    switch (kind_) {
      case kind::descending:
        return false;
      case kind::half_half:
        return ss::half_half{a_}.ascending(channel, channels);
      case kind::interleave:
        return ss::interleave{a_, b_}.ascending(channel, channels);
      case kind::haar_interleave:
        return ss::haar_interleave{a_, b_}.ascending(channel, channels);
      default:
        return true;
    }
  }
  char const* validate(index_t channels) const {
    switch (kind_) {
      case kind::half_half:
        return ss::half_half{a_}.validate(channels);
      case kind::interleave:
        return ss::interleave{a_, b_}.validate(channels);
      case kind::haar_interleave:
        return ss::haar_interleave{a_, b_}.validate(channels);
      default:
        return nullptr;
    }
  }

 private:
  enum class kind { ascending, descending, half_half, interleave, haar_interleave };
  kind kind_ = kind::ascending;
  index_t a_ = 1, b_ = 1;  // parameters in the order of the text
};

/// True for the alignment `reference{channel}`; the others are orders.
inline bool is_reference(std::string const& alignment) {
  return alignment.find("reference") != std::string::npos;
}
inline ss::reference named_reference(std::string const& text) {
  return {policy("alignment", text, {{"reference", 0, 1, "reference{channel}"}}).integer(0)};
}

}  // namespace bindings
