// SPDX-License-Identifier: Apache-2.0
// Columns and groups larger than a block's shared memory, and columns that just fit. They run
// on different kernels than shorter ones. The results must have the host backend's bits.
#include "backend/device.hpp"
#include "backend/mirror.hpp"

#include "support/backends.hpp"
#include "support/inputs.hpp"
#include "support/pattern_order.hpp"
#include "support/problems.hpp"

#include <slicesort/csp.hpp>
#include <slicesort/multi_permutation.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/sinkhorn_csp.hpp>
#include <slicesort/sparse_mix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

namespace ss = slicesort;

std::size_t shared_bytes() {
  int bytes = 0;
  SLICESORT_TEST_CUDA_CALL(
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  return static_cast<std::size_t>(bytes);
}
// Returns the smallest number of rows of a column of T that exceeds shared memory.
template <class T>
index_t min_rows_beyond_shared_memory() {
  return static_cast<index_t>(shared_bytes() / sizeof(T)) + 1;
}

template <class T>
tensor<T> random_tensor(extents3 e, std::uint64_t seed) {
  tensor<T> result(e);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c)
      result.set_column(b, c,
                        make_column<T>(input_kind::normal, static_cast<std::size_t>(e.length),
                                       seed + static_cast<std::uint64_t>(b * e.channels + c)));
  return result;
}

// The bytes of all outputs of a call.
using results = std::vector<std::vector<unsigned char>>;

// Checks that call(policy) gives the same results on the host and on the device.
template <class Call>
void check_same_results(Call const& call) {
  results const expected = call(ss::exec::host{});
  CHECK(call(cuda_exec{}) == expected);
}
template <class T, class Exec, class Op>
std::vector<unsigned char> make_scratch(Exec const& exec, Op const& op, extents3 e) {
  return std::vector<unsigned char>(op.template workspace_bytes<T>(exec, e));
}

template <class T>
std::vector<unsigned char> bytes_of(std::vector<T> const& elements) {
  auto const* const first = reinterpret_cast<unsigned char const*>(elements.data());
  return {first, first + elements.size() * sizeof(T)};
}

template <class Op>
ss::index_tensor3 order_view(Op const& op, std::vector<std::uint32_t>& order, extents3 e) {
  extents3 const saved = op.saved_extents(e);
  switch (op.saved_width(e)) {
    case ss::index_width::bits8:
      return tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(order.data()), saved);
    case ss::index_width::bits16:
      return tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(order.data()), saved);
    default:
      return tensor3<std::uint32_t>(order.data(), saved);
  }
}

template <class T, class Op>
void check_csp(Op const& op, extents3 e) {
  tensor<T> const x = random_tensor<T>(e, 1), dy = random_tensor<T>(e, 2);
  CAPTURE(e.length);
  check_same_results([&](auto const& exec) {
    tensor<T> y(e), dx(e);
    std::vector<std::uint32_t> order(static_cast<std::size_t>(op.saved_extents(e).size()) + 1);
    auto scratch = make_scratch<T>(exec, op, e);
    op.forward(exec, x.view(), y.view(), {order_view(op, order, e)}, scratch);
    op.backward(exec, dy.view(), {ss::const_index_tensor3(order_view(op, order, e))}, dx.view(),
                scratch);
    return results{bytes_of(y.elements()), bytes_of(order), bytes_of(dx.elements())};
  });
}

template <class T>
void check_multi_permutation(extents3 e) {
  using A = ss::detail::accumulator_t<T>;
  tensor<T> const x = random_tensor<T>(e, 3), dy = random_tensor<T>(e, 4);
  std::vector<A> const weights = {A(0.75), A(-0.25), A(-1.25)};
  ss::multi_permutation<pattern_order> const op(3, pattern_order{irregular});
  check_same_results([&](auto const& exec) {
    tensor<T> y(e), dx(e);
    tensor<std::uint32_t> perm(e);
    std::vector<A> dweights(weights.size());
    auto scratch = make_scratch<T>(exec, op, e);
    ss::tensor1<A const> const w(weights.data(), 3);
    op.forward(exec, x.view(), w, y.view(), {perm.view()}, scratch);
    op.backward(exec, dy.view(), x.view(), w, {perm.view()}, dx.view(),
                ss::tensor1<A>(dweights.data(), 3), scratch);
    return results{bytes_of(y.elements()), bytes_of(perm.elements()), bytes_of(dx.elements()),
                   bytes_of(dweights)};
  });
}

