// SPDX-License-Identifier: Apache-2.0
// Arguments identified by their type, in any order: options of calls and policies of operators.
#include <slicesort/slicesort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace ss = slicesort;
using ss::index_t;

namespace {

template <class Options, class... Arguments>
constexpr bool accepts = std::is_constructible_v<Options, Arguments...>;

constexpr ss::grad_mode accumulate = ss::grad_mode::accumulate;

}  // namespace

TEST_CASE("options accept each of their arguments once") {
  using lengths = ss::row_lengths;
  using both_lengths = ss::key_and_query_lengths;
  static_assert(accepts<ss::forward_options, lengths> && accepts<ss::forward_options>);
  static_assert(!accepts<ss::forward_options, ss::grad_mode>);
  static_assert(!accepts<ss::forward_options, both_lengths> &&
                !accepts<ss::forward_options, ss::dropout>);
  static_assert(accepts<ss::backward_options, ss::grad_mode, lengths>);
  static_assert(accepts<ss::backward_options, lengths, ss::grad_mode>);
  static_assert(!accepts<ss::backward_options, lengths, lengths>);
  static_assert(!accepts<ss::attention_options, ss::grad_mode>);
  static_assert(accepts<ss::attention_options, ss::dropout, both_lengths>);
  static_assert(!accepts<ss::attention_options, lengths, both_lengths>);
  static_assert(accepts<ss::attention_backward_options, ss::dropout, ss::grad_mode, lengths>);
  static_assert(accepts<ss::sinkhorn_options, ss::row_and_column_lengths>);
  static_assert(accepts<ss::sinkhorn_options, lengths>);
  static_assert(!accepts<ss::sinkhorn_options, both_lengths>);
  static_assert(accepts<ss::sinkhorn_backward_options, ss::grad_mode, ss::row_and_column_lengths>);
  CHECK(ss::backward_options{}.mode == ss::grad_mode::overwrite);
  CHECK(ss::backward_options{}.lengths.size() == 0);
}

TEST_CASE("lengths of views, containers and batches of one") {
  std::vector<index_t> const two_lengths = {3, 1};
  index_t const length = 7;
  ss::forward_options const from_container = ss::lengths(two_lengths);
  ss::forward_options const from_view = ss::view(two_lengths);
  ss::backward_options const from_length{accumulate, ss::lengths(length)};
  ss::attention_backward_options const options{ss::dropout{0.25, 9},
                                               ss::lengths(length, two_lengths), accumulate};
  ss::attention_options const keys = ss::lengths(ss::tensor1<index_t const>(&length, 5, 0));
  for (auto const& o : {from_container, from_view}) {
    CHECK(o.lengths.data() == two_lengths.data());
    CHECK(o.lengths.size() == 2);
  }
  CHECK(from_length.lengths.data() == &length);
  CHECK(from_length.lengths.size() == 1);
  CHECK(from_length.mode == accumulate);
  CHECK(options.lengths.data() == &length);
  CHECK(options.query_lengths.data() == two_lengths.data());
  CHECK(options.dropout.seed == 9);
  CHECK(options.mode == accumulate);
  CHECK(keys.lengths.stride() == 0);
  CHECK(keys.query_lengths.data() == nullptr);
  CHECK(keys.dropout.rate == 0);
}

