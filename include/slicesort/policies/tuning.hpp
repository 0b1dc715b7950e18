// SPDX-License-Identifier: Apache-2.0
/// Tuning of the CUDA backend: plain numbers, computed from the device and the element size. They
/// change the speed, never the results. Values out of range are clamped.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// Properties of the device that a call runs on, as input of tuning.
struct device_info {
  int architecture = 80;              ///< 10 * major + minor of the compute capability
  int sm_count = 108;                 ///< streaming multiprocessors
  std::size_t shared_bytes = 166912;  ///< maximum shared memory of a block
};

/// Tuning of all operators.
struct grid_tuning {
  /// Elements of tensors that the workspace holds at a time.
  index_t chunk_elements;
  /// Bytes of workspace for blocks whose shared memory is too small.
  std::size_t scratch_bytes;
  /// Threads per block in kernels that give each thread a few elements: a power of two, 32..256.
  int element_threads;
};

/// Tuning of all operators without selectors.
SLICESORT_ABI_TAG constexpr grid_tuning default_grid_tuning(device_info, std::size_t) {
  grid_tuning t{};
  t.chunk_elements = index_t{1} << 24;
  t.scratch_bytes = std::size_t{1} << 28;
  t.element_threads = 256;
  return t;
}

/// Tuning of the operators that sort columns, and of the row groups of `csp`.
struct sort_tuning {
  /// Longest columns to sort in one thread's registers: at most 64, or 128 for 16-bit elements and
  /// 32 for 64-bit ones.
  index_t register_rows;
  /// Threads per block when sorting in registers: a multiple of 32, 32..128.
  int register_threads;
  /// Columns per block when sorting in shared memory, if they fit: a power of two up to 32.
  int tile_columns;
  /// Maximum threads of a block whose tile fills the shared memory; smaller tiles, of which several
  /// share a multiprocessor, use a half or a quarter: a power of two, 32..512.
  int tile_threads;
  /// Maximum shared memory of a block with more than one column.
  std::size_t tile_bytes;
  /// Maximum rows that a block sorts; longer columns are merged from runs.
  index_t run_rows;
  /// Threads per block when merging runs: a power of two, 32..512.
  int merge_threads;
  /// True to sort columns of up to two runs with clusters of two blocks, if the device has
  /// clusters.
  bool clusters;
  /// Threads per block for short groups, which are sorted without staging whole columns in shared
  /// memory: a power of two, 32..256.
  int group_threads;
  /// Rows per thread for short groups (at least one whole group; half as many for pairs): 1..1024.
  int group_rows;
};

/// The default sort_tuning: the fastest on an H100 for most of the lengths measured
/// (docs/benchmarks). Four tiles share a multiprocessor.
SLICESORT_ABI_TAG constexpr sort_tuning default_sort_tuning(device_info device,
                                                            std::size_t element_bytes) {
  sort_tuning t{};
  t.register_rows = element_bytes == 2 ? 128 : element_bytes == 4 ? 64 : 32;
  t.register_threads = 128;
  t.tile_columns = element_bytes == 2 ? 16 : element_bytes == 4 ? 8 : 4;
  t.tile_threads = 512;
  t.tile_bytes = device.shared_bytes / 4 - 1024;  // 1 KB is reserved for every block
  t.run_rows = 32768;
  t.merge_threads = 256;
  t.clusters = true;
  t.group_threads = 128;
  t.group_rows = 64;
  return t;
}

/// Tuning of permuting columns, in `shuffle` and most backward passes.
struct permute_tuning {
  /// Columns per block when several blocks share a multiprocessor: a power of two. Short columns
  /// use more.
  int tile_columns;
  /// Maximum shared memory per block when several share a multiprocessor.
  std::size_t shared_tile_bytes;
  /// Minimum columns per block, even if they use all of the shared memory.
  int least_columns;
  /// Minimum columns per block to use shared memory. If fewer fit, elements are copied directly in
  /// global memory if possible.
  int worthwhile_columns;
  /// Maximum threads per block: a power of two, 32..1024.
  int tile_threads;
  /// Minimum elements per thread.
  int tile_elements;
  /// Neighboring columns per block when elements are copied directly: a power of two up to 32.
  int direct_columns;
  /// Maximum cache use of `direct_columns` columns. Blocks take fewer columns if these are long,
  /// but at least 32 bytes of a row.
  std::size_t direct_bytes;
};

/// The default permute_tuning. A tile row is a 128-byte cache line, or at least a 32-byte sector.
SLICESORT_ABI_TAG constexpr permute_tuning default_permute_tuning(device_info device,
                                                                  std::size_t element_bytes) {
  permute_tuning t{};
  t.tile_columns = element_bytes == 2 ? 64 : element_bytes == 4 ? 32 : 16;
  t.shared_tile_bytes = device.shared_bytes / 2 - 512;  // 1 KB is reserved for every block
  t.least_columns = t.tile_columns / 4;
  t.worthwhile_columns = 2;
  t.tile_threads = 1024;
  t.tile_elements = 8;
  t.direct_columns = 32;
  t.direct_bytes = std::size_t{8} << 20;
  return t;
}

/// Tuning of `sparse_mix`.
struct mix_tuning {
  /// Shared memory per block when a chain of factors runs in one kernel on all rows of a group of
  /// channels; several groups use up to half of it.
  std::size_t tile_bytes;
  /// Threads per block up to which a multiprocessor may run fewer than two blocks.
  int tile_threads;
  /// Maximum threads along a row, four channels each, if every factor is a separate kernel: a power
  /// of two up to 32.
  int channel_threads;
  /// Minimum threads along a row, to stay within `cache_bytes`: a power of two.
  int min_channel_threads;
  /// Maximum L2 cache for the rows that concurrent blocks read.
  std::size_t cache_bytes;
  /// Factors per step of backward with weight gradients; the workspace holds the gradients between
  /// these factors.
  int backward_factors;
};

/// Tuning of `sparse_mix` without selectors, for a device.
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

/// Tuning of `pointwise_attention`, and of `softmax_attention` with `streaming`. Small tensors and
/// devices with little shared memory use fewer warps and buffers.
struct attention_tuning {
  /// Warps per block of forward: 1, 2 or 4.
  int forward_warps;
  /// Warps per block for the gradients of keys and values: 1, 2, 4 or 8.
  int backward_kv_warps;
  /// Warps per block for the gradients of queries and bias: 1, 2 or 4.
  int backward_q_warps;
  /// Tile buffers of backward. 2: prefetches the next tile; 1: does not.
  int backward_buffers;
};

/// Tuning of attention without selectors.
SLICESORT_ABI_TAG constexpr attention_tuning default_attention_tuning(device_info, std::size_t) {
  attention_tuning t{};
  t.forward_warps = 4;
  t.backward_kv_warps = 4;
  t.backward_q_warps = 4;
  t.backward_buffers = 2;
  return t;
}

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

// Applies a policy's selectors that accept (device, element bytes, tuning), in order.
template <class Tuning>
constexpr Tuning apply_selectors(device_info, std::size_t, Tuning t) {
  return t;
}
template <class Tuning, class Selector, class... More>
constexpr Tuning apply_selectors(device_info device, std::size_t element_bytes, Tuning t,
                                 Selector const& select, More const&... more) {
  if constexpr (std::is_invocable_r_v<Tuning, Selector const&, device_info, std::size_t, Tuning>)
    t = select(device, element_bytes, t);
  return apply_selectors(device, element_bytes, t, more...);
}

SLICESORT_DETAIL_END
