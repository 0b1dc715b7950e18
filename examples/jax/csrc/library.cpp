// SPDX-License-Identifier: Apache-2.0
// Functions of the host library that Python calls through ctypes.
#include "../../bindings/csp.hpp"

#include "host_call.hpp"

#include <cstdio>
#include <exception>

extern "C" {

__attribute__((visibility("default"))) void slicesort_set_threads(unsigned count) {
  slicesort_jax::thread_count = count;
}
__attribute__((visibility("default"))) unsigned slicesort_get_threads() {
  return slicesort_jax::thread_count;
}

/// Writes the three extents of csp's saved state and its bytes per element to `state`. Returns 0,
/// or 1 with the error message in `message`.
__attribute__((visibility("default"))) int slicesort_csp_state(
    char const* groups, char const* shift, char const* alignment, std::int64_t batch,
    std::int64_t length, std::int64_t channels, std::int64_t* state, char* message,
    std::size_t message_size) {
  try {
    auto const [extents, type] =
        bindings::saved_csp_state({groups, shift, alignment}, {batch, length, channels});
    state[0] = extents.batch;
    state[1] = extents.length;
    state[2] = extents.channels;
    state[3] = type == bindings::dtype::u8 ? 1 : type == bindings::dtype::u16 ? 2 : 4;
    return 0;
  } catch (std::exception const& error) {
    std::snprintf(message, message_size, "%s", error.what());
    return 1;
  }
}
}
