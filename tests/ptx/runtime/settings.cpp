// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include "errors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace ptx::runtime {

namespace {

std::string text_of(char const* variable) {
  char const* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}
int number_in(std::string const& text, std::string const& variable) {
  char* end = nullptr;
  long const number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < 0 || number > 1 << 20)
    abort_unsupported(variable + "=" + text + ": must be a number");
  return static_cast<int>(number);
}
int number_of(char const* variable) {
  std::string const text = text_of(variable);
  return text.empty() ? 0 : number_in(text, variable);
}

settings read() {
  settings s;
  std::string const device = text_of("SLICESORT_PTX_DEVICE");
  if (device == "sm_80")
    s.device = sm_80;
  else if (!device.empty() && device != "sm_90")
    abort_unsupported("SLICESORT_PTX_DEVICE=" + device + ": must be sm_80 or sm_90");
  if (int const bytes = number_of("SLICESORT_PTX_SHARED"); bytes != 0) {
    s.device.shared_opt_in = static_cast<std::size_t>(bytes);
    s.device.shared_default = std::min(s.device.shared_default, s.device.shared_opt_in);
  }
  s.log = text_of("SLICESORT_PTX_LOG");
  std::string const removed = text_of("SLICESORT_PTX_REMOVE");
  if (!removed.empty()) {
    auto const colon = removed.rfind(':');
    if (colon == std::string::npos)
      abort_unsupported("SLICESORT_PTX_REMOVE=" + removed +
                        ": must be <mangled name of a kernel>:<number>");
    s.removed = {removed.substr(0, colon),
                 number_in(removed.substr(colon + 1), "the number in SLICESORT_PTX_REMOVE")};
  }
  s.options.threads = static_cast<unsigned>(number_of("SLICESORT_PTX_THREADS"));
  if (s.options.threads == 0) s.options.threads = 1;
  s.options.count_memory = number_of("SLICESORT_PTX_COUNT_MEMORY") != 0;
  s.options.global_races = number_of("SLICESORT_PTX_GLOBAL_RACES") != 0;
  s.abort_at_fault = number_of("SLICESORT_PTX_ABORT") != 0;
  return s;
}

}  // namespace

settings const& current_settings() {
  static settings const& s = *new settings(read());
  return s;
}

}  // namespace ptx::runtime
