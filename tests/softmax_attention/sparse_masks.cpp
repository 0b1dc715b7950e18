// SPDX-License-Identifier: Apache-2.0
// Sparse masks with `meets`, `covers` and `for_head`: results match the oracle and do not depend on
// threads or instruction sets, even if the mask is conservative or incomplete. Tiles that do not
// meet are skipped.
#define SLICESORT_TEST_EVERY_BACKEND
#include "masks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

using namespace support;

namespace {

template <class T>
attention_problem<T> sparse_attention(attention_size size, std::uint64_t seed) {
  auto p = random_attention<T>(size, seed, mask_kind::full);
  p.sparse = random_sparse_mask(seed);
  return p;
}

// User-defined masks with parts of the protocol.
struct without_covers {
  sparse_mask mask;

  bool allows(index_t i, index_t j) const { return mask.allows(i, j); }
  bool meets(index_t i, index_t last_i, index_t j, index_t last_j) const {
    return mask.meets(i, last_i, j, last_j);
  }
};
// Without `meets` a mask is not sparse, and `covers` is not called.
struct without_meets {
  sparse_mask mask;

  bool allows(index_t i, index_t j) const { return mask.allows(i, j); }
  bool covers(index_t, index_t, index_t, index_t) const { return true; }
};
// Masks with `for_head` only, whose per-head masks have ranges or `allows`.
struct ranges_per_head {
  ss::mask::window for_head(index_t head) const { return {head * 9, 30 - head * 7}; }
};
struct strides_per_head {
  ss::mask::strided for_head(index_t head) const { return {head + 2, 3}; }
};
static_assert(!ss::detail::is_sparse<without_meets> && ss::detail::is_sparse<without_covers> &&
              !ss::detail::is_sparse<ranges_per_head> && ss::detail::is_sparse<sparse_mask>);

// Blocks of 64 on the diagonal and in the first column. Counts the tested pairs.
struct counting_mask {
  index_t* tested;
  bool has_exact_meets, has_covers;

  bool allows(index_t i, index_t j) const { return ++*tested, is_visible_block(i / 64, j / 64); }
  bool meets(index_t i, index_t last_i, index_t j, index_t last_j) const {
    if (!has_exact_meets) return true;
    bool has_pair = false;
    for (index_t a = i / 64; a <= (last_i - 1) / 64; ++a)
      for (index_t b = j / 64; b <= (last_j - 1) / 64; ++b)
        has_pair = has_pair || is_visible_block(a, b);
    return has_pair;
  }
  bool covers(index_t i, index_t last_i, index_t j, index_t last_j) const {
    bool covered = has_covers;
    for (index_t a = i / 64; a <= (last_i - 1) / 64; ++a)
      for (index_t b = j / 64; b <= (last_j - 1) / 64; ++b)
        covered = covered && is_visible_block(a, b);
    return covered;
  }

 private:
  static bool is_visible_block(index_t i, index_t j) { return i == j || j == 0; }
};

}  // namespace

TEST_CASE_TEMPLATE("sparse masks", T, float, bfloat16) {
  std::uint64_t seed = 0;
  attention_size const sizes[] = {{1, 2, 140, 150, 8, 5},
                                  {2, 2, 70, 201, 5, 17},
                                  {1, 3, 130, 33, 40, 8},
                                  {1, 2, 97, 192, 70, 66}};
  for (; seed < sparse_mask_kinds; ++seed) {
    // Tests all kinds in float, and half of them in bfloat16.
    if (!full_suite() && !std::is_same_v<T, float> && seed % 2 != 0) continue;
    solved_attention<T> const solved(sparse_attention<T>(sizes[seed / 3 % 4], seed));
    for_each_backend(solved.problem.backend_seed(),
                     [&](any_exec const& exec) { CHECK(check_attention(solved, exec) == ""); });
  }
}

// Queries of the last head see 14 more keys than those of the first.
TEST_CASE("key ranges that differ between heads") {
  auto p = normal_attention<float>({1, 3, 130, 140, 4, 3}, {}, 600);
  p.sparse = sparse_mask{sparse_kind::blocks, 1, 2, true, true};
  solved_attention<float> const solved(p);
  for_each_backend_once(600,
                        [&](any_exec const& exec) { CHECK(check_attention(solved, exec) == ""); });
}

// Several groups of tiles that gather keys together, and several tiles of gathered keys.
TEST_CASE_TEMPLATE("long sparse masks" * doctest::skip(!testing(backend_kind::host)), T, float,
                   bfloat16) {
  // Tests half of the kinds per type.
  for (std::uint64_t kind = sizeof(T) / 4; kind < sparse_mask_kinds; kind += 2) {
    std::uint64_t const seed = sparse_mask_kinds * 10 + kind;
    solved_attention<T> const solved(sparse_attention<T>({1, 2, 450, 500, 3, 4}, seed));
    CHECK(check_attention(solved, ss::exec::host{}) == "");
    CHECK(check_attention(solved, ss::exec::host{}, ss::streaming{ss::products::native}) == "");
  }
}

