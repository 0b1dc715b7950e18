// SPDX-License-Identifier: Apache-2.0
// Description of CPU, compiler and BLAS, and the choice of OpenBLAS kernels. OpenBLAS chooses its
// kernels when it is loaded, from a list of CPUs. On a CPU newer than the list it may choose SSE3
// kernels, which are several times slower. The environment can override this before the start.
#include "driver/backend.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>
#include <slicesort/detail/host/isa.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#ifdef SLICESORT_BENCH_BLAS
// Null with another BLAS than OpenBLAS.
extern "C" char* openblas_get_config() __attribute__((weak));
extern "C" char* openblas_get_corename() __attribute__((weak));
#endif

namespace bench {

namespace {

// Vector extensions in ascending order.
enum class vectors { sse, avx2, avx512 };

constexpr char const* kernels_variable = "OPENBLAS_CORETYPE";
// Environment variable with the kernels that OpenBLAS chose by default, set before a restart.
constexpr char const* default_kernels_variable = "SLICESORT_BENCH_OPENBLAS_CHOSE";

std::string value_of(char const* variable) {
  char const* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

std::string kernels() {
#ifdef SLICESORT_BENCH_BLAS
  if (openblas_get_corename != nullptr) return openblas_get_corename();
#endif
  return {};
}

// Vector extension that OpenBLAS kernels for x86 use. Names in no list count as AVX-512.
vectors used_by(std::string const& name) {
  static constexpr std::array sse{"Katmai",   "Coppermine",  "Northwood",    "Banias",
                                  "Prescott", "Core2",       "Penryn",       "Dunnington",
                                  "Nehalem",  "Sandybridge", "Atom",         "Nano",
                                  "Athlon",   "Opteron",     "Opteron_SSE3", "Barcelona",
                                  "Bobcat",   "Bulldozer",   "Piledriver",   "Steamroller"};
  static constexpr std::array avx2{"Excavator", "Haswell", "Zen"};
  if (std::find(sse.begin(), sse.end(), name) != sse.end()) return vectors::sse;
  if (std::find(avx2.begin(), avx2.end(), name) != avx2.end()) return vectors::avx2;
  return vectors::avx512;
}

// Vector extension of this CPU that the system has enabled.
vectors enabled() {
#if defined(__x86_64__)
  bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx2) return avx512 ? vectors::avx512 : vectors::avx2;
#endif
  return vectors::sse;
}

// Name, version and kernels.
std::string describe_blas() {
#ifdef SLICESORT_BENCH_BLAS
  if (openblas_get_config == nullptr) return SLICESORT_BENCH_BLAS;
  std::istringstream config(openblas_get_config());
  std::string name, release;
  config >> name >> release;
  std::string description = name + ' ' + release;
  if (!kernels().empty()) description += ", " + kernels() + " kernels";
  if (std::string const other = value_of(default_kernels_variable); !other.empty())
    description += " (by itself: " + other + ')';
  return description;
#else
  return "plain loops";
#endif
}

// A warning if the kernels leave a vector extension of this CPU unused; else empty.
std::string blas_warning() {
  if (kernels().empty() || used_by(kernels()) >= enabled()) return {};
  std::string warning = "they leave this processor's ";
  warning += enabled() == vectors::avx512 ? "AVX-512 unused" : "AVX2 unused";
  if (!value_of(default_kernels_variable).empty()) return warning + ", and OpenBLAS has no others";
  if (std::string const value = value_of(kernels_variable); !value.empty())
    warning += std::string(", since ") + kernels_variable + '=' + value + " is set";
  return warning;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

}  // namespace

// Restarts this program with the same arguments if OpenBLAS would run kernels of an older CPU. An
// OPENBLAS_CORETYPE set by the user is left unchanged.
void prepare_process(char** argv) {
  std::string const chosen = kernels();
  if (chosen.empty() || !value_of(kernels_variable).empty() || used_by(chosen) >= enabled()) return;
  setenv(kernels_variable, enabled() == vectors::avx512 ? "SKYLAKEX" : "HASWELL", 1);
  setenv(default_kernels_variable, chosen.c_str(), 1);
  execv("/proc/self/exe", argv);
  unsetenv(kernels_variable);  // execv failed
  unsetenv(default_kernels_variable);
}

void describe_machine() {
  // A program with only user-defined operators uses no BLAS.
  auto const& cases = all_cases();
  if (std::any_of(cases.begin(), cases.end(),
                  [](bench_case const& c) { return c.params.subject == "softmax_attention"; })) {
    benchmark::AddCustomContext("blas", describe_blas());
    if (std::string const warning = blas_warning(); !warning.empty())
      benchmark::AddCustomContext("weak_blas", warning);
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
