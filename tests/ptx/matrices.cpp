// SPDX-License-Identifier: Apache-2.0
// ldmatrix and mma.sync: the elements of each lane according to the manual's tables (9.7.14.5.5
// "Matrix Fragments for mma.m16n8k8", 9.7.14.5.8 "Matrix Fragments for mma.m16n8k16 with floating
// point type", 9.7.14.5.15 "ldmatrix").
#include "run_kernel.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using run_kernel::contains;
using run_kernel::fault_messages;
using run_kernel::launch_config;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::words;

namespace {

// Lane l writes row l % 8 of matrix l / 8: 16 bytes, elements 8 l to 8 l + 7. Then runs `load` with
// the addresses in %a0, and returns %a4 to %a7 of each lane.
words load_with(std::string const& load) {
  std::string text = "shl.b32 %a0, %t, 4;\nshl.b32 %a1, %t, 3;\n";
  for (int i = 0; i < 4; ++i)
    text += "add.s32 %a2, %a1, " + std::to_string(2 * i) + ";\nadd.s32 %a3, %a2, 1;\n" +
            "shl.b32 %a3, %a3, 16;\nor.b32 %a2, %a2, %a3;\nst.shared.u32 [%a0+" +
            std::to_string(4 * i) + "], %a2;\n";
  text += "mov.u32 %a4, 0;\nmov.u32 %a5, 0;\nmov.u32 %a6, 0;\nmov.u32 %a7, 0;\nbar.sync 0;\n" +
          load + "\nmul.wide.u32 %g0, %t, 16;\nadd.s64 %g0, %g0, %out;\n";
  for (int i = 0; i < 4; ++i)
    text += "st.global.u32 [%g0+" + std::to_string(4 * i) + "], %a" + std::to_string(4 + i) + ";\n";
  auto const result = run(text, {}, {}, 128);
  CHECK(result.fault == "");
  return result.out;
}

// By the manual, thread 0 has elements 0 and 1 of row 0, thread 1 elements 2 and 3, ..., and thread
// 4 has elements 0 and 1 of row 1. A transposed load exchanges rows and columns.
std::uint32_t element(int matrix, int row, int column, bool transposed) {
  return static_cast<std::uint32_t>(64 * matrix +
                                    (transposed ? 8 * column + row : 8 * row + column));
}

void check_load(int matrices, bool transposed) {
  char const* const destinations = matrices == 1   ? "{%a4}"
                                   : matrices == 2 ? "{%a4, %a5}"
                                                   : "{%a4, %a5, %a6, %a7}";
  words const out =
      load_with("ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
                (transposed ? ".trans" : "") + ".shared.b16 " + destinations + ", [%a0];");
  for (int lane = 0; lane < 32; ++lane)
    for (int m = 0; m < 4; ++m) {
      int const row = lane / 4, column = lane % 4 * 2;
      std::uint32_t const expected = m >= matrices ? 0
                                                   : element(m, row, column + 1, transposed) << 16 |
                                                         element(m, row, column, transposed);
      CHECK(out[static_cast<std::size_t>(4 * lane + m)] == expected);
    }
}

// Position of the element in the lower or upper half of register i of a lane.
struct position {
  int row, column;
};
position position_in_a(int lane, int i, int half) {
  int const group = lane >> 2, thread = lane % 4;
  int const element = 2 * i + half;  // a0 to a7
  int const row = (element < 2 || (element >= 4 && element < 6)) ? group : group + 8;
  int const column = element < 4 ? thread * 2 + (element & 1) : thread * 2 + (element & 1) + 8;
  return {row, column};
}
position position_in_b(int lane, int i, int half) {
  int const group = lane >> 2, thread = lane % 4;
  int const element = 2 * i + half;  // b0 to b3
  int const row = element < 2 ? thread * 2 + (element & 1) : thread * 2 + (element & 1) + 8;
  return {row, group};
}
position position_in_c(int lane, int i) {
  int const group = lane >> 2, thread = lane % 4;
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

// Encodes an integer from 0 to 15, which float16 and bfloat16 represent exactly.
std::uint32_t encode_16_bit(int n, bool is_bf16) {
  if (n == 0) return 0;
  int exponent = 0;
  while (n >> (exponent + 1) != 0) ++exponent;
  int const mantissa = n - (1 << exponent);
  return static_cast<std::uint32_t>(is_bf16 ? (127 + exponent) << 7 | mantissa << (7 - exponent)
                                            : (15 + exponent) << 10 | mantissa << (10 - exponent));
}
int a_of(position p) { return (3 * p.row + 5 * p.column + p.row * p.column) % 16; }
int b_of(position p) { return (7 * p.row + 2 * p.column + p.row * p.column / 3) % 16; }
int c_of(position p) { return 100 * p.row + p.column; }

std::uint32_t float_bits(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Checks that `out` is C + A B, with sums over k < depth.
void check_product(words const& out, int depth) {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      position const p = position_in_c(lane, i);
      int sum = c_of(p);
      for (int k = 0; k < depth; ++k) sum += a_of({p.row, k}) * b_of({k, p.column});
      CHECK(out[static_cast<std::size_t>(4 * lane + i)] == float_bits(static_cast<float>(sum)));
    }
}

// Loads ten registers per lane (A, B, C), multiplies, and stores D.
std::string multiply(std::string const& types, std::string const& shape = "m16n8k16") {
  std::string text = "mul.wide.u32 %g0, %t, 40;\nadd.s64 %g0, %g0, %in;\n";
  for (int i = 0; i < 6; ++i)
    text += "ld.global.u32 %a" + std::to_string(i) + ", [%g0+" + std::to_string(4 * i) + "];\n";
  text += ".reg .f32 %c<4>, %d<4>;\n";
  for (int i = 0; i < 4; ++i)
    text +=
        "ld.global.f32 %c" + std::to_string(i) + ", [%g0+" + std::to_string(24 + 4 * i) + "];\n";
  text += "mma.sync.aligned." + shape + ".row.col.f32." + types +
          ".f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%a4, %a5}, {%c0, %c1, %c2, %c3};\n"
          "mul.wide.u32 %g0, %t, 16;\nadd.s64 %g0, %g0, %out;\n";
  for (int i = 0; i < 4; ++i)
    text += "st.global.f32 [%g0+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  return text;
}

}  // namespace

TEST_CASE("ldmatrix loads two elements of a row per lane, or of a column if transposed") {
  for (int const matrices : {1, 2, 4})
    for (bool const transposed : {false, true}) check_load(matrices, transposed);
}

TEST_CASE("ldmatrix requires a whole warp and aligned rows") {
  std::string const row = "shl.b32 %a0, %t, 4;\nst.shared.v4.u32 [%a0], {%t, %t, %t, %t};\n";
  std::string const load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a4}, [%a0];";
  CHECK(passes(row + "bar.warp.sync -1;\n" + load));
  CHECK(contains(fault_messages(row + load),
                 "race at byte 0 of shared memory: thread 1 reads what thread 0"));
  CHECK(contains(fault_messages("shl.b32 %a0, %t, 4;\n" + load), "which was never written"));
  CHECK(contains(fault_messages(row + "bar.sync 0;\nadd.s32 %a0, %a0, 8;\n" + load),
                 "reads a row of a matrix, misaligned (thread 0, address 0x8)"));
  CHECK(contains(fault_messages(row + "bar.sync 0;\nadd.s32 %a0, %a0, 1024;\n" + load),
                 "reads past the end of shared memory"));
  CHECK(contains(fault_messages(row + "bar.sync 0;\nsetp.eq.s32 %q0, %t, 0;\n@%q0 " + load),
                 "ldmatrix that part of a warp does not reach: lanes 00000001 of ffffffff"));
  CHECK(contains(fault_messages(load, {16}), "fewer than 32 lanes"));
  // A lane that writes afterwards races with the readers: lane 8 read the first elements of row 2.
  std::string const write = "setp.eq.s32 %q0, %t, 9;\n@%q0 st.shared.u32 [%z+36], %t;";
  CHECK(contains(fault_messages(row + "bar.sync 0;\n" + load + "\n" + write),
                 "race at byte 36 of shared memory: thread 9 writes what thread 8 read"));
}

