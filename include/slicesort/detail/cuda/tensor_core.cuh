// SPDX-License-Identifier: Apache-2.0
// Products of tiles of 16-bit or TF32 numbers on tensor cores (mma.sync, sm_80 and later), for
// tiles laid out as detail/device/warp_mma.hpp says.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/swizzled_tile.hpp>
#include <slicesort/detail/device/warp_mma.hpp>
#include <slicesort/dtype.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

template <class T>
inline constexpr bool for_tensor_cores =
    std::is_same_v<T, bfloat16> || std::is_same_v<T, float16> || std::is_same_v<T, tf32>;

__device__ inline unsigned shared_address(void const* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

// Four matrices of 8 x 8, or of 8 x 4 numbers of 32 bits, whose rows' addresses lanes 0..7, 8..15,
// .. give.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
__device__ __forceinline__ void load_transposed_matrices(std::uint32_t (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

// Two pieces of 16 rows times two pieces of 8.
template <class T>
__device__ __forceinline__ void multiply_fragments(float* c, std::uint32_t const* a,
                                                   std::uint32_t b0, std::uint32_t b1) {
  if constexpr (std::is_same_v<T, bfloat16>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else if constexpr (std::is_same_v<T, tf32>)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <class T>
__device__ __forceinline__ std::uint32_t two_rounded(float low, float high) {
  std::uint32_t both;
  if constexpr (std::is_same_v<T, bfloat16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// The thread's number in its warp, of which the compiler knows nothing: else it keeps every address
// that it leads to from one product to the next, in registers that sums need.
__device__ __forceinline__ unsigned renewed_lane() {
  unsigned lane = threadIdx.x % 32;
  asm volatile("" : "+r"(lane));
  return lane;
}

template <int Width, class T, int Rows, int Columns>
__device__ __forceinline__ void tensor_mma_abt(register_tile<float, Rows, Columns>& sums,
                                               tile_piece<T> const* a, tile_piece<T> const* b) {
  static_assert(Columns % 2 == 0, "tiles of 16 columns");
  using tile = piece_tile<T, Width>;
  constexpr unsigned bytes = sizeof(tile_piece<T>);
  unsigned const lane = renewed_lane();
  unsigned const from_a = shared_address(a) + bytes * tile::row_start(lane % 16),
                 from_b = shared_address(b) + bytes * tile::row_start(lane % 8 + lane / 16 * 8);
  unsigned const piece_a = lane / 16 ^ tile::swizzle(lane),
                 piece_b = lane / 8 % 2 ^ tile::swizzle(lane);
  SLICESORT_UNROLL
  for (int k = 0; k < Width / (2 * elements_of_piece<T>); ++k) {
    unsigned const at_a = from_a + bytes * (piece_a ^ 2 * k),
                   at_b = from_b + bytes * (piece_b ^ 2 * k);
    std::uint32_t mine[static_cast<std::size_t>(Rows)][4];
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i) load_matrices(mine[i], at_a + bytes * tile::row_start(16 * i));
    SLICESORT_UNROLL
    for (int j = 0; j < Columns; j += 2) {
      std::uint32_t other[4];
      load_matrices(other, at_b + bytes * tile::row_start(8 * j));
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i) {
        multiply_fragments<T>(&sums(i, j, 0), mine[i], other[0], other[1]);
        multiply_fragments<T>(&sums(i, j + 1, 0), mine[i], other[2], other[3]);
      }
    }
  }
}

// Sums of one product, rounded: the left factor of the next, as they lie.
template <int Rows, int Columns>
struct tensor_operand {
  std::uint32_t number[static_cast<std::size_t>(Rows * Columns * 2)];
  // The four of tile (i, 2 k) and the one beside it.
  __device__ __forceinline__ std::uint32_t* of(int i, int k) {
    return number + (i * (Columns / 2) + k) * 4;
  }
  __device__ __forceinline__ std::uint32_t const* of(int i, int k) const {
    return number + (i * (Columns / 2) + k) * 4;
  }
};
template <class T, int Rows, int Columns>
__device__ __forceinline__ tensor_operand<Rows, Columns> as_tensor_operand(
    register_tile<float, Rows, Columns> const& sums) {
  tensor_operand<Rows, Columns> weights;
  SLICESORT_UNROLL
  for (int i = 0; i < Rows; ++i) {
    SLICESORT_UNROLL
    for (int k = 0; k < 2 * Columns; ++k)
      weights.of(i, k / 4)[k % 4] =
          two_rounded<T>(sums(i, k / 2, k % 2 * 2), sums(i, k / 2, k % 2 * 2 + 1));
  }
  return weights;
}

template <int Width, class T, int Rows, int Columns>
__device__ __forceinline__ void tensor_mma_ab(register_tile<float, Rows, Width / 8>& sums,
                                              tensor_operand<Rows, Columns> const& weights,
                                              tile_piece<T> const* x) {
  static_assert(Columns % 2 == 0, "tiles of 16 columns");
  using tile = piece_tile<T, Width>;
  constexpr unsigned bytes = sizeof(tile_piece<T>);
  unsigned const lane = renewed_lane();
  unsigned const from = shared_address(x) + bytes * tile::row_start(lane % 16),
                 piece = lane / 16 ^ tile::swizzle(lane);
  SLICESORT_UNROLL
  for (int k = 0; k < Columns; k += 2) {
    SLICESORT_UNROLL
    for (int c = 0; c < Width / 8; c += 2) {
      std::uint32_t other[4];
      load_transposed_matrices(other, from + bytes * tile::row_start(8 * k) + bytes * (piece ^ c));
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i) {
        multiply_fragments<T>(&sums(i, c, 0), weights.of(i, k / 2), other[0], other[1]);
        multiply_fragments<T>(&sums(i, c + 1, 0), weights.of(i, k / 2), other[2], other[3]);
      }
    }
  }
}

// 16 bytes of shared memory, of which `bytes` come from global memory and the others become 0.
__device__ __forceinline__ void copy_piece_async(void* to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void await_copied_pieces() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

SLICESORT_DETAIL_END
