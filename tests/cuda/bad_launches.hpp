// SPDX-License-Identifier: Apache-2.0
// Launches of the library's own grid that cannot go well.
#pragma once

struct CUstream_st;

namespace support {

// A kernel that does nothing, or reports an error from inside the kernel.
void launch_too_many_threads(CUstream_st* stream);
void launch_too_much_shared(CUstream_st* stream);
void launch_fine(CUstream_st* stream);
void launch_trap(CUstream_st* stream);

}  // namespace support
