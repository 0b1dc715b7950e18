// SPDX-License-Identifier: Apache-2.0
// Policies checked before there is a tensor, with the parser that calls use.
#pragma once

#include "named_mask.hpp"
#include "named_order.hpp"
#include "named_shift.hpp"
#include "named_topology.hpp"

#include <string>

namespace bindings {

/// Refuses a policy that no call takes. `kind` is the argument's name: order, shift, alignment or
/// groups, with `extent` channels; topology, with `extent` factors; or mask. Returns the rows of a
/// group, or minus the number of groups; the links of a topology; else 0.
inline index_t check_policy(std::string const& kind, std::string const& text, index_t extent) {
  auto const accept = [&](char const* wrong) {
    if (wrong != nullptr) refuse(kind + " \"" + text + "\": " + wrong);
  };
  if (kind == "order") {
    accept(named_order(text).validate(extent));
  } else if (kind == "shift") {
    accept(named_shift(text).validate(extent));
  } else if (kind == "alignment") {
    if (is_reference(text))
      accept(named_reference(text).validate(extent));
    else
      accept(named_order(text, "alignment").validate(extent));
  } else if (kind == "groups") {
    policy const p = grouping_policy(text);
    accept(named_grouping(text).validate());
    return p.form() == 0 ? p.integer(0) : -p.integer(0);
  } else if (kind == "topology") {
    named_topology const topology(text);
    accept(topology.validate(extent));
    return topology.links(extent);
  } else if (kind == "mask") {
    constexpr index_t keys = 1;  // any number: masks whose parameters depend on it are made of it
    accept(named_mask(text, keys).validate(keys));
  } else {
    refuse("there is no kind of policy called \"" + kind + "\"");
  }
  return 0;
}

}  // namespace bindings
