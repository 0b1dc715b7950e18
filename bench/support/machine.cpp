// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <benchmark/benchmark.h>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/version.hpp>

#include <fstream>
#include <string>

namespace bench {

namespace ss = slicesort;

namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

std::string version() {
  return std::to_string(SLICESORT_VERSION_MAJOR) + '.' + std::to_string(SLICESORT_VERSION_MINOR) +
         '.' + std::to_string(SLICESORT_VERSION_PATCH);
}

}  // namespace

void describe_machine(std::string const& text) {
  benchmark::AddCustomContext("cpu", processor());
  benchmark::AddCustomContext("instruction_set",
                              ss::impl::isa_name(ss::impl::chosen_isa(ss::isa::best)));
#if defined(__clang__)
  benchmark::AddCustomContext("compiler", "clang " __clang_version__);
#elif defined(__GNUC__)
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
  benchmark::AddCustomContext("flags", SLICESORT_BENCH_FLAGS);
  benchmark::AddCustomContext("slicesort", version());
  benchmark::AddCustomContext("text", text.substr(text.find_last_of('/') + 1));
}

}  // namespace bench