TEST_CASE("policies of operators in any order") {
  using namespace ss::direction;
  ss::softmax_attention const windowed{ss::products::native, 0.5, ss::mask::window{2, 3}};
  static_assert(std::is_same_v<decltype(windowed), ss::softmax_attention<ss::mask::window> const>);
  CHECK(windowed.algorithm().kind == ss::products::native);
  CHECK(windowed.scale(64) == 0.5);
  CHECK(windowed.mask().left == 2);
  ss::softmax_attention const materialized{ss::materialized<>{}};
  static_assert(std::is_same_v<decltype(materialized),
                               ss::softmax_attention<ss::mask::full, ss::materialized<>> const>);
  CHECK(materialized.scale(64) == 0.125);
  ss::linear_attention const linear{causal{}, ss::products::native, ss::divisor::sum_plus{3}};
  static_assert(
      std::is_same_v<decltype(linear), ss::linear_attention<ss::feature::elu_plus_one,
                                                            ss::divisor::sum_plus, causal> const>);
  CHECK(linear.divisor().eps == 3);
  ss::sparse_mix const mix{ss::recompute, ss::residual::none{}, ss::topology::cdil{2}};
  static_assert(
      std::is_same_v<decltype(mix), ss::sparse_mix<ss::topology::cdil, ss::residual::none> const>);
  CHECK(mix.saved().every == 0);
  ss::csp const sorted{ss::group_size{4}, ss::descending{}};
  static_assert(std::is_same_v<decltype(sorted), ss::csp<ss::shift::linear, ss::descending> const>);
  ss::csp const aligned{ss::group_count{1}, ss::reference{3}, ss::shift::none{}};
  static_assert(std::is_same_v<decltype(aligned), ss::csp<ss::shift::none> const>);
  CHECK(aligned.alignment().channel == 3);
  ss::sinkhorn_csp const relaxed{ss::group_size{4}, ss::sinkhorn{0.5}, ss::reference{2}};
  CHECK(relaxed.reference().channel == 2);
  auto const copy = windowed;
  CHECK(copy.scale(1) == 0.5);
}

TEST_CASE("the size of a workspace, from views") {
  ss::exec::host const exec;
  ss::extents3 const e{2, 9, 4};
  ss::extents4 const heads{2, 3, 9, 4}, shared_bias{1, 1, 1, 17};
  std::vector<float> const memory(static_cast<std::size_t>(heads.size()));
  ss::tensor3<float const> const x(memory.data(), e);
  ss::tensor4<float const> const q(memory.data(), heads);
  ss::tensor_stack<float const> const w(memory.data(), {3, 2, 9, 2});
  auto const check_size = [&](auto const& op) {
    CHECK(op.workspace_bytes(exec, x) == op.template workspace_bytes<float>(exec, e));
  };
  check_size(ss::slicing_sort<>{});
  check_size(ss::multi_permutation<>{3});
  check_size(ss::permute{});
  check_size(ss::max_exchange{});
  check_size(ss::shuffle<>{});
  check_size(ss::csp<>{ss::group_size{3}});
  check_size(ss::short_convolution{3, 1});
  check_size(ss::sinkhorn{0.5});
  check_size(ss::sinkhorn_csp<>{ss::group_size{3}, ss::sinkhorn{0.5}});
  ss::sparse_mix const mix{ss::topology::chord{2}};
  CHECK(mix.workspace_bytes(exec, x, w) == mix.workspace_bytes<float>(exec, e, {3, 2, 9, 2}));
  ss::softmax_attention<> const attention;
  std::size_t const bytes = attention.workspace_bytes<float>(exec, heads, heads);
  CHECK(bytes > 0);
  CHECK(attention.workspace_bytes(exec, {q, q, q}) == bytes);
  CHECK(attention.workspace_bytes(exec, {q, q, q, q}) == bytes);
  std::vector<float> dbias(17);
  auto const grads = ss::grad_bias(ss::view(dbias, shared_bias));
  CHECK(grads.dbias.data() == dbias.data());
  CHECK(grads.dq.data() == nullptr);
  CHECK(attention.workspace_bytes(exec, {q, q, q}, grads) ==
        attention.workspace_bytes<float>(exec, heads, heads, shared_bias));
  ss::linear_attention<ss::feature::random_exp> const linear;
  ss::tensor3<float const> const random_w(memory.data(), {3, 5, 4});
  std::vector<float> dw(60);
  CHECK(linear.workspace_bytes(exec, {q, q, q}, random_w) ==
        linear.workspace_bytes<float>(exec, heads, heads, {3, 5, 4}));
  CHECK(linear.workspace_bytes(exec, {q, q, q}, random_w, ss::grad_w(ss::view(dw, {3, 5, 4}))) ==
        linear.workspace_bytes<float>(exec, heads, heads, {3, 5, 4}, {3, 5, 4}));
  CHECK(ss::merge_attention::workspace_bytes(exec, q) == 0);
}
