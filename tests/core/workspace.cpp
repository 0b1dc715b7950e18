// SPDX-License-Identifier: Apache-2.0
// The size of a workspace, for every operator and backend. A shape that the call rejects has no
// size and the same error message; every other shape has a sufficient size.
#define SLICESORT_TEST_EVERY_BACKEND
#include "shapes.hpp"
#include "support/backends.hpp"
#include "support/error_message.hpp"
#include "support/pattern_mask.hpp"
#include "support/pattern_order.hpp"

#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

using namespace support;
using ss::extents3;
using ss::extents4;
using ss::index_t;

namespace {

constexpr index_t max_index = std::numeric_limits<index_t>::max();
constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// Calls f(policy) for the host with one and with too many threads, and for large and small devices.
template <class F>
void for_each_policy(F const& f) {
  if (testing(backend_kind::host)) {
    f(any_exec(ss::exec::host{}));
    f(any_exec(ss::exec::host{4'000'000'000u}));
  }
  for (std::uint64_t selector = 0; selector < 9; selector += 3) for_each_grid(selector, f);
}

// Calls f(extents) for all combinations of extent_limits.
template <class F>
void for_each_shape(F const& f) {
  for (index_t batch : extent_limits)
    for (index_t length : extent_limits)
      for (index_t channels : extent_limits) f(extents3{batch, length, channels});
}

// Checks sizes of an operator on one tensor; `bytes(extents, host)` is a lower bound.
template <class T, class Op, class Call, class Bytes>
void check_sizes(char const* name, Op const& op, Call const& check_call, Bytes const& bytes) {
  for_each_policy([&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    for_each_shape([&](extents3 e) {
      CAPTURE(e.batch);
      CAPTURE(e.length);
      CAPTURE(e.channels);
      ss::status const size = op.template workspace_bytes<T>(ss::exec::dry_run{exec}, e);
      auto const x = view_of_nothing<T const>(1, e);
      if (!check_same_error(name, size, check_call(exec, x, view_of_nothing<T>(2, e)))) return;
      std::size_t const reported = op.template workspace_bytes<T>(exec, e);
      if (e.empty())
        CHECK(reported == 0);
      else
        CHECK(at_least(reported, bytes(e, host_isa(exec).has_value())));
    });
  });
}

template <class Op>
auto forward_of(Op const& op) {
  return [&op](any_exec const& exec, auto x, auto y) {
    return op.forward(ss::exec::dry_run{exec}, x, y, ss::no_saved);
  };
}

}  // namespace

TEST_CASE_TEMPLATE("slicing_sort", T, float, float16) {
  ss::slicing_sort<pattern_order> const op;
  check_sizes<T>("slicing_sort", op, forward_of(op), [](extents3 e, bool host) -> int128 {
    return host ? int128{32 * sizeof(T)} * e.length : 0;
  });
}

TEST_CASE("multi_permutation") {
  for (index_t terms : {index_t{1}, index_t{7}, index_t{1} << 40, max_index}) {
    ss::multi_permutation<pattern_order> const op{terms};
    check_sizes<double>(
        "multi_permutation", op,
        [&](any_exec const& exec, auto x, auto y) {
          return op.forward(ss::exec::dry_run{exec}, x, ss::uniform_weights, y, ss::no_saved);
        },
        [&](extents3 e, bool) -> int128 {
          // 2^57 elements of 2^63 terms of 8 bytes are less than 2^127.
          return int128{e.batch} * e.channels * terms * 8;
        });
  }
}

TEST_CASE("max_exchange") {
  ss::max_exchange const op;
  check_sizes<double>("max_exchange", op, forward_of(op), [](extents3, bool) { return int128{0}; });
}

TEST_CASE("top_k") {
  for (index_t k : {index_t{1}, index_t{1} << 20}) {
    ss::top_k<pattern_order> const op(k);
    check_sizes<float>(
        "top_k", op,
        [&](any_exec const& exec, auto x, auto) {
          extents3 const e = x.extents(), selected{e.batch, k, e.channels};
          return op.forward(ss::exec::dry_run{exec}, x, view_of_nothing<float>(2, selected),
                            ss::no_saved);
        },
        [](extents3 e, bool host) -> int128 { return host ? int128{4} * e.length : 0; });
  }
}

TEST_CASE("soft_sort") {
  ss::soft_sort<ss::regularization::l2, pattern_order> const op;
  check_sizes<float>("soft_sort", op, forward_of(op),
                     [](extents3 e, bool) { return int128{20} * e.length; });
}

TEST_CASE("permute") {
  ss::permute const op;
  check_sizes<float>(
      "permute", op,
      [&](any_exec const& exec, auto x, auto y) {
        ss::const_index_tensor3 const perm = view_of_nothing<std::uint32_t const>(3, x.extents());
        return op.forward(ss::exec::dry_run{exec}, x, {perm}, y);
      },
      [](extents3 e, bool host) -> int128 { return host ? int128{32 * 4} * e.length : 0; });
}

TEST_CASE("shuffle") {
  auto const check_op = [](auto const& op, bool shares_permutation) {
    check_sizes<float>(
        "shuffle", op,
        [&](any_exec const& exec, auto x, auto y) {
          return op.forward(ss::exec::dry_run{exec}, x, y);
        },
        [=](extents3 e, bool) {
          return int128{2} * e.length * (shares_permutation ? 1 : e.channels);
        });
  };
  check_op(ss::shuffle<>{3}, true);
  check_op(ss::shuffle<ss::per_channel>{3}, false);
}

TEST_CASE("short_convolution") {
  for (index_t taps : {1, 64}) {
    auto const op = ss::short_convolution::causal(taps);
    check_sizes<float>(
        "short_convolution", op,
        [&](any_exec const& exec, auto x, auto y) {
          auto const weights = view_of_nothing<float const>(3, extents3{1, taps, 1});
          return op.forward(ss::exec::dry_run{exec}, x, weights, y);
        },
        [=](extents3 e, bool) {
          return int128{e.batch} * e.channels * (e.length / 1024) * taps * 8;
        });
  }
}

TEST_CASE("decaying_sum") {
  for (index_t states : {1, 64}) {
    ss::decaying_sum const op(states, ss::decay_numbers::complex);
    check_sizes<float>(
        "decaying_sum", op,
        [&](any_exec const& exec, auto x, auto y) {
          ss::tensor4<float const> const decays(reinterpret_cast<float const*>(3 * 64),
                                                {1, 2 * states, 1, x.extents().channels});
          return op.forward(ss::exec::dry_run{exec}, x, {decays}, y);
        },
        [=](extents3 e, bool) { return int128{e.batch} * e.channels * states * 4 * 8; });
  }
}

TEST_CASE("csp") {
  auto const check_op = [](auto const& op) {
    check_sizes<float>("csp", op, forward_of(op),
                       [](extents3 e, bool) { return int128{8} * e.channels; });
  };
  for (index_t rows : {index_t{1}, index_t{2}, index_t{9}, index_t{70000}, max_index}) {
    check_op(ss::csp{ss::group_size{rows}});
    check_op(ss::csp{ss::group_size{rows}, ss::shift::none{}, ss::descending{}});
  }
  check_op(ss::csp{ss::group_count{3}});
}

TEST_CASE("sinkhorn") {
  for (index_t half_steps : {1, 20, 131072}) {
    ss::sinkhorn const op{0.5, ss::half_steps{half_steps}};
    check_sizes<double>(
        "sinkhorn", op,
        [&](any_exec const& exec, auto x, auto y) {
          return op.forward(ss::exec::dry_run{exec}, x, y);
        },
        [=](extents3 e, bool) { return int128{8} * e.length * half_steps; });
  }
}

TEST_CASE("sinkhorn_csp") {
  for (index_t iterations : {1, 10, 65536})
    for (index_t rows : {index_t{2}, max_index}) {
      ss::sinkhorn_csp const op{ss::group_size{rows}, ss::sinkhorn{0.5, iterations}};
      check_sizes<double>(
          "sinkhorn_csp", op,
          [&](any_exec const& exec, auto x, auto y) {
            return op.forward(ss::exec::dry_run{exec}, x, y);
          },
          [](extents3 e, bool) { return int128{8} * e.length * e.channels; });
    }
}

TEST_CASE("sparse_mix") {
  random_stream random(1);
  for (int i = 0; i < (full_suite() ? 200'000 : 20'000); ++i) {
    extents3 const e{random_extent(random), random_extent(random), random_extent(random)};
    ss::stack_extents w{random_extent(random), e.batch, e.length, random_extent(random)};
    if (random.below(10) == 0) w.batch = random_extent(random);
    if (random.below(10) == 0) w.length = random_extent(random);
    if (random.below(2) == 0) w.channels = static_cast<index_t>(random.below(5));
    auto const check_op = [&](auto const& op) {
      CAPTURE(i);
      for_each_policy([&](any_exec const& exec) {
        auto const x = view_of_nothing<float const>(1, e);
        auto const weights = view_of_nothing<float const>(2, w);
        ss::status const size = op.template workspace_bytes<float>(ss::exec::dry_run{exec}, e, w);
        if (!check_same_error("sparse_mix", size,
                              op.forward(ss::exec::dry_run{exec}, x, weights,
                                         view_of_nothing<float>(3, e), ss::no_saved)))
          return;
        bool const host = host_isa(exec).has_value();
        int128 const min_bytes = e.empty() || w.outer == 0 ? 0
                                 : host                    ? int128{4 * 32 * 4} * e.length
                                        : int128{4} * w.outer * w.channels * e.length;
        CHECK(at_least(op.template workspace_bytes<float>(exec, e, w), min_bytes));
      });
    };
    constexpr index_t intervals[] = {0, 1, 2, 65535, 65536, -1, max_index};
    ss::checkpoints const saved{intervals[random.below(12) < 6 ? random.below(7) : 1]};
    switch (random.below(3)) {
      case 0:
        check_op(ss::sparse_mix<ss::topology::chord>{ss::topology::chord{w.channels}, saved});
        break;
      case 1:
        check_op(
            ss::sparse_mix<ss::topology::cdil>{ss::topology::cdil{random_extent(random)}, saved});
        break;
      default: {
        struct next_row {
          index_t offset(index_t, index_t) const { return 1; }
        };
        check_op(ss::sparse_mix<next_row>{saved});
      }
    }
  }
}

// Calls f(q, v, scale) for shapes of attention, of which some are rejected.
template <class F>
void for_each_attention_shape(F const& f) {
  random_stream random(2);
  for (int i = 0; i < (full_suite() ? 200'000 : 20'000); ++i) {
    CAPTURE(i);
    extents4 const q{random_extent(random), random_extent(random), random_extent(random),
                     random_extent(random)};
    extents4 v{q.batch, q.heads, random_extent(random), random_extent(random)};
    if (random.below(10) == 0) v.batch = random_extent(random);
    if (random.below(10) == 0) v.heads = random_extent(random);
    double const scales[] = {1, 1, 1, std::numeric_limits<double>::infinity()};
    f(q, v, scales[random.below(4)]);
  }
}
// Checks that the size of the workspace is rejected like forward(exec, inputs, y), and is at least
// least_bytes(is_host) otherwise.
template <class Op, class Forward, class Bytes>
void check_attention_workspace(char const* name, Op const& op, extents4 q, extents4 v,
                               Forward const& forward, Bytes const& least_bytes) {
  extents4 const y{q.batch, q.heads, q.length, v.channels},
      k{q.batch, v.heads, v.length, q.channels};
  for_each_policy([&](any_exec const& exec) {
    ss::attention_inputs<float> const in{view_of_nothing<float const>(1, q),
                                         view_of_nothing<float const>(2, k),
                                         view_of_nothing<float const>(3, v),
                                         {}};
    ss::status const size = op.template workspace_bytes<float>(ss::exec::dry_run{exec}, q, v);
    if (!check_same_error(name, size,
                          forward(ss::exec::dry_run{exec}, in, view_of_nothing<float>(4, y))))
      return;
    bool const is_empty = q.batch == 0 || q.heads == 0 || q.length == 0;
    CHECK(at_least(op.template workspace_bytes<float>(exec, q, v),
                   is_empty ? 0 : least_bytes(host_isa(exec).has_value())));
  });
}
int128 attention_tile_bytes(extents4 q, extents4 v) {
  return int128{128 * 4} * (int128{q.channels} + v.channels);
}

TEST_CASE("softmax_attention") {
  for_each_attention_shape([&](extents4 q, extents4 v, double scale) {
    auto const check_op = [&](auto const& op, bool is_materialized) {
      check_attention_workspace(
          "softmax_attention", op, q, v,
          [&](auto const& exec, auto const& inputs, auto const& y) {
            return op.forward(exec, inputs, y, ss::no_saved);
          },
          [&](bool host) {
            int128 const group = q.heads / v.heads, pairs = int128{q.length} * v.length;
            // The maps of a group on a device; on the host one map, and gradients summed over it.
            if (is_materialized && !host) return 4 * group * pairs;
            if (is_materialized)
              return 4 * (pairs + (group > 1 ? int128{v.length} * (q.channels + v.channels) : 0));
            return host ? attention_tile_bytes(q, v) : int128{8} * q.batch * q.heads * q.length;
          });
    };
    check_op(ss::softmax_attention<pattern_mask>{scale}, false);
    check_op(ss::softmax_attention<pattern_mask, ss::materialized<>>{scale}, true);
  });
}

TEST_CASE("pointwise_attention") {
  for_each_attention_shape([&](extents4 q, extents4 v, double scale) {
    ss::pointwise_attention<pattern_mask> const op{scale};
    check_attention_workspace(
        "pointwise_attention", op, q, v,
        [&](auto const& exec, auto const& inputs, auto const& y) {
          return op.forward(exec, inputs, y);
        },
        [&](bool host) { return host ? attention_tile_bytes(q, v) : int128{0}; });
  });
}

TEST_CASE("linear_attention") {
  random_stream random(4);
  for (int i = 0; i < (full_suite() ? 200'000 : 20'000); ++i) {
    extents4 const q{random_extent(random), random_extent(random), random_extent(random),
                     random_extent(random)};
    bool const causal = random.below(2) == 0;
    extents4 v{q.batch, q.heads, causal ? q.length : random_extent(random), random_extent(random)};
    if (random.below(10) == 0) v.batch = random_extent(random);
    if (random.below(10) == 0) v.heads = random_extent(random);
    if (random.below(10) == 0) v.length = random_extent(random);
    extents3 w{random.below(2) == 0 ? 1 : q.heads, random_extent(random), q.channels};
    if (random.below(10) == 0) w.batch = random_extent(random);
    if (random.below(10) == 0) w.channels = random_extent(random);
    if (random.below(20) == 0) w = {};
    extents4 const k{q.batch, v.heads, v.length, q.channels};
    extents4 const y{q.batch, q.heads, q.length, v.channels};
    double const eps_values[] = {1, 1, 1, std::numeric_limits<double>::infinity()};
    double const eps = eps_values[random.below(4)];
    auto const check_op = [&](auto const& op, extents3 w_extents, int128 features) {
      CAPTURE(i);
      for_each_policy([&](any_exec const& exec) {
        ss::linear_attention_inputs<float> in{view_of_nothing<float const>(1, q),
                                              view_of_nothing<float const>(2, k),
                                              view_of_nothing<float const>(3, v),
                                              {}};
        if (w_extents != extents3{}) in.w = view_of_nothing<float const>(4, w_extents);
        ss::status const size =
            op.template workspace_bytes<float>(ss::exec::dry_run{exec}, q, v, w_extents);
        if (!check_same_error(
                "linear_attention", size,
                op.forward(ss::exec::dry_run{exec}, in, view_of_nothing<float>(5, y))))
          return;
        bool const is_empty = q.batch == 0 || q.heads == 0 || q.length + v.length == 0;
        CHECK(at_least(op.template workspace_bytes<float>(exec, q, v, w_extents),
                       is_empty ? 0 : 4 * features * v.channels));
      });
    };
    namespace feature = ss::feature;
    ss::divisor::sum_plus const divisor{eps};
    if (causal) {
      using ss::direction::causal;
      check_op(ss::linear_attention<feature::random_exp, ss::divisor::sum_plus, causal>{divisor}, w,
               w.length);
      check_op(ss::linear_attention<feature::elu_plus_one, ss::divisor::sum_plus, causal>{divisor},
               {}, q.channels);
    } else {
      check_op(ss::linear_attention<feature::random_fourier>{divisor}, w, 2 * int128{w.length});
      check_op(ss::linear_attention<feature::relu>{divisor}, w, q.channels);
    }
  }
}

TEST_CASE("merge_attention") {
  random_stream random(3);
  ss::merge_attention const op;
  for (int i = 0; i < (full_suite() ? 200'000 : 20'000); ++i) {
    extents4 const y{random_extent(random), random_extent(random), random_extent(random),
                     random_extent(random)};
    extents4 const state{y.batch, y.heads, y.length, 2};
    CAPTURE(i);
    for_each_policy([&](any_exec const& exec) {
      ss::status const size = op.template workspace_bytes<float>(ss::exec::dry_run{exec}, y);
      if (check_same_error("merge_attention", size,
                           op.forward(ss::exec::dry_run{exec},
                                      {{view_of_nothing<float const>(1, y),
                                        view_of_nothing<float const>(2, state)}},
                                      view_of_nothing<float>(3, y), ss::no_saved)))
        CHECK(op.template workspace_bytes<float>(exec, y) == 0);
    });
  }
}

TEST_CASE("parameters that calls reject have no workspace size, by exception or status") {
  auto const error_of = [](auto const& op, auto... shapes) {
    ss::exec::host const exec;
    return error_message(op.template workspace_bytes<float>(ss::exec::dry_run{exec}, shapes...),
                         [&] { (void)op.template workspace_bytes<float>(exec, shapes...); });
  };
  extents3 const e{2, 9, 4};
  CHECK(error_of(ss::slicing_sort<>{}, extents3{2, 9, -4}) ==
        "slicing_sort.workspace_bytes: x.channels is -4, must not be negative");
  CHECK(error_of(ss::multi_permutation{0}, e) ==
        "multi_permutation.workspace_bytes: components is 0, must be at least 1");
  CHECK(error_of(ss::multi_permutation{3, ss::half_half{3}}, e) ==
        "multi_permutation.workspace_bytes: order half_half: channels must be a multiple of heads "
        "(channels is 4)");
  CHECK(
      error_of(ss::top_k{1, ss::top_k_output::sorted, ss::nan_order::total, ss::half_half{3}}, e) ==
      "top_k.workspace_bytes: order half_half: channels must be a multiple of heads (channels is "
      "4)");
  CHECK(error_of(ss::shuffle<>{}, extents3{index_t{1} << 40, index_t{1} << 31, index_t{1} << 40}) ==
        "shuffle.workspace_bytes: x [1099511627776, 2147483648, 1099511627776] spans more than "
        "2^63 bytes or 2^57 elements, must span less");
  CHECK(error_of(ss::max_exchange{}, extents3{1, max_index, 1}) ==
        "max_exchange.workspace_bytes: x [1, 9223372036854775807, 1] spans more than 2^63 bytes or "
        "2^57 elements, must span less");
  CHECK(error_of(ss::csp{ss::group_size{0}}, e) ==
        "csp.workspace_bytes: groups must be at least 1");
  CHECK(error_of(ss::csp{ss::group_count{-1}}, e) ==
        "csp.workspace_bytes: groups must be at least 1");
  CHECK(error_of(ss::csp{ss::group_size{2}, ss::shift::per_head{3}}, e) ==
        "csp.workspace_bytes: shift per_head: channels must be a multiple of heads (channels is "
        "4)");
  CHECK(error_of(ss::csp{ss::group_size{2}, ss::shift::none{}, ss::reference{4}}, e) ==
        "csp.workspace_bytes: alignment reference: channel must be one of the channels (channels "
        "is 4)");
  CHECK(error_of(ss::sinkhorn_csp{ss::group_size{2}, ss::sinkhorn{0.5, 0}}, e) ==
        "sinkhorn_csp.workspace_bytes: iterations is 0, must be in 1..65536");
  CHECK(error_of(ss::sinkhorn_csp{ss::group_size{2}, ss::sinkhorn{-1, 3}}, e) ==
        "sinkhorn_csp.workspace_bytes: tau is -1, must be positive and finite");
  CHECK(error_of(ss::sinkhorn_csp{ss::group_size{2}, ss::sinkhorn{1, {3, ss::side::rows}}}, e) ==
        "sinkhorn_csp.workspace_bytes: sinkhorn has 3 half-steps that end with rows, must have an "
        "even number that ends with columns");
  ss::sparse_mix<> const chord;
  CHECK(error_of(ss::sparse_mix<>{ss::checkpoints{max_index}}, e, ss::stack_extents{3, 2, 9, 4}) ==
        "sparse_mix.workspace_bytes: checkpoints.every is 9223372036854775807, must be in "
        "0..65535");
  CHECK(error_of(chord, e, ss::stack_extents{-1, 2, 9, 4}) ==
        "sparse_mix.workspace_bytes: w.factors is -1, must not be negative");
  CHECK(error_of(chord, extents3{0, 9, 4}, ss::stack_extents{index_t{1} << 50, 0, 9, 4}) ==
        "sparse_mix.workspace_bytes: w.factors is 1125899906842624, must be in 0..65535");
  CHECK(error_of(chord, e, ss::stack_extents{3, 2, 9, -1}) ==
        "sparse_mix.workspace_bytes: w.links is -1, must not be negative");
  CHECK(error_of(chord, e, ss::stack_extents{3, 2, 9, 5}) ==
        "sparse_mix.workspace_bytes: w.links is 5, must be 4 (topology.links)");
  CHECK(error_of(chord, e, ss::stack_extents{3, 1, 9, 4}) ==
        "sparse_mix.workspace_bytes: w.batch is 1, must be 2 (x.batch)");
  ss::softmax_attention<> const attention;
  CHECK(error_of(attention, extents4{1, 2, 5, 3}, extents4{1, 3, 5, 3}) ==
        "softmax_attention.workspace_bytes: v.heads is 3, must divide 2 (q.heads)");
  CHECK(error_of(attention, extents4{1, 1, 5, -3}, extents4{1, 1, 5, 3}) ==
        "softmax_attention.workspace_bytes: q.channels is -3, must not be negative");
  extents4 const heads{2, 3, 5, 3}, keys{2, 3, 4, 3};
  CHECK(error_of(attention, heads, keys, extents4{2, 3, 5, 4}) == "");
  CHECK(error_of(attention, heads, keys, extents4{2, 3, 5, 5}) ==
        "softmax_attention.workspace_bytes: dbias.keys is 5, must be 4 (k.length)");
  CHECK(error_of(attention, heads, keys, extents4{2, 2, 1, 8}) ==
        "softmax_attention.workspace_bytes: dbias.heads is 2, must be 3 (q.heads)");
  CHECK(
      error_of(ss::softmax_attention{ss::mask::block_local{0}}, extents4{1, 2, 5, 3},
               extents4{1, 2, 7, 3}) ==
      "softmax_attention.workspace_bytes: mask block_local: size must be in 1..2^40 (k.length is 7)");
  CHECK(without_call_name(ss::slicing_sort<>::workspace_bytes<float>(
            ss::exec::dry_run{ss::exec::host{0}}, e)) == "exec.threads is 0, must be at least 1");
}

TEST_CASE("a size that exceeds 64 bits saturates, and no workspace is that large") {
  ss::multi_permutation const op{max_index};
  extents3 const e{1, 1, 4};
  float elements[4] = {};
  ss::tensor3<float> const x(elements, e);
  ss::exec::host const exec;
  CHECK(op.workspace_bytes<float>(exec, e) == unlimited);
  auto const status = op.forward(ss::exec::dry_run{exec}, ss::tensor3<float const>(x),
                                 ss::uniform_weights, x, ss::no_saved);
  CHECK(without_call_name(status) == "workspace.bytes is 0, must be at least 18446744073709551615");
}
