// SPDX-License-Identifier: Apache-2.0
// Argument checks of linear_attention: every invalid argument has its message (shapes.cpp tests the
// shapes), a dry run returns the error that the call throws, and a rejected call writes nothing.
#include "call.hpp"
#include "support/custom_feature.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace support;

namespace {

namespace feature = ss::feature;
namespace divisor = ss::divisor;
using plain_call = linear_call<feature::elu_plus_one>;
using causal_call = linear_call<feature::random_exp, divisor::sum_plus, ss::direction::causal>;

template <class Call>
void check_accepted(Call& call) {
  CHECK(call.forward_error() == "");
  CHECK(call.backward_error() == "");
}

}  // namespace

TEST_CASE("valid calls are accepted") {
  linear_call<> call;
  SUBCASE("unchanged") {}
  SUBCASE("w and its gradient, each shared by the heads or not") {
    call.in.w = {call.buffer(buffer_w), {1, 8, 6}};
    call.grads.dw = {call.buffer(buffer_dw), {1, 8, 6}};
    check_accepted(call);
    call.grads.dw = {call.buffer(buffer_dw), call.w_shape};
    check_accepted(call);
    call.in.w = {call.buffer(buffer_w), call.w_shape};
    call.grads.dw = {call.buffer(buffer_dw), {1, 8, 6}};
  }
  SUBCASE("no gradients at all") { call.grads = {}; }
  SUBCASE("one gradient") { call.grads = {{}, {}, {}, call.grads.dw}; }
  SUBCASE("lengths") {
    call.lengths = {0, 4};
    call.query_lengths = {5, 0};
  }
  SUBCASE("inputs that heads, samples and queries share") {
    call.in.k = {call.buffer(buffer_k), call.k_shape, {24, 0, 6, 1}};
    call.in.v = {call.buffer(buffer_v), call.v_shape, {0, 0, 7, 1}};
    call.in.q = {call.buffer(buffer_q), call.q_shape, {0, 0, 0, 0}};
    call.in.w = {call.buffer(buffer_w), call.w_shape, {0, 6, 1}};
  }
  SUBCASE("one tensor for queries, keys and values") {
    call.in.k = {call.buffer(buffer_q), call.k_shape};
    call.in.v = {call.buffer(buffer_q), call.v_shape};
  }
  SUBCASE("no features") {
    call.in.w = {nullptr, {3, 0, 6}};
    call.grads.dw = {nullptr, {3, 0, 6}};
  }
  SUBCASE("a seed of dropout without a rate") { call.dropout = {0, 7}; }
  check_accepted(call);
}

TEST_CASE("other feature maps, divisors and the causal direction") {
  plain_call plain;
  plain.remove_w();
  check_accepted(plain);
  linear_call<feature::relu, divisor::none> relu;
  relu.remove_w();
  check_accepted(relu);
  linear_call<feature::cosine_reweighted, divisor::at_least> cosine;
  cosine.remove_w();
  check_accepted(cosine);
  linear_call<feature::random_fourier> fourier;
  fourier.feature.floor = 0;
  fourier.feature.scale = -1e38;
  check_accepted(fourier);
  causal_call causal;
  check_accepted(causal);
  causal.lengths = {2, 5}, causal.query_lengths = {5, 1};
  check_accepted(causal);
}

TEST_CASE("views, braces and views of rank 3 are the same call") {
  causal_call call, braced;
  call.op().forward(call.exec, call.in, call.y, call.scratch);
  call.op().backward(call.exec, call.dy, call.in, call.grads, call.scratch);
  auto const& [q, k, v, w] = braced.in;
  braced.op().forward(braced.exec, {q, k, v, w}, braced.y, braced.scratch);
  braced.op().backward(braced.exec, braced.dy, {q, k, v, w},
                       {braced.grads.dq, braced.grads.dk, braced.grads.dv, braced.grads.dw},
                       braced.scratch);
  CHECK(same_bits(call.memory, braced.memory));
  CHECK(std::fabs(call.memory[buffer_y * call.floats_per_buffer] - 0.5f) <
        1e-5f);  // y is the mean of equal values
  CHECK(call.memory[buffer_y * call.floats_per_buffer] != 0);
  CHECK(call.memory[buffer_dv * call.floats_per_buffer] != 0.5f);
}

TEST_CASE("policy parameters") {
  SUBCASE("parameters of feature maps") {
    linear_call<> call;
    for (double eps : {1.1e38, -1e301}) {
      call.feature.eps = eps;
      CHECK(says(call.forward_and_backward_error(), "feature.eps is "));
      CHECK(says(call.forward_and_backward_error(), ", must be in -1e+38..1e+38"));
    }
    linear_call<feature::random_fourier> fourier;
    fourier.feature.floor = -0.5;
    CHECK(fourier.forward_and_backward_error() == "feature.floor is -0.5, must be at least 0");
    fourier.feature.floor = 2e300;
    CHECK(fourier.forward_and_backward_error() ==
          "feature.floor is 2e+300, must be in -1e+38..1e+38");
    fourier.feature.floor = 1;
    fourier.feature.scale = 2e300;
    CHECK(fourier.forward_and_backward_error() ==
          "feature.scale is 2e+300, must be in -1e+38..1e+38");
    linear_call<feature::random_relu> random_relu;
    random_relu.feature.scale = -2e300;
    CHECK(random_relu.forward_and_backward_error() ==
          "feature.scale is -2e+300, must be in -1e+38..1e+38");
    linear_call<feature::relu> relu;
    relu.remove_w();
    relu.feature.eps = 2e300;
    CHECK(relu.forward_and_backward_error() == "feature.eps is 2e+300, must be in -1e+38..1e+38");
  }
  SUBCASE("parameters of divisors") {
    linear_call<> call;
    call.divisor.eps = 2e300;
    CHECK(call.forward_and_backward_error() == "divisor.eps is 2e+300, must be in -1e+38..1e+38");
    linear_call<feature::random_exp, divisor::at_least> at_least;
    at_least.divisor.eps = -2e300;
    CHECK(at_least.forward_and_backward_error() ==
          "divisor.eps is -2e+300, must be in -1e+38..1e+38");
  }
#if !defined(__FAST_MATH__)
  SUBCASE("NaN and infinity") {
    linear_call<> call;
    call.divisor.eps = std::nan("");
    CHECK(says(call.forward_and_backward_error(), "divisor.eps is nan, must be in -1e+38..1e+38"));
    call.feature.eps = HUGE_VAL;
    CHECK(call.forward_and_backward_error() == "feature.eps is inf, must be in -1e+38..1e+38");
  }
#endif
}

