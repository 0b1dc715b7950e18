// SPDX-License-Identifier: Apache-2.0
// Loads rows of a head into tiles in shared memory (layout: device/warp_mma.hpp), and stores sums
// from registers to tensors.
#pragma once

#include <slicesort/detail/attention/tensors.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/device/swizzled_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Tile widths in channels. The wide tile, for 16-bit types, leaves no registers for a second chunk
// of channels, so heads with more channels use narrow tiles.
inline constexpr int narrow_tile = 64, wide_tile = 128;
template <int Width>
SLICESORT_HD constexpr int chunks_of(index_t channels) {
  return Width == narrow_tile && channels > Width ? static_cast<int>((channels + Width - 1) / Width)
                                                  : 1;
}

// Launches a kernel unless it has no work.
template <class Grid, class Kernel>
void launch(Grid const& grid, Kernel const& kernel, int threads = Kernel::max_threads) {
  if (kernel.blocks() > 0) grid.run(kernel, kernel.blocks(), threads);
}

// A block computes rows from `first` and channels from `channel` on. `queries` and `keys` count the
// valid rows of its sample. Kept in shared memory, because the sums occupy the registers.
struct attention_task {
  head_index head;
  index_t first, channel, queries, keys;
};

// Rows of a head. Rows from `rows` on are treated as 0 and not read.
template <class T>
struct head_rows {
  T const* data;
  index_t stride, channel_stride, rows, channels;
  bool is_vectorizable;  // true if rows are 16-byte aligned and contiguous

  SLICESORT_HD head_rows(tensor4<T const> t, head_index head, index_t valid)
      : data(t.data()),
        stride(t.strides().length),
        channel_stride(t.strides().channels),
        rows(valid),
        channels(t.extents().channels) {
    if (data != nullptr) data += head.sample * t.strides().batch + head.head * t.strides().heads;
    constexpr index_t elements = elements_per_vector16<T>;
    is_vectorizable = (channel_stride == 1 || channels <= 1) &&
                      (stride % elements == 0 || rows <= 1) &&
                      reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  }
};

// Starts asynchronous copies of `count` rows from `row` on, `Width` channels each from `channel`
// on. The tile is complete after await_copies() and sync().
template <int Width, class Block, class T>
SLICESORT_HD_INLINE void load_tile_async(Block& block, tile_vector16<T>* to,
                                         head_rows<T> const& source, index_t row, int count,
                                         index_t channel) {
  head_rows<T> const from = source;
  using tile = vector16_tile<T, Width>;
  constexpr int elements = elements_per_vector16<T>, vectors_per_row = Width / elements;
  static_assert(vectors_per_row <= 32, "a thread loads the same columns of each of its rows");
  int const rank =
      Block::opaque(block.rank());  // opaque, so that no addresses stay in registers between calls
  int const vector = rank % vectors_per_row, row_step = block.size() / vectors_per_row;
  index_t const first_channel = channel + vector * elements;
  index_t const remaining = from.channels - first_channel;
  int const elements_left = remaining <= 0         ? 0
                            : remaining < elements ? static_cast<int>(remaining)
                                                   : elements;
  int const valid_count = row + count <= from.rows ? count
                          : row < from.rows        ? static_cast<int>(from.rows - row)
                                                   : 0;
  if (from.is_vectorizable) {
    int const last = elements_left == 0 ? 0 : valid_count,
              bytes = elements_left * static_cast<int>(sizeof(T));
    index_t const stride = row_step * from.stride;
    index_t offset = (row + rank / vectors_per_row) * from.stride + first_channel;
    int r = rank / vectors_per_row;
    SLICESORT_NO_UNROLL
    for (; r < last; r += row_step, offset += stride)
      block.copy_async(&to[tile::offset(r, vector)], from.data + offset, bytes);
    SLICESORT_NO_UNROLL
    for (; r < count; r += row_step) to[tile::offset(r, vector)] = tile_vector16<T>{};
    return;
  }
  SLICESORT_NO_UNROLL
  for (int r = rank / vectors_per_row; r < count; r += row_step) {
    index_t const offset = (row + r) * from.stride + first_channel * from.channel_stride;
    T* const elements_out = to[tile::offset(r, vector)].value;
    SLICESORT_NO_UNROLL
    for (int u = 0; u < elements; ++u)
      elements_out[u] = u < elements_left && r < valid_count
                            ? from.data[offset + u * from.channel_stride]
                            : static_cast<T>(0.0f);
  }
}

// Starts asynchronous copies of one tile from each of several tensors.
template <int Width, class Block, class T>
SLICESORT_HD_INLINE void load_tiles_async(Block& block, tile_vector16<T>* to,
                                          head_rows<T> const* from, int tensors, index_t row,
                                          int count, index_t channel) {
  SLICESORT_NO_UNROLL
  for (int i = 0; i < tensors; ++i)
    load_tile_async<Width>(block, to + i * count * (Width / elements_per_vector16<T>), from[i], row,
                           count, channel);
}

// Destination of result rows. Rows from `valid` to `total` are set to 0, or left unchanged when
// accumulating.
template <class T>
struct head_results {
  T* data;
  index_t stride, channel_stride, valid, total, channels;
  grad_mode mode;

  SLICESORT_HD head_results(tensor4<T> t, head_index head, index_t valid_rows,
                            grad_mode gradient_mode)
      : data(t.data()),
        stride(t.strides().length),
        channel_stride(t.strides().channels),
        valid(valid_rows),
        total(t.extents().length),
        channels(t.extents().channels),
        mode(gradient_mode) {
    if (data != nullptr) data += head.sample * t.strides().batch + head.head * t.strides().heads;
  }
};

// Stores 16 rows of each warp's sums, sums(i, ..), at rows row + 16 * spread * warp. `staging` has
// 16 x Width elements per warp; it may be reused memory that no thread still reads.
template <int Width, class Block, class A, class T, int Rows>
SLICESORT_HD_INLINE void store_tile(Block& block, A* staging,
                                    register_tile<A, Rows, Width / 8> const& sums, int i,
                                    head_results<T> const& results, index_t row, int spread,
                                    index_t channel) {
  using tile = swizzled_tile<Width, 8, 8>;
  tile_lane const lane(block.rank());
  block.sync();
  A* const warp_staging = staging + block.rank() / 32 * (16 * Width);
  SLICESORT_UNROLL
  for (int c = 0; c < Width / 8; ++c) {
    SLICESORT_UNROLL
    for (int e = 0; e < 4; ++e)
      warp_staging[tile::offset(lane.group + e / 2 * 8, 8 * c + 2 * lane.thread_in_group + e % 2,
                                tile::swizzle(lane.group))] = sums(i, c, e);
  }
  block.sync();
  index_t const remaining = results.channels - channel;
  int const width = remaining < Width ? static_cast<int>(remaining) : Width;
  SLICESORT_NO_UNROLL
  for (int n = block.rank(); n < block.size() / 2 * Width; n += block.size()) {
    int const r = n / Width, c = n % Width;
    index_t const out_row = row + r / 16 * (16 * spread) + r % 16;
    if (c >= width || out_row >= results.total) continue;
    T& element = results.data[out_row * results.stride + (channel + c) * results.channel_stride];
    if (out_row < results.valid)
      store_or_accumulate_sum(results.mode, element, staging[tile::offset(r, c)]);
    else if (results.mode == grad_mode::overwrite)
      element = static_cast<T>(0.0f);
  }
}

SLICESORT_DETAIL_END
