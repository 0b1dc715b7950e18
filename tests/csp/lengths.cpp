// SPDX-License-Identifier: Apache-2.0
// csp with a length per sample: shifts are modulo the length, groups consist of valid rows only,
// and padding has no effect.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace support;

namespace {

// Fills the padding with special values, which would sort first, last or in between.
template <class T>
void poison_padding(csp_problem<T>& p, std::uint64_t seed) {
  random_stream random(seed);
  for_each_position(p.extents(), [&](index_t b, index_t n, index_t c) {
    if (n >= p.rows(b)) p.x(b, n, c) = random_special<T>(random);
  });
  compute_expected(p);
}

}  // namespace

TEST_CASE_TEMPLATE("every length of a short tensor", T, float, double, float16, bfloat16) {
  for (index_t n : {1, 2, 5, 16, 33})
    for (index_t valid = 0; valid <= n; ++valid)
      for (index_t group : {1, 2, 3, 8, 33}) {
        auto const seed = static_cast<std::uint64_t>(100 * n + 7 * valid + group);
        if (!full_suite() && n > 5 && seed % 3 != 0) continue;
        auto p = make_mixed_csp<T>({1, n, 9}, group, no_reference, seed, {valid});
        poison_padding(p, seed);
        CHECK(check_everywhere(p) == "");
        p = make_mixed_csp<T>({1, n, 9}, group, 8, seed, {valid});
        poison_padding(p, seed);
        CHECK(check_everywhere(p) == "");
      }
}

TEST_CASE_TEMPLATE("unequal lengths in one tile", T, float, double, float16, bfloat16) {
  for (index_t n : {3, 31, 64, 100, 129, 400})
    for (index_t c : {1, 5, 32, 33}) {
      auto const seed = static_cast<std::uint64_t>(n * 50 + c);
      std::vector<index_t> const lengths = {n, 0, 1, n - 1, n / 2, 2, n};
      index_t const groups[] = {2, 3, 17, 1, n};
      auto p = make_mixed_csp<T>({7, n, c}, groups[seed % 5], no_reference, seed, lengths);
      poison_padding(p, seed);
      CHECK(check_everywhere(p) == "");
      p = make_mixed_csp<T>({7, n, c}, groups[(seed + 2) % 5], c / 2, seed, lengths);
      poison_padding(p, seed + 1);
      CHECK(check_everywhere(p) == "");
    }
}

TEST_CASE("the shift is modulo the sample's length") {
  // Eleven of sixteen rows are valid and shifted by four: rows 7 8 9 10 0 1 .. 6, then the five
  // padding rows.
  extents3 const e{1, 16, 1};
  std::vector<index_t> const lengths{11};
  std::int32_t const four = 4;
  tensor<float> x(e), y(e), dx(e);
  for (index_t n = 0; n < 16; ++n) x(0, n, 0) = static_cast<float>(n);
  std::vector<float> const expected{7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15};
  ss::csp const op{ss::group_size{1}, ss::shift::table{{&four, 1}}, ss::ascending{}};
  for_each_backend(1, [&](any_exec const& exec) {
    guarded_workspace scratch(op.template workspace_bytes<float>(exec, e));
    guarded_order_buffer no_order(op.saved_extents(e), op.saved_width(e));
    op.forward(exec, x.view(), y.view(), {no_order.view()}, scratch.get(), {view_of(lengths)});
    CHECK(y.elements() == expected);
    op.backward(exec, y.view(), {no_order.view()}, dx.view(), scratch.get(),
                {ss::grad_mode::overwrite, view_of(lengths)});
    CHECK(dx.elements() == x.elements());
  });
  CHECK(op.shift_of(0, e, 11) == 4);
  CHECK(op.shift_of(0, e, 3) == 1);
  CHECK(op.shift_of(0, e, 0) == 0);
}

TEST_CASE("bits of padding rows and of an unpaired last row are 0") {
  extents3 const e{4, 37, 34};
  std::vector<index_t> const lengths{37, 20, 7, 0};
  tensor<float> x(e);  // descending, so every pair is swapped
  for (float& value : x.elements()) value = static_cast<float>(x.elements().data() - &value);
  auto const p = make_csp_problem<float>(x, 2, no_reference, up, 0, lengths);
  for (index_t c = 0; c < 34; ++c) {  // expected bits, computed by hand
    REQUIRE(p.saved.column(0, c) == row_order{255, 255, 3});
    REQUIRE(p.saved.column(1, c) == row_order{255, 3, 0});
    REQUIRE(p.saved.column(2, c) == row_order{7, 0, 0});
    REQUIRE(p.saved.column(3, c) == row_order{0, 0, 0});
  }
  CHECK(check_everywhere(p) == "");
}

TEST_CASE_TEMPLATE("lengths equal to the tensor's length change nothing", T, float, float16) {
  for (index_t group : {1, 2, 9}) {
    auto const without_lengths = make_mixed_csp<T>({3, 77, 20}, group, 1, 6);
    auto const with_lengths = make_mixed_csp<T>({3, 77, 20}, group, 1, 6, {77, 77, 77});
    CHECK(same_bits(without_lengths.y.elements(), with_lengths.y.elements()));
    CHECK(check_everywhere(with_lengths) == "");
  }
}

TEST_CASE("lengths may have a stride") {
  auto const p = make_mixed_csp<float>({3, 12, 5}, 3, 0, 3, {5, 12, 0});
  std::vector<index_t> const strided = {5, -7, 12, -7, 0};
  for_each_backend_once(1, [&](any_exec const& exec) {
    tensor<float> y(p.extents()), dx(p.extents());
    csp_runner(p)(exec, p.x.view(), y.view(), p.dy.view(), dx.view(),
                  ss::tensor1<index_t const>(strided.data(), 3, 2));
    CHECK(difference("y", y, p.y) == "");
    CHECK(difference("dx", dx, p.dx) == "");
  });
}
