// SPDX-License-Identifier: Apache-2.0
// slicing_sort in place, and accumulated gradients.
#define SLICESORT_TEST_EVERY_BACKEND
#include "forward_backward.hpp"

#include <doctest/doctest.h>

using namespace support;

TEST_CASE_TEMPLATE("in place, forward and backward", T, float, double, float16, bfloat16) {
  for (index_t n : {1, 2, 17, 64, 100, 131, 65539})
    for (int kinds : {ordinary_kinds, all_kinds})
      for (bool has_lengths : {false, true}) {
        extents3 const e{2, n, n > 1000 ? 2 : 33};
        std::vector<index_t> lengths;
        if (has_lengths) lengths = {n / 2, n - 1};
        auto const p =
            make_mixed_problem<T>(e, kinds, static_cast<std::uint64_t>(n), irregular, lengths);
        for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
          auto x = p.x, dy = p.dy;
          tensor<std::uint32_t> perm(e);
          forward(p, exec, x.view(), x.view(), perm.view());
          backward(p, exec, dy.view(), perm.view(), dy.view());
          CAPTURE(p.describe());
          CAPTURE(describe_exec(exec));
          CHECK(difference("y in place", x, p.y) == "");
          CHECK(difference("perm", perm, p.perm) == "");
          CHECK(difference("dx in place", dy, p.dx) == "");

          auto not_saved = p.x;
          ss::slicing_sort<pattern_order> const op(pattern_order{p.order});
          guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
          op.forward(exec, not_saved.view(), not_saved.view(), ss::no_saved, scratch.get(),
                     {p.lengths_view()});
          CHECK(difference("y in place, no_saved", not_saved, p.y) == "");
        });
      }
}

namespace {

// Adds in the accumulator type, rounding once.
template <class T>
T add_rounded(T a, T b) {
  if constexpr (sizeof(T) == 2) {
    return from_bits<T>(nearest_bits<T>(decode(a).value + decode(b).value));
  } else {
    return a + b;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("gradients accumulate", T, float, double, float16, bfloat16) {
  for (index_t n : {1, 2, 9, 64, 100, 300})
    for (bool has_lengths : {false, true}) {
      extents3 const e{2, n, 35};
      std::vector<index_t> lengths;
      if (has_lengths) lengths = {n, n / 3};
      auto p = make_mixed_problem<T>(e, all_kinds, 2, irregular, lengths);
      random_stream random(static_cast<std::uint64_t>(n));
      for (T& gradient : p.dy.elements()) gradient = from_double<T>(1 + random.unit() * 900);
      compute_expected(p);
      tensor<T> before(e), expected(e);
      for (std::size_t i = 0; i < before.elements().size(); ++i) {
        before.elements()[i] = from_double<T>(1.5 + random.unit());
        expected.elements()[i] = add_rounded(before.elements()[i], p.dx.elements()[i]);
      }
      strides3 const s = strides_in_order(e, {1, 0, 2}, 1);
      for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
        strided_tensor<T> dx(before, s, 3);
        backward(p, exec, p.dy.view(), p.perm.view(), dx.view(), ss::grad_mode::accumulate);
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        CHECK(difference("dx", dx.contents(), expected) == "");
        CHECK(dx.padding_intact());

        auto doubled = p.dy, sums = p.dy;  // in place: dx += P^T dx
        for (std::size_t i = 0; i < doubled.elements().size(); ++i)
          sums.elements()[i] = add_rounded(p.dy.elements()[i], p.dx.elements()[i]);
        backward(p, exec, doubled.view(), p.perm.view(), doubled.view(), ss::grad_mode::accumulate);
        CHECK(difference("dx in place", doubled, sums) == "");
      });
    }
}
