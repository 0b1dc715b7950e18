// SPDX-License-Identifier: Apache-2.0
// Describes CPU, compiler and BLAS, and corrects the choice of OpenBLAS kernels. OpenBLAS chooses
// its kernels when it is loaded, from a list of CPUs. On a CPU newer than the list it may choose
// SSE3 kernels, which are several times slower. An environment variable, set before the start,
// overrides the choice.
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
// Null if the BLAS is not OpenBLAS.
extern "C" char* openblas_get_config() __attribute__((weak));
extern "C" char* openblas_get_corename() __attribute__((weak));
#endif

namespace bench {

namespace {

// Vector extensions in ascending order.
enum class vector_extension { sse, avx2, avx512 };

constexpr char const* kernels_variable = "OPENBLAS_CORETYPE";
// Environment variable with the kernels that OpenBLAS chose by default, set before a restart.
constexpr char const* default_kernels_variable = "SLICESORT_BENCH_OPENBLAS_CHOSE";

std::string environment_value(char const* variable) {
  char const* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// Name of the CPU whose OpenBLAS kernels run; empty with another BLAS.
std::string kernel_name() {
#ifdef SLICESORT_BENCH_BLAS
  if (openblas_get_corename != nullptr) return openblas_get_corename();
#endif
  return {};
}

// Vector extension of OpenBLAS kernels for x86. Names in no list count as AVX-512.
vector_extension used_extension(std::string const& name) {
  static constexpr std::array sse{"Katmai",   "Coppermine",  "Northwood",    "Banias",
                                  "Prescott", "Core2",       "Penryn",       "Dunnington",
                                  "Nehalem",  "Sandybridge", "Atom",         "Nano",
                                  "Athlon",   "Opteron",     "Opteron_SSE3", "Barcelona",
                                  "Bobcat",   "Bulldozer",   "Piledriver",   "Steamroller"};
  static constexpr std::array avx2{"Excavator", "Haswell", "Zen"};
  if (std::find(sse.begin(), sse.end(), name) != sse.end()) return vector_extension::sse;
  if (std::find(avx2.begin(), avx2.end(), name) != avx2.end()) return vector_extension::avx2;
  return vector_extension::avx512;
}

// Vector extension of this CPU that the system has enabled.
vector_extension enabled_extension() {
#if defined(__x86_64__)
  bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx2) return avx512 ? vector_extension::avx512 : vector_extension::avx2;
#endif
  return vector_extension::sse;
}

// Returns name, version and kernels of the BLAS.
std::string describe_blas() {
#ifdef SLICESORT_BENCH_BLAS
  if (openblas_get_config == nullptr) return SLICESORT_BENCH_BLAS;
  std::istringstream config(openblas_get_config());
  std::string name, release;
  config >> name >> release;
  std::string description = name + ' ' + release;
  if (!kernel_name().empty()) description += ", " + kernel_name() + " kernels";
  if (std::string const default_kernels = environment_value(default_kernels_variable);
      !default_kernels.empty())
    description += " (by itself: " + default_kernels + ')';
  return description;
#else
  return "plain loops";
#endif
}

// Returns a warning if the kernels leave a vector extension of this CPU unused, else an empty
// string.
std::string blas_warning() {
  if (kernel_name().empty() || used_extension(kernel_name()) >= enabled_extension()) return {};
  std::string warning = "they leave this processor's ";
  warning += enabled_extension() == vector_extension::avx512 ? "AVX-512 unused" : "AVX2 unused";
  if (!environment_value(default_kernels_variable).empty())
    return warning + ", and OpenBLAS has no others";
  if (std::string const value = environment_value(kernels_variable); !value.empty())
    warning += std::string(", since ") + kernels_variable + '=' + value + " is set";
  return warning;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

}  // namespace

// Restarts this program with the same arguments if OpenBLAS would run kernels of an older CPU.
// Respects an OPENBLAS_CORETYPE set by the user.
void prepare_process(char** argv) {
  std::string const chosen = kernel_name();
  if (chosen.empty() || !environment_value(kernels_variable).empty() ||
      used_extension(chosen) >= enabled_extension())
    return;
  setenv(kernels_variable, enabled_extension() == vector_extension::avx512 ? "SKYLAKEX" : "HASWELL",
         1);
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
  benchmark::AddCustomContext("cpu", processor_name());
  benchmark::AddCustomContext("instruction_set",
                              ss::detail::isa_name(ss::detail::resolve_isa(ss::isa::best)));
#if defined(__clang__)
  benchmark::AddCustomContext("compiler", "clang " __clang_version__);
#elif defined(__GNUC__)
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
}

}  // namespace bench
