// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.14.5 "Matrix multiply-accumulate operation using mma instruction". Fragments:
// sections 9.7.14.5.5 "m16n8k8", .8 "m16n8k16 with floating point type" and .15 "ldmatrix".
#include "../../machine/cluster.hpp"
#include "../../watch/traffic.hpp"
#include "../floating_point.hpp"
#include "../form.hpp"
#include "../lanes.hpp"
#include "../statement.hpp"
#include "access.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ptx {

namespace {

// Lanes 8 m to 8 m + 7 hold the addresses of the rows of matrix m. Each lane receives elements
// 2 (lane % 4) and 2 (lane % 4) + 1 of row lane / 4, or of column lane / 4 if transposed.
template <bool Transposed>
void load_matrices(warp& w, instruction const& instr, lane_mask active) {
  w.require_converged(active, "ldmatrix");
  if (active != all_lanes) w.fail("ldmatrix by a warp of fewer than 32 lanes");
  counters& counts = w.block->cluster->counts;
  ++counts.matrix_loads;
  shared_memory& shared = w.block->shared;
  std::uint64_t const* const base = w.source(instr.sources[0]);
  unsigned const rows = 8u * instr.count;
  std::uint16_t element[32][8];
  std::array<std::uint64_t, warp_lanes> offsets;
  for (unsigned lane = 0; lane < rows; ++lane) {
    offsets[lane] =
        static_cast<std::uint32_t>(base[lane] + static_cast<std::uint64_t>(instr.offset));
    if (offsets[lane] % 16 != 0) w.fail("reads a row of a matrix, misaligned", lane, offsets[lane]);
    if (offsets[lane] + 16 > shared.size())
      w.fail("reads past the end of shared memory", lane, offsets[lane]);
    unsigned const row = lane % 8;
    lane_mask const lanes =
        Transposed ? lane_mask{0x11111111} << row / 2 : lane_mask{0xf} << 4 * row;
    shared.read_together(w, lanes, static_cast<std::size_t>(offsets[lane]), 16);
    std::memcpy(element[lane], shared.data() + offsets[lane], 16);
  }
  // One wavefront reads 8 rows, 128 bytes.
  if (w.block->cluster->launch.options.count_memory)
    count_shared(counts, offsets.data(), 16,
                 static_cast<lane_mask>((std::uint64_t{1} << rows) - 1));
  for (unsigned matrix = 0; matrix < instr.count; ++matrix) {
    std::uint64_t* const result_lanes = w.result(instr.results[matrix]);
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
      unsigned const row = lane / 4, column = 2 * (lane % 4);
      std::uint32_t const low =
          Transposed ? element[8 * matrix + column][row] : element[8 * matrix + row][column];
      std::uint32_t const high = Transposed ? element[8 * matrix + column + 1][row]
                                            : element[8 * matrix + row][column + 1];
      result_lanes[lane] = high << 16 | low;
    }
  }
}

// An 8 x 8 block: a quarter of A, or half of B transposed. A register of 32 lanes holds it as one
// pair of elements per lane.
using block_8x8 = double[8][8];
template <float to_float(std::uint16_t)>
void read_block(std::uint64_t const* words, block_8x8& elements) {
  std::uint32_t pairs[warp_lanes];
  for (int lane = 0; lane < warp_lanes; ++lane)
    pairs[lane] = static_cast<std::uint32_t>(words[lane]);
  float even[warp_lanes], odd[warp_lanes];
  for (int lane = 0; lane < warp_lanes; ++lane) {
    even[lane] = to_float(static_cast<std::uint16_t>(pairs[lane]));
    odd[lane] = to_float(static_cast<std::uint16_t>(pairs[lane] >> 16));
  }
  for (int row = 0; row < 8; ++row)
    for (int i = 0; i < 4; ++i) {
      elements[row][2 * i] = static_cast<double>(even[4 * row + i]);
      elements[row][2 * i + 1] = static_cast<double>(odd[4 * row + i]);
    }
}

// Reads half of A of m16n8k8, or B transposed, in TF32: one register holds the first four columns,
// one the last four. The 13 lowest bits of each float are ignored.
void read_tf32(std::uint64_t const* first_columns, std::uint64_t const* last_columns,
               block_8x8& elements) {
  auto const to_double = [](std::uint64_t word) {
    return static_cast<double>(narrow<float>(word & 0xffffe000u));
  };
  for (int lane = 0; lane < warp_lanes; ++lane) {
    elements[lane / 4][lane % 4] = to_double(first_columns[lane]);
    elements[lane / 4][lane % 4 + 4] = to_double(last_columns[lane]);
  }
}

// Reads half of C: one register holds the even columns, the other the odd columns.
void read_half(std::uint64_t const* even, std::uint64_t const* odd, block_8x8& elements) {
  for (int lane = 0; lane < warp_lanes; ++lane) {
    elements[lane / 4][lane % 4 * 2] = static_cast<double>(narrow<float>(even[lane]));
    elements[lane / 4][lane % 4 * 2 + 1] = static_cast<double>(narrow<float>(odd[lane]));
  }
}
void write_half(block_8x8 const& elements, std::uint64_t* even, std::uint64_t* odd) {
  auto const word = [](double x) -> std::uint64_t {
    auto const sum = static_cast<float>(x);
    return std::isnan(sum) ? 0x7fffffff : widen(sum);
  };
  for (int lane = 0; lane < warp_lanes; ++lane) {
    even[lane] = word(elements[lane / 4][lane % 4 * 2]);
    odd[lane] = word(elements[lane / 4][lane % 4 * 2 + 1]);
  }
}

