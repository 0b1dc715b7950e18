// SPDX-License-Identifier: Apache-2.0
// Completes reducing barriers, and removes synchronizations for mutation tests.
#pragma once

#include "../../module/kernel.hpp"

#include <vector>

namespace ptx {

struct block;

// Completes bar.red after all warps of the block have arrived: each receives the combined result.
void reduce_votes(block& b);

// Disables the synchronization with this index. At a reducing barrier, each warp continues with the
// result of its own votes. Removing a cluster arrival also removes the next cluster wait.
void remove_synchronization(std::vector<instruction>& code, int index);

}  // namespace ptx
