// SPDX-License-Identifier: Apache-2.0
// Shifts and groupings chosen at run time.
#pragma once

#include "policy.hpp"

#include <slicesort/policies/grouping.hpp>
#include <slicesort/policies/shift.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace bindings {

/// A shift of `slicesort/policies/shift.hpp` by name. Only the host evaluates shifts.
class named_shift {
  enum class kind { none, linear, linear_step, per_head, modular, power, power_ceil, table };

  template <class F>
  auto visit(F const& f) const {
    switch (kind_) {
      case kind::linear:
        return f(ss::shift::linear{});
      case kind::linear_step:
        return f(ss::shift::linear_step{a_});
      case kind::per_head:
        return f(ss::shift::per_head{a_});
      case kind::modular:
        return f(ss::shift::modular{});
      case kind::power:
        return f(ss::shift::power{a_, b_});
      case kind::power_ceil:
        return f(ss::shift::power_ceil{a_, b_});
      case kind::table:
        return f(ss::shift::table{{table_->data(), static_cast<index_t>(table_->size())}});
      default:
        return f(ss::shift::none{});
    }
  }

 public:
  explicit named_shift(std::string const& text) {
    policy const parsed("shift", text,
                        {{"none"},
                         {"linear"},
                         {"linear_step", 1, 1, "linear_step{step}"},
                         {"per_head", 1, 1, "per_head{heads}"},
                         {"modular"},
                         {"power", 2, 2, "power{layer, layers}"},
                         {"power_ceil", 2, 2, "power_ceil{layer, layers}"},
                         {"table", 0, 1000000, "table{shift, ..}"}});
    kind_ = static_cast<kind>(parsed.alternative());
    if (kind_ == kind::table) {
      table_ = std::make_shared<std::vector<std::int32_t> const>(parsed.integers<std::int32_t>());
    } else {
      a_ = parsed.integer(0);
      b_ = parsed.integer(1);
    }
  }

  index_t shift(index_t channel, index_t channels, index_t length) const {
    return visit([&](auto const& policy) { return policy.shift(channel, channels, length); });
  }
  char const* validate(index_t channels) const {
    return visit([&](auto const& policy) -> char const* {
      if constexpr (ss::detail::has_validate<std::decay_t<decltype(policy)>>)
        return policy.validate(channels);
      else
        return nullptr;
    });
  }

 private:
  kind kind_;
  index_t a_ = 0, b_ = 0;  // parameters in the order of the text
  std::shared_ptr<std::vector<std::int32_t> const> table_;
};

/// Parses `group_size{G}` or `group_count{K}`.
inline policy grouping_policy(std::string const& text) {
  return {"groups",
          text,
          {{"group_size", 1, 1, "group_size{rows}"}, {"group_count", 1, 1, "group_count{groups}"}}};
}
inline ss::grouping named_grouping(std::string const& text) {
  policy const parsed = grouping_policy(text);
  if (parsed.alternative() == 0) return ss::group_size{parsed.integer(0)};
  return ss::group_count{parsed.integer(0)};
}

}  // namespace bindings
