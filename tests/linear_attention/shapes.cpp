// SPDX-License-Identifier: Apache-2.0
// The shapes that linear_attention refuses, of tensors and of a workspace in question.
#include "call.hpp"

#include <slicesort/view.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>

using namespace support;

namespace {

namespace feature = ss::feature;
namespace divisor = ss::divisor;
using plain_call = linear_call<feature::elu_plus_one>;
using causal_call = linear_call<feature::random_exp, divisor::sum_plus, ss::direction::causal>;

}  // namespace

TEST_CASE("shapes of inputs") {
  linear_call<> c;
  SUBCASE("k and v beside q") {
    c.in.k = {c.at(1), {1, 3, 4, 6}};
    CHECK(c.everywhere() == "k.batch is 1, must be 2 (q.batch)");
    c.in.k = {c.at(1), {2, 2, 4, 6}};
    CHECK(c.everywhere() == "k.heads is 2, must be 3 (q.heads)");
    c.in.k = {c.at(1), {2, 3, 4, 5}};
    CHECK(c.everywhere() == "k.channels is 5, must be 6 (q.channels)");
    c.in.k = {c.at(1), c.k_shape};
    c.in.v = {c.at(2), {1, 3, 4, 7}};
    CHECK(c.everywhere() == "v.batch is 1, must be 2 (q.batch)");
    c.in.v = {c.at(2), {2, 1, 4, 7}};
    CHECK(c.everywhere() == "v.heads is 1, must be 3 (q.heads)");
    c.in.v = {c.at(2), {2, 3, 3, 7}};
    CHECK(c.everywhere() == "v.length is 3, must be 4 (k.length)");
  }
  SUBCASE("w") {
    c.in.w = {c.at(3), {2, 8, 6}};
    CHECK(c.everywhere() == "w.heads is 2, must be 1 or 3 (q.heads)");
    c.in.w = {c.at(3), {3, 8, 5}};
    CHECK(c.everywhere() == "w.channels is 5, must be 6 (q.channels)");
    c.in.w = {nullptr, c.w_shape};
    CHECK(c.everywhere() == "w.data is null, must point to [3, 8, 6]");
    c.in.w = {c.at(3), c.w_shape, {48, -6, 1}};
    CHECK(c.everywhere() == "w.stride.features is -6, must be zero or positive");
    c.in.w = {c.at(3), {3, -8, 6}};
    CHECK(c.everywhere() == "w.features is -8, must not be negative");
    c.in.w = {};
    CHECK(c.everywhere() ==
          "w is left out, must be the feature map's matrix, [1 or heads, features, channels]");
  }
  SUBCASE("w of a feature map that has none") {
    plain_call p;
    CHECK(p.everywhere() == "w must be left out: the feature map has no matrix");
    p.in.w = {};
    CHECK(p.backward_alone() == "dw must be left out: there is no w");
  }
  SUBCASE("as many keys as queries") {
    causal_call d;
    d.in.k = {d.at(1), {2, 3, 4, 6}};
    d.in.v = {d.at(2), {2, 3, 4, 7}};
    CHECK(d.everywhere() == "k.length is 4, must be 5 (q.length) where causal");
  }
  SUBCASE("views alone") {
    c.in.q = {c.at(0), {2, 3, -5, 6}};
    CHECK(c.everywhere() == "q.length is -5, must not be negative");
    c.in.q = {c.at(0), c.q_shape, {90, 30, -6, 1}};
    CHECK(c.everywhere() == "q.stride.length is -6, must be zero or positive");
    c.in.q = {nullptr, c.q_shape};
    CHECK(c.everywhere() == "q.data is null, must point to [2, 3, 5, 6]");
    c.in.q = ss::split_heads(tensor3<float const>(c.at(0), {2, 5, 17}), 3);
    CHECK(c.everywhere() ==
          "q.channels is -1, must not be negative (split_heads: heads must divide the channels)");
  }
  SUBCASE("too long to number") {
    index_t const length = (index_t{1} << 31) + 1;
    c.in.k = {c.at(1), {2, 3, length, 6}, {0, 0, 0, 0}};
    c.in.v = {c.at(2), {2, 3, length, 7}, {0, 0, 0, 0}};
    CHECK(c.everywhere() == "k.length is 2147483649, must be at most 2147483648");
    linear_call<> d;
    d.in.q = {d.at(0), {2, 3, length, 6}, {0, 0, 0, 0}};
    CHECK(d.everywhere() == "q.length is 2147483649, must be at most 2147483648");
    linear_call<> e;
    e.in.w = {e.at(3), {3, length, 6}, {0, 0, 0}};
    CHECK(e.everywhere() == "w.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("shapes of outputs") {
  linear_call<> c;
  SUBCASE("y and dy") {
    c.y = {c.at(5), {2, 3, 5, 6}};
    CHECK(c.forward() == "linear_attention.forward: y.channels is 6, must be 7 (v.channels)");
    c.y = {c.at(5), {2, 3, 4, 7}};
    CHECK(c.forward() == "linear_attention.forward: y.length is 4, must be 5 (q.length)");
    c.y = {c.at(5), {1, 3, 5, 7}};
    CHECK(c.forward() == "linear_attention.forward: y.batch is 1, must be 2 (q.batch)");
    c.y = {nullptr, c.y_shape};
    CHECK(c.forward() == "linear_attention.forward: y.data is null, must point to [2, 3, 5, 7]");
    c.y = {c.at(5), c.y_shape};
    c.dy = {c.at(4), {2, 3, 5, 8}};
    CHECK(c.backward_alone() == "dy.channels is 8, must be 7 (v.channels)");
    c.dy = {c.at(4), {2, 2, 5, 7}};
    CHECK(c.backward_alone() == "dy.heads is 2, must be 3 (q.heads)");
    c.dy = {nullptr, c.y_shape};
    CHECK(c.backward_alone() == "dy.data is null, must point to [2, 3, 5, 7]");
  }
  SUBCASE("gradients") {
    c.to.dq = {c.at(6), {2, 3, 4, 6}};
    CHECK(c.backward_alone() == "dq.length is 4, must be 5 (q.length)");
    c.to.dq = {};
    c.to.dk = {c.at(7), {2, 3, 4, 7}};
    CHECK(c.backward_alone() == "dk.channels is 7, must be 6 (k.channels)");
    c.to.dk = {};
    c.to.dv = {c.at(8), {2, 2, 4, 7}};
    CHECK(c.backward_alone() == "dv.heads is 2, must be 3 (v.heads)");
    c.to.dv = {nullptr, c.v_shape};
    CHECK(c.backward_alone() == "dv.data is null, must point to [2, 3, 4, 7]");
    c.to.dv = {};
    c.to.dw = {c.at(9), {3, 7, 6}};
    CHECK(c.backward_alone() == "dw.features is 7, must be 8 (w.features)");
    c.to.dw = {c.at(9), {2, 8, 6}};
    CHECK(c.backward_alone() == "dw.heads is 2, must be 1 or 3 (q.heads)");
    c.to.dw = {c.at(9), {3, 8, 7}};
    CHECK(c.backward_alone() == "dw.channels is 7, must be 6 (q.channels)");
    c.to.dw = {nullptr, c.w_shape};
    CHECK(c.backward_alone() == "dw.data is null, must point to [3, 8, 6]");
  }
  SUBCASE("outputs give every element its place") {
    c.y = {c.at(5), c.y_shape, {105, 0, 7, 1}};
    CHECK(c.forward() == "linear_attention.forward: y.stride.heads is 0, must be positive");
    c.y = {c.at(5), c.y_shape};
    c.to.dk = {c.at(7), c.k_shape, {72, 6, 6, 1}};
    CHECK(says(c.backward_alone(), "dk.strides are [72, 6, 6, 1]"));
    c.to.dk = {};
    c.to.dw = {c.at(9), c.w_shape, {0, 6, 1}};
    CHECK(c.backward_alone() == "dw.stride.heads is 0, must be positive");
  }
}

TEST_CASE("the size of a workspace is refused where the call is") {
  using shapes = extents4;
  auto const refused = [](auto const& op, shapes q, shapes v, extents3 w = {}, extents3 dw = {}) {
    ss::exec::host const exec;
    std::string const all =
        refusal(op.template workspace_bytes<float>(ss::exec::dry_run{exec}, q, v, w, dw),
                [&] { (void)op.template workspace_bytes<float>(exec, q, v, w, dw); });
    std::string const head = "linear_attention.workspace_bytes: ";
    CHECK(all.substr(0, head.size()) == head);
    return all.substr(std::min(all.size(), head.size()));
  };
  ss::linear_attention<feature::random_exp> const op;
  shapes const q{2, 3, 5, 6}, v{2, 3, 4, 7};
  extents3 const w{3, 8, 6};
  CHECK(op.workspace_bytes<float>(ss::exec::dry_run{ss::exec::host{}}, q, v, w, {1, 8, 6}));
  CHECK(refused(op, {2, 3, 5, -6}, v, w) == "q.channels is -6, must not be negative");
  CHECK(refused(op, q, {2, 2, 4, 7}, w) == "v.heads is 2, must be 3 (q.heads)");
  CHECK(refused(op, q, {1, 3, 4, 7}, w) == "v.batch is 1, must be 2 (q.batch)");
  CHECK(refused(op, q, v, {2, 8, 6}) == "w.heads is 2, must be 1 or 3 (q.heads)");
  CHECK(refused(op, q, v, {3, 8, 5}) == "w.channels is 5, must be 6 (q.channels)");
  CHECK(refused(op, q, v, {3, -8, 6}) == "w.features is -8, must not be negative");
  CHECK(refused(op, q, v, w, {2, 8, 6}) == "dw.heads is 2, must be 1 or 3 (q.heads)");
  CHECK(refused(op, q, v, w, {3, 7, 6}) == "dw.features is 7, must be 8 (w.features)");
  CHECK(refused(op, q, v) ==
        "w is left out, must be the feature map's matrix, [1 or heads, features, channels]");
  ss::linear_attention<> const plain;
  CHECK(refused(plain, q, v, w) == "w must be left out: the feature map has no matrix");
  CHECK(refused(plain, q, v, {}, w) == "dw must be left out: there is no w");
  CHECK(refused(
            ss::linear_attention<feature::elu_plus_one, divisor::sum_plus, ss::direction::causal>{},
            q, v) == "k.length is 4, must be 5 (q.length) where causal");
  CHECK(refused(ss::linear_attention<feature::relu>{feature::relu{2e300}}, q, v) ==
        "feature.eps is 2e+300, must be in -1e+38..1e+38");
  using big = ss::linear_attention<feature::relu>;
  CHECK(
      big(feature::relu{1e300}).workspace_bytes<double>(ss::exec::dry_run{ss::exec::host{}}, q, v));
  CHECK(std::string(big(feature::relu{1.1e300})
                        .workspace_bytes<double>(ss::exec::dry_run{ss::exec::host{}}, q, v)
                        .message) ==
        "linear_attention.workspace_bytes: feature.eps is 1.1e+300, must be in -1e+300..1e+300");
  CHECK(refused(plain, {1, 1, (index_t{1} << 31) + 1, 1}, {1, 1, 1, 1}) ==
        "q.length is 2147483649, must be at most 2147483648");
}
