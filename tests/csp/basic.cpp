// SPDX-License-Identifier: Apache-2.0
// Basic tests of csp: golden values, shapes, layouts, policies, and the saved state.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

using doubles = std::vector<double>;

// Checks one sample with given shifts against the golden values, which the oracle must reproduce,
// too.
template <class T>
void check_golden(index_t group, index_t reference, std::uint64_t order,
                  std::vector<doubles> const& x, std::vector<std::int32_t> const& shifts,
                  std::vector<doubles> const& y, std::vector<row_order> const& saved) {
  csp_problem<T> p;
  p.x = tensor_of_columns<T>({1, static_cast<index_t>(x[0].size()), static_cast<index_t>(x.size())},
                             [&](std::uint64_t c) { return elements_of<T>(x[c]); });
  p.dy = random_bits_tensor<T>(p.x.extents(), 1);
  p.group = group;
  p.reference = reference;
  p.order = order;
  p.shifts.table.assign(shifts.begin(), shifts.end());
  compute_expected(p);
  for (std::size_t c = 0; c < x.size(); ++c) {
    REQUIRE(same_bits(p.y.column(0, static_cast<index_t>(c)), elements_of<T>(y[c])));
    REQUIRE(p.saved.column(0, static_cast<index_t>(c)) == saved[c]);
  }
  for_each_backend(p.backend_seed(),
                   [&](any_exec const& exec) { CHECK(check_csp(p, exec) == ""); });
}

// Checks a given operator against the expected results of a test case.
template <class Op, class T>
void check_operator(Op const& op, csp_problem<T> const& p) {
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    auto y = garbage_tensor<T>(p.extents()), dx = garbage_tensor<T>(p.extents());
    guarded_order_buffer order(op.saved_extents(p.extents()), op.saved_width(p.extents()));
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, p.extents()));
    op.forward(exec, p.x.view(), y.view(), {order.view()}, scratch.get(), {view_of(p.lengths)});
    op.backward(exec, p.dy.view(), {order.view()}, dx.view(), scratch.get(),
                {ss::grad_mode::overwrite, view_of(p.lengths)});
    CAPTURE(p.describe());
    CAPTURE(describe_exec(exec));
    CHECK(difference("y", y, p.y) == "");
    CHECK(difference("order", order.contents(), p.saved) == "");
    CHECK(difference("dx", dx, p.dx) == "");
  });
}

}  // namespace

TEST_CASE_TEMPLATE("golden values", T, float, double, float16, bfloat16) {
  doubles const c0{3, 0, 2, 7, 1, 6, 5, 4}, c1{1, 5, 4, 2, 9, 0, 8, 3};
  row_order const identity{0, 1, 2, 3, 4, 5, 6, 7};
  check_golden<T>(2, no_reference, up, {c0, c1}, {0, 2},
                  {{0, 3, 2, 7, 1, 6, 4, 5}, {3, 8, 1, 5, 2, 4, 0, 9}}, {{9}, {13}});
  check_golden<T>(2, 0, up, {c0, c1}, {0, 2}, {c0, {8, 3, 1, 5, 2, 4, 9, 0}}, {{0}, {4}});
  check_golden<T>(8, 0, up, {c0, c1}, {0, 0}, {c0, {3, 0, 2, 9, 1, 8, 5, 4}},
                  {identity, {7, 5, 3, 4, 0, 6, 1, 2}});
  check_golden<T>(1, no_reference, up, {c0, c0}, {3, -5},
                  {{6, 5, 4, 3, 0, 2, 7, 1}, {6, 5, 4, 3, 0, 2, 7, 1}}, {{}, {}});
  check_golden<T>(3, no_reference, down, {c1, {1, 1, 0, 0, 1, 1, 1, 0}}, {1, 8},
                  {{5, 3, 1, 9, 4, 2, 8, 0}, {1, 1, 0, 1, 1, 0, 1, 0}},
                  {{2, 0, 1, 2, 0, 1, 1, 0}, {0, 1, 2, 1, 2, 0, 0, 1}});
}

TEST_CASE_TEMPLATE("every shape, policy and layout", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes())
    for (bool has_lengths : {false, true}) {
      ++seed;
      index_t const groups[] = {2, 3, e.length, 8, 1, 17};
      index_t const last = e.channels - 1;
      auto const lengths = has_lengths ? mixed_lengths(e) : std::vector<index_t>();
      auto const sorted =
          make_mixed_csp<T>(e, groups[seed % 6] + (e.length == 0), no_reference, seed, lengths);
      check_every_way(sorted, csp_runner(sorted));
      auto const aligned = make_mixed_csp<T>(e, groups[(seed + 2) % 6] + (e.length == 0),
                                             seed % 2 == 0 || last < 0 ? 0 : last, seed, lengths);
      check_every_way(aligned, csp_runner(aligned));
    }
}

