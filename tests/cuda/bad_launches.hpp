// SPDX-License-Identifier: Apache-2.0
// Launches by the library's grid that fail.
#pragma once

struct CUstream_st;

namespace support {

// Each launches an empty kernel with an invalid configuration, a valid one (fine), or a trap.
void launch_too_many_threads(CUstream_st* stream);
void launch_too_much_shared(CUstream_st* stream);
void launch_fine(CUstream_st* stream);
void launch_trap(CUstream_st* stream);

}  // namespace support
