// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.14.5 "Matrix multiply-accumulate operation using mma instruction", with the fragments
// of its sections 8 "m16n8k16 with floating point type" and 15 "ldmatrix".
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

// Lanes 8 g to 8 g + 7 have the addresses of the rows of matrix g. Lane l gets the elements 2 (l %
// 4) and the next of row l / 4; transposed, of column l / 4.
template <bool Transposed>
void load_matrices(warp& w, instruction const& n, lane_mask active) {
  w.demand_whole(active, "ldmatrix");
  if (active != all_lanes) w.fail("ldmatrix by a warp of fewer than 32 lanes");
  counters& counted = w.in->of->counted;
  ++counted.matrix_loads;
  shared_memory& shared = w.in->shared;
  std::uint64_t const* const base = w.source(n.sources[0]);
  unsigned const rows = 8u * n.count;
  std::uint16_t element[32][8];
  std::array<std::uint64_t, warp_lanes> at;
  for (unsigned l = 0; l < rows; ++l) {
    at[l] = static_cast<std::uint32_t>(base[l] + static_cast<std::uint64_t>(n.offset));
    if (at[l] % 16 != 0) w.fail("reads a row of a matrix, misaligned", l, at[l]);
    if (at[l] + 16 > shared.size()) w.fail("reads past the end of shared memory", l, at[l]);
    unsigned const row = l % 8;
    lane_mask const lanes =
        Transposed ? lane_mask{0x11111111} << row / 2 : lane_mask{0xf} << 4 * row;
    shared.read_together(w, lanes, static_cast<std::size_t>(at[l]), 16);
    std::memcpy(element[l], shared.data() + at[l], 16);
  }
  // Served as 8 rows, 128 bytes, at a time.
  if (w.in->of->how.watched.count_memory)
    count_shared(counted, at.data(), 16, static_cast<lane_mask>((std::uint64_t{1} << rows) - 1));
  for (unsigned g = 0; g < n.count; ++g) {
    std::uint64_t* const to = w.result(n.results[g]);
    for (unsigned l = 0; l < warp_lanes; ++l) {
      unsigned const first = l / 4, second = 2 * (l % 4);
      std::uint32_t const low =
          Transposed ? element[8 * g + second][first] : element[8 * g + first][second];
      std::uint32_t const high =
          Transposed ? element[8 * g + second + 1][first] : element[8 * g + first][second + 1];
      to[l] = high << 16 | low;
    }
  }
}

struct fragments {
  double a[16][16], b[16][8], c[16][8];
};

void multiply(fragments& m) {
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column) m.c[row][column] += m.a[row][k] * m.b[k][column];
}

// With g = lane / 4 and t = 2 (lane % 4), two elements a register: of A, (g, t), (g + 8, t),
// (g, t + 8), (g + 8, t + 8) and those to their right; of B, (t, g), (t + 8, g) and those below;
// of C, one a register, (g, t), (g, t + 1), (g + 8, t), (g + 8, t + 1). A device sums in an order
// and with a precision of its own; here the sum is exact but for doubles' rounding.
template <float number(std::uint16_t)>
void multiply_add(warp& w, instruction const& n, lane_mask active) {
  w.demand_whole(active, "mma");
  if (active != all_lanes) w.fail("mma by a warp of fewer than 32 lanes");
  ++w.in->of->counted.matrix_products;
  fragments m;
  for (int i = 0; i < 4; ++i) {
    std::uint64_t const* const a = w.source(n.sources[i]);
    for (int l = 0; l < warp_lanes; ++l) {
      double* const to = &m.a[l / 4 + i % 2 * 8][l % 4 * 2 + i / 2 * 8];
      to[0] = static_cast<double>(number(static_cast<std::uint16_t>(a[l])));
      to[1] = static_cast<double>(number(static_cast<std::uint16_t>(a[l] >> 16)));
    }
  }
  for (int i = 0; i < 2; ++i) {
    std::uint64_t const* const b = w.source(n.sources[4 + i]);
    for (int l = 0; l < warp_lanes; ++l) {
      int const row = l % 4 * 2 + i * 8, column = l / 4;
      m.b[row][column] = static_cast<double>(number(static_cast<std::uint16_t>(b[l])));
      m.b[row + 1][column] = static_cast<double>(number(static_cast<std::uint16_t>(b[l] >> 16)));
    }
  }
  for (int i = 0; i < 4; ++i) {
    std::uint64_t const* const c = w.source(n.sources[6 + i]);
    for (int l = 0; l < warp_lanes; ++l)
      m.c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2] = static_cast<double>(narrow<float>(c[l]));
  }
  multiply(m);
  for (int i = 0; i < 4; ++i) {
    std::uint64_t* const to = w.result(n.results[i]);
    for (int l = 0; l < warp_lanes; ++l) {
      auto const sum = static_cast<float>(m.c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2]);
      to[l] = std::isnan(sum) ? 0x7fffffff : widen(sum);
    }
  }
}

void decode_ldmatrix(statement& s, instruction& n) {
  s.expect("sync");
  s.expect("aligned");
  s.expect("m8n8");
  n.count = static_cast<std::uint8_t>(1u << s.take_one_of({"x1", "x2", "x4"}));
  n.act = s.take("trans") ? load_matrices<true> : load_matrices<false>;
  if (!s.take("shared::cta")) s.expect("shared");
  s.take_type({type::b16});
  n.where = space::shared;
  s.result_vector(n, type::b32, n.count);
  n.offset = s.address(n, space::shared);
}

void decode_mma(statement& s, instruction& n) {
  s.expect("sync");
  s.expect("aligned");
  s.expect("m16n8k16");
  s.expect("row");
  s.expect("col");
  n.t = s.take_type({type::f32});
  n.from = s.take_type({type::f16, type::bf16});
  s.take_type({n.from});
  s.take_type({n.t});
  n.act = n.from == type::f16 ? multiply_add<float_of_half> : multiply_add<float_of_bfloat>;
  s.results(n, type::f32, 4);
  s.sources(n, type::b32, 4);
  s.sources(n, type::b32, 2);
  s.sources(n, type::f32, 4);
}

}  // namespace

std::vector<form> matrices() {
  return {{"ldmatrix", "9.7.14.5.15", decode_ldmatrix}, {"mma", "9.7.14.5.14", decode_mma}};
}

}  // namespace ptx