TEST_CASE("mma multiplies fragments as in the manual's tables") {
  for (bool const is_bf16 : {false, true}) {
    words input;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i)
        input.push_back(encode_16_bit(a_of(position_in_a(lane, i, 1)), is_bf16) << 16 |
                        encode_16_bit(a_of(position_in_a(lane, i, 0)), is_bf16));
      for (int i = 0; i < 2; ++i)
        input.push_back(encode_16_bit(b_of(position_in_b(lane, i, 1)), is_bf16) << 16 |
                        encode_16_bit(b_of(position_in_b(lane, i, 0)), is_bf16));
      for (int i = 0; i < 4; ++i)
        input.push_back(float_bits(static_cast<float>(c_of(position_in_c(lane, i)))));
    }
    auto const result = run(multiply(is_bf16 ? "bf16.bf16" : "f16.f16"), {}, input, 128);
    CHECK(result.fault == "");
    CHECK(result.counts.matrix_products == 1);
    check_product(result.out, 16);
  }
}

// Register i of a lane holds row group or group + 8 and column thread or thread + 4 of A, with
// group = lane / 4 and thread = lane % 4; B likewise.
TEST_CASE("mma multiplies TF32, ignoring the 13 lowest bits of floats") {
  auto const tf32_bits = [](int n) { return float_bits(static_cast<float>(n)) | 0x1fffu; };
  words input;
  for (int lane = 0; lane < 32; ++lane) {
    int const group = lane / 4, thread = lane % 4;
    for (int i = 0; i < 4; ++i)
      input.push_back(tf32_bits(a_of({group + i % 2 * 8, thread + i / 2 * 4})));
    for (int i = 0; i < 2; ++i) input.push_back(tf32_bits(b_of({thread + 4 * i, group})));
    for (int i = 0; i < 4; ++i)
      input.push_back(float_bits(static_cast<float>(c_of(position_in_c(lane, i)))));
  }
  auto const result = run(multiply("tf32.tf32", "m16n8k8"), {}, input, 128);
  CHECK(result.fault == "");
  CHECK(result.counts.matrix_products == 1);
  check_product(result.out, 8);
}

