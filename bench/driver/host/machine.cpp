// SPDX-License-Identifier: Apache-2.0
// The machine and the build, as far as the host backend is concerned.
#include "blas.hpp"
#include "driver/backend.hpp"

#include <benchmark/benchmark.h>
#include <slicesort/detail/host/isa.hpp>

#include <algorithm>
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

}  // namespace

void prepare_process(char** argv) { choose_blas_kernels(argv); }

void describe_machine() {
  // A program with other contestants alone has no BLAS to speak of.
  auto const& all = all_cases();
  if (std::any_of(all.begin(), all.end(),
                  [](bench_case const& c) { return c.at.subject == "softmax_attention"; })) {
    benchmark::AddCustomContext("blas", describe_blas());
    if (std::string const complaint = blas_complaint(); !complaint.empty())
      benchmark::AddCustomContext("weak_blas", complaint);
  }
  benchmark::AddCustomContext("cpu", processor());
  benchmark::AddCustomContext("instruction_set",
                              ss::detail::isa_name(ss::detail::chosen_isa(ss::isa::best)));
#if defined(__clang__)
  benchmark::AddCustomContext("compiler", "clang " __clang_version__);
#elif defined(__GNUC__)
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
}

}  // namespace bench
