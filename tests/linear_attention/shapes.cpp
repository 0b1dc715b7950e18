// SPDX-License-Identifier: Apache-2.0
// Shapes that linear_attention and its workspace query reject.
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
  linear_call<> call;
  SUBCASE("k and v beside q") {
    call.in.k = {call.buffer(buffer_k), {1, 3, 4, 6}};
    CHECK(call.forward_and_backward_error() == "k.batch is 1, must be 2 (q.batch)");
    call.in.k = {call.buffer(buffer_k), {2, 2, 4, 6}};
    CHECK(call.forward_and_backward_error() == "k.heads is 2, must be 3 (v.heads)");
    call.in.k = {call.buffer(buffer_k), {2, 3, 4, 5}};
    CHECK(call.forward_and_backward_error() == "k.channels is 5, must be 6 (q.channels)");
    call.in.k = {call.buffer(buffer_k), call.k_shape};
    call.in.v = {call.buffer(buffer_v), {1, 3, 4, 7}};
    CHECK(call.forward_and_backward_error() == "v.batch is 1, must be 2 (q.batch)");
    call.in.v = {call.buffer(buffer_v), {2, 1, 4, 7}};
    CHECK(call.forward_and_backward_error() == "k.heads is 3, must be 1 (v.heads)");
    call.in.v = {call.buffer(buffer_v), {2, 2, 4, 7}};
    CHECK(call.forward_and_backward_error() == "v.heads is 2, must divide 3 (q.heads)");
    call.in.v = {call.buffer(buffer_v), {2, 3, 3, 7}};
    CHECK(call.forward_and_backward_error() == "v.length is 3, must be 4 (k.length)");
  }
  SUBCASE("w") {
    call.in.w = {call.buffer(buffer_w), {2, 8, 6}};
    CHECK(call.forward_and_backward_error() == "w.heads is 2, must be 1 or 3 (v.heads)");
    call.in.w = {call.buffer(buffer_w), {3, 8, 5}};
    CHECK(call.forward_and_backward_error() == "w.channels is 5, must be 6 (q.channels)");
    call.in.w = {nullptr, call.w_shape};
    CHECK(call.forward_and_backward_error() == "w.data is null, must point to [3, 8, 6]");
    call.in.w = {call.buffer(buffer_w), call.w_shape, {48, -6, 1}};
    CHECK(call.forward_and_backward_error() == "w.stride.features is -6, must be zero or positive");
    call.in.w = {call.buffer(buffer_w), {3, -8, 6}};
    CHECK(call.forward_and_backward_error() == "w.features is -8, must not be negative");
    call.in.w = {};
    CHECK(call.forward_and_backward_error() ==
          "w is left out, must be the feature map's matrix, [1 or heads, features, channels]");
  }
  SUBCASE("w of a feature map that has none") {
    plain_call plain;
    CHECK(plain.forward_and_backward_error() ==
          "w must be left out: the feature map has no matrix");
    plain.in.w = {};
    CHECK(plain.backward_only_error() == "dw must be left out: there is no w");
  }
  SUBCASE("as many keys as queries") {
    causal_call causal;
    causal.in.k = {causal.buffer(buffer_k), {2, 3, 4, 6}};
    causal.in.v = {causal.buffer(buffer_v), {2, 3, 4, 7}};
    CHECK(causal.forward_and_backward_error() ==
          "k.length is 4, must be 5 (q.length) where causal");
  }
  SUBCASE("views alone") {
    call.in.q = {call.buffer(buffer_q), {2, 3, -5, 6}};
    CHECK(call.forward_and_backward_error() == "q.length is -5, must not be negative");
    call.in.q = {call.buffer(buffer_q), call.q_shape, {90, 30, -6, 1}};
    CHECK(call.forward_and_backward_error() == "q.stride.length is -6, must be zero or positive");
    call.in.q = {nullptr, call.q_shape};
    CHECK(call.forward_and_backward_error() == "q.data is null, must point to [2, 3, 5, 6]");
    call.in.q = ss::split_heads(tensor3<float const>(call.buffer(buffer_q), {2, 5, 17}), 3);
    CHECK(call.forward_and_backward_error() ==
          "q.channels is -1, must not be negative (split_heads: heads must divide the channels)");
  }
  SUBCASE("too long to number") {
    index_t const length = (index_t{1} << 31) + 1;
    call.in.k = {call.buffer(buffer_k), {2, 3, length, 6}, {0, 0, 0, 0}};
    call.in.v = {call.buffer(buffer_v), {2, 3, length, 7}, {0, 0, 0, 0}};
    CHECK(call.forward_and_backward_error() ==
          "k.length is 2147483649, must be at most 2147483648");
    linear_call<> long_q;
    long_q.in.q = {long_q.buffer(buffer_q), {2, 3, length, 6}, {0, 0, 0, 0}};
    CHECK(long_q.forward_and_backward_error() ==
          "q.length is 2147483649, must be at most 2147483648");
    linear_call<> long_w;
    long_w.in.w = {long_w.buffer(buffer_w), {3, length, 6}, {0, 0, 0}};
    CHECK(long_w.forward_and_backward_error() ==
          "w.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("shapes of outputs") {
  linear_call<> call;
  SUBCASE("y and dy") {
    call.y = {call.buffer(buffer_y), {2, 3, 5, 6}};
    CHECK(call.forward_error() ==
          "linear_attention.forward: y.channels is 6, must be 7 (v.channels)");
    call.y = {call.buffer(buffer_y), {2, 3, 4, 7}};
    CHECK(call.forward_error() == "linear_attention.forward: y.length is 4, must be 5 (q.length)");
    call.y = {call.buffer(buffer_y), {1, 3, 5, 7}};
    CHECK(call.forward_error() == "linear_attention.forward: y.batch is 1, must be 2 (q.batch)");
    call.y = {nullptr, call.y_shape};
    CHECK(call.forward_error() ==
          "linear_attention.forward: y.data is null, must point to [2, 3, 5, 7]");
    call.y = {call.buffer(buffer_y), call.y_shape};
    call.dy = {call.buffer(buffer_dy), {2, 3, 5, 8}};
    CHECK(call.backward_only_error() == "dy.channels is 8, must be 7 (v.channels)");
    call.dy = {call.buffer(buffer_dy), {2, 2, 5, 7}};
    CHECK(call.backward_only_error() == "dy.heads is 2, must be 3 (q.heads)");
    call.dy = {nullptr, call.y_shape};
    CHECK(call.backward_only_error() == "dy.data is null, must point to [2, 3, 5, 7]");
  }
  SUBCASE("gradients") {
    call.grads.dq = {call.buffer(buffer_dq), {2, 3, 4, 6}};
    CHECK(call.backward_only_error() == "dq.length is 4, must be 5 (q.length)");
    call.grads.dq = {};
    call.grads.dk = {call.buffer(buffer_dk), {2, 3, 4, 7}};
    CHECK(call.backward_only_error() == "dk.channels is 7, must be 6 (k.channels)");
    call.grads.dk = {};
    call.grads.dv = {call.buffer(buffer_dv), {2, 2, 4, 7}};
    CHECK(call.backward_only_error() == "dv.heads is 2, must be 3 (v.heads)");
    call.grads.dv = {nullptr, call.v_shape};
    CHECK(call.backward_only_error() == "dv.data is null, must point to [2, 3, 4, 7]");
    call.grads.dv = {};
    call.grads.dw = {call.buffer(buffer_dw), {3, 7, 6}};
    CHECK(call.backward_only_error() == "dw.features is 7, must be 8 (w.features)");
    call.grads.dw = {call.buffer(buffer_dw), {2, 8, 6}};
    CHECK(call.backward_only_error() == "dw.heads is 2, must be 1 or 3 (v.heads)");
    call.grads.dw = {call.buffer(buffer_dw), {3, 8, 7}};
    CHECK(call.backward_only_error() == "dw.channels is 7, must be 6 (q.channels)");
    call.grads.dw = {nullptr, call.w_shape};
    CHECK(call.backward_only_error() == "dw.data is null, must point to [3, 8, 6]");
  }
  SUBCASE("outputs give every element its place") {
    call.y = {call.buffer(buffer_y), call.y_shape, {105, 0, 7, 1}};
    CHECK(call.forward_error() ==
          "linear_attention.forward: y.stride.heads is 0, must be positive");
    call.y = {call.buffer(buffer_y), call.y_shape};
    call.grads.dk = {call.buffer(buffer_dk), call.k_shape, {72, 6, 6, 1}};
    CHECK(says(call.backward_only_error(), "dk.strides are [72, 6, 6, 1]"));
    call.grads.dk = {};
    call.grads.dw = {call.buffer(buffer_dw), call.w_shape, {0, 6, 1}};
    CHECK(call.backward_only_error() == "dw.stride.heads is 0, must be positive");
  }
}

TEST_CASE("the workspace query rejects the same shapes as the call") {
  auto const size_query_error = [](auto const& op, extents4 q, extents4 v, extents3 w = {},
                                   extents3 dw = {}) {
    ss::exec::host const exec;
    std::string const message =
        error_message(op.template workspace_bytes<float>(ss::exec::dry_run{exec}, q, v, w, dw),
                      [&] { (void)op.template workspace_bytes<float>(exec, q, v, w, dw); });
    std::string const prefix = "linear_attention.workspace_bytes: ";
    CHECK(message.substr(0, prefix.size()) == prefix);
    return message.substr(std::min(message.size(), prefix.size()));
  };
  ss::linear_attention<feature::random_exp> const op;
  extents4 const q{2, 3, 5, 6}, v{2, 3, 4, 7};
  extents3 const w{3, 8, 6};
  CHECK(op.workspace_bytes<float>(ss::exec::dry_run{ss::exec::host{}}, q, v, w, {1, 8, 6}));
  CHECK(size_query_error(op, {2, 3, 5, -6}, v, w) == "q.channels is -6, must not be negative");
  ss::linear_attention<feature::random_exp, ss::divisor::sum_plus, ss::direction::causal> const
      causal;
  extents4 const one_head{2, 1, 5, 7};
  CHECK(causal.workspace_bytes<float>(ss::exec::dry_run{ss::exec::host{}}, q, one_head, {1, 8, 6},
                                      {}, true));
  CHECK(causal.state_extents(q, one_head, {1, 8, 6}) == extents4(2, 1, 1, 3 + 8 * 8 + 63 * 16));
  CHECK(size_query_error(causal, q, one_head, w) == "w.heads is 3, must be 1 or 1 (v.heads)");
  CHECK(size_query_error(op, q, {2, 2, 4, 7}, w) == "v.heads is 2, must divide 3 (q.heads)");
  index_t const too_many = index_t{1} << 32;
  CHECK(size_query_error(op, {1, too_many, 4, 6}, {1, 2, 4, 7}, {1, 8, 6}) ==
        "q.heads is 4294967296, must be below 2^32 for grouped heads");
  CHECK(size_query_error(op, q, {1, 3, 4, 7}, w) == "v.batch is 1, must be 2 (q.batch)");
  CHECK(size_query_error(op, q, v, {2, 8, 6}) == "w.heads is 2, must be 1 or 3 (v.heads)");
  CHECK(size_query_error(op, q, v, {3, 8, 5}) == "w.channels is 5, must be 6 (q.channels)");
  CHECK(size_query_error(op, q, v, {3, -8, 6}) == "w.features is -8, must not be negative");
  CHECK(size_query_error(op, q, v, w, {2, 8, 6}) == "dw.heads is 2, must be 1 or 3 (v.heads)");
  CHECK(size_query_error(op, q, v, w, {3, 7, 6}) == "dw.features is 7, must be 8 (w.features)");
  CHECK(size_query_error(op, q, v) ==
        "w is left out, must be the feature map's matrix, [1 or heads, features, channels]");
  ss::linear_attention<> const plain;
  CHECK(size_query_error(plain, q, v, w) == "w must be left out: the feature map has no matrix");
  CHECK(size_query_error(plain, q, v, {}, w) == "dw must be left out: there is no w");
  CHECK(size_query_error(
            ss::linear_attention<feature::elu_plus_one, divisor::sum_plus, ss::direction::causal>{},
            q, v) == "k.length is 4, must be 5 (q.length) where causal");
  CHECK(size_query_error(ss::linear_attention<feature::relu>{feature::relu{2e300}}, q, v) ==
        "feature.eps is 2e+300, must be in -1e+38..1e+38");
  using relu = ss::linear_attention<feature::relu>;
  CHECK(relu(feature::relu{1e300})
            .workspace_bytes<double>(ss::exec::dry_run{ss::exec::host{}}, q, v));
  CHECK(std::string(relu(feature::relu{1.1e300})
                        .workspace_bytes<double>(ss::exec::dry_run{ss::exec::host{}}, q, v)
                        .message) ==
        "linear_attention.workspace_bytes: feature.eps is 1.1e+300, must be in -1e+300..1e+300");
  CHECK(size_query_error(plain, {1, 1, (index_t{1} << 31) + 1, 1}, {1, 1, 1, 1}) ==
        "q.length is 2147483649, must be at most 2147483648");
}
