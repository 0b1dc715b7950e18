// SPDX-License-Identifier: Apache-2.0
// Exceptions and messages of rejected calls.
#pragma once

#include <slicesort/error.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace support {

namespace ss = slicesort;

inline bool says(std::string const& message, char const* text) {
  return message.find(text) != std::string::npos;
}

enum class thrown { nothing, argument, workspace };

template <class F>
std::pair<thrown, std::string> run_and_catch(F const& call) {
  try {
    call();
  } catch (ss::invalid_argument const& e) {
    return {thrown::argument, e.what()};
  } catch (ss::workspace_error const& e) {
    return {thrown::workspace, e.what()};
  }
  return {thrown::nothing, ""};
}

// Returns the message of a rejected call; "" if it is accepted.
template <class F>
std::string error_message(F const& call) {
  return run_and_catch(call).second;
}
// Returns the message of a call, and checks that it agrees with the `status` of its dry run.
template <class F>
std::string error_message(ss::status const& status, F const& call) {
  auto const [exception, message] = run_and_catch(call);
  CHECK(message == status.message);
  CHECK((status.kind == ss::error_kind::workspace) == (exception == thrown::workspace));
  CHECK((status.kind == ss::error_kind::argument) == (exception == thrown::argument));
  return message;
}
// Returns the same message, and checks that a rejected call does not write to the memory of
// `buffers`.
template <class Buffers, class F>
std::string error_leaving_buffers_unchanged(Buffers const& buffers, ss::status const& status,
                                            F const& call) {
  auto const memory = buffers.memory;
  auto const scratch_memory = buffers.scratch_memory;
  std::string const message = error_message(status, call);
  if (!message.empty()) {
    CHECK(buffers.memory == memory);
    CHECK(buffers.scratch_memory == scratch_memory);
  }
  return message;
}

}  // namespace support
