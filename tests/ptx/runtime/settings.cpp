// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include "errors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace ptx::runtime {

namespace {

std::string environment_variable(char const* variable) {
  char const* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}
int parse_number(std::string const& text, std::string const& variable) {
  char* end = nullptr;
  long const number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < 0 || number > 1 << 20)
    abort_unsupported(variable + "=" + text + ": must be a number");
  return static_cast<int>(number);
}
int integer_variable(char const* variable) {
  std::string const text = environment_variable(variable);
  return text.empty() ? 0 : parse_number(text, variable);
}

settings read_environment() {
  settings s;
  std::string const device = environment_variable("SLICESORT_PTX_DEVICE");
  if (device == "sm_80")
    s.device = sm_80;
  else if (!device.empty() && device != "sm_90")
    abort_unsupported("SLICESORT_PTX_DEVICE=" + device + ": must be sm_80 or sm_90");
  if (int const bytes = integer_variable("SLICESORT_PTX_SHARED"); bytes != 0) {
    s.device.shared_opt_in = static_cast<std::size_t>(bytes);
    s.device.shared_default = std::min(s.device.shared_default, s.device.shared_opt_in);
  }
  s.log = environment_variable("SLICESORT_PTX_LOG");
  std::string const removed = environment_variable("SLICESORT_PTX_REMOVE");
  if (!removed.empty()) {
    auto const colon = removed.rfind(':');
    if (colon == std::string::npos)
      abort_unsupported("SLICESORT_PTX_REMOVE=" + removed +
                        ": must be <mangled name of a kernel>:<number>");
    s.removed = {removed.substr(0, colon),
                 parse_number(removed.substr(colon + 1), "the number in SLICESORT_PTX_REMOVE")};
  }
  s.options.threads = static_cast<unsigned>(integer_variable("SLICESORT_PTX_THREADS"));
  if (s.options.threads == 0) s.options.threads = 1;
  s.options.count_memory = integer_variable("SLICESORT_PTX_COUNT_MEMORY") != 0;
  s.options.global_races = integer_variable("SLICESORT_PTX_GLOBAL_RACES") != 0;
  s.abort_at_fault = integer_variable("SLICESORT_PTX_ABORT") != 0;
  return s;
}

}  // namespace

settings const& current_settings() {
  static settings const& s = *new settings(read_environment());
  return s;
}

}  // namespace ptx::runtime