// Eight doubles in a vector type of the compiler, which supports any vector width of the processor.
using vector = double __attribute__((vector_size(64)));
static_assert(sizeof(vector) == sizeof(double[8]));

// Computes sums += a x b, where b_columns[c] is column c of b. Products of 16-bit floats and of
// TF32 are exact.
void add_product(block_8x8 const& a, block_8x8 const& b_columns, block_8x8& sums) {
  vector b[8];
  for (int k = 0; k < 8; ++k)
    for (int column = 0; column < 8; ++column) b[k][column] = b_columns[column][k];
  for (int row = 0; row < 8; ++row) {
    vector sum;
    std::memcpy(&sum, sums[row], sizeof sum);
    for (int k = 0; k < 8; ++k) sum += a[row][k] * b[k];
    std::memcpy(sums[row], &sum, sizeof sum);
  }
}

// m16n8k16. The registers of A are its quarters: upper left, lower left, upper right, lower right.
// The registers of B are its upper and lower half; the first two of C are its upper half. The order
// and precision of a device's sums are unspecified; here the sum has the precision of double.
template <float to_float(std::uint16_t)>
void multiply_add(warp& w, instruction const& instr, lane_mask active) {
  w.require_converged(active, "mma");
  if (active != all_lanes) w.fail("mma by a warp of fewer than 32 lanes");
  ++w.block->cluster->counts.matrix_products;
  block_8x8 a[4], b[2], c[2];
  for (int i = 0; i < 4; ++i) read_block<to_float>(w.source(instr.sources[i]), a[i]);
  for (int i = 0; i < 2; ++i) read_block<to_float>(w.source(instr.sources[4 + i]), b[i]);
  for (int half = 0; half < 2; ++half) {
    read_half(w.source(instr.sources[6 + 2 * half]), w.source(instr.sources[7 + 2 * half]),
              c[half]);
    for (int k = 0; k < 2; ++k) add_product(a[half + 2 * k], b[k], c[half]);
  }
  for (int half = 0; half < 2; ++half)
    write_half(c[half], w.result(instr.results[2 * half]), w.result(instr.results[2 * half + 1]));
}

// m16n8k8. The registers of A are the upper and lower half of its first four columns, then of its
// last four. The registers of B are its first and last four rows.
void multiply_add_tf32(warp& w, instruction const& instr, lane_mask active) {
  w.require_converged(active, "mma");
  if (active != all_lanes) w.fail("mma by a warp of fewer than 32 lanes");
  ++w.block->cluster->counts.matrix_products;
  block_8x8 a[2], b, c[2];
  for (int half = 0; half < 2; ++half)
    read_tf32(w.source(instr.sources[half]), w.source(instr.sources[half + 2]), a[half]);
  read_tf32(w.source(instr.sources[4]), w.source(instr.sources[5]), b);
  for (int half = 0; half < 2; ++half) {
    read_half(w.source(instr.sources[6 + 2 * half]), w.source(instr.sources[7 + 2 * half]),
              c[half]);
    add_product(a[half], b, c[half]);
  }
  for (int half = 0; half < 2; ++half)
    write_half(c[half], w.result(instr.results[2 * half]), w.result(instr.results[2 * half + 1]));
}

void decode_ldmatrix(statement& s, instruction& instr) {
  s.expect("sync");
  s.expect("aligned");
  s.expect("m8n8");
  instr.count = static_cast<std::uint8_t>(1u << s.take_one_of({"x1", "x2", "x4"}));
  instr.act = s.take("trans") ? load_matrices<true> : load_matrices<false>;
  if (!s.take("shared::cta")) s.expect("shared");
  s.take_type({type::b16});
  instr.space = state_space::shared;
  s.take_result_vector(instr, type::b32, instr.count);
  instr.offset = s.take_address(instr, state_space::shared);
}

void decode_mma(statement& s, instruction& instr) {
  s.expect("sync");
  s.expect("aligned");
  bool const is_m16n8k16 = s.take_one_of({"m16n8k8", "m16n8k16"}) != 0;
  s.expect("row");
  s.expect("col");
  instr.result_type = s.take_type({type::f32});
  if (is_m16n8k16) {
    instr.source_type = s.take_type({type::f16, type::bf16});
    s.take_type({instr.source_type});
    instr.act = instr.source_type == type::f16 ? multiply_add<half_to_float>
                                               : multiply_add<bfloat16_to_float>;
  } else {
    s.expect("tf32");
    s.expect("tf32");
    instr.act = multiply_add_tf32;
  }
  s.take_type({instr.result_type});
  s.take_results(instr, type::f32, 4);
  s.take_sources(instr, type::b32, 4);
  s.take_sources(instr, type::b32, 2);
  s.take_sources(instr, type::f32, 4);
}

}  // namespace

std::vector<opcode_info> matrices() {
  return {{"ldmatrix", "9.7.14.5.15", decode_ldmatrix}, {"mma", "9.7.14.5.14", decode_mma}};
}

}  // namespace ptx
