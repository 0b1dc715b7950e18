// SPDX-License-Identifier: Apache-2.0
/// Execution policies: where an operator runs. The first argument of every call.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <thread>
#include <type_traits>
#include <utility>

struct CUstream_st;  // the CUDA stream's own type: naming it needs no CUDA header

SLICESORT_TYPES_BEGIN

/// The instruction set of the host backend. `best` asks the processor. The result never depends on
/// it.
enum class isa { best, portable, avx2, avx512 };

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// `host_memory`: whether the calling thread may read what the views point to.
struct host_backend {
  static constexpr bool host_memory = true;
};
struct cuda_backend {
  static constexpr bool host_memory = false;
};

template <class E, class = void>
inline constexpr bool has_concurrency = false;
template <class E>
inline constexpr bool has_concurrency<E, decltype(void(std::declval<E const&>().concurrency()))> =
    true;

inline unsigned hardware_threads() {
  unsigned const n = std::thread::hardware_concurrency();
  return n == 0 ? 1u : n;
}

template <class E>
unsigned concurrency_of(E const& executor) {
  if constexpr (has_concurrency<E>)
    return static_cast<unsigned>(executor.concurrency());
  else
    return hardware_threads();
}

SLICESORT_DETAIL_END

SLICESORT_TYPES_BEGIN

namespace exec {

/// The calling thread, or `threads` threads (0 is an error), but no more than the call has tasks:
/// any number is accepted, and a very large one starts a thread for every task. The workspace grows
/// with `threads` up to the same limit; results do not depend on it. Threads beyond the first are
/// started for each call, which allocates and may throw `std::system_error`. `host_on` with a pool
/// of yours does neither.
struct host {
  using backend = detail::host_backend;

  unsigned threads = 1;
  isa instructions = isa::best;

  /// Calls `f(slot)` for every slot in `[0, slots)`, each once.
  template <class F>
  SLICESORT_ABI_TAG void parallel_for(unsigned slots, F const& f) const;
};

/// The caller's own thread pool: anything with `parallel_for(n, f)` that calls `f(i)` once for
/// every `i` in `[0, n)`, in any order, on any threads, and returns when all are done. `threads` is
/// how many parts the work is cut into (and how many slots the workspace has); by default
/// `executor.concurrency()` where that exists, else the number of hardware threads.
/// The executor is held by reference and must outlive the policy.
template <class Executor>
struct host_on {
  using backend = detail::host_backend;

  unsigned threads = 1;
  isa instructions = isa::best;

  SLICESORT_ABI_TAG explicit host_on(Executor& executor)
      : threads(detail::concurrency_of(executor)), executor_(&executor) {}
  SLICESORT_ABI_TAG host_on(Executor& executor, unsigned parts, isa set = isa::best)
      : threads(parts), instructions(set), executor_(&executor) {}

  template <class F>
  SLICESORT_ABI_TAG void parallel_for(unsigned slots, F const& f) const {
    executor_->parallel_for(slots, f);
  }

 private:
  Executor* executor_;
};

/// A CUDA stream (`cudaStream_t`; null is the default stream). It can be named, stored and passed
/// without any CUDA header; an operator called with it needs `slicesort/cuda.cuh` and a CUDA
/// compiler. Every view, lengths and workspace included, must lie in memory that the stream's
/// device can read. A call enqueues its work on the stream and returns: it never allocates, waits,
/// or looks at device memory, so it can be captured in a graph. Lengths are therefore not checked;
/// one out of range is clamped.
template <class... Selectors>
struct basic_cuda {
  using backend = detail::cuda_backend;

  CUstream_st* stream = nullptr;

  /// This stream with selectors of tuning added. A selector is a stateless type whose call operator
  /// takes `(device_info, std::size_t element_bytes, Tuning)` and returns the tuning to use (see
  /// `tuning.hpp`). Tuning never changes a result.
  template <class... More>
  SLICESORT_ABI_TAG constexpr basic_cuda<Selectors..., More...> tune(More...) const {
    return {stream};
  }
};
using cuda = basic_cuda<>;

/// A call with this policy is checked and not run: it returns the `status` that a call with `exec`
/// would report, true if it would be accepted. `op.forward(exec::dry_run{exec}, x, y, memory)`, and
/// `op.workspace_bytes<T>(exec::dry_run{exec}, extents)` likewise.
template <class Exec>
struct dry_run {
  using backend = typename Exec::backend;

  Exec exec;
};
template <class Exec>
dry_run(Exec) -> dry_run<Exec>;

}  // namespace exec

template <class F>
SLICESORT_ABI_TAG void exec::host::parallel_for(unsigned slots, F const& f) const {
  if (slots <= 1) {
    if (slots == 1) f(0u);
    return;
  }
  // Threads are joined before returning, whatever happens while the others start.
  struct team {
    std::thread* threads;
    unsigned started = 0;
    ~team() {
      for (unsigned i = 0; i < started; ++i) threads[i].join();
      delete[] threads;
    }
  } t{new std::thread[slots - 1]};
  for (unsigned slot = 1; slot < slots; ++slot) {
    t.threads[t.started] = std::thread([&f, slot] { f(slot); });
    ++t.started;
  }
  f(0u);
}

SLICESORT_TYPES_END
