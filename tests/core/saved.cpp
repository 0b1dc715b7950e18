// SPDX-License-Identifier: Apache-2.0
// The saved state as an argument: with and without braces, accepted types, and SFINAE on calls that
// fit no overload.
#include "linked_operators.hpp"

#include <slicesort/max_exchange.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/sparse_mix.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace ss = slicesort;

namespace {

template <class From, class To>
constexpr bool is_convertible = std::is_convertible_v<From, To>;
static_assert(is_convertible<ss::tensor3<std::uint16_t>, ss::saved_permutation>);
static_assert(is_convertible<ss::tensor3<std::int32_t>, ss::saved_permutation>);
static_assert(is_convertible<ss::index_tensor3, ss::saved_permutation>);
static_assert(is_convertible<ss::no_saved_t, ss::saved_permutation>);
static_assert(is_convertible<ss::tensor3<std::uint16_t const>, ss::const_saved_permutation>);
static_assert(is_convertible<ss::saved_permutation, ss::const_saved_permutation>);
static_assert(is_convertible<ss::tensor3<float>, ss::saved_states<float>>);
static_assert(!is_convertible<ss::tensor3<std::int64_t>, ss::saved_permutation>);
static_assert(!is_convertible<ss::tensor3<std::int16_t>, ss::const_saved_permutation>);
static_assert(!is_convertible<ss::tensor3<std::uint16_t const>, ss::saved_permutation>);
static_assert(!is_convertible<ss::tensor3<float>, ss::const_saved_permutation>);
static_assert(!is_convertible<ss::workspace, ss::saved_permutation>);
static_assert(!is_convertible<ss::no_saved_t, ss::const_saved_permutation>);

template <class Op, class = void, class... Arguments>
constexpr bool has_forward = false;
template <class Op, class... Arguments>
constexpr bool has_forward<
    Op, decltype(std::declval<Op const&>().forward(std::declval<Arguments const&>()...)),
    Arguments...> = true;
using exec = ss::exec::host;
using x = ss::tensor3<float>;
using perm = ss::tensor3<std::uint16_t>;
static_assert(has_forward<ss::slicing_sort<>, void, exec, x, x, perm>);
static_assert(has_forward<ss::slicing_sort<>, void, exec, x, x, ss::no_saved_t, ss::workspace>);
static_assert(!has_forward<ss::slicing_sort<>, void, exec, x, x>);
static_assert(!has_forward<ss::slicing_sort<>, void, exec, x, x, ss::workspace>);
static_assert(!has_forward<ss::slicing_sort<>, void, exec, x, x, ss::tensor3<std::int64_t>>);
static_assert(!has_forward<ss::slicing_sort<>, void, x, x, perm>);
static_assert(has_forward<ss::shuffle<>, void, exec, x, x>);
static_assert(!has_forward<ss::shuffle<>, void, x, x>);
static_assert(!has_forward<ss::shuffle<>, void, x, x, ss::workspace>);
static_assert(!has_forward<ss::shuffle<>, void, exec, x, x, perm>);

}  // namespace

TEST_CASE("a view is the same state with and without braces") {
  ss::extents3 const shape{1, 4, 1};
  std::vector<float> values{3, 1, 2, 0}, sorted(4), sorted_again(4), restored(4);
  std::vector<std::uint16_t> first(4), second(4);
  auto const input = ss::view(values, shape);
  ss::exec::host const exec_host;
  ss::slicing_sort<> const op;
  ss::scratch scratch;
  auto const state = ss::view(second, shape);

  op.forward(exec_host, input, ss::view(sorted, shape), {ss::view(first, shape)}, scratch);
  op.forward(exec_host, input, ss::view(sorted_again, shape), state, scratch);
  CHECK(second == std::vector<std::uint16_t>{3, 1, 2, 0});
  CHECK(second == first);
  CHECK(sorted_again == sorted);
  CHECK(op.backward(ss::exec::dry_run{exec_host}, ss::view(sorted_again, shape), state,
                    ss::view(restored, shape), scratch));
  op.backward(exec_host, ss::view(sorted_again, shape), state, ss::view(restored, shape), scratch);
  CHECK(restored == values);

  std::vector<std::uint16_t> max_index_memory(1);
  auto const max_indices = ss::view(max_index_memory, {1, 1, 1});
  ss::max_exchange{}.forward(exec_host, input, ss::view(sorted_again, shape), max_indices);
  ss::max_exchange{}.backward(exec_host, ss::view(sorted_again, shape), max_indices,
                              ss::view(restored, shape));
  CHECK(max_index_memory[0] == 0);
  CHECK(restored == values);
}
