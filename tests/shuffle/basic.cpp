// SPDX-License-Identifier: Apache-2.0
// Tests of shuffle against std::stable_sort by hash, and of the hash against published values.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/error_message.hpp"
#include "support/numbers.hpp"
#include "support/variants.hpp"

#include <slicesort/detail/math/counter_hash.hpp>
#include <slicesort/shuffle.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

// Published outputs of SplitMix64 for seeds 0 and 1234567.
static_assert(ss::detail::counter_hash64(0, 0) == 0xe220a8397b1dcdafu);
static_assert(ss::detail::counter_hash64(0, 1) == 0x6e789e6aa1b965f4u);
static_assert(ss::detail::counter_hash64(0, 2) == 0x06c45d188009454fu);
static_assert(ss::detail::counter_hash64(1234567, 0) == 6457827717110365317u);
static_assert(ss::detail::counter_hash64(1234567, 1) == 3203168211198807973u);
static_assert(ss::detail::counter_hash64(1234567, 2) == 9817491932198370423u);
static_assert(ss::detail::counter_hash32(7, 0, 0) == 0xb8b4c297u &&
              ss::detail::counter_hash32(7, 1, 0) == 0x8254fd5bu);

// Returns the rows of a column in the order of their hashes.
template <class Form>
std::vector<index_t> expected_permutation(std::uint64_t seed, index_t channel, index_t rows) {
  std::vector<index_t> p(static_cast<std::size_t>(rows));
  std::iota(p.begin(), p.end(), index_t{0});
  std::uint64_t const sequence = Form::shared ? 0 : static_cast<std::uint64_t>(channel);
  auto const hash = [=](index_t n) {
    return ss::detail::counter_hash32(seed, sequence, static_cast<std::uint64_t>(n));
  };
  std::stable_sort(p.begin(), p.end(), [=](index_t a, index_t b) { return hash(a) < hash(b); });
  return p;
}

// Returns a random case with its expected results.
template <class T, class Form>
variant_problem<T> make_random_problem(extents3 e, std::uint64_t seed,
                                       std::vector<index_t> lengths = {}) {
  variant_problem<T> p;
  p.lengths = std::move(lengths);
  p.x = p.y = mixed_tensor<T>(e, all_kinds, seed);
  p.dy = p.dx = mixed_tensor<T>(e, all_kinds, seed + 1);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      auto const order = expected_permutation<Form>(seed, c, p.rows(b));
      for (std::size_t i = 0; i < order.size(); ++i) {
        auto const n = static_cast<index_t>(i);
        p.y(b, n, c) = p.x(b, order[i], c);
        p.dx(b, order[i], c) = p.dy(b, n, c);
      }
    }
  return p;
}

// Returns the function that check_every_way calls.
template <class Form>
auto make_runner(std::uint64_t seed) {
  return [=](any_exec const& exec, auto x, auto y, auto dy, auto dx, auto lengths) {
    using T = typename decltype(y)::element_type;
    ss::shuffle<Form> const op{seed};
    std::size_t const bytes = op.template workspace_bytes<T>(exec, x.extents());
    guarded_workspace scratch(bytes), backward_scratch(bytes, 37, 0);
    op.forward(exec, x, y, scratch.get(), {lengths});
    op.backward(exec, dy, dx, backward_scratch.get(), {ss::grad_mode::overwrite, lengths});
    CHECK((scratch.red_zones_intact() && backward_scratch.red_zones_intact()));
  };
}

// Shuffles columns of the values 0 .. n-1.
template <class Form>
tensor<float> shuffle_row_numbers(std::uint64_t seed, index_t n, index_t channels,
                                  any_exec const& exec = ss::exec::host{}) {
  extents3 const e{1, n, channels};
  tensor<float> x(e), y(e);
  for_each_position(e,
                    [&](index_t b, index_t i, index_t c) { x(b, i, c) = static_cast<float>(i); });
  ss::shuffle<Form> const op{seed};
  guarded_workspace scratch(op.template workspace_bytes<float>(exec, e));
  op.forward(exec, x.view(), y.view(), scratch.get());
  return y;
}

}  // namespace

TEST_CASE("golden permutations") {
  std::vector<float> const first{9, 5, 4, 2, 3, 1, 0, 8, 7, 6},
      second{8, 9, 7, 4, 5, 0, 6, 1, 3, 2};
  for_each_backend_once(1, [&](any_exec const& exec) {
    auto const shared = shuffle_row_numbers<ss::shared_by_channels>(7, 10, 2, exec);
    CHECK(shared.column(0, 0) == first);
    CHECK(shared.column(0, 1) == first);
    auto const separate = shuffle_row_numbers<ss::per_channel>(7, 10, 2, exec);
    CHECK(separate.column(0, 0) == first);
    CHECK(separate.column(0, 1) == second);
  });
}

