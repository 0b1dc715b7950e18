// SPDX-License-Identifier: Apache-2.0
/// Tuning of the CUDA backend: plain numbers, chosen by a constexpr function of the device and the
/// element size. They say how fast, never what: any values give the same results.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// What tuning may depend on. Filled from the device that a call runs on.
struct device_info {
  int architecture = 80;              ///< 10 * major + minor of the compute capability
  int processors = 108;               ///< streaming multiprocessors
  std::size_t shared_bytes = 166912;  ///< the most shared memory that one block can have
};

/// What all operators read. Values out of range are clamped.
struct grid_tuning {
  /// Elements that the workspace holds at a time, where it holds some.
  index_t chunk_elements;
  /// Workspace for blocks whose shared memory is too small.
  std::size_t scratch_bytes;
  /// Threads per block in kernels that give each thread a few elements: a power of two, 32..256.
  int element_threads;
};

/// The default grid_tuning.
SLICESORT_ABI_TAG constexpr grid_tuning default_grid_tuning(device_info, std::size_t) {
  grid_tuning t{};
  t.chunk_elements = index_t{1} << 24;
  t.scratch_bytes = std::size_t{1} << 28;
  t.element_threads = 256;
  return t;
}

/// How columns, and the row groups of `csp`, are sorted. Values out of range are clamped.
struct sort_tuning {
  /// Columns up to this length are sorted in one thread's registers: at most 64, or 128 for
  /// 16-bit elements and 32 for 64-bit ones.
  index_t register_rows;
  /// Threads per block when sorting in registers: a multiple of 32, 32..128.
  int register_threads;
  /// Columns per block when sorting in shared memory, if they fit: a power of two up to 32.
  int tile_columns;
  /// Most threads per block when sorting in shared memory: a power of two, 32..512.
  int tile_threads;
  /// Shared memory that a block may fill with more than one column.
  std::size_t tile_bytes;
  /// Most rows that a block sorts; longer columns are merged from runs.
  index_t run_rows;
  /// Threads per block when merging runs: a power of two, 32..512.
  int merge_threads;
  /// Sort columns of up to two runs by two blocks, on devices that can.
  bool clusters;
  /// Threads per block for short groups that are sorted without staging whole columns in shared
  /// memory: a power of two, 32..256.
  int group_threads;
  /// Rows per thread for such groups (at least one whole group): 1..1024.
  int group_rows;
};

/// The default sort_tuning. A tile row is a whole 32-byte sector of memory; two tiles share a
/// processor as long as that does not make them narrower.
SLICESORT_ABI_TAG constexpr sort_tuning default_sort_tuning(device_info device,
                                                            std::size_t element_bytes) {
  sort_tuning t{};
  t.register_rows = element_bytes == 2 ? 128 : element_bytes == 4 ? 64 : 32;
  t.register_threads = 128;
  t.tile_columns = element_bytes == 2 ? 16 : element_bytes == 4 ? 8 : 4;
  t.tile_threads = 512;
  t.tile_bytes = device.shared_bytes;
  t.run_rows = 32768;
  t.merge_threads = 256;
  t.clusters = true;
  t.group_threads = 128;
  t.group_rows = 32;
  return t;
}

/// How columns are permuted, by `shuffle` and by most backward passes. Values out of range are
/// clamped.
struct permute_tuning {
  /// Columns per block when several blocks share a processor: a power of two; a block takes more
  /// if columns are short.
  int tile_columns;
  /// Most shared memory per block when several share a processor.
  std::size_t shared_tile_bytes;
  /// Columns per block even if they need all shared memory.
  int least_columns;
  /// If fewer columns fit in a block, elements are moved directly from global to global memory
  /// where possible.
  int worthwhile_columns;
  /// Most threads per block: a power of two, 32..1024.
  int tile_threads;
  /// Elements that are worth another thread.
  int tile_elements;
  /// Neighboring columns per block when elements are moved directly: a power of two up to 32.
  int direct_columns;
  /// Cache that `direct_columns` columns may fill; a block takes fewer of longer columns, but no
  /// less than 32 bytes of a row.
  std::size_t direct_bytes;
};

