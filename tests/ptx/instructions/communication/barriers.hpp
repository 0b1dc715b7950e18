// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../module/kernel.hpp"

#include <vector>

namespace ptx {

struct block;

// For bar.red, when all warps of the block have come: each gets what all voted for.
void reduce_votes(block& b);

// The synchronization of this number does nothing any more: at a barrier that reduces, each warp
// goes on with its own votes; of a cluster's barrier the wait that follows in the text goes too.
void remove_synchronization(std::vector<instruction>& code, int number);

}  // namespace ptx
