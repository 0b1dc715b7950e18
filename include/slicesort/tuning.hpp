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

/// How columns are sorted and permuted. Values out of range are brought into it.
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
  index_t chunk_elements;  ///< elements worked on at once where the workspace holds them
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
  t.chunk_elements = index_t{1} << 24;
  return t;
}

/// How the variants and every backward pass take columns through shared memory. Values out of range
/// are brought into it.
struct permute_tuning {
  int tile_columns;               ///< columns that a block takes where several such blocks share a
                                  ///< processor: a power of two; of short columns it takes more
  std::size_t shared_tile_bytes;  ///< the most shared memory of such a block
  int least_columns;              ///< columns that it takes even if it needs all shared memory
  int worthwhile_columns;  ///< with fewer, elements go straight to their place where they can
  int tile_threads;        ///< most threads of a block: a power of two, 32..1024
  int tile_elements;       ///< elements that are worth another thread
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
