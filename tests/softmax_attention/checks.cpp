// SPDX-License-Identifier: Apache-2.0
// Argument checks of softmax_attention: every invalid argument has its message, a dry run returns
// the error that the call throws, and rejected calls write nothing.
#include "call.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace support;

namespace {

using materialized_call = attention_call<pattern_mask, ss::materialized<>>;

template <class Call>
void check_accepted(Call& c) {
  CHECK(c.forward_error() == "");
  CHECK(c.forward_error_without_state() == "");
  CHECK(c.backward_error() == "");
}

}  // namespace

TEST_CASE("valid calls are accepted") {
  attention_call<> c;
  SUBCASE("unmodified") {}
  SUBCASE("a bias") { c.with_bias(); }
  SUBCASE("the gradient of an omitted bias") { c.grads.dbias = c.dbias; }
  SUBCASE("a broadcast or relative bias, and gradients of any layout") {
    extents4 const bias_shapes[] = {{1, 3, 5, 4}, {2, 1, 5, 4}, {1, 1, 1, 8}, {2, 3, 1, 8}};
    for (extents4 bias : bias_shapes)
      for (extents4 dbias : bias_shapes) {
        c.in.bias = {c.buffer(bias_buffer), bias};
        c.grads.dbias = {c.buffer(dbias_buffer), dbias};
        check_accepted(c);
      }
  }
  SUBCASE("dropout") { c.dropout = {0.999, 5}; }
  SUBCASE("dropout of a part of the batch") { c.dropout = {0.1, 5, index_t{1} << 62, 4, 7}; }
  SUBCASE("no gradients") { c.grads = {}; }
  SUBCASE("one gradient") { c.grads = {{}, {}, c.grads.dv, {}}; }
  SUBCASE("lengths") {
    c.lengths = {0, 4};
    c.query_lengths = {5, 0};
  }
  SUBCASE("lengths of queries only") { c.query_lengths = {1, 1}; }
  SUBCASE("any finite scale") {
    for (double scale : {0.0, -1e38, 1e38}) {
      c.scale = scale;
      check_accepted(c);
    }
  }
  SUBCASE("inputs that heads, samples and queries share") {
    c.with_bias();
    c.in.k = {c.buffer(k_buffer), c.k_shape, {24, 0, 6, 1}};
    c.in.v = {c.buffer(v_buffer), c.v_shape, {0, 0, 7, 1}};
    c.in.bias = {c.buffer(bias_buffer), c.bias_shape, {0, 0, 0, 1}};
    c.in.q = {c.buffer(q_buffer), c.q_shape, {0, 0, 0, 0}};
  }
  SUBCASE("grouped heads") {
    c.with_bias();
    extents4 const k_shape{2, 1, 4, 6}, v_shape{2, 1, 4, 7};
    c.in.k = {c.buffer(k_buffer), k_shape}, c.in.v = {c.buffer(v_buffer), v_shape};
    c.grads.dk = {c.buffer(dk_buffer), k_shape}, c.grads.dv = {c.buffer(dv_buffer), v_shape};
  }
  SUBCASE("one tensor for queries, keys and values") {
    c.in.k = {c.buffer(q_buffer), c.k_shape};
    c.in.v = {c.buffer(q_buffer), c.v_shape};
  }
  SUBCASE("gradients in one packed tensor") {
    extents4 const e{1, 3, 4, 6};
    strides4 const packed{0, 6, 54, 1};
    c.in = {{c.buffer(q_buffer), e}, {c.buffer(k_buffer), e}, {c.buffer(v_buffer), e}, {}};
    c.y = {c.buffer(y_buffer), e}, c.dy = {c.buffer(dy_buffer), e};
    c.state = {c.buffer(state_buffer), {1, 3, 4, 2}};
    c.grads = {{c.buffer(dq_buffer), e, packed},
               {c.buffer(dq_buffer) + 18, e, packed},
               {c.buffer(dq_buffer) + 36, e, packed},
               {}};
  }
  check_accepted(c);
}

