// SPDX-License-Identifier: Apache-2.0
// Counts what an operator must never do. interpose.cpp defines these functions of the CUDA runtime,
// and `operator new`, in the test program itself, so that every call of the program comes by.
#pragma once

#include <string>

namespace support {

// Forgets what was counted; only between this and `counted` is anything counted.
void start_counting();
// The names of what was called since, separated by spaces, "" for nothing.
std::string counted();

}  // namespace support
