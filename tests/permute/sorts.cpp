// SPDX-License-Identifier: Apache-2.0
// Tests of permute with the saved permutations of sorts: it reproduces their results and gradients,
// and computes their tangents and second derivatives.
#define SLICESORT_TEST_EVERY_BACKEND
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/pattern_order.hpp"
#include "support/problems.hpp"
#include "support/variants.hpp"

#include <slicesort/multi_permutation.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/slicing_sort.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

using sort = ss::slicing_sort<pattern_order>;
constexpr pattern_order order{irregular};

// Calls of slicing_sort and permute with one execution policy, each with a separate workspace.
template <class T>
struct calls {
  any_exec const& exec;
  std::vector<index_t> const& lengths;

  template <class Index>
  tensor<T> sort_forward(tensor<T> const& x, tensor<Index>& perm) const {
    guarded_workspace scratch(sort::workspace_bytes<T>(exec, x.extents()));
    tensor<T> y(x.extents());
    sort(order).forward(exec, x.view(), y.view(), {perm.view()}, scratch.get(), {view_of(lengths)});
    return y;
  }
  template <class Index>
  tensor<T> sort_backward(tensor<T> const& dy, tensor<Index> const& perm) const {
    guarded_workspace scratch(sort::workspace_bytes<T>(exec, dy.extents()));
    tensor<T> dx(dy.extents());
    sort(order).backward(exec, dy.view(), {perm.view()}, dx.view(), scratch.get(),
                         {ss::grad_mode::overwrite, view_of(lengths)});
    return dx;
  }
  template <class Index>
  tensor<T> permute_forward(tensor<T> const& x, tensor<Index> const& perm) const {
    guarded_workspace scratch(ss::permute::workspace_bytes<T>(exec, x.extents()));
    tensor<T> y(x.extents());
    ss::permute().forward(exec, x.view(), {perm.view()}, y.view(), scratch.get(),
                          {view_of(lengths)});
    return y;
  }
  template <class Index>
  tensor<T> permute_backward(tensor<T> const& dy, tensor<Index> const& perm) const {
    guarded_workspace scratch(ss::permute::workspace_bytes<T>(exec, dy.extents()));
    tensor<T> dx(dy.extents());
    ss::permute().backward(exec, dy.view(), {perm.view()}, dx.view(), scratch.get(),
                           {ss::grad_mode::overwrite, view_of(lengths)});
    return dx;
  }
};
// Calls f(calls) for every backend.
template <class T, class F>
void for_each_policy(std::uint64_t backend_seed, std::vector<index_t> const& lengths, F const& f) {
  for_each_backend(backend_seed, [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    f(calls<T>{exec, lengths});
  });
}

// Returns a + factor * b.
template <class T>
tensor<T> add_scaled(tensor<T> a, tensor<T> const& b, T factor) {
  for (std::size_t i = 0; i < a.elements().size(); ++i) a.elements()[i] += factor * b.elements()[i];
  return a;
}
// Returns a tensor with distinct integers in every column.
tensor<double> distinct_integers(extents3 e, std::uint64_t seed) {
  return tensor_of_columns<double>(e, [=](std::uint64_t column) {
    std::vector<double> values;
    for (index_t n = 0; n < e.length; ++n) {
      std::uint64_t const value = (static_cast<std::uint64_t>(n) * 11 + seed + column) % 101;
      values.push_back(static_cast<double>(value) - 50);
    }
    return values;
  });
}

}  // namespace