TEST_CASE("types with the interface of mdspan") {
  struct span {
    float* data;
    extents4 e;
    static constexpr std::size_t rank() { return 4; }
    index_t extent(std::size_t r) const {
      return r == 0 ? e.batch : r == 1 ? e.heads : r == 2 ? e.length : e.channels;
    }
    index_t stride(std::size_t r) const {
      strides4 const s = row_major(e);
      return r == 0 ? s.batch : r == 1 ? s.heads : r == 2 ? s.length : s.channels;
    }
    float* data_handle() const { return data; }
  };
  attention_call<> c, expected;
  auto const to_span = [](auto const& view) {
    return span{const_cast<float*>(view.data()), view.extents()};
  };
  expected.op().forward(expected.exec, expected.in, expected.y, {expected.state}, expected.scratch);
  expected.op().backward(expected.exec, expected.dy, expected.in, expected.y, {expected.state},
                         expected.grads, expected.scratch);
  c.op().forward(c.exec, {to_span(c.in.q), to_span(c.in.k), to_span(c.in.v)}, to_span(c.y),
                 {to_span(c.state)}, c.scratch);
  c.op().backward(c.exec, to_span(c.dy), {to_span(c.in.q), to_span(c.in.k), to_span(c.in.v)},
                  to_span(c.y), {to_span(c.state)},
                  {to_span(c.grads.dq), to_span(c.grads.dk), to_span(c.grads.dv)}, c.scratch);
  CHECK(same_bits(c.memory, expected.memory));
  CHECK(c.buffer(y_buffer)[0] == 2.5f);  // y is the mean of equal values
  CHECK(c.buffer(dv_buffer)[0] != 2.5f);
}

