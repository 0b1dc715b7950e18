// SPDX-License-Identifier: Apache-2.0
/// Execution policies: where an operator runs. The first argument of every call.
#pragma once

#include <slicesort/detail/core/config.hpp>

#include <thread>
#include <type_traits>
#include <utility>

struct CUstream_st;  // declared here, so no CUDA header is needed

SLICESORT_TYPES_BEGIN

/// Instruction set of the host backend. `best` selects the best one that the processor supports.
/// Results do not depend on it, except with `products::native`.
enum class isa { best, portable, avx2, avx512 };

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// `host_memory`: true if the calling thread may read the memory of the views.
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

/// Runs on the calling thread, or on `threads` threads (0 is an error), at most one per task. The
/// workspace grows with `threads` up to the same limit; results do not depend on it. Threads beyond
/// the first are started for each call, which allocates and may throw `std::system_error`. To avoid
/// both, pass your own pool to `host_on`. With a standard library without threads (MinGW's Win32
/// model before g++ 13), the calling thread does their work.
struct host {
  using backend = detail::host_backend;

  unsigned threads = 1;
  isa instructions = isa::best;

  /// Calls `f(thread)` once for every thread in `[0, thread_count)`.
  template <class F>
  SLICESORT_ABI_TAG void parallel_for(unsigned thread_count, F const& f) const;
};

/// Runs on the caller's thread pool: a type with `parallel_for(n, f)`, which calls `f(i)` once for
/// every `i` in `[0, n)`, in any order, on any threads, and returns when all are done. `threads` is
/// the `n` of these calls; by default `executor.concurrency()` if that exists, else the number of
/// hardware threads. The executor is held by reference and must outlive the policy.
template <class Executor>
struct host_on {
  using backend = detail::host_backend;

  unsigned threads = 1;
  isa instructions = isa::best;

  SLICESORT_ABI_TAG explicit host_on(Executor& executor)
      : threads(detail::concurrency_of(executor)), executor_(&executor) {}
  SLICESORT_ABI_TAG host_on(Executor& executor, unsigned thread_count, isa set = isa::best)
      : threads(thread_count), instructions(set), executor_(&executor) {}

  template <class F>
  SLICESORT_ABI_TAG void parallel_for(unsigned n, F const& f) const {
    executor_->parallel_for(n, f);
  }

 private:
  Executor* executor_;
};

/// Runs on a CUDA stream (`cudaStream_t`; null is the default stream). The policy itself needs no
/// CUDA header, but a call with it needs `slicesort/cuda.cuh` and a CUDA compiler. Every view,
/// lengths and workspace included, must be in memory that the stream's device can access. A call
/// enqueues its work on the stream and returns. It never waits or reads device memory on the host,
/// and allocates only if the workspace must grow. With a fixed workspace it can be captured in a
/// CUDA graph. Lengths are clamped instead of checked.
template <class... Selectors>
struct basic_cuda {
  using backend = detail::cuda_backend;

  CUstream_st* stream = nullptr;

  /// Returns this stream with tuning selectors added. A selector is a stateless type whose call
  /// operator takes `(device_info, std::size_t element_bytes, Tuning)` and returns the tuning to
  /// use (see `tuning.hpp`). Tuning never changes a result.
  template <class... More>
  SLICESORT_ABI_TAG constexpr basic_cuda<Selectors..., More...> tune(More...) const {
    return {stream};
  }
};
/// Runs on a CUDA stream with the default tuning: `exec::cuda{stream}`.
using cuda = basic_cuda<>;

/// Checks a call without running it: `op.forward(exec::dry_run{exec}, x, y, memory)` returns the
/// `status` that the call with `exec` would report; it is true if the call would be accepted.
/// `op.workspace_bytes<T>(exec::dry_run{exec}, extents)` works alike.
template <class Exec>
struct dry_run {
  using backend = typename Exec::backend;

  Exec exec;
};
template <class Exec>
dry_run(Exec) -> dry_run<Exec>;

}  // namespace exec

template <class F>
SLICESORT_ABI_TAG void exec::host::parallel_for(unsigned thread_count, F const& f) const {
  if (thread_count <= 1) {
    if (thread_count == 1) f(0u);
    return;
  }
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)
  for (unsigned thread = 0; thread < thread_count; ++thread) f(thread);
#else
  // Joins the started threads on every exit path, including when starting another thread throws.
  struct team {
    std::thread* members;
    unsigned started = 0;
    ~team() {
      for (unsigned i = 0; i < started; ++i) members[i].join();
      delete[] members;
    }
  } workers{new std::thread[thread_count - 1]};
  for (unsigned thread = 1; thread < thread_count; ++thread) {
    workers.members[workers.started] = std::thread([&f, thread] { f(thread); });
    ++workers.started;
  }
  f(0u);
#endif
}

SLICESORT_TYPES_END
