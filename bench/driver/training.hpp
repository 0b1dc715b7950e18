// SPDX-License-Identifier: Apache-2.0
// The direction `training`: forward, which saves, and then backward, timed as one call.
#pragma once

namespace bench {

// Adds a training case for every pair of a forward and a backward case on text.
void add_training_cases();

}  // namespace bench