TEST_CASE("shapes") {
  attention_call<> c;
  SUBCASE("k and v against q") {
    c.in.k = {c.buffer(k_buffer), {1, 3, 4, 6}};
    CHECK(c.common_error() == "k.batch is 1, must be 2 (q.batch)");
    c.in.k = {c.buffer(k_buffer), {2, 2, 4, 6}};
    CHECK(c.common_error() == "k.heads is 2, must be 3 (v.heads)");
    c.in.k = {c.buffer(k_buffer), {2, 3, 4, 5}};
    CHECK(c.common_error() == "k.channels is 5, must be 6 (q.channels)");
    c.in.k = {c.buffer(k_buffer), c.k_shape};
    c.in.v = {c.buffer(v_buffer), {2, 1, 4, 7}};
    CHECK(c.common_error() == "k.heads is 3, must be 1 (v.heads)");
    c.in.v = {c.buffer(v_buffer), {2, 3, 3, 7}};
    CHECK(c.common_error() == "v.length is 3, must be 4 (k.length)");
  }
  SUBCASE("grouped heads") {
    c.in.k = {c.buffer(k_buffer), {2, 1, 4, 6}};
    c.in.v = {c.buffer(v_buffer), {2, 1, 4, 7}};
    CHECK(c.backward_error() == "softmax_attention.backward: dk.heads is 3, must be 1 (k.heads)");
    c.grads.dk = {c.buffer(dk_buffer), {2, 1, 4, 6}};
    CHECK(c.backward_error() == "softmax_attention.backward: dv.heads is 3, must be 1 (v.heads)");
    for (index_t invalid_heads : {0, 2, 6}) {
      c.in.v = {c.buffer(v_buffer), {2, invalid_heads, 4, 7}};
      CHECK(c.common_error() ==
            "v.heads is " + std::to_string(invalid_heads) + ", must divide 3 (q.heads)");
    }
    CHECK(error_message([&] {
            (void)c.op().workspace_bytes<float>(c.exec, c.q_shape, {2, 2, 4, 7});
          }) == "softmax_attention.workspace_bytes: v.heads is 2, must divide 3 (q.heads)");
  }
  SUBCASE("bias") {
    c.with_bias();
    c.in.bias = {c.buffer(bias_buffer), {2, 3, 4, 4}};
    CHECK(c.common_error() == "bias.queries is 4, must be 5 (q.length)");
    c.in.bias = {c.buffer(bias_buffer), {2, 3, 5, 5}};
    CHECK(c.common_error() == "bias.keys is 5, must be 4 (k.length)");
    c.in.bias = {c.buffer(bias_buffer), {2, 2, 5, 4}};
    CHECK(c.common_error() == "bias.heads is 2, must be 3 (q.heads)");
    c.in.bias = {c.buffer(bias_buffer), {3, 3, 1, 8}};
    CHECK(c.common_error() == "bias.batch is 3, must be 2 (q.batch)");
    for (index_t invalid_keys : {4, 7, 9}) {  // a bias over keys is not a relative bias
      c.in.bias = {c.buffer(bias_buffer), {1, 3, 1, invalid_keys}};
      CHECK(c.common_error() ==
            "bias.keys is " + std::to_string(invalid_keys) +
                ", must be 8 (q.length + k.length - 1) where bias.queries is 1; "
                "a row for all queries has their number and stride 0");
    }
    c.in.bias = {nullptr, {1, 1, 1, 8}};
    CHECK(c.common_error() == "bias.data is null, must point to [1, 1, 1, 8]");
    c.in.bias = {c.buffer(bias_buffer), {1, 1, 1, 8}, {8, 8, 8, -1}};
    CHECK(c.common_error() == "bias.stride.keys is -1, must be zero or positive");
    c.in.bias = {nullptr, c.bias_shape};
    CHECK(c.common_error() == "bias.data is null, must point to [2, 3, 5, 4]");
  }
  SUBCASE("y and dy") {
    c.y = {c.buffer(y_buffer), {2, 3, 5, 6}};
    CHECK(c.common_error() == "y.channels is 6, must be 7 (v.channels)");
    c.y = {c.buffer(y_buffer), {2, 3, 4, 7}};
    CHECK(c.common_error() == "y.length is 4, must be 5 (q.length)");
    c.y = {c.buffer(y_buffer), c.y_shape};
    c.dy = {c.buffer(dy_buffer), {2, 3, 5, 8}};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dy.channels is 8, must be 7 (v.channels)");
    c.dy = {nullptr, c.y_shape};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dy.data is null, must point to [2, 3, 5, 7]");
  }
  SUBCASE("the state") {
    c.state = {c.buffer(state_buffer), {2, 3, 5, 4}};
    CHECK(c.error_with_state() == "state.numbers is 4, must be 2");
    c.state = {c.buffer(state_buffer), {2, 3, 4, 2}};
    CHECK(c.error_with_state() == "state.queries is 4, must be 5 (q.length)");
    c.state = {c.buffer(state_buffer), {1, 3, 5, 2}};
    CHECK(c.error_with_state() == "state.batch is 1, must be 2 (q.batch)");
    c.state = {c.buffer(state_buffer), {2, 6, 5, 2}};
    CHECK(c.error_with_state() == "state.heads is 6, must be 3 (q.heads)");
    c.state = {nullptr, {2, 3, 5, 2}};
    CHECK(c.error_with_state() == "state.data is null, must point to [2, 3, 5, 2]");
    CHECK(c.forward_error_without_state() == "");
    materialized_call materialized;
    materialized.state = {materialized.buffer(state_buffer), {2, 3, 5, 2}};
    CHECK(materialized.error_with_state() == "state.keys is 2, must be 4");
  }
  SUBCASE("gradients") {
    c.grads.dq = {c.buffer(dq_buffer), {2, 3, 4, 6}};
    CHECK(c.backward_error() == "softmax_attention.backward: dq.length is 4, must be 5 (q.length)");
    c.grads.dq = {};
    c.grads.dk = {c.buffer(dk_buffer), {2, 3, 4, 7}};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dk.channels is 7, must be 6 (k.channels)");
    c.grads.dk = {};
    c.grads.dv = {c.buffer(dv_buffer), {2, 2, 4, 7}};
    CHECK(c.backward_error() == "softmax_attention.backward: dv.heads is 2, must be 3 (v.heads)");
    c.grads.dv = {};
    c.grads.dbias = {c.buffer(dbias_buffer), {2, 3, 5, 5}};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dbias.keys is 5, must be 4 (k.length)");
    c.grads.dbias = {nullptr, c.bias_shape};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dbias.data is null, must point to [2, 3, 5, 4]");
  }
  SUBCASE("the gradient of a bias") {
    c.grads.dbias = {c.buffer(dbias_buffer), {2, 2, 1, 8}};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dbias.heads is 2, must be 3 (q.heads)");
    c.grads.dbias = {c.buffer(dbias_buffer), {1, 3, 1, 4}};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dbias.keys is 4, must be 8 (q.length + "
          "k.length - 1) where dbias.queries is 1");
  }
  SUBCASE("single views") {
    c.in.q = {c.buffer(q_buffer), {2, 3, -5, 6}};
    CHECK(c.common_error() == "q.length is -5, must not be negative");
    c.in.q = {c.buffer(q_buffer), c.q_shape, {90, 30, -6, 1}};
    CHECK(c.common_error() == "q.stride.length is -6, must be zero or positive");
    c.in.q = {nullptr, c.q_shape};
    CHECK(c.common_error() == "q.data is null, must point to [2, 3, 5, 6]");
    c.in.q = ss::split_heads(tensor3<float const>(c.buffer(q_buffer), {2, 5, 17}), 3);
    CHECK(c.common_error() ==
          "q.channels is -1, must not be negative (split_heads: heads must divide the channels)");
  }
  SUBCASE("outputs that broadcast or overlap themselves") {
    c.y = {c.buffer(y_buffer), c.y_shape, {105, 0, 7, 1}};
    CHECK(c.forward_error() == "softmax_attention.forward: y.stride.heads is 0, must be positive");
    CHECK(c.backward_error() == "");  // backward only reads it
    c.grads.dk = {c.buffer(dk_buffer), c.k_shape, {72, 6, 6, 1}};
    CHECK(says(c.backward_error(), "softmax_attention.backward: dk.strides are [72, 6, 6, 1]"));
    c.grads.dk = {};
    c.grads.dbias = {c.buffer(dbias_buffer), c.bias_shape, {0, 0, 4, 1}};
    CHECK(c.backward_error() ==
          "softmax_attention.backward: dbias.stride.batch is 0, must be positive");
  }
  SUBCASE("too many keys") {
    index_t const length = (index_t{1} << 31) + 1;
    c.in.k = {c.buffer(k_buffer), {2, 3, length, 6}, {0, 0, 0, 0}};
    c.in.v = {c.buffer(v_buffer), {2, 3, length, 7}, {0, 0, 0, 0}};
    CHECK(c.common_error() == "k.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("scalars and lengths") {
  attention_call<> c;
  SUBCASE("scale") {
    for (double invalid_scale : {1.1e38, -1e301}) {
      c.scale = invalid_scale;
      CHECK(says(c.common_error(), "must be in -1e+38..1e+38"));
    }
#if !defined(__FAST_MATH__)
    c.scale = std::nan("");
    CHECK(says(c.common_error(), "scale is nan, must be in -1e+38..1e+38"));
    c.scale = HUGE_VAL;
    CHECK(c.common_error() == "scale is inf, must be in -1e+38..1e+38");
#endif
  }
  SUBCASE("dropout") {
    for (double invalid_rate : {1.0, -0.1, 3.0}) {
      c.dropout.rate = invalid_rate;
      CHECK(says(c.common_error(), "dropout.rate is "));
      CHECK(says(c.common_error(), ", must be in [0, 1)"));
    }
#if !defined(__FAST_MATH__)
    c.dropout.rate = std::nan("");
    CHECK(c.common_error() == "dropout.rate is nan, must be in [0, 1)");
#endif
  }
  SUBCASE("dropout of a part of the batch") {
    c.dropout.first_sample = -1;
    CHECK(c.common_error() == "dropout.first_sample is -1, must not be negative");
    c.dropout.first_sample = 0, c.dropout.first_head = -2;
    CHECK(c.common_error() == "dropout.first_head is -2, must not be negative");
    c.dropout.first_head = 2, c.dropout.heads = 4;
    CHECK(c.common_error() ==
          "dropout.heads is 4, must be 0 or at least dropout.first_head + q.heads (2 + 3)");
    c.dropout.heads = 1, c.dropout.first_head = std::numeric_limits<index_t>::max();
    CHECK(says(c.common_error(), "dropout.heads is 1, must be 0 or at least "));
    c.dropout.heads = -5, c.dropout.first_head = 0;
    CHECK(says(c.common_error(), "dropout.heads is -5, must be 0 or at least "));
  }
  SUBCASE("lengths of keys") {
    c.lengths = {4, 5};
    CHECK(c.common_error() == "lengths[1] is 5, must be in 0..4 (length)");
    c.lengths = {-1, 4};
    CHECK(c.common_error() == "lengths[0] is -1, must be in 0..4 (length)");
    c.lengths = {4};
    CHECK(c.common_error() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("lengths of queries") {
    c.query_lengths = {5, 6};
    CHECK(c.common_error() == "query_lengths[1] is 6, must be in 0..5 (length)");
    c.query_lengths = {1, 1, 1};
    CHECK(c.common_error() == "query_lengths.size is 3, must be 2 (batch)");
  }
}

TEST_CASE("masks") {
  attention_call<ss::mask::window> window;
  window.mask = {-1, 0};
  CHECK(window.common_error() == "mask window: left and right must be in 0..2^40 (k.length is 4)");
  attention_call<ss::mask::block_local> block_local;
  block_local.mask = {0};
  CHECK(block_local.common_error() == "mask block_local: size must be in 1..2^40 (k.length is 4)");
  struct odd_keys : pattern_mask {
    char const* validate(index_t keys) const {
      return keys % 2 == 1 ? nullptr : "own: keys must be odd";
    }
  };
  attention_call<odd_keys> custom;
  CHECK(custom.common_error() == "mask own: keys must be odd (k.length is 4)");

  // Masks validate the keys, the queries, and the presence of lengths of a call.
  attention_call<ss::mask::both<pattern_mask, ss::mask::chunk_back>> chunks;
  chunks.mask.b = {2, true, 4};
  check_accepted(chunks);
  chunks.lengths = {4, 3};
  CHECK(
      chunks.common_error() ==
      "mask chunk_back: samples must not have lengths of their own if it is circular (k.length is 4)");
  std::vector<std::uint8_t> const table(4, 0xff);
  attention_call<ss::mask::block_pairs> pairs;
  index_t const queries = pairs.q_shape.length;
  pairs.mask = {{table.data(), 4}, 2, 4, queries};
  check_accepted(pairs);
  pairs.mask.queries = queries + 1;
  CHECK(pairs.common_error() ==
        "mask block_pairs: queries must be the number of queries, if they are not as many as keys "
        "(k.length is 4)");
}

TEST_CASE("outputs share no element with other tensors") {
  attention_call<> c;
  c.with_bias();
  tensor4<float>* const outputs[] = {&c.y,        &c.state,    &c.grads.dq,
                                     &c.grads.dk, &c.grads.dv, &c.grads.dbias};
  char const* const names[] = {"y", "state", "dq", "dk", "dv", "dbias"};
  char const* const tensors[] = {"q",     "k",  "v",  "bias", "dy",   "y",
                                 "state", "dq", "dk", "dv",   "dbias"};
  for (std::size_t output = 0; output < 6; ++output)
    for (std::size_t tensor = 0; tensor < buffer_count; ++tensor) {
      bool const backward = output > 1;
      if (!backward && (tensor == dy_buffer || tensor > state_buffer)) continue;
      if (std::string(names[output]) == tensors[tensor]) continue;
      tensor4<float> const valid_view = *outputs[output];
      *outputs[output] = {c.buffer(tensor) + 1, valid_view.extents()};
      std::string const message = backward ? c.backward_error() : c.forward_error();
      std::string const prefix =
          backward ? "softmax_attention.backward: " : "softmax_attention.forward: ";
      CAPTURE(message);
      CHECK((says(message, (prefix + names[output] + " overlaps " + tensors[tensor]).c_str()) ||
             says(message, (prefix + tensors[tensor] + " overlaps " + names[output]).c_str())));
      CHECK(says(message, "must share no element"));
      *outputs[output] = valid_view;
    }
  CHECK(c.forward_error() == "");
  CHECK(c.backward_error() == "");
}

TEST_CASE_TEMPLATE("workspace and policy", Call, attention_call<>, materialized_call) {
  Call c;
  for (bool has_bias : {false, true}) {
    if (has_bias) c.with_bias();
    std::size_t const bytes = c.op().template workspace_bytes<float>(c.exec, c.q_shape, c.v_shape);
    c.scratch = {c.scratch_memory.data(), bytes};
    CHECK(c.forward_error() == "");
    CHECK(c.backward_error() == "");
    REQUIRE(bytes > 0);
    c.scratch.bytes = bytes - 1;
    CHECK(c.common_error() == "workspace.bytes is " + std::to_string(bytes - 1) +
                                  ", must be at least " + std::to_string(bytes));
    c.scratch = {nullptr, bytes};
    CHECK(c.common_error() ==
          "workspace.data is null, must point to " + std::to_string(bytes) + " bytes");
  }
  c.exec.threads = 0;
  CHECK(c.common_error() == "exec.threads is 0, must be at least 1");
}
