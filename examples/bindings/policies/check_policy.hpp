// SPDX-License-Identifier: Apache-2.0
// Validates policies without a tensor, with the parser that calls use.
#pragma once

#include "named_mask.hpp"
#include "named_order.hpp"
#include "named_shift.hpp"
#include "named_topology.hpp"

#include <string>

namespace bindings {

/// Throws if a policy is invalid. `kind` is the argument's name: order, shift, alignment, groups,
/// topology or mask. `extent` is the number of factors for a topology, of channels otherwise.
/// Returns the rows per group (or the negated number of groups) for groups, the number of links for
/// a topology, and 0 for the others.
inline index_t check_policy(std::string const& kind, std::string const& text, index_t extent) {
  auto const throw_if = [&](char const* error) {
    if (error != nullptr) throw_invalid(kind + " \"" + text + "\": " + error);
  };
  if (kind == "order") {
    throw_if(named_order(text).validate(extent));
  } else if (kind == "shift") {
    throw_if(named_shift(text).validate(extent));
  } else if (kind == "alignment") {
    if (is_reference(text))
      throw_if(named_reference(text).validate(extent));
    else
      throw_if(named_order(text, "alignment").validate(extent));
  } else if (kind == "groups") {
    policy const groups = grouping_policy(text);
    throw_if(named_grouping(text).validate());
    return groups.alternative() == 0 ? groups.integer(0) : -groups.integer(0);
  } else if (kind == "topology") {
    named_topology const topology(text);
    throw_if(topology.validate(extent));
    return topology.links(extent);
  } else if (kind == "mask") {
    constexpr index_t keys = 1;  // arbitrary: the parameters that depend on it are derived
    throw_if(named_mask(text, keys).validate(keys));
  } else {
    throw_invalid("there is no kind of policy called \"" + kind + "\"");
  }
  return 0;
}

}  // namespace bindings
