// SPDX-License-Identifier: Apache-2.0
// Functions of the host's library that Python calls without XLA.
#include "../../bindings/csp.hpp"

#include "host_call.hpp"

#include <cstdio>
#include <exception>

extern "C" {

__attribute__((visibility("default"))) void slicesort_set_threads(unsigned count) {
  slicesort_jax::threads = count;
}
__attribute__((visibility("default"))) unsigned slicesort_get_threads() {
  return slicesort_jax::threads;
}

/// What csp saves for a shape: three extents and the bytes of an element go to `to`. Returns 0, or
/// 1 with the reason in `why`.
__attribute__((visibility("default"))) int slicesort_csp_state(
    char const* groups, char const* shift, char const* alignment, std::int64_t batch,
    std::int64_t length, std::int64_t channels, std::int64_t* to, char* why, std::size_t room) {
  try {
    auto const state =
        bindings::csp_state_of({groups, shift, alignment}, {batch, length, channels});
    to[0] = state.extents.batch;
    to[1] = state.extents.length;
    to[2] = state.extents.channels;
    to[3] = state.type == bindings::dtype::u8 ? 1 : state.type == bindings::dtype::u16 ? 2 : 4;
    return 0;
  } catch (std::exception const& refused) {
    std::snprintf(why, room, "%s", refused.what());
    return 1;
  }
}
}