TEST_CASE("mma keeps subnormal numbers, propagates infinities and NaN, and rounds a sum once") {
  // A, B and C are constant matrices.
  auto const product = [](std::string const& types, std::uint32_t a, std::uint32_t b, float c) {
    words input;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) input.push_back(a << 16 | a);
      for (int i = 0; i < 2; ++i) input.push_back(b << 16 | b);
      for (int i = 0; i < 4; ++i) input.push_back(float_bits(c));
    }
    auto const result = run(multiply(types), {}, input, 128);
    CHECK(result.fault == "");
    return result.out[77];
  };
  CHECK(product("f16.f16", 0x0001, 0x3c00, 0) == float_bits(0x1p-20f));  // 16 x 2^-24
  CHECK(product("f16.f16", 0x03ff, 0x3c00, 0) == float_bits(0x3ffp-20f));
  CHECK(product("f16.f16", 0xbc00, 0x3c00, 0) == float_bits(-16));
  CHECK(product("bf16.bf16", 0x0001, 0x3f80, 0) == float_bits(0x1p-129f));  // 16 x 2^-133
  CHECK(product("f16.f16", 0x7c00, 0x3c00, 0) == 0x7f800000);
  CHECK(product("f16.f16", 0xfc00, 0x3c00, 0) == 0xff800000);
  CHECK(product("bf16.bf16", 0x7f80, 0x0000, 0) == 0x7fffffff);  // infinity x 0
  CHECK(product("f16.f16", 0x7c01, 0x3c00, 0) == 0x7fffffff);
  CHECK(product("f16.f16", 0x3c00, 0x3c00, INFINITY) == 0x7f800000);
  // 2^24 + 16: exact; 2^24 + 16 x 2^-2 = 2^24 + 4; each addend alone would be lost.
  CHECK(product("f16.f16", 0x3c00, 0x3400, 0x1p24f) == float_bits(0x1p24f + 4));
}

TEST_CASE("mma requires a whole warp") {
  CHECK(contains(fault_messages("setp.lt.s32 %q0, %t, 31;\n@!%q0 ret;\n" + multiply("f16.f16"), {},
                                words(320)),
                 "mma by a warp of fewer than 32 lanes"));
}
