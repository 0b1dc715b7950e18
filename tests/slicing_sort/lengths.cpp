// SPDX-License-Identifier: Apache-2.0
// slicing_sort with a length per sample: padding stays in place, maps to itself, and has no effect
// on other rows.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

using namespace support;

namespace {

// Fills the padding with special values, which would sort first, last or in between.
template <class T>
void poison_padding(sort_problem<T>& p, std::uint64_t seed) {
  random_stream random(seed);
  extents3 const e = p.x.extents();
  for_each_position(e, [&](index_t b, index_t n, index_t c) {
    if (n >= p.rows(b)) p.x(b, n, c) = random_special<T>(random);
  });
  compute_expected(p);
}

}  // namespace

TEST_CASE_TEMPLATE("every length of a short tensor", T, float, double, float16, bfloat16) {
  for (index_t n : {1, 2, 5, 16, 33})
    for (index_t valid = 0; valid <= n; ++valid) {
      auto const seed = static_cast<std::uint64_t>(100 * n + valid);
      std::uint64_t const order = valid % 2 == 0 ? up : down;
      auto p = make_mixed_problem<T>({1, n, 34}, ordinary_kinds, seed, order, {valid});
      CHECK(check_all_paths(p) == "");
      poison_padding(p, seed);
      CHECK(check_all_paths(p) == "");
    }
}

TEST_CASE_TEMPLATE("unequal lengths in one tile", T, float, double, float16, bfloat16) {
  for (index_t n : {3, 31, 64, 100, 129, 400})
    for (index_t c : {1, 5, 8, 32, 33}) {
      auto const seed = static_cast<std::uint64_t>(n * 50 + c);
      std::vector<index_t> const lengths = {n, 0, 1, n - 1, n / 2, 2, n};
      auto p = make_mixed_problem<T>({7, n, c}, all_kinds, seed, irregular, lengths);
      poison_padding(p, seed);
      CHECK(check_all_paths(p) == "");
      p = make_problem<T>({7, n, c}, input_kind::rare_pairs, seed, down, lengths);
      poison_padding(p, seed + 1);
      CHECK(check_all_paths(p) == "");
    }
}

TEST_CASE_TEMPLATE("lengths equal to the tensor's length change nothing", T, float, float16) {
  auto const without_lengths = make_mixed_problem<T>({3, 77, 20}, all_kinds, 6, irregular);
  auto const with_lengths =
      make_mixed_problem<T>({3, 77, 20}, all_kinds, 6, irregular, {77, 77, 77});
  CHECK(same_bits(without_lengths.y.elements(), with_lengths.y.elements()));
  CHECK(check_all_paths(with_lengths) == "");
}

TEST_CASE_TEMPLATE("lengths above the radix threshold", T, float, bfloat16) {
  auto p = make_mixed_problem<T>({3, 65700, 2}, all_kinds, 6, zigzag, {65700, 40000, 65650});
  poison_padding(p, 7);
  CHECK(check_all_paths(p) == "");
}

TEST_CASE("valid rows do not depend on the padding") {
  auto first = make_problem<float>({2, 50, 40}, input_kind::few_unique, 3, irregular, {20, 37});
  auto second = first;
  poison_padding(first, 1);
  poison_padding(second, 2);
  for (auto const* p : {&first, &second}) CHECK(check_all_paths(*p) == "");
  for (index_t b = 0; b < 2; ++b)
    for (index_t c = 0; c < 40; ++c)
      CHECK(same_bits(first.y.column(b, c, first.rows(b)), second.y.column(b, c, second.rows(b))));
}

TEST_CASE("lengths may have a stride") {
  auto p = make_problem<float>({3, 12, 5}, input_kind::normal, 3, up, {5, 12, 0});
  std::vector<index_t> const strided_lengths = {5, -7, 12, -7, 0};
  tensor<float> y(p.x.extents());
  ss::slicing_sort<pattern_order> const op;
  for_each_backend(1, [&](any_exec const& exec) {
    guarded_workspace scratch(op.template workspace_bytes<float>(exec, p.x.extents()));
    op.forward(exec, p.x.view(), y.view(), ss::no_saved, scratch.get(),
               ss::tensor1<index_t const>(strided_lengths.data(), 3, 2));
    CHECK(difference("y", y, p.y) == "");
  });
}