TEST_CASE_TEMPLATE("every shape, policy and layout", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : variant_shapes()) {
    ++seed;
    check_every_way(make_random_problem<T, ss::shared_by_channels>(e, seed),
                    make_runner<ss::shared_by_channels>(seed));
    check_every_way(make_random_problem<T, ss::shared_by_channels>(e, seed, mixed_lengths(e)),
                    make_runner<ss::shared_by_channels>(seed));
    check_every_way(make_random_problem<T, ss::per_channel>(e, seed),
                    make_runner<ss::per_channel>(seed));
    check_every_way(make_random_problem<T, ss::per_channel>(e, seed, mixed_lengths(e)),
                    make_runner<ss::per_channel>(seed));
  }
}

TEST_CASE_TEMPLATE("accumulation, also in place into dy", Form, ss::shared_by_channels,
                   ss::per_channel) {
  extents3 const e{3, 40, 34};
  using T = float16;
  tensor<T> const dy = integer_tensor<T>(e, 20, 2);
  tensor<T> overwritten_dx(e), dx, dy_and_dx;
  tensor<T> const before = integer_tensor<T>(e, 20, 3);
  ss::shuffle<Form> const op{5};
  std::vector<index_t> const lengths{40, 0, 17};
  ss::backward_options const overwrite{ss::grad_mode::overwrite, view_of(lengths)};
  ss::backward_options const accumulate{ss::grad_mode::accumulate, view_of(lengths)};
  for_each_backend_once(5, [&](any_exec const& exec) {
    guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
    dx = before;
    dy_and_dx = dy;
    op.backward(exec, dy.view(), overwritten_dx.view(), scratch.get(), overwrite);
    op.backward(exec, dy.view(), dx.view(), scratch.get(), accumulate);
    op.backward(exec, dy_and_dx.view(), dy_and_dx.view(), scratch.get(), accumulate);
    for_each_position(e, [&](index_t b, index_t n, index_t c) {
      auto const value = [&](tensor<T> const& t) { return decode(t(b, n, c)).value; };
      CHECK(value(dx) == value(before) + value(overwritten_dx));
      CHECK(value(dy_and_dx) == value(dy) + value(overwritten_dx));
    });
  });
}

TEST_CASE_TEMPLATE("backward is the exact transpose: <dy, J v> = <J' dy, v>", Form,
                   ss::shared_by_channels, ss::per_channel) {
  extents3 const e{2, 50, 37};
  tensor<float> const x = integer_tensor<float>(e, 100, 8), dy = integer_tensor<float>(e, 100, 9);
  tensor<float> y(e), dx(e);
  for_each_backend_once(3, [&](any_exec const& exec) {
    make_runner<Form>(3)(exec, x.view(), y.view(), dy.view(), dx.view(), view_of({}));
    std::int64_t forward_product = 0, backward_product = 0;
    for (std::size_t i = 0; i < x.elements().size(); ++i) {
      forward_product += static_cast<std::int64_t>(dy.elements()[i] * y.elements()[i]);
      backward_product += static_cast<std::int64_t>(dx.elements()[i] * x.elements()[i]);
    }
    CHECK(forward_product == backward_product);
  });
}

// Over seeds 0, 1, 2, ..., row i moves to every position equally often. Rows and columns of the
// table of counts are dependent, so the statistic has (n-1)^2 = 49 degrees of freedom: mean 49,
// standard deviation 9.9.
TEST_CASE_TEMPLATE("every position is equally likely", Form, ss::shared_by_channels,
                   ss::per_channel) {
  constexpr index_t n = 8, draws = 8000;
  std::vector<double> counts(n * n);
  for (index_t draw = 0; draw < draws; ++draw) {
    index_t const channels = Form::shared ? 1 : 8;
    auto const y =
        shuffle_row_numbers<Form>(static_cast<std::uint64_t>(draw / channels), n, channels);
    auto const column = y.column(0, draw % channels);
    for (std::size_t i = 0; i < n; ++i) ++counts[i * n + static_cast<std::size_t>(column[i])];
  }
  double chi_square = 0, expected = static_cast<double>(draws) / n;
  for (double c : counts) chi_square += (c - expected) * (c - expected) / expected;
  CAPTURE(chi_square);
  CHECK(chi_square > 49 - 4 * 9.9);
  CHECK(chi_square < 49 + 4 * 9.9);
}

TEST_CASE_TEMPLATE("every backend matches the host, also for longer columns", Form,
                   ss::shared_by_channels, ss::per_channel) {
  for (index_t n : {1000, 5000, 40000}) {
    auto const expected = shuffle_row_numbers<Form>(6, n, 2);
    for_each_grid(static_cast<std::uint64_t>(n), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(same_bits(shuffle_row_numbers<Form>(6, n, 2, exec).elements(), expected.elements()));
    });
  }
}

