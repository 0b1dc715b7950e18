// SPDX-License-Identifier: Apache-2.0
// Launches a kernel that can ask for too much, or trap.
#include "bad_launches.hpp"

#include <slicesort/detail/cuda/launch.cuh>

namespace support {

namespace {

namespace detail = slicesort::detail;

struct failing_kernel {
  static constexpr int max_threads = 1024;
  std::size_t shared_bytes = 0;
  bool traps = false;

  template <class SharedAllocator>
  SLICESORT_HD int shared(SharedAllocator& shared_memory) const {
    shared_memory.template allocate<unsigned char>(shared_bytes);
    return 0;
  }
  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
#if defined(__CUDA_ARCH__)
    if (traps && block.rank() == 0) __trap();
#else
    (void)block;
#endif
  }
};

void launch(CUstream_st* stream, failing_kernel kernel, int threads) {
  detail::cuda_grid const grid(slicesort::exec::cuda{stream});
  grid.run(kernel, 1, threads);
}

}  // namespace

void launch_too_many_threads(CUstream_st* stream) { launch(stream, {}, 4096); }
void launch_too_much_shared(CUstream_st* stream) { launch(stream, {std::size_t{1} << 24}, 32); }
void launch_valid(CUstream_st* stream) { launch(stream, {std::size_t{1} << 16}, 32); }
void launch_trap(CUstream_st* stream) { launch(stream, {0, true}, 32); }

}  // namespace support
