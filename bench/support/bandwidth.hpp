// SPDX-License-Identifier: Apache-2.0
// What this machine copies: the ceiling of any operator that only moves data.
#pragma once

namespace bench {

// Bytes read plus bytes written per second by memcpy on `threads` threads, in buffers far beyond
// any cache; measured once per process and number of threads.
double copy_bandwidth(unsigned threads);

}  // namespace bench