// Columns too long for shared memory are permuted via a copy.
TEST_CASE_TEMPLATE("longer columns in place", Form, ss::shared_by_channels, ss::per_channel) {
  constexpr index_t n = 60000;
  auto const shuffled = shuffle_row_numbers<Form>(6, n, 2);
  for_each_grid(n, [&](auto const& exec) {
    CAPTURE(describe_exec(exec));
    tensor<float> x({1, n, 2});
    for_each_position(x.extents(),
                      [&](index_t b, index_t i, index_t c) { x(b, i, c) = static_cast<float>(i); });
    auto const unshuffled = x;
    ss::shuffle<Form> const op{6};
    guarded_workspace scratch(op.template workspace_bytes<float>(exec, x.extents()));
    op.forward(exec, x.view(), x.view(), scratch.get());
    CHECK(same_bits(x.elements(), shuffled.elements()));
    op.backward(exec, x.view(), x.view(), scratch.get());
    CHECK(same_bits(x.elements(), unshuffled.elements()));
    CHECK(scratch.red_zones_intact());
  });
}

TEST_CASE("different seeds and channels differ; long columns are permuted") {
  auto const first_seed = shuffle_row_numbers<ss::per_channel>(1, 5000, 2);
  auto const second_seed = shuffle_row_numbers<ss::per_channel>(2, 5000, 2);
  CHECK(first_seed.column(0, 0) != first_seed.column(0, 1));
  CHECK(first_seed.column(0, 0) != second_seed.column(0, 0));
  CHECK(first_seed.column(0, 1) != second_seed.column(0, 0));
  std::vector<float> column = first_seed.column(0, 1);
  std::sort(column.begin(), column.end());
  for (std::size_t i = 0; i < column.size(); ++i) CHECK(column[i] == static_cast<float>(i));
}

TEST_CASE("argument checks") {
  extents3 const e{2, 5, 3};
  tensor<float> x(e), y(e);
  ss::shuffle<> const op{3};
  ss::exec::host exec{2};
  std::vector<index_t> lengths;
  guarded_workspace scratch(op.workspace_bytes<float>(exec, e));
  tensor3<float> output = y.view();
  ss::workspace workspace = scratch.get();
  auto const forward = [&] {
    ss::forward_options const options{view_of(lengths)};
    return error_message(op.forward(ss::exec::dry_run{exec}, x.view(), output, workspace, options),
                         [&] { op.forward(exec, x.view(), output, workspace, options); });
  };
  auto const backward = [&] {
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return error_message(op.backward(ss::exec::dry_run{exec}, x.view(), output, workspace, options),
                         [&] { op.backward(exec, x.view(), output, workspace, options); });
  };
  SUBCASE("accepted") {
    CHECK(forward() == "");
    CHECK(backward() == "");
  }
  SUBCASE("shape") {
    output = {output.data(), {2, 4, 3}};
    CHECK(forward() == "shuffle.forward: y.length is 4, must be 5 (x.length)");
    CHECK(backward() == "shuffle.backward: dx.length is 4, must be 5 (dy.length)");
  }
  SUBCASE("overlap") {
    output = {x.view().data() + 1, e};
    CHECK(says(forward(), "shuffle.forward: y overlaps x ("));
    CHECK(says(backward(), "shuffle.backward: dx overlaps dy ("));
  }
  SUBCASE("lengths") {
    lengths = {5, -1};
    CHECK(forward() == "shuffle.forward: lengths[1] is -1, must be in 0..5 (length)");
    CHECK(backward() == "shuffle.backward: lengths[1] is -1, must be in 0..5 (length)");
  }
  SUBCASE("workspace") {
    REQUIRE(workspace.bytes > 0);
    std::string const error = "workspace.bytes is " + std::to_string(workspace.bytes - 1) +
                              ", must be at least " + std::to_string(workspace.bytes);
    --workspace.bytes;
    CHECK(forward() == "shuffle.forward: " + error);
    CHECK(backward() == "shuffle.backward: " + error);
    CHECK(same_bits(y.elements(), tensor<float>(e).elements()));
    workspace = {nullptr, workspace.bytes + 1};
    CHECK(says(forward(), "shuffle.forward: workspace.data is null, must point to "));
  }
  SUBCASE("too long for 32-bit row numbers") {
    index_t const length = (index_t{1} << 31) + 1;
    tensor3<float const> const long_x(y.view().data(), {1, length, 1}, {0, 0, 0});
    tensor3<float> const long_y(y.view().data() + 1, {1, length, 1});  // no overlap
    CHECK(std::string(op.forward(ss::exec::dry_run{exec}, long_x, long_y).message) ==
          "shuffle.forward: x.length is 2147483649, must be at most 2147483648");
  }
  SUBCASE("threads") {
    exec.threads = 0;
    CHECK(forward() == "shuffle.forward: exec.threads is 0, must be at least 1");
  }
}