TEST_CASE("every shift policy with every alignment") {
  extents3 const e{2, 41, 34};
  std::vector<index_t> const lengths{41, 23};
  auto const check_policy = [&](auto policy) {
    for (index_t group : {1, 2, 5}) {
      test_shift shifts;
      for (index_t c = 0; c < e.channels; ++c)
        shifts.table.push_back(policy.shift(c, e.channels, e.length));
      csp_problem<float> p = make_mixed_csp<float>(e, group, no_reference, 4, lengths);
      p.order = up;
      p.shifts = shifts;
      compute_expected(p);
      check_operator(ss::csp{ss::group_size{group}, policy, ss::ascending{}}, p);
      p.reference = 3;
      compute_expected(p);
      ss::csp const aligned{ss::group_size{group}, policy, ss::reference{3}};
      check_operator(aligned, p);
      for (index_t c = 0; c < e.channels; ++c)
        for (index_t n : {1, 23, 41}) {
          index_t const shift = shifts.table[static_cast<std::size_t>(c)] % n;
          CHECK(aligned.shift_of(c, e, n) == (c == 3 ? 0 : shift));
        }
    }
  };
  check_policy(ss::shift::none{});
  check_policy(ss::shift::linear{});
  check_policy(ss::shift::linear_step{2});
  check_policy(ss::shift::per_head{2});
  check_policy(ss::shift::modular{});
  check_policy(ss::shift::power{1, 3});
  check_policy(ss::shift::power_ceil{1, 3});
}

TEST_CASE("built-in and user-defined orders and references") {
  extents3 const e{3, 50, 36};
  for (index_t group : {2, 7, 50}) {
    ss::grouping const groups = ss::group_size{group};
    std::vector<index_t> const lengths{50, 31, 1};
    auto const make_sorted = [&](std::uint64_t order) {
      return make_csp_problem<float>(mixed_tensor<float>(e, all_kinds, 3), group, no_reference,
                                     order, 5, lengths);
    };
    test_shift const shifts{5};
    check_operator(ss::csp{groups, shifts, ss::ascending{}}, make_sorted(up));
    check_operator(ss::csp{groups, shifts, ss::descending{}}, make_sorted(down));
    check_operator(ss::csp{groups, shifts, pattern_order{irregular}}, make_sorted(irregular));
    std::uint64_t first_half = 0;  // ascending channels: the first half of two heads of 18
    for (int c = 0; c < 36; ++c) first_half |= std::uint64_t{c % 18 < 9} << c;
    check_operator(ss::csp{groups, shifts, ss::half_half{2}}, make_sorted(first_half));
    for (index_t reference : {0, 17, 35}) {
      auto const p = make_csp_problem<float>(mixed_tensor<float>(e, all_kinds, 4), group, reference,
                                             up, 5, lengths);
      check_operator(ss::csp{groups, shifts, ss::reference{reference}}, p);
      check_operator(ss::csp{groups, shifts, follow_channel{reference}}, p);
    }
    auto const first =
        make_csp_problem<float>(mixed_tensor<float>(e, all_kinds, 6), group, 0, up, 0);
    check_operator(ss::csp<ss::shift::none>{groups}, first);
  }
}

TEST_CASE("group_count equals the group_size that it implies") {
  for (index_t n : {1, 2, 5, 30, 31})
    for (index_t count : {1, 2, 3, 4, 30, 31, 100}) {
      index_t const group = (n + count - 1) / count;
      auto const p = make_mixed_csp<float>({2, n, 5}, group, count % 2 == 0 ? no_reference : 1, 8);
      if (p.aligned())
        check_operator(ss::csp{ss::group_count{count}, p.shifts, ss::reference{1}}, p);
      else
        check_operator(ss::csp{ss::group_count{count}, p.shifts, pattern_order{p.order}}, p);
    }
}

TEST_CASE("shape and width of the saved state") {
  auto const saved_shape = [](index_t group, extents3 e) {
    ss::csp<> const op{ss::group_size{group}};
    extents3 const s = op.saved_extents(e);
    CHECK(s.batch == e.batch);
    CHECK(s.channels == e.channels);
    return std::pair(s.length, static_cast<int>(op.saved_width(e)));
  };
  using length_and_width = std::pair<index_t, int>;
  CHECK(saved_shape(1, {2, 40, 3}).first == 0);
  for (index_t n : {2, 15, 16}) CHECK(saved_shape(2, {2, n, 3}) == length_and_width(1, 1));
  CHECK(saved_shape(2, {2, 17, 3}) == length_and_width(2, 1));
  CHECK(saved_shape(2, {2, 33, 3}) == length_and_width(3, 1));
  CHECK(saved_shape(3, {2, 2, 3}) == length_and_width(1, 1));  // a group is at most the sequence
  CHECK(saved_shape(9, {2, 1, 3}).first == 0);
  CHECK(saved_shape(2, {2, 0, 3}).first == 0);
  CHECK(saved_shape(3, {2, 40, 3}) == length_and_width(40, 1));
  CHECK(saved_shape(256, {2, 400, 3}) == length_and_width(400, 1));
  CHECK(saved_shape(257, {2, 400, 3}) == length_and_width(400, 2));
  CHECK(saved_shape(65536, {2, 70000, 3}) == length_and_width(70000, 2));
  CHECK(saved_shape(65537, {2, 70000, 3}) == length_and_width(70000, 4));
  CHECK(saved_shape(index_t{1} << 40, {2, 70000, 3}) == length_and_width(70000, 4));
  CHECK(ss::csp<>{ss::group_count{7}}.group({1, 50, 1}) == 8);
}