TEST_CASE_TEMPLATE("every memory layout, and each gradient computed alone", T, float, bfloat16) {
  std::uint64_t seed = sparse_mask_kinds * 20;
  for (int layout = 1; layout < memory_layout::count; ++layout) {
    solved_attention<T> const solved(sparse_attention<T>({2, 2, 60, 75, 5, 17}, ++seed));
    for_each_backend_once(solved.problem.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec, memory_layout{layout}) == "");
      CHECK(find_gradients_changed_when_alone(solved.problem, exec, ss::streaming{}) == "");
    });
  }
}

TEST_CASE_TEMPLATE("same bits for every thread count, executor and instruction set" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, bfloat16) {
  std::uint64_t seed = sparse_mask_kinds * 30;
  for (int i = 0; i < (full_suite() || std::is_same_v<T, float> ? 3 : 1); ++i) {
    auto p = sparse_attention<T>({1, 2, 800, 300, 8, 9}, ++seed);
    p.sparse->size = std::max<index_t>(p.sparse->size, 16);
    CAPTURE(p.describe());
    CHECK(find_policies_changing_bits(p, ss::streaming{}, {1, 2, 3, 33}) == "");
    CHECK(find_policies_changing_bits(p, ss::materialized<>{}, {1, 2, 3, 33}) == "");
  }
}

TEST_CASE("masks that implement only parts of the protocol" *
          doctest::skip(!testing(backend_kind::host))) {
  attention_size const size{1, 3, 150, 170, 6, 9};
  auto const check = [&](auto mask, attention_problem<float> const& p) {
    solved_attention<float> const solved(p);
    auto const check_algorithm = [&](auto algorithm) {
      ss::exec::host const exec{2};
      ss::softmax_attention<decltype(mask), decltype(algorithm)> const op(mask, p.scale, algorithm);
      CHECK(check_results(solved, exec, algorithm, run_operator(op, p, exec, memory_layout{})) ==
            "");
    };
    check_algorithm(ss::streaming{});
    check_algorithm(ss::materialized<>{});
  };
  for (std::uint64_t i = 0; i < sparse_mask_kinds; ++i) {
    auto p = random_attention<float>(size, 4000 + i, mask_kind::full);
    p.sparse = random_sparse_mask(i);
    p.sparse->by_head = p.sparse->causal = false;
    check(without_covers{*p.sparse}, p);
    check(without_meets{*p.sparse}, p);
  }
  // Each head must equal a call with the head's mask.
  auto const check_each_head = [&](auto mask) {
    auto const problem = normal_attention<float>(size, {}, 4100, true);
    auto const exec = ss::exec::host{};
    auto const actual =
        run_operator(ss::softmax_attention<decltype(mask)>(mask), problem, exec, memory_layout{});
    for (index_t h = 0; h < size.heads; ++h) {
      auto const head_mask = mask.for_head(h);
      auto const expected =
          run_operator(ss::softmax_attention<std::decay_t<decltype(head_mask)>>(head_mask), problem,
                       exec, memory_layout{});
      auto const is_same_head = [&](std::vector<float> const& a, std::vector<float> const& b) {
        std::size_t const n = a.size() / static_cast<std::size_t>(size.heads),
                          first = static_cast<std::size_t>(h) * n;
        for (std::size_t i = first; i < first + n; ++i)
          if (!(a[i] == b[i])) return false;
        return true;
      };
      CHECK(is_same_head(actual.y, expected.y));
      CHECK(is_same_head(actual.dq, expected.dq));
      CHECK(is_same_head(actual.dk, expected.dk));
      CHECK(is_same_head(actual.dv, expected.dv));
      CHECK(is_same_head(actual.dbias, expected.dbias));
    }
  };
  check_each_head(ranges_per_head{});
  check_each_head(strides_per_head{});
}

TEST_CASE("tiles without visible pairs are skipped" * doctest::skip(!testing(backend_kind::host))) {
  attention_size const size{1, 1, 512, 640, 4, 4};
  auto const p = normal_attention<float>(size, {}, 5000);
  constexpr index_t block_pairs = 64 * 64, visible = (8 + 7) * block_pairs, pairs = 512 * 640;
  auto const check = [&](auto algorithm, index_t passes) {
    auto const count_tested = [&](bool has_exact_meets, bool has_covers) {
      index_t count = 0;
      ss::softmax_attention<counting_mask, decltype(algorithm)> const op(
          counting_mask{&count, has_exact_meets, has_covers}, algorithm);
      (void)run_operator(op, p, ss::exec::host{}, memory_layout{});
      return count;
    };
    CHECK(count_tested(true, true) == 0);
    CHECK(count_tested(true, false) == passes * visible);
    CHECK(count_tested(false, false) == passes * pairs);
  };
  check(ss::streaming{}, 3);       // forward twice, backward once
  check(ss::materialized<>{}, 2);  // forward twice
}

TEST_CASE("workspace") {
  ss::softmax_attention<sparse_mask> const sparse;
  ss::softmax_attention<pattern_mask> const dense;
  for (unsigned threads : {1u, 3u})
    for (index_t n : {index_t{1}, index_t{100}, index_t{5000}, index_t{1} << 17}) {
      ss::exec::host const exec{threads};
      ss::extents4 const e{1, 4, n, 64};
      std::size_t const extra = std::size_t{2} << 20;
      CHECK(sparse.workspace_bytes<float>(exec, e, e) <=
            dense.workspace_bytes<float>(exec, e, e) + threads * extra);
    }
}
