// SPDX-License-Identifier: Apache-2.0
// The convenience layer: what it returns is what the operators write.
#include "support/buffers.hpp"
#include "support/inputs.hpp"
#include "support/refusal.hpp"
#include "support/variants.hpp"

#include <slicesort/order.hpp>
#include <slicesort/simple.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace support;
namespace ss = slicesort;

TEST_CASE("ten lines") {
  std::vector<float> const x{3, 1, 2, 0};
  auto const r = ss::simple::forward(ss::slicing_sort<>{}, x, {1, 4, 1});
  CHECK(r.y == std::vector<float>{0, 1, 2, 3});
  CHECK(r.perm == std::vector<std::int32_t>{3, 1, 2, 0});
  CHECK(r.extents == extents3{1, 4, 1});
  auto const dx = ss::simple::backward(ss::slicing_sort<>{}, std::vector<float>{1, 2, 3, 4}, r);
  CHECK(dx == std::vector<float>{4, 2, 3, 1});

  auto const two = ss::simple::forward(ss::multi_permutation<>{2}, x, {1, 4, 1});
  CHECK(two.y == std::vector<float>{1.5f, 1, 2, 1.5f});
  CHECK(ss::simple::backward(ss::multi_permutation<>{2}, std::vector<float>{2, 4, 6, 8}, two) ==
        std::vector<float>{5, 4, 6, 5});
}

TEST_CASE_TEMPLATE("the same bits as the operator, under any policy", T, float, double, float16,
                   bfloat16) {
  extents3 const e{3, 57, 7};
  tensor<T> x(e), dy(e), y(e), dx(e);
  tensor<std::int32_t> perm(e);
  x.elements() = make_column<T>(input_kind::specials, x.elements().size(), 3);
  dy.elements() = make_column<T>(input_kind::random_bits, dy.elements().size(), 4);
  ss::slicing_sort<ss::half_half> const op{ss::half_half{}};
  ss::exec::host const on{3};
  guarded_workspace scratch(op.workspace_bytes<T>(on, e));
  op.forward(on, x.view(), y.view(), {perm.view()}, scratch.get());
  op.backward(on, dy.view(), {perm.view()}, dx.view(), scratch.get());
  for (unsigned threads : {1u, 3u}) {
    auto const r = ss::simple::forward(ss::exec::host{threads}, op, x.elements(), e);
    CHECK(same_bits(r.y, y.elements()));
    CHECK(r.perm == perm.elements());
    auto const back = ss::simple::backward(ss::exec::host{threads}, op, dy.elements(), r);
    CHECK(same_bits(back, dx.elements()));
  }
}

TEST_CASE("nothing to do") {
  for (extents3 e : {extents3{0, 4, 2}, extents3{2, 0, 2}, extents3{2, 4, 0}}) {
    auto const r = ss::simple::forward(ss::slicing_sort<>{}, std::vector<double>{}, e);
    CHECK(r.y.empty());
    CHECK(ss::simple::backward(ss::slicing_sort<>{}, r.y, r).empty());
  }
}

TEST_CASE("sizes that do not match are refused") {
  ss::slicing_sort<> const op;
  std::vector<float> const five(5), six(6);
  CHECK(refusal([&] {
          ss::simple::forward(op, five, {1, 3, 2});
        }) == "simple.forward: x.size is 5, must be 6 (batch * length * channels)");
  CHECK(refusal([&] {
          ss::simple::forward(op, std::vector<float>{}, {1, 3, 2});
        }) == "simple.forward: x.size is 0, must be 6 (batch * length * channels)");
  CHECK(refusal([&] {
          ss::simple::forward(op, six, {-1, 3, -2});
        }) == "simple.forward: x.batch is -1, must not be negative");
  index_t const huge = index_t{1} << 40;
  CHECK(refusal([&] {
          ss::simple::forward(op, six, {huge, huge, 2});
        }) ==
        "simple.forward: x [1099511627776, 1099511627776, 2] spans more than 2^63 bytes or 2^57 "
        "elements, must span less");
  auto r = ss::simple::forward(op, six, {1, 3, 2});
  CHECK(refusal([&] { ss::simple::backward(op, five, r); }) ==
        "simple.backward: dy.size is 5, must be 6 (batch * length * channels)");
  r.perm.pop_back();
  CHECK(refusal([&] { ss::simple::backward(op, six, r); }) ==
        "simple.backward: result.perm.size is 5, must be 6 (batch * length * channels)");
}
