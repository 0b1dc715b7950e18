// SPDX-License-Identifier: Apache-2.0
// How a call was refused: by which exception, and with which message.
#pragma once

#include <slicesort/error.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace support {

namespace ss = slicesort;

inline bool says(std::string const& message, char const* part) {
  return message.find(part) != std::string::npos;
}

enum class thrown { nothing, argument, workspace };

template <class F>
std::pair<thrown, std::string> outcome_of(F const& call) {
  try {
    call();
  } catch (ss::invalid_argument const& e) {
    return {thrown::argument, e.what()};
  } catch (ss::workspace_error const& e) {
    return {thrown::workspace, e.what()};
  }
  return {thrown::nothing, ""};
}

// The message of a refused call, "" for one that passed.
template <class F>
std::string refusal(F const& call) {
  return outcome_of(call).second;
}
// The message of a call whose `check` gave `status`; the two must agree.
template <class F>
std::string refusal(ss::status const& status, F const& call) {
  auto const [what, message] = outcome_of(call);
  CHECK(message == status.message);
  CHECK((status.kind == ss::error_kind::workspace) == (what == thrown::workspace));
  CHECK((status.kind == ss::error_kind::argument) == (what == thrown::argument));
  return message;
}

}  // namespace support