TEST_CASE("the feature count of a user-defined map") {
  linear_call<custom_feature> call;
  call.remove_w();
  call.feature = {custom_feature_kind::counted, -1};
  CHECK(call.forward_and_backward_error() == "feature.features is -1, must be in 0..2^31");
  call.feature.eps = 2147483649;
  CHECK(call.forward_and_backward_error() == "feature.features is 2147483649, must be in 0..2^31");
}

TEST_CASE("lengths and dropout") {
  linear_call<> call;
  SUBCASE("lengths of keys") {
    call.lengths = {4, 5};
    CHECK(call.forward_and_backward_error() == "lengths[1] is 5, must be in 0..4 (length)");
    call.lengths = {-1, 4};
    CHECK(call.forward_and_backward_error() == "lengths[0] is -1, must be in 0..4 (length)");
    call.lengths = {4};
    CHECK(call.forward_and_backward_error() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("lengths of queries") {
    call.query_lengths = {5, 6};
    CHECK(call.forward_and_backward_error() == "query_lengths[1] is 6, must be in 0..5 (length)");
    call.query_lengths = {1, 1, 1};
    CHECK(call.forward_and_backward_error() == "query_lengths.size is 3, must be 2 (batch)");
  }
  SUBCASE("dropout") {
    call.dropout.rate = 0.25;
    CHECK(call.forward_and_backward_error() ==
          "dropout.rate is 0.25, must be 0: no weights are computed");
    call.dropout.rate = -1;
    CHECK(call.forward_and_backward_error() ==
          "dropout.rate is -1, must be 0: no weights are computed");
  }
}

TEST_CASE("outputs share no element with other tensors") {
  linear_call<> call;
  char const* const names[buffer_count] = {"q", "k", "v", "w", "dy", "y", "dq", "dk", "dv", "dw"};
  auto const check_overlap_message = [&](std::string const& message, std::string const& output,
                                         char const* other_tensor) {
    CAPTURE(message);
    CHECK((says(message, (output + " overlaps " + other_tensor).c_str()) ||
           says(message, (std::string(other_tensor) + " overlaps " + output).c_str())));
    CHECK(says(message, "must share no element"));
  };
  for (std::size_t other = buffer_q; other <= buffer_w; ++other) {
    call.y = {call.buffer(other) + 1, call.y_shape};
    check_overlap_message(call.forward_error(), "y", names[other]);
  }
  call.y = {call.buffer(buffer_y), call.y_shape};
  tensor4<float>* const outputs[] = {&call.grads.dq, &call.grads.dk, &call.grads.dv};
  for (std::size_t other = 0; other < buffer_count; ++other) {
    if (other == buffer_y) continue;  // backward has no y
    for (std::size_t output = 0; output < 3; ++output) {
      if (other == buffer_dq + output) continue;
      tensor4<float> const valid = *outputs[output];
      *outputs[output] = {call.buffer(other) + 1, valid.extents()};
      check_overlap_message(call.backward_error(), names[buffer_dq + output], names[other]);
      *outputs[output] = valid;
    }
    if (other == buffer_dw) continue;
    call.grads.dw = {call.buffer(other) + 1, call.w_shape};
    check_overlap_message(call.backward_error(), "dw", names[other]);
    call.grads.dw = {call.buffer(buffer_dw), call.w_shape};
  }
  check_accepted(call);
}

TEST_CASE("workspace and policy") {
  causal_call call;
  std::size_t const forward_bytes = call.op().workspace_bytes<float>(call.exec, call.q_shape,
                                                                     call.v_shape, call.w_shape),
                    backward_bytes = call.op().workspace_bytes<float>(
                        call.exec, call.q_shape, call.v_shape, call.w_shape, call.w_shape);
  REQUIRE(forward_bytes > 0);
  CHECK(backward_bytes > forward_bytes);
  auto const message = [](std::size_t bytes, std::size_t needed) {
    return "workspace.bytes is " + std::to_string(bytes) + ", must be at least " +
           std::to_string(needed);
  };
  call.scratch = {call.scratch_memory.data(), backward_bytes};
  check_accepted(call);
  call.scratch.bytes = backward_bytes - 1;
  CHECK(call.backward_only_error() == message(backward_bytes - 1, backward_bytes));
  call.grads.dw = {};
  call.scratch.bytes = forward_bytes;
  check_accepted(call);
  call.scratch.bytes = forward_bytes - 1;
  CHECK(call.forward_and_backward_error() == message(forward_bytes - 1, forward_bytes));
  call.scratch = {nullptr, forward_bytes};
  CHECK(call.forward_and_backward_error() ==
        "workspace.data is null, must point to " + std::to_string(forward_bytes) + " bytes");
  call.exec.threads = 0;
  CHECK(call.forward_and_backward_error() == "exec.threads is 0, must be at least 1");
}
