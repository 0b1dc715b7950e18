// SPDX-License-Identifier: Apache-2.0
// softmax_attention at sizes around tile and vector edges, with long rows and wide rows.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

// Prints errors relative to their bounds.
template <class T>
void report(attention_error_ratios const& max_ratios) {
  MESSAGE(std::string(type_name<T>()) << ": errors of y, state, dq, dk, dv and dbias take up "
                                      << max_ratios.describe() << " of their bounds");
}

}  // namespace

TEST_CASE_TEMPLATE("every size", T, float, double, float16, bfloat16) {
  attention_error_ratios max_ratios;
  std::uint64_t seed = 5000 + sizeof(T);
  index_t const edges[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
  index_t const channels[] = {1, 3, 5, 17, 33, 63, 64, 65, 100, 2, 16, 32, 8};
  random_stream random(seed);
  auto const choose = [&](auto const& list) {
    return list[random.below(sizeof list / sizeof list[0])];
  };
  for (int i = 0; i < (full_suite() ? 200 : 24); ++i) {
    attention_size size{1, 1, choose(edges), choose(edges), choose(channels), choose(channels)};
    if (size.queries * size.keys < 3000) size.batch = 1 + static_cast<index_t>(random.below(2));
    if (size.queries * size.keys < 1500) size.heads = 1 + static_cast<index_t>(random.below(3));
    solved_attention<T> const solved(random_attention<T>(size, ++seed));
    for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec, memory_layout{}, &max_ratios) == "");
    });
  }
  report<T>(max_ratios);
}

// Full tiles, tiles with one key or query less, without a mask and with ranges that end at tile
// edges.
TEST_CASE_TEMPLATE("the edges of tiles", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 7000;
  for (index_t tile : {16, 32, 64, 128})
    for (index_t n = tile - 1; n <= tile + 1; ++n)
      for (attention_size size :
           {attention_size{1, 1, 128, n, 8, 8}, attention_size{1, 1, n, 5, 8, 8}})
        for (pattern_mask mask : {pattern_mask{}, pattern_mask{mask_kind::block_local, n - 2, 0}}) {
          if (!full_suite() && (static_cast<std::uint64_t>(n) + seed / 2 + sizeof(T) / 2) % 2 ==
                                   0) {  // a different half for each type
            ++seed;
            continue;
          }
          solved_attention<T> const solved(normal_attention<T>(size, mask, ++seed));
          for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
            CHECK(check_attention(solved, exec) == "");
          });
        }
}

TEST_CASE_TEMPLATE("long rows", T, float, float16) {
  attention_error_ratios max_ratios;
  std::uint64_t seed = 9000;
  for (attention_size size :
       {attention_size{1, 1, 3, 511, 8, 8}, attention_size{1, 1, 2, 513, 5, 9},
        attention_size{1, 1, 513, 2, 4, 4}, attention_size{1, 1, 257, 1, 7, 3},
        attention_size{1, 2, 1, 1025, 3, 1}}) {
    solved_attention<T> const solved(random_attention<T>(size, ++seed));
    for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec, memory_layout{}, &max_ratios) == "");
    });
  }
  report<T>(max_ratios);
}

// `materialized` on the host computes a map of more than four megabytes in slabs of rows.
TEST_CASE_TEMPLATE("slabs of a large map" * doctest::skip(!testing(backend_kind::host)), T, float,
                   bfloat16) {
  auto p = normal_attention<T>({1, 1, 333, 3700, 2, 3}, {mask_kind::causal, 3400, 0}, 9400);
  p.requested = wants_dv;
  p.query_lengths = {310};
  solved_attention<T> const solved(p);
  for (int layout : {0, 1})
    CHECK(check_attention(solved, ss::exec::host{}, ss::materialized<>{}, memory_layout{layout}) ==
          "");
}

TEST_CASE_TEMPLATE("wide rows", T, float, bfloat16) {
  std::uint64_t seed = 9500;
  for (attention_size size :
       {attention_size{1, 1, 17, 19, 129, 200}, attention_size{1, 1, 9, 33, 256, 128},
        attention_size{1, 1, 5, 7, 300, 257}}) {
    solved_attention<T> const solved(random_attention<T>(size, ++seed));
    for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec) == "");
    });
  }
}

// Thread blocks of several warps with increasing numbers of visible keys; some end with a fully
// visible tile, some have no keys. Channels are copied in pieces of 16 bytes, in a narrow tile, a
// wide one, and several.
TEST_CASE_TEMPLATE("blocks of several warps", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 9900;
  for (index_t channels : {40, 72, 136})
    for (mask_kind kind : {mask_kind::causal, mask_kind::causal_strided})
      for (unsigned requested : {wants_dq | wants_dk | wants_dv, unsigned{wants_dbias}}) {
        if (requested == wants_dbias && channels != 72) continue;
        auto p = normal_attention<T>({2, 1, 130, 64, channels, channels}, {kind, 0, 2}, ++seed);
        p.lengths = {64, 0};
        p.requested = requested;
        solved_attention<T> const solved(p);
        for_each_backend_untuned(
            [&](any_exec const& exec) { CHECK(check_attention(solved, exec) == ""); });
      }
}
