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
using run_kernel::faults_of;
using run_kernel::numbers;
using run_kernel::passes;
using run_kernel::run;
using run_kernel::setup;

namespace {

// Lane l writes row l % 8 of matrix l / 8: 16 bytes, elements 8 l to 8 l + 7. `load` then loads
// with addresses in %a0, and each lane stores %a4 to %a7.
numbers loaded(std::string const& load) {
  std::string text = "shl.b32 %a0, %t, 4;\nshl.b32 %a1, %t, 3;\n";
  for (int i = 0; i < 4; ++i)
    text += "add.s32 %a2, %a1, " + std::to_string(2 * i) + ";\nadd.s32 %a3, %a2, 1;\n" +
            "shl.b32 %a3, %a3, 16;\nor.b32 %a2, %a2, %a3;\nst.shared.u32 [%a0+" +
            std::to_string(4 * i) + "], %a2;\n";
  text += "mov.u32 %a4, 0;\nmov.u32 %a5, 0;\nmov.u32 %a6, 0;\nmov.u32 %a7, 0;\nbar.sync 0;\n" +
          load + "\nmul.wide.u32 %g0, %t, 16;\nadd.s64 %g0, %g0, %out;\n";
  for (int i = 0; i < 4; ++i)
    text += "st.global.u32 [%g0+" + std::to_string(4 * i) + "], %a" + std::to_string(4 + i) + ";\n";
  auto const o = run(text, {}, {}, 128);
  CHECK(o.fault == "");
  return o.out;
}

// By the manual, thread 0 has elements 0 and 1 of row 0, thread 1 elements 2 and 3, ..., and thread
// 4 those of row 1. The transposed matrix has element (column, row) at (row, column).
std::uint32_t element(int matrix, int row, int column, bool transposed) {
  return static_cast<std::uint32_t>(64 * matrix +
                                    (transposed ? 8 * column + row : 8 * row + column));
}

void check_load(int matrices, bool transposed) {
  char const* const destinations = matrices == 1   ? "{%a4}"
                                   : matrices == 2 ? "{%a4, %a5}"
                                                   : "{%a4, %a5, %a6, %a7}";
  numbers const out =
      loaded("ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
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

// The element of a matrix that register i of a lane has in its lower or upper half.
struct index {
  int row, column;
};
index index_in_a(int lane, int i, int half) {
  int const group = lane >> 2, thread = lane % 4;
  int const element = 2 * i + half;  // a0 to a7
  int const row = (element < 2 || (element >= 4 && element < 6)) ? group : group + 8;
  int const column = element < 4 ? thread * 2 + (element & 1) : thread * 2 + (element & 1) + 8;
  return {row, column};
}
index index_in_b(int lane, int i, int half) {
  int const group = lane >> 2, thread = lane % 4;
  int const element = 2 * i + half;  // b0 to b3
  int const row = element < 2 ? thread * 2 + (element & 1) : thread * 2 + (element & 1) + 8;
  return {row, group};
}
index index_in_c(int lane, int i) {
  int const group = lane >> 2, thread = lane % 4;
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

// Encodes an integer of 0 to 15, which both formats represent exactly.
std::uint32_t half_of(int n, bool bf16) {
  if (n == 0) return 0;
  int exponent = 0;
  while (n >> (exponent + 1) != 0) ++exponent;
  int const mantissa = n - (1 << exponent);
  return static_cast<std::uint32_t>(bf16 ? (127 + exponent) << 7 | mantissa << (7 - exponent)
                                         : (15 + exponent) << 10 | mantissa << (10 - exponent));
}
int a_of(index p) { return (3 * p.row + 5 * p.column + p.row * p.column) % 16; }
int b_of(index p) { return (7 * p.row + 2 * p.column + p.row * p.column / 3) % 16; }
int c_of(index p) { return 100 * p.row + p.column; }

std::uint32_t bits_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Checks that `out` is C + A B, with sums over k < depth.
void check_product(numbers const& out, int depth) {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      index const p = index_in_c(lane, i);
      int sum = c_of(p);
      for (int k = 0; k < depth; ++k) sum += a_of({p.row, k}) * b_of({k, p.column});
      CHECK(out[static_cast<std::size_t>(4 * lane + i)] == bits_of(static_cast<float>(sum)));
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
  CHECK(contains(faults_of(row + load),
                 "race at byte 0 of shared memory: thread 1 reads what thread 0"));
  CHECK(contains(faults_of("shl.b32 %a0, %t, 4;\n" + load), "which was never written"));
  CHECK(contains(faults_of(row + "bar.sync 0;\nadd.s32 %a0, %a0, 8;\n" + load),
                 "reads a row of a matrix, misaligned (thread 0, address 0x8)"));
  CHECK(contains(faults_of(row + "bar.sync 0;\nadd.s32 %a0, %a0, 1024;\n" + load),
                 "reads past the end of shared memory"));
  CHECK(contains(faults_of(row + "bar.sync 0;\nsetp.eq.s32 %q0, %t, 0;\n@%q0 " + load),
                 "ldmatrix that part of a warp does not reach: lanes 00000001 of ffffffff"));
  CHECK(contains(faults_of(load, {16}), "fewer than 32 lanes"));
  // A lane that writes afterwards races with the readers: lane 8 read the first elements of row 2.
  std::string const write = "setp.eq.s32 %q0, %t, 9;\n@%q0 st.shared.u32 [%z+36], %t;";
  CHECK(contains(faults_of(row + "bar.sync 0;\n" + load + "\n" + write),
                 "race at byte 36 of shared memory: thread 9 writes what thread 8 read"));
}

TEST_CASE("mma multiplies fragments as in the manual's tables") {
  for (bool const bf16 : {false, true}) {
    numbers input;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i)
        input.push_back(half_of(a_of(index_in_a(lane, i, 1)), bf16) << 16 |
                        half_of(a_of(index_in_a(lane, i, 0)), bf16));
      for (int i = 0; i < 2; ++i)
        input.push_back(half_of(b_of(index_in_b(lane, i, 1)), bf16) << 16 |
                        half_of(b_of(index_in_b(lane, i, 0)), bf16));
      for (int i = 0; i < 4; ++i)
        input.push_back(bits_of(static_cast<float>(c_of(index_in_c(lane, i)))));
    }
    auto const o = run(multiply(bf16 ? "bf16.bf16" : "f16.f16"), {}, input, 128);
    CHECK(o.fault == "");
    CHECK(o.counts.matrix_products == 1);
    check_product(o.out, 16);
  }
}

// Register i of a lane holds row g or g + 8 and column t or t + 4 of A; B likewise.
TEST_CASE("mma multiplies TF32, ignoring the 13 lowest bits of floats") {
  auto const number = [](int n) { return bits_of(static_cast<float>(n)) | 0x1fffu; };
  numbers input;
  for (int lane = 0; lane < 32; ++lane) {
    int const g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) input.push_back(number(a_of({g + i % 2 * 8, t + i / 2 * 4})));
    for (int i = 0; i < 2; ++i) input.push_back(number(b_of({t + 4 * i, g})));
    for (int i = 0; i < 4; ++i)
      input.push_back(bits_of(static_cast<float>(c_of(index_in_c(lane, i)))));
  }
  auto const o = run(multiply("tf32.tf32", "m16n8k8"), {}, input, 128);
  CHECK(o.fault == "");
  CHECK(o.counts.matrix_products == 1);
  check_product(o.out, 8);
}

TEST_CASE("mma keeps subnormal numbers, propagates infinities and NaN, and rounds a sum once") {
  // A, B and C are constant matrices.
  auto const product = [](std::string const& types, std::uint32_t a, std::uint32_t b, float c) {
    numbers input;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) input.push_back(a << 16 | a);
      for (int i = 0; i < 2; ++i) input.push_back(b << 16 | b);
      for (int i = 0; i < 4; ++i) input.push_back(bits_of(c));
    }
    auto const o = run(multiply(types), {}, input, 128);
    CHECK(o.fault == "");
    return o.out[77];
  };
  CHECK(product("f16.f16", 0x0001, 0x3c00, 0) == bits_of(0x1p-20f));  // 16 x 2^-24
  CHECK(product("f16.f16", 0x03ff, 0x3c00, 0) == bits_of(0x3ffp-20f));
  CHECK(product("f16.f16", 0xbc00, 0x3c00, 0) == bits_of(-16));
  CHECK(product("bf16.bf16", 0x0001, 0x3f80, 0) == bits_of(0x1p-129f));  // 16 x 2^-133
  CHECK(product("f16.f16", 0x7c00, 0x3c00, 0) == 0x7f800000);
  CHECK(product("f16.f16", 0xfc00, 0x3c00, 0) == 0xff800000);
  CHECK(product("bf16.bf16", 0x7f80, 0x0000, 0) == 0x7fffffff);  // infinity x 0
  CHECK(product("f16.f16", 0x7c01, 0x3c00, 0) == 0x7fffffff);
  CHECK(product("f16.f16", 0x3c00, 0x3c00, INFINITY) == 0x7f800000);
  // 2^24 + 16: exact; 2^24 + 16 x 2^-2 = 2^24 + 4; each quarter alone would vanish.
  CHECK(product("f16.f16", 0x3c00, 0x3400, 0x1p24f) == bits_of(0x1p24f + 4));
}

TEST_CASE("mma requires a whole warp") {
  CHECK(contains(
      faults_of("setp.lt.s32 %q0, %t, 31;\n@!%q0 ret;\n" + multiply("f16.f16"), {}, numbers(320)),
      "mma by a warp of fewer than 32 lanes"));
}
