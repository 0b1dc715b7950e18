// SPDX-License-Identifier: Apache-2.0
// The one list of backends that the operator tests run on: the host backend, its instruction sets;
// the CUDA kernels on the block executor, with many tunings and schedules; and, in programs that
// are linked with it, the CUDA backend. SLICESORT_TEST_BACKEND=host, blocks or cuda in the
// environment leaves only that one; else it is host and blocks.
//
// A program that runs on this list says `#define SLICESORT_TEST_EVERY_BACKEND` before its includes:
// by that line tests/cuda.cmake finds what to run on a GPU once more. Without the line it does not
// compile.
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
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

namespace ss = slicesort;

// SLICESORT_FULL=1 in the environment asks for the whole of what the fast suite samples.
inline bool full_suite() {
  char const* value = std::getenv("SLICESORT_FULL");
  return value != nullptr && value[0] == '1';
}

inline bool testing(backend_kind kind) {
  static std::string const wanted = [] {
    char const* const value = std::getenv("SLICESORT_TEST_BACKEND");
    return std::string(value == nullptr ? "" : value);
  }();
#if defined(SLICESORT_TEST_HOST_ONLY)
  if (kind == backend_kind::blocks) return false;
#endif
  constexpr char const* names[] = {"host", "blocks", "cuda"};
  return wanted.empty() ? kind != backend_kind::cuda : wanted == names[static_cast<int>(kind)];
}

inline std::vector<ss::isa> available_isas() {
  std::vector<ss::isa> sets;
  for (ss::isa set : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512})
    if (ss::detail::isa_available(set)) sets.push_back(set);
  return sets;
}

// Devices large and small with the tuning that they get by themselves, then every other tuning.
inline std::vector<block_exec> const& block_execs() {
  static std::vector<block_exec> const all = [] {
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
    for (named_tuning const& t : tunings::all) {
      exec.name = t.name;
      exec.device = t.clusters ? sm_90.device : slicesort::device_info{};
      exec.tune = t.tune;
      exec.fast_double = !exec.fast_double;
      list.push_back(exec);
    }
    for (block_exec& one : list) one.seed = static_cast<std::uint64_t>(&one - list.data());
    return list;
  }();
  return all;
}
// One of block_execs(): always the same one for the same number, and all of them over many numbers.
inline block_exec block_exec_number(std::uint64_t n) {
  auto const& all = block_execs();
  block_exec exec = all[(n * 0x9e3779b97f4a7c15u >> 32) % all.size()];
  exec.seed = n;
  return exec;
}

#if defined(SLICESORT_TEST_CUDA)
// The default tuning every other time.
inline cuda_exec cuda_exec_number(std::uint64_t n) {
  constexpr std::size_t count = sizeof tunings::all / sizeof tunings::all[0];
  std::size_t const i = (n * 0x9e3779b97f4a7c15u >> 32) % (2 * count);
  if (i >= count) return {};
  return {tunings::all[i].name, tunings::all[i].tune};
}
#endif

#if defined(SLICESORT_TEST_EVERY_BACKEND)
constexpr bool program_is_marked = true;
#else
constexpr bool program_is_marked = false;
#endif

// f(any_exec) for each backend but the host's, in one way that `number` chooses.
template <class F>
void for_each_grid(std::uint64_t number, F const& f) {
  static_assert(sizeof(F) != 0 && program_is_marked,
                "a test of every backend says #define SLICESORT_TEST_EVERY_BACKEND first, so that "
                "it also runs on a GPU");
  // Under AddressSanitizer fibers take five times as long: every third problem will do. Under
  // ThreadSanitizer every CUDA thread is a thread: executor/kernels.cpp does that.
  bool const sampled =
      SLICESORT_TEST_TSAN == 0 && (SLICESORT_TEST_ASAN == 0 || full_suite() || number % 3 == 0);
  if (testing(backend_kind::blocks) && sampled) f(any_exec(block_exec_number(number)));
#if defined(SLICESORT_TEST_CUDA)
  if (testing(backend_kind::cuda) && in_share()) f(any_exec(cuda_exec_number(number)));
#endif
}
// Calls f for the grids, and for every instruction set of the host backend.
template <class F>
void for_each_backend(std::uint64_t number, F const& f) {
  if (testing(backend_kind::host))
    for (ss::isa set : available_isas()) f(any_exec(ss::exec::host{1, set}));
  for_each_grid(number, f);
}
// Calls f for the grids, and once for the host backend.
template <class F>
void for_each_backend_once(std::uint64_t number, F const& f) {
  if (testing(backend_kind::host)) f(any_exec(ss::exec::host{2}));
  for_each_grid(number, f);
}
// Calls f once for each backend, with the tuning that it has by itself.
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
