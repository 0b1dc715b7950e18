// SPDX-License-Identifier: Apache-2.0
// Launches through the library's grid, most of which fail.
#pragma once

struct CUstream_st;

namespace support {

// Each launches a kernel that is empty, or that traps.
void launch_too_many_threads(CUstream_st* stream);
void launch_too_much_shared(CUstream_st* stream);
void launch_valid(CUstream_st* stream);
void launch_trap(CUstream_st* stream);

}  // namespace support