/// The default permute_tuning. A tile row is a whole 128-byte line of memory, or at least a
/// 32-byte sector.
SLICESORT_ABI_TAG constexpr permute_tuning default_permute_tuning(device_info device,
                                                                  std::size_t element_bytes) {
  permute_tuning t{};
  t.tile_columns = element_bytes == 2 ? 64 : element_bytes == 4 ? 32 : 16;
  t.shared_tile_bytes = device.shared_bytes / 2 - 512;  // a processor keeps 1 KB for every block
  t.least_columns = t.tile_columns / 4;
  t.worthwhile_columns = 4;
  t.tile_threads = 1024;
  t.tile_elements = 8;
  t.direct_columns = 32;
  t.direct_bytes = std::size_t{8} << 20;
  return t;
}

/// How `sparse_mix` applies its factors. Values out of range are clamped.
struct mix_tuning {
  /// Shared memory per block when a chain of factors runs in one kernel, with all rows of some
  /// channels; several channel groups take up to half.
  std::size_t tile_bytes;
  /// A block may have this many threads even if that leaves processors with fewer than two blocks
  /// each.
  int tile_threads;
  /// Most threads side by side along a row, four channels each, when every factor is a kernel: a
  /// power of two up to 32.
  int channel_threads;
  /// How few threads side by side a block may have so that `cache_bytes` suffice: a power of two.
  int min_channel_threads;
  /// L2 cache that the rows which concurrent blocks read may fill.
  std::size_t cache_bytes;
  /// Factors per step of backward with the gradient of the weights; the workspace holds the
  /// gradients between them.
  int backward_factors;
};

/// The default mix_tuning.
SLICESORT_ABI_TAG constexpr mix_tuning default_mix_tuning(device_info device, std::size_t) {
  mix_tuning t{};
  t.tile_bytes = device.shared_bytes;
  t.tile_threads = 128;
  t.channel_threads = 32;
  t.min_channel_threads = 8;
  t.cache_bytes = std::size_t{1} << 24;
  t.backward_factors = 4;
  return t;
}

/// How `softmax_attention` with `streaming` runs. Values out of range are clamped; small tensors
/// and devices with little shared memory get fewer warps and buffers.
struct attention_tuning {
  /// Warps per block of forward: 1, 2 or 4.
  int forward_warps;
  /// Warps per block for the gradients of keys and values: 1, 2, 4 or 8.
  int backward_kv_warps;
  /// Warps per block for the gradients of queries and bias: 1, 2 or 4.
  int backward_q_warps;
  /// 2: backward loads the next tile during the current one; 1: it does not.
  int backward_buffers;
};

/// The default attention_tuning.
SLICESORT_ABI_TAG constexpr attention_tuning default_attention_tuning(device_info, std::size_t) {
  attention_tuning t{};
  t.forward_warps = 4;
  t.backward_kv_warps = 8;
  t.backward_q_warps = 4;
  t.backward_buffers = 2;
  return t;
}

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// The tuning that the selectors in a policy make of the default: every one that can be called with
// (device, element bytes, tuning) is, in the order given.
template <class Tuning>
constexpr Tuning tuned(device_info, std::size_t, Tuning t) {
  return t;
}
template <class Tuning, class Selector, class... More>
constexpr Tuning tuned(device_info device, std::size_t element_bytes, Tuning t,
                       Selector const& select, More const&... more) {
  if constexpr (std::is_invocable_r_v<Tuning, Selector const&, device_info, std::size_t, Tuning>)
    t = select(device, element_bytes, t);
  return tuned(device, element_bytes, t, more...);
}

SLICESORT_DETAIL_END
