// SPDX-License-Identifier: Apache-2.0
// Records calls that an operator must not make. interpose.cpp defines these functions of the CUDA
// runtime, and `operator new`, in the test program, so they replace the originals.
#pragma once

#include <string>

namespace support {

// Starts recording, with an empty list.
void start_recording();
// Stops recording. Returns the names of the called functions, separated by spaces.
std::string stop_recording();

}  // namespace support