// Values include NaN with every payload, zeros of both signs, and infinities.
TEST_CASE_TEMPLATE("the saved permutation of a sort reproduces its output and gradient", T, float,
                   double, float16, bfloat16) {
  for (extents3 e : {extents3{2, 131, 35}, extents3{3, 20, 7}, extents3{1, 3000, 3}})
    for (bool has_lengths : {false, true}) {
      std::vector<index_t> const lengths = has_lengths ? mixed_lengths(e) : std::vector<index_t>();
      auto const x = mixed_tensor<T>(e, all_kinds, 1), dy = mixed_tensor<T>(e, all_kinds, 2);
      for_each_policy<T>(static_cast<std::uint64_t>(e.length), lengths, [&](auto const& call) {
        auto const check = [&](auto perm) {
          tensor<T> const y = call.sort_forward(x, perm);
          CHECK(same_bits(call.permute_forward(x, perm).elements(), y.elements()));
          CHECK(same_bits(call.permute_backward(dy, perm).elements(),
                          call.sort_backward(dy, perm).elements()));
          CHECK(same_bits(call.permute_backward(y, perm).elements(), x.elements()));
        };
        check(tensor<std::uint16_t>(e));
        check(tensor<std::int32_t>(e));
      });
    }
}

TEST_CASE("multi_permutation saves the same permutation") {
  extents3 const e{2, 60, 33};
  std::vector<index_t> const lengths{60, 41};
  auto const x = mixed_tensor<float>(e, all_kinds, 3);
  for_each_policy<float>(9, lengths, [&](auto const& call) {
    ss::multi_permutation<pattern_order> const op(2, order);
    guarded_workspace scratch(op.template workspace_bytes<float>(call.exec, e));
    tensor<float> mean(e);
    tensor<std::uint16_t> perm(e), sort_perm(e);
    op.forward(call.exec, x.view(), ss::uniform_weights, mean.view(), {perm.view()}, scratch.get(),
               {view_of(lengths)});
    auto const y = call.sort_forward(x, sort_perm);
    CHECK(same_bits(call.permute_forward(x, perm).elements(), y.elements()));
  });
}

// Moves x along the tangent t by a step too small to change the order of its rows. All values are
// dyadic rationals, so the finite difference is exact.
TEST_CASE("forward applied to a tangent is the tangent of the sort") {
  extents3 const e{2, 101, 34};
  std::vector<index_t> const lengths{101, 64};
  auto const x = distinct_integers(e, 7), t = integer_tensor<double>(e, 100, 8);
  double const step = 1.0 / 1024;
  for_each_policy<double>(2, lengths, [&](auto const& call) {
    tensor<std::uint16_t> perm(e), moved_perm(e);
    call.sort_forward(x, perm);
    auto const above = call.sort_forward(add_scaled(x, t, step), moved_perm);
    CHECK(moved_perm.elements() == perm.elements());
    auto const below = call.sort_forward(add_scaled(x, t, -step), moved_perm);
    auto const tangent = call.permute_forward(t, perm);
    for (std::size_t i = 0; i < tangent.elements().size(); ++i)
      CHECK(tangent.elements()[i] == (above.elements()[i] - below.elements()[i]) / (2 * step));
  });
}

// The loss <v, dx(dy)> depends on a gradient dx. Its derivative with respect to dy is
// permute.forward(v).
TEST_CASE("forward is the derivative of the sort's backward") {
  extents3 const e{1, 23, 3};
  auto const x = distinct_integers(e, 3), dy = integer_tensor<double>(e, 50, 4),
             v = integer_tensor<double>(e, 50, 5);
  for_each_policy<double>(4, {}, [&](auto const& call) {
    tensor<std::uint32_t> perm(e);
    call.sort_forward(x, perm);
    auto const loss = [&](tensor<double> const& gradient) {
      auto const dx = call.sort_backward(gradient, perm);
      double sum = 0;
      for (std::size_t i = 0; i < dx.elements().size(); ++i)
        sum += v.elements()[i] * dx.elements()[i];
      return sum;
    };
    auto const ddy = call.permute_forward(v, perm);
    for (std::size_t i = 0; i < dy.elements().size(); ++i) {
      auto moved_dy = dy;
      moved_dy.elements()[i] += 1;
      CHECK(ddy.elements()[i] == loss(moved_dy) - loss(dy));
    }
  });
}
