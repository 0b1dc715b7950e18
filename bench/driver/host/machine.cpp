// SPDX-License-Identifier: Apache-2.0
// The machine and the build, as far as the host backend is concerned; and the BLAS that multiplies
// the matrices of materialized attention. OpenBLAS chooses its kernels while it is loaded, by a
// list of processors. On one that is newer than the list it may take kernels for SSE3, several
// times as slow. The environment can name others, but only before the program starts.
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
// OpenBLAS's description of itself and of its kernels; null with another BLAS.
extern "C" char* openblas_get_config() __attribute__((weak));
extern "C" char* openblas_get_corename() __attribute__((weak));
#endif

namespace bench {

namespace {

// Vector extensions in rising order.
enum class vectors { sse, avx2, avx512 };

constexpr char const* environment = "OPENBLAS_CORETYPE";
// Holds the kernels that OpenBLAS chose by itself, in a program that was started anew.
constexpr char const* own_choice = "SLICESORT_BENCH_OPENBLAS_CHOSE";

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

// Extensions that kernels of x86 use. A name that is not listed counts as newer than these lists.
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

// Extensions of this processor that the system has enabled.
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
  std::string said = name + ' ' + release;
  if (!kernels().empty()) said += ", " + kernels() + " kernels";
  if (std::string const other = value_of(own_choice); !other.empty())
    said += " (by itself: " + other + ')';
  return said;
#else
  return "plain loops";
#endif
}

// Names the processor's vector extension that the kernels leave unused. Empty if there is none.
std::string blas_complaint() {
  if (kernels().empty() || used_by(kernels()) >= enabled()) return {};
  std::string said = "they leave this processor's ";
  said += enabled() == vectors::avx512 ? "AVX-512 unused" : "AVX2 unused";
  if (!value_of(own_choice).empty()) return said + ", and OpenBLAS has no others";
  if (std::string const asked = value_of(environment); !asked.empty())
    said += std::string(", since ") + environment + '=' + asked + " is set";
  return said;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

}  // namespace

// Starts this program anew, with the same arguments, if OpenBLAS would run kernels of an older
// processor than this one; else returns. OPENBLAS_CORETYPE, if it is set, is left as it is.
void prepare_process(char** argv) {
  std::string const chosen = kernels();
  if (chosen.empty() || !value_of(environment).empty() || used_by(chosen) >= enabled()) return;
  setenv(environment, enabled() == vectors::avx512 ? "SKYLAKEX" : "HASWELL", 1);
  setenv(own_choice, chosen.c_str(), 1);
  execv("/proc/self/exe", argv);
  unsetenv(environment);  // the system cannot start a program anew
  unsetenv(own_choice);
}

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
