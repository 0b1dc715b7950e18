// SPDX-License-Identifier: Apache-2.0
/// Tuning of the CUDA backend: plain numbers, chosen by a constexpr function of the device and the
/// element size. They say how fast, never what: any values give the same results.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace slicesort {
inline namespace v0 {

/// What tuning may depend on. Filled from the device that a call runs on.
struct device_info {
  int architecture = 80;              ///< 10 * major + minor of the compute capability
  int processors = 108;               ///< streaming multiprocessors
  std::size_t shared_bytes = 166912;  ///< the most shared memory that one block can have
};

/// What all operators share. Values out of range are brought into it.
struct grid_tuning {
  index_t chunk_elements;     ///< elements worked on at once where the workspace holds them
  std::size_t scratch_bytes;  ///< workspace that blocks may have in place of shared memory
  int element_threads;        ///< threads of a block where each has a few elements of its own: a
                              ///< power of two, 32..256
};

/// The defaults.
constexpr grid_tuning default_grid_tuning(device_info, std::size_t) {
  grid_tuning t{};
  t.chunk_elements = index_t{1} << 24;
  t.scratch_bytes = std::size_t{1} << 28;
  t.element_threads = 256;
  return t;
}

/// How columns, and the groups of rows of `csp`, are sorted. Values out of range are brought into
/// it.
struct sort_tuning {
  index_t register_rows;   ///< longest column kept in one thread's registers: at most 64, and 128
                           ///< for 16-bit elements, 32 for 64-bit ones
  int register_threads;    ///< threads of such a block, one column each: a multiple of 32
  int tile_columns;        ///< columns that a block takes where they fit: a power of two up to 32
  int tile_threads;        ///< most threads of such a block: a power of two, 32..512
  std::size_t tile_bytes;  ///< shared memory a block may fill to take more columns than one
  index_t run_rows;        ///< most rows that a block sorts; longer columns are merged from runs
  int merge_threads;       ///< threads of a block that merges: a power of two, 32..512
  bool clusters;           ///< sort columns of up to two runs in two blocks, where the device can
  int group_threads;       ///< threads of a block that sorts groups without moving their columns to
                           ///< shared memory: a power of two, 32..256
  int group_rows;  ///< rows that such a thread takes, or one group if that has more: 1..1024
};

/// The defaults. A tile row is a whole 32-byte sector of memory; two tiles share a processor as
/// long as that does not make them narrower.
constexpr sort_tuning default_sort_tuning(device_info device, std::size_t element_bytes) {
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
  t.group_rows = 16;
  return t;
}

/// How the variants and every backward pass take columns through shared memory. Values out of range
/// are brought into it.
struct permute_tuning {
  int tile_columns;               ///< columns that a block takes where several such blocks share a
                                  ///< processor: a power of two; of short columns it takes more
  std::size_t shared_tile_bytes;  ///< the most shared memory of such a block
  int least_columns;              ///< columns that it takes even if it needs all shared memory
  int worthwhile_columns;    ///< with fewer, elements go straight to their place where they can
  int tile_threads;          ///< most threads of a block: a power of two, 32..1024
  int tile_elements;         ///< elements that are worth another thread
  int direct_columns;        ///< neighboring columns of elements that go straight to their place: a
                             ///< power of two up to 32; fewer, but a 32-byte sector, where
  std::size_t direct_bytes;  ///< so many columns have more bytes than this, which caches hold
};

/// The defaults. A tile row is a whole 128-byte line of memory, or at least a 32-byte sector.
constexpr permute_tuning default_permute_tuning(device_info device, std::size_t element_bytes) {
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

/// How `sparse_mix` takes a chain of factors through the device. Values out of range are brought
/// into it.
struct mix_tuning {
  std::size_t tile_bytes;  ///< shared memory of a block that keeps all rows of some channels there
                           ///< from factor to factor; of short samples it takes more channels, up
                           ///< to half of that memory
  int tile_threads;        ///< threads that such a block may have even if some processors then have
                           ///< fewer than two blocks
  int channel_threads;     ///< where a kernel runs for each factor: most threads of a block side by
                           ///< side along a row, four channels each: a power of two up to 32
  int few_channel_threads;  ///< that many even if the channels that they read have more bytes
  std::size_t cache_bytes;  ///< than this: the second-level cache that may be counted on
  int backward_factors;  ///< factors that backward with the gradient of the weights takes at once;
                         ///< the workspace holds what they hand on
};

/// The defaults.
constexpr mix_tuning default_mix_tuning(device_info device, std::size_t) {
  mix_tuning t{};
  t.tile_bytes = device.shared_bytes;
  t.tile_threads = 128;
  t.channel_threads = 32;
  t.few_channel_threads = 8;
  t.cache_bytes = std::size_t{1} << 24;
  t.backward_factors = 4;
  return t;
}

/// How `softmax_attention` computes without the matrix of all scores. Values out of range are
/// brought into it, and lowered where tensors are small or the device has little shared memory.
struct attention_tuning {
  int forward_warps;      ///< warps of a block of forward: 1, 2 or 4
  int backward_kv_warps;  ///< of the gradients of keys and values: 1, 2, 4 or 8
  int backward_q_warps;   ///< of the gradients of queries and bias: 1, 2 or 4
  int backward_buffers;   ///< 2: backward reads one tile ahead; 1: it does not
};

/// The defaults.
constexpr attention_tuning default_attention_tuning(device_info, std::size_t) {
  attention_tuning t{};
  t.forward_warps = 4;
  t.backward_kv_warps = 8;
  t.backward_q_warps = 4;
  t.backward_buffers = 2;
  return t;
}

namespace detail {

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

}  // namespace detail
}  // namespace v0
}  // namespace slicesort
