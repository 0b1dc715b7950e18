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
constexpr bool takes = std::is_constructible_v<Options, Arguments...>;

constexpr ss::grad_mode accumulate = ss::grad_mode::accumulate;

}  // namespace

TEST_CASE("options accept each of their arguments once") {
  using rows = ss::row_lengths;
  using both = ss::key_and_query_lengths;
  static_assert(takes<ss::forward_options, rows> && takes<ss::forward_options>);
  static_assert(!takes<ss::forward_options, ss::grad_mode>);
  static_assert(!takes<ss::forward_options, both> && !takes<ss::forward_options, ss::dropout>);
  static_assert(takes<ss::backward_options, ss::grad_mode, rows>);
  static_assert(takes<ss::backward_options, rows, ss::grad_mode>);
  static_assert(!takes<ss::backward_options, rows, rows>);
  static_assert(!takes<ss::attention_options, ss::grad_mode>);
  static_assert(takes<ss::attention_options, ss::dropout, both>);
  static_assert(!takes<ss::attention_options, rows, both>);
  static_assert(takes<ss::attention_backward_options, ss::dropout, ss::grad_mode, rows>);
  CHECK(ss::backward_options{}.mode == ss::grad_mode::overwrite);
  CHECK(ss::backward_options{}.lengths.size() == 0);
}

TEST_CASE("lengths of views, containers and batches of one") {
  std::vector<index_t> const rows = {3, 1};
  index_t const length = 7;
  ss::forward_options const from_container = ss::lengths(rows);
  ss::forward_options const from_view = ss::view(rows);
  ss::backward_options const from_number{accumulate, ss::lengths(length)};
  ss::attention_backward_options const options{ss::dropout{0.25, 9}, ss::lengths(length, rows),
                                               accumulate};
  ss::attention_options const keys = ss::lengths(ss::tensor1<index_t const>(&length, 5, 0));
  for (auto const& o : {from_container, from_view}) {
    CHECK(o.lengths.data() == rows.data());
    CHECK(o.lengths.size() == 2);
  }
  CHECK(from_number.lengths.data() == &length);
  CHECK(from_number.lengths.size() == 1);
  CHECK(from_number.mode == accumulate);
  CHECK(options.lengths.data() == &length);
  CHECK(options.query_lengths.data() == rows.data());
  CHECK(options.dropout.seed == 9);
  CHECK(options.mode == accumulate);
  CHECK(keys.lengths.stride() == 0);
  CHECK(keys.query_lengths.data() == nullptr);
  CHECK(keys.dropout.rate == 0);
}

TEST_CASE("policies of operators in any order") {
  using namespace ss::direction;
  ss::softmax_attention const quick{ss::products::native, 0.5, ss::mask::window{2, 3}};
  static_assert(std::is_same_v<decltype(quick), ss::softmax_attention<ss::mask::window> const>);
  CHECK(quick.algorithm().kind == ss::products::native);
  CHECK(quick.scale(64) == 0.5);
  CHECK(quick.mask().left == 2);
  ss::softmax_attention const map{ss::materialized<>{}};
  static_assert(std::is_same_v<decltype(map),
                               ss::softmax_attention<ss::mask::full, ss::materialized<>> const>);
  CHECK(map.scale(64) == 0.125);
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
  auto const copy = quick;
  CHECK(copy.scale(1) == 0.5);
}

TEST_CASE("the size of a workspace, from views") {
  ss::exec::host const exec;
  ss::extents3 const e{2, 9, 4};
  ss::extents4 const h{2, 3, 9, 4}, shared{1, 1, 1, 17};
  std::vector<float> const memory(static_cast<std::size_t>(h.size()));
  ss::tensor3<float const> const x(memory.data(), e);
  ss::tensor4<float const> const q(memory.data(), h);
  ss::tensor_stack<float const> const w(memory.data(), {3, 2, 9, 2});
  auto const same = [&](auto const& op) {
    CHECK(op.workspace_bytes(exec, x) == op.template workspace_bytes<float>(exec, e));
  };
  same(ss::slicing_sort<>{});
  same(ss::multi_permutation<>{3});
  same(ss::permute{});
  same(ss::max_exchange{});
  same(ss::shuffle<>{});
  same(ss::csp<>{ss::group_size{3}});
  same(ss::sinkhorn_csp<>{ss::group_size{3}, ss::sinkhorn{0.5}});
  ss::sparse_mix const mix{ss::topology::chord{2}};
  CHECK(mix.workspace_bytes(exec, x, w) == mix.workspace_bytes<float>(exec, e, {3, 2, 9, 2}));
  ss::softmax_attention<> const attend;
  std::size_t const bytes = attend.workspace_bytes<float>(exec, h, h);
  CHECK(bytes > 0);
  CHECK(attend.workspace_bytes(exec, {q, q, q}) == bytes);
  CHECK(attend.workspace_bytes(exec, {q, q, q, q}) == bytes);
  std::vector<float> sums(17);
  auto const grads = ss::grad_bias(ss::view(sums, shared));
  CHECK(grads.dbias.data() == sums.data());
  CHECK(grads.dq.data() == nullptr);
  CHECK(attend.workspace_bytes(exec, {q, q, q}, grads) ==
        attend.workspace_bytes<float>(exec, h, h, shared));
  ss::linear_attention<ss::feature::random_exp> const linear;
  ss::tensor3<float const> const rows(memory.data(), {3, 5, 4});
  std::vector<float> drows(60);
  CHECK(linear.workspace_bytes(exec, {q, q, q}, rows) ==
        linear.workspace_bytes<float>(exec, h, h, {3, 5, 4}));
  CHECK(linear.workspace_bytes(exec, {q, q, q}, rows, ss::grad_w(ss::view(drows, {3, 5, 4}))) ==
        linear.workspace_bytes<float>(exec, h, h, {3, 5, 4}, {3, 5, 4}));
  CHECK(ss::merge_attention::workspace_bytes(exec, q) == 0);
}
