// SPDX-License-Identifier: Apache-2.0
// Backends of the operator tests: the host backend with each instruction set, the CUDA kernels on
// the block executor with many tunings and schedules, and the CUDA backend in programs linked with
// it. SLICESORT_TEST_BACKEND=host, blocks or cuda in the environment selects one of them; the
// default is host and blocks.
//
// Programs that use this list must `#define SLICESORT_TEST_EVERY_BACKEND` before their includes:
// tests/cuda.cmake finds that line and runs them again on a GPU.
#pragma once

#include "any_exec.hpp"
#include "sanitizers.hpp"
#include "tunings.hpp"
#if defined(SLICESORT_TEST_CUDA)
#  include "cuda/backend/share.hpp"
#endif

#include <slicesort/detail/host/isa.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

namespace ss = slicesort;

// True if SLICESORT_FULL=1 in the environment requests exhaustive tests instead of samples.
inline bool full_suite() {
  char const* value = std::getenv("SLICESORT_FULL");
  return value != nullptr && value[0] == '1';
}

// Returns the backend that the environment selects, if any. Aborts if the program lacks it, since
// its tests would pass without any call.
inline std::optional<backend_kind> selected_backend() {
  char const* const value = std::getenv("SLICESORT_TEST_BACKEND");
  std::string const name = value == nullptr ? "" : value;
  if (name.empty()) return {};
  if (name == "host") return backend_kind::host;
#if !defined(SLICESORT_TEST_HOST_ONLY)
  if (name == "blocks") return backend_kind::blocks;
#endif
#if defined(SLICESORT_TEST_CUDA)
  if (name == "cuda") return backend_kind::cuda;
#endif
  std::fprintf(stderr, "SLICESORT_TEST_BACKEND is %s, which is no backend of this program\n",
               name.c_str());
  std::abort();
}
// True if the backend is tested. Decorators of test cases may call this before main.
inline bool testing(backend_kind kind) {
  static std::optional<backend_kind> const selected = selected_backend();
  if (selected.has_value()) return kind == *selected;
#if defined(SLICESORT_TEST_HOST_ONLY)
  return kind == backend_kind::host;
#else
  return kind != backend_kind::cuda;
#endif
}

inline std::vector<ss::isa> available_isas() {
  std::vector<ss::isa> sets;
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512})
    if (ss::detail::is_isa_available(set)) sets.push_back(set);
  // Threads share the same memory with each set, so ThreadSanitizer tests the widest one.
  if (SLICESORT_TEST_TSAN) return {sets.back()};
  return sets;
}
// The narrowest and the widest instruction set.
inline std::vector<ss::isa> portable_and_best_isa() {
  if (SLICESORT_TEST_TSAN) return {ss::isa::best};
  return {ss::isa::portable, ss::isa::best};
}

// Large and small devices with their default tuning, then every other tuning.
inline std::vector<block_exec> const& block_execs() {
  static std::vector<block_exec> const execs = [] {
    std::vector<block_exec> list;
    block_exec exec;
    exec.name = "sm_80";
    list.push_back(exec);
    exec.name = "sm_90";
    exec.device = {90, 132, 232448};
    exec.fast_double = true;
    block_exec const sm_90 = exec;
    list.push_back(exec);
    exec.name = "48 KB of shared memory";
    exec.device = {75, 30, 49152};
    exec.fast_double = false;
    list.push_back(exec);
    for (named_tuning const& t : tunings::list) {
      exec.name = t.name;
      exec.device = t.clusters ? sm_90.device : slicesort::device_info{};
      exec.tune = t.tune;
      exec.fast_double = !exec.fast_double;
      list.push_back(exec);
    }
    for (block_exec& entry : list) entry.seed = static_cast<std::uint64_t>(&entry - list.data());
    return list;
  }();
  return execs;
}
// Selects one of block_execs() by a hash of `selector`.
inline block_exec select_block_exec(std::uint64_t selector) {
  auto const& execs = block_execs();
  block_exec exec = execs[(selector * 0x9e3779b97f4a7c15u >> 32) % execs.size()];
  exec.seed = selector;
  return exec;
}

#if defined(SLICESORT_TEST_CUDA)
// Selects a tuning by a hash of `selector`; half of the time the default one.
inline cuda_exec select_cuda_exec(std::uint64_t selector) {
  constexpr std::size_t count = sizeof tunings::list / sizeof tunings::list[0];
  std::size_t const i = (selector * 0x9e3779b97f4a7c15u >> 32) % (2 * count);
  if (i >= count) return {};
  return {tunings::list[i].name, tunings::list[i].tune};
}
#endif

#if defined(SLICESORT_TEST_EVERY_BACKEND)
constexpr bool program_is_marked = true;
#else
constexpr bool program_is_marked = false;
#endif

// Calls f(any_exec) for each backend except the host. A hash of `selector` selects the tuning.
template <class F>
void for_each_grid(std::uint64_t selector, F const& f) {
  static_assert(sizeof(F) != 0 && program_is_marked,
                "a test of every backend says #define SLICESORT_TEST_EVERY_BACKEND first, so that "
                "it also runs on a GPU");
  // AddressSanitizer makes fibers five times slower, so it samples every third problem.
  // ThreadSanitizer needs a thread per CUDA thread, which executor/kernels.cpp tests.
  bool const is_sampled =
      SLICESORT_TEST_TSAN == 0 && (SLICESORT_TEST_ASAN == 0 || full_suite() || selector % 3 == 0);
  if (testing(backend_kind::blocks) && is_sampled) f(any_exec(select_block_exec(selector)));
#if defined(SLICESORT_TEST_CUDA)
  if (testing(backend_kind::cuda) && select_next_case()) f(any_exec(select_cuda_exec(selector)));
#endif
}
// Calls f for the grid backends and for every instruction set of the host backend.
template <class F>
void for_each_backend(std::uint64_t selector, F const& f) {
  unsigned const threads = SLICESORT_TEST_TSAN ? 2 : 1;
  if (testing(backend_kind::host))
    for (ss::isa set : available_isas()) f(any_exec(ss::exec::host{threads, set}));
  for_each_grid(selector, f);
}
// Calls f for the grid backends and once for the host backend.
template <class F>
void for_each_backend_once(std::uint64_t selector, F const& f) {
  if (testing(backend_kind::host)) f(any_exec(ss::exec::host{2}));
  for_each_grid(selector, f);
}
// Calls f once for each backend, with the default tuning.
template <class F>
void for_each_backend_untuned(F const& f) {
  static_assert(sizeof(F) != 0 && program_is_marked, "see for_each_grid");
  if (testing(backend_kind::host)) f(any_exec(ss::exec::host{2}));
  if (testing(backend_kind::blocks) && SLICESORT_TEST_TSAN == 0) f(any_exec(block_execs()[1]));
#if defined(SLICESORT_TEST_CUDA)
  if (testing(backend_kind::cuda)) f(any_exec(cuda_exec{}));
#endif
}

inline std::string describe_exec(any_exec const& exec) { return " on " + describe(exec); }

}  // namespace support
