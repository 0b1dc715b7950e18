// SPDX-License-Identifier: Apache-2.0
// Products of tiles of 16-bit or TF32 elements on tensor cores (mma.sync, sm_80 and later). Tiles
// have the layout of detail/device/warp_mma.hpp.
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
inline constexpr bool has_tensor_core_mma =
    std::is_same_v<T, bfloat16> || std::is_same_v<T, float16> || std::is_same_v<T, tf32>;

__device__ inline unsigned shared_address(void const* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Loads four matrices of 8 x 8 16-bit elements or 8 x 4 32-bit elements (ldmatrix.x4). Lane 8 * i +
// r passes the address of row r of matrix i.
__device__ __forceinline__ void load_matrices(std::uint32_t (&registers)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address));
}
__device__ __forceinline__ void load_transposed_matrices(std::uint32_t (&registers)[4],
                                                         unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address));
}

// Computes c += a * b for 16 rows of a, 8 columns of b and a depth of two pieces.
template <class T>
__device__ __forceinline__ void multiply_fragments(float* c, std::uint32_t const* a,
                                                   std::uint32_t b0, std::uint32_t b1) {
#define SLICESORT_MMA(shape_and_types)                                   \
  asm("mma.sync.aligned." shape_and_types                                \
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                   \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
  if constexpr (std::is_same_v<T, bfloat16>)
    SLICESORT_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
  else if constexpr (std::is_same_v<T, tf32>)
    SLICESORT_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
  else
    SLICESORT_MMA("m16n8k16.row.col.f32.f16.f16.f32");
#undef SLICESORT_MMA
}

template <class T>
__device__ __forceinline__ std::uint32_t pack_rounded(float low, float high) {
  std::uint32_t packed;
  if constexpr (std::is_same_v<T, bfloat16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

// Lane of the thread, hidden from the compiler. Otherwise the compiler would keep all addresses
// between products in registers that the sums need.
__device__ __forceinline__ unsigned hidden_lane() {
  unsigned lane = threadIdx.x % 32;
  asm volatile("" : "+r"(lane));
  return lane;
}

template <int Width, class T, int Rows, int Columns>
__device__ __forceinline__ void tensor_mma_abt(register_tile<float, Rows, Columns>& sums,
                                               tile_vector16<T> const* a,
                                               tile_vector16<T> const* b) {
  static_assert(Columns % 2 == 0, "tiles of 16 columns");
  using tile = vector16_tile<T, Width>;
  constexpr unsigned piece_bytes = sizeof(tile_vector16<T>);
  unsigned const lane = hidden_lane();
  unsigned const a_start = shared_address(a) + piece_bytes * tile::row_start(lane % 16),
                 b_start =
                     shared_address(b) + piece_bytes * tile::row_start(lane % 8 + lane / 16 * 8);
  unsigned const a_piece = lane / 16 ^ tile::swizzle(lane),
                 b_piece = lane / 8 % 2 ^ tile::swizzle(lane);
  SLICESORT_UNROLL
  for (int k = 0; k < Width / (2 * elements_per_vector16<T>); ++k) {
    unsigned const a_address = a_start + piece_bytes * (a_piece ^ 2 * k),
                   b_address = b_start + piece_bytes * (b_piece ^ 2 * k);
    std::uint32_t a_fragments[static_cast<std::size_t>(Rows)][4];
    SLICESORT_UNROLL
    for (int i = 0; i < Rows; ++i)
      load_matrices(a_fragments[i], a_address + piece_bytes * tile::row_start(16 * i));
    SLICESORT_UNROLL
    for (int j = 0; j < Columns; j += 2) {
      std::uint32_t b_fragments[4];
      load_matrices(b_fragments, b_address + piece_bytes * tile::row_start(8 * j));
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i) {
        multiply_fragments<T>(&sums(i, j, 0), a_fragments[i], b_fragments[0], b_fragments[1]);
        multiply_fragments<T>(&sums(i, j + 1, 0), a_fragments[i], b_fragments[2], b_fragments[3]);
      }
    }
  }
}

// Rounded sums of a product as the left operand of the next product, in the same registers.
template <int Rows, int Columns>
struct tensor_operand {
  std::uint32_t registers[static_cast<std::size_t>(Rows * Columns * 2)];
  // Returns the four registers of tiles (i, 2 k) and (i, 2 k + 1).
  __device__ __forceinline__ std::uint32_t* fragment(int i, int k) {
    return registers + (i * (Columns / 2) + k) * 4;
  }
  __device__ __forceinline__ std::uint32_t const* fragment(int i, int k) const {
    return registers + (i * (Columns / 2) + k) * 4;
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
      weights.fragment(i, k / 4)[k % 4] =
          pack_rounded<T>(sums(i, k / 2, k % 2 * 2), sums(i, k / 2, k % 2 * 2 + 1));
  }
  return weights;
}

template <int Width, class T, int Rows, int Columns>
__device__ __forceinline__ void tensor_mma_ab(register_tile<float, Rows, Width / 8>& sums,
                                              tensor_operand<Rows, Columns> const& weights,
                                              tile_vector16<T> const* x) {
  static_assert(Columns % 2 == 0, "tiles of 16 columns");
  using tile = vector16_tile<T, Width>;
  constexpr unsigned piece_bytes = sizeof(tile_vector16<T>);
  unsigned const lane = hidden_lane();
  unsigned const start = shared_address(x) + piece_bytes * tile::row_start(lane % 16),
                 piece = lane / 16 ^ tile::swizzle(lane);
  SLICESORT_UNROLL
  for (int k = 0; k < Columns; k += 2) {
    SLICESORT_UNROLL
    for (int c = 0; c < Width / 8; c += 2) {
      std::uint32_t b_fragments[4];
      load_transposed_matrices(
          b_fragments, start + piece_bytes * tile::row_start(8 * k) + piece_bytes * (piece ^ c));
      SLICESORT_UNROLL
      for (int i = 0; i < Rows; ++i) {
        multiply_fragments<T>(&sums(i, c, 0), weights.fragment(i, k / 2), b_fragments[0],
                              b_fragments[1]);
        multiply_fragments<T>(&sums(i, c + 1, 0), weights.fragment(i, k / 2), b_fragments[2],
                              b_fragments[3]);
      }
    }
  }
}

// Copies the first `bytes` of 16 bytes from global to shared memory and zeroes the rest.
__device__ __forceinline__ void copy_piece_async(void* to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void await_copied_pieces() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

SLICESORT_DETAIL_END
