// SPDX-License-Identifier: Apache-2.0
// Gradients of csp: accumulation rounds once, and backward accepts an order that the test computed.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// Returns the sum in the accumulator type, rounded once.
template <class T>
T rounded_sum(T a, T b) {
  if constexpr (sizeof(T) == 2)
    return from_bits<T>(nearest_bits<T>(decode(a).value + decode(b).value));
  else
    return a + b;
}

}  // namespace

TEST_CASE_TEMPLATE("gradients accumulate, also in place into dy", T, float, double, float16,
                   bfloat16) {
  std::uint64_t seed = 0;
  for (index_t n : {1, 2, 9, 64, 100, 300})
    for (index_t group : {1, 2, 5, 300})
      for (index_t reference : {no_reference, index_t{3}}) {
        ++seed;
        extents3 const e{2, n, 35};
        std::vector<index_t> lengths;
        if (seed % 2 == 0) lengths = {n, n / 3};
        auto p = make_mixed_csp<T>(e, group, reference, seed, lengths);
        random_stream random(seed);
        for (T& gradient : p.dy.elements()) gradient = from_double<T>(1 + random.unit() * 900);
        compute_expected(p);
        tensor<T> before(e), expected(e), expected_in_place(e);
        for (std::size_t i = 0; i < before.elements().size(); ++i) {
          before.elements()[i] = from_double<T>(1.5 + random.unit());
          expected.elements()[i] = rounded_sum(before.elements()[i], p.dx.elements()[i]);
          expected_in_place.elements()[i] = rounded_sum(p.dy.elements()[i], p.dx.elements()[i]);
        }
        strides3 const s = strides_in_order(e, {1, 0, 2}, 1);
        with_csp(p, [&](auto const& op) {
          // Only backward runs, on the oracle's order.
          guarded_order_buffer order(op.saved_extents(e), op.saved_width(e));
          order.set_contents(p.saved);
          ss::backward_options const accumulate{ss::grad_mode::accumulate, view_of(lengths)};
          for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
            guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
            strided_tensor<T> dx(before, s, 3);
            op.backward(exec, p.dy.view(), {order.view()}, dx.view(), scratch.get(), accumulate);
            auto dy_and_dx = p.dy;
            op.backward(exec, dy_and_dx.view(), {order.view()}, dy_and_dx.view(), scratch.get(),
                        accumulate);
            auto overwritten = garbage_tensor<T>(e);
            op.backward(exec, p.dy.view(), {order.view()}, overwritten.view(), scratch.get(),
                        {ss::grad_mode::overwrite, view_of(lengths)});
            CAPTURE(p.describe());
            CAPTURE(describe_exec(exec));
            CHECK(difference("dx", dx.contents(), expected) == "");
            CHECK(difference("dx in place", dy_and_dx, expected_in_place) == "");
            CHECK(difference("dx overwritten", overwritten, p.dx) == "");
            CHECK((dx.padding_intact() && scratch.red_zones_intact()));
          });
        });
      }
}

TEST_CASE_TEMPLATE("overwriting a gradient preserves every bit", T, float, double, float16,
                   bfloat16) {
  for (index_t group : {1, 2, 4, 100}) {
    auto p = make_mixed_csp<T>({1, 90, 34}, group, no_reference, 5);
    p.dy = mixed_tensor<T>(p.extents(), all_kinds, 77);  // NaN payloads, zeros, denormals
    compute_expected(p);
    for_each_backend(p.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(describe_exec(exec));
      CHECK(check_csp(p, exec) == "");
    });
  }
}