// permute, with invalid indices for the rows past a length.
template <class T, class Index>
void check_permute(extents3 e, index_t length) {
  tensor<T> const x = random_tensor<T>(e, 9), dy = random_tensor<T>(e, 10);
  tensor<Index> perm(e);
  constexpr index_t multiplier = 7919;  // coprime to the lengths used
  REQUIRE(length % multiplier != 0);
  for_each_position(e, [&](index_t b, index_t n, index_t c) {
    perm(b, n, c) = static_cast<Index>(n < length ? (n * multiplier + c) % length : -1);
  });
  std::vector<index_t> const lengths(static_cast<std::size_t>(e.batch), length);
  ss::permute const op;
  check_same_results([&](auto const& exec) {
    tensor<T> y(e), dx(e);
    auto scratch = make_scratch<T>(exec, op, e);
    op.forward(exec, x.view(), {perm.view()}, y.view(), scratch, {view_of(lengths)});
    op.backward(exec, dy.view(), {perm.view()}, dx.view(), scratch,
                {ss::grad_mode::overwrite, view_of(lengths)});
    return results{bytes_of(y.elements()), bytes_of(dx.elements())};
  });
}

}  // namespace

// A tile of whole columns this long would have too few of them.
TEST_CASE_TEMPLATE("permutations of long columns", T, float, double, float16, bfloat16) {
  extents3 const e{1, 40000, 24};
  check_permute<T, std::uint16_t>(e, 39990);
  check_permute<T, std::uint32_t>(e, 39990);
}

TEST_CASE_TEMPLATE("columns larger than shared memory", T, float, double, float16, bfloat16) {
  extents3 const e{1, min_rows_beyond_shared_memory<T>(), 2};
  check_csp<T>(ss::csp{ss::group_size{1}, ss::shift::linear{}, ss::ascending{}}, e);
  check_csp<T>(ss::csp{ss::group_size{2}, ss::shift::linear{}, ss::ascending{}}, e);
  check_csp<T>(ss::csp{ss::group_size{24}, ss::shift::linear_step{5}, ss::reference{1}}, e);
  check_csp<T>(ss::csp{ss::group_size{600}, ss::shift::power{1, 2}, ss::reference{0}}, e);
  extents3 const wide_order_shape{1, std::max<index_t>(e.length, 70001), 1};
  check_csp<T>(ss::csp{ss::group_count{1}, ss::shift::modular{}, ss::descending{}},
               wide_order_shape);
  check_multi_permutation<T>(e);
}

TEST_CASE_TEMPLATE("groups larger than shared memory", T, float, double) {
  // Forward needs five values per row. The cost grows with the square of the group.
  index_t const group = static_cast<index_t>(shared_bytes() / (5 * sizeof(T))) + 1;
  if (group > 2000 && !full_suite()) {
    MESSAGE("groups of " << group << " rows; SLICESORT_FULL=1 tests them");
    return;
  }
  extents3 const e{1, group, 2};  // channel 0 is the reference of channel 1
  tensor<T> const x = random_tensor<T>(e, 5), dy = random_tensor<T>(e, 6);
  ss::sinkhorn_csp<> const op{ss::group_size{group}, {0.5, 2}};
  check_same_results([&](auto const& exec) {
    tensor<T> y(e), dx(e);
    auto scratch = make_scratch<T>(exec, op, e);
    op.forward(exec, x.view(), y.view(), scratch);
    op.backward(exec, dy.view(), x.view(), dx.view(), scratch);
    return results{bytes_of(y.elements()), bytes_of(dx.elements())};
  });
}

TEST_CASE_TEMPLATE("columns with eight rows per thread", T, float, double, float16, bfloat16) {
  extents3 const e{1, 5000, 3};
  ss::stack_extents const weight_extents{2, e.batch, e.length, 3};
  tensor<T> const x = random_tensor<T>(e, 7);
  auto const weights =
      make_column<T>(input_kind::normal, static_cast<std::size_t>(weight_extents.size()), 8);
  ss::sparse_mix<ss::topology::cdil, ss::residual::none> const op{ss::recompute};
  check_same_results([&](auto const& exec) {
    tensor<T> y(e);
    std::vector<unsigned char> scratch(op.template workspace_bytes<T>(exec, e, weight_extents));
    op.forward(exec, x.view(), ss::tensor_stack<T const>(weights.data(), weight_extents), y.view(),
               ss::no_saved, scratch);
    return results{bytes_of(y.elements())};
  });
}
