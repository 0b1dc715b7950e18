// SPDX-License-Identifier: Apache-2.0
// Topologies chosen at run time.
#pragma once

#include "policy.hpp"

#include <slicesort/policies/topology.hpp>

#include <memory>
#include <string>
#include <vector>

namespace bindings {

/// A topology of `slicesort/policies/topology.hpp` by name. Only the host evaluates offsets.
class named_topology {
  enum class kind { chord, cdil, offsets };

  template <class F>
  auto visit(F const& f) const {
    switch (kind_) {
      case kind::cdil:
        return f(ss::topology::cdil{parameter_});
      case kind::offsets:
        return f(ss::topology::offsets{{list_->data(), static_cast<index_t>(list_->size())}});
      default:
        return f(ss::topology::chord{parameter_});
    }
  }

 public:
  explicit named_topology(std::string const& text) {
    policy const parsed("topology", text,
                        {{"chord", 0, 1, "chord{links}"},
                         {"cdil", 0, 1, "cdil{half}"},
                         {"offsets", 0, 1000000, "offsets{offset, ..}"}});
    kind_ = static_cast<kind>(parsed.alternative());
    if (kind_ == kind::offsets)
      list_ = std::make_shared<std::vector<index_t> const>(parsed.integers<index_t>());
    else
      parameter_ = parsed.integer(0, kind_ == kind::cdil ? 1 : 0);
  }

  index_t links(index_t factors) const {
    return visit([&](auto const& topology) { return topology.links(factors); });
  }
  index_t offset(index_t link, index_t factor) const {
    return visit([&](auto const& topology) { return topology.offset(link, factor); });
  }
  char const* validate(index_t factors) const {
    return visit([&](auto const& topology) { return topology.validate(factors); });
  }

 private:
  kind kind_;
  index_t parameter_ = 0;
  std::shared_ptr<std::vector<index_t> const> list_;
};

}  // namespace bindings
