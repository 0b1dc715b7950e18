// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../module/kernel.hpp"

#include <vector>

namespace ptx {

struct block;

// Completes bar.red when all warps of the block have arrived: each receives the combined vote.
void reduce_votes(block& b);

// Disables synchronization `number`. At a reducing barrier, each warp continues with its own votes.
// For a cluster's arrival, the next wait in the text is disabled too.
void remove_synchronization(std::vector<instruction>& code, int index);

}  // namespace ptx
