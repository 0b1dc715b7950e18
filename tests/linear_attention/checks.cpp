// SPDX-License-Identifier: Apache-2.0
// The door of linear_attention: every rule refuses with its message (those of shapes are in
// shapes.cpp), `check` says what the call throws, and a refused call has written nothing.
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
void check_accepted(Call& c) {
  CHECK(c.forward() == "");
  CHECK(c.backward() == "");
}

}  // namespace

TEST_CASE("sound calls are accepted") {
  linear_call<> c;
  SUBCASE("as it is") {}
  SUBCASE("w that heads share, and its gradient, which need not be of w's form") {
    c.in.w = {c.at(3), {1, 8, 6}};
    c.to.dw = {c.at(9), {1, 8, 6}};
    check_accepted(c);
    c.to.dw = {c.at(9), c.w_shape};
    check_accepted(c);
    c.in.w = {c.at(3), c.w_shape};
    c.to.dw = {c.at(9), {1, 8, 6}};
  }
  SUBCASE("no gradients at all") { c.to = {}; }
  SUBCASE("one gradient") { c.to = {{}, {}, {}, c.to.dw}; }
  SUBCASE("lengths") {
    c.rows = {0, 4};
    c.query_rows = {5, 0};
  }
  SUBCASE("inputs that heads, samples and queries share") {
    c.in.k = {c.at(1), c.k_shape, {24, 0, 6, 1}};
    c.in.v = {c.at(2), c.v_shape, {0, 0, 7, 1}};
    c.in.q = {c.at(0), c.q_shape, {0, 0, 0, 0}};
    c.in.w = {c.at(3), c.w_shape, {0, 6, 1}};
  }
  SUBCASE("one tensor for queries, keys and values") {
    c.in.k = {c.at(0), c.k_shape};
    c.in.v = {c.at(0), c.v_shape};
  }
  SUBCASE("no features") {
    c.in.w = {nullptr, {3, 0, 6}};
    c.to.dw = {nullptr, {3, 0, 6}};
  }
  SUBCASE("a seed of dropout without a rate") { c.dropout = {0, 7}; }
  check_accepted(c);
}

TEST_CASE("other features, divisors and the direction") {
  plain_call plain;
  plain.without_w();
  check_accepted(plain);
  linear_call<feature::relu, divisor::none> relu;
  relu.without_w();
  check_accepted(relu);
  linear_call<feature::cosine_reweighted, divisor::at_least> cosine;
  cosine.without_w();
  check_accepted(cosine);
  linear_call<feature::random_fourier> fourier;
  fourier.feature.floor = 0;
  fourier.feature.scale = -1e38;
  check_accepted(fourier);
  causal_call causal;
  check_accepted(causal);
  causal.rows = {2, 5}, causal.query_rows = {5, 1};
  check_accepted(causal);
}

TEST_CASE("views, braces and views of rank 3 are the same call") {
  causal_call c, d;
  c.op().forward(c.exec, c.in, c.y, c.scratch);
  c.op().backward(c.exec, c.dy, c.in, c.to, c.scratch);
  auto const& [q, k, v, w] = d.in;
  d.op().forward(d.exec, {q, k, v, w}, d.y, d.scratch);
  d.op().backward(d.exec, d.dy, {q, k, v, w}, {d.to.dq, d.to.dk, d.to.dv, d.to.dw}, d.scratch);
  CHECK(same_bits(c.memory, d.memory));
  CHECK(std::fabs(c.memory[5 * c.piece] - 0.5f) < 1e-5f);  // the mean of equal values
  CHECK(c.memory[5 * c.piece] != 0);
  CHECK(c.memory[8 * c.piece] != 0.5f);
}

TEST_CASE("numbers of policies") {
  SUBCASE("of features") {
    linear_call<> c;
    for (double wrong : {1.1e38, -1e301}) {
      c.feature.eps = wrong;
      CHECK(says(c.everywhere(), "feature.eps is "));
      CHECK(says(c.everywhere(), ", must be in -1e+38..1e+38"));
    }
    linear_call<feature::random_fourier> f;
    f.feature.floor = -0.5;
    CHECK(f.everywhere() == "feature.floor is -0.5, must be at least 0");
    f.feature.floor = 2e300;
    CHECK(f.everywhere() == "feature.floor is 2e+300, must be in -1e+38..1e+38");
    f.feature.floor = 1;
    f.feature.scale = 2e300;
    CHECK(f.everywhere() == "feature.scale is 2e+300, must be in -1e+38..1e+38");
    linear_call<feature::random_relu> r;
    r.feature.scale = -2e300;
    CHECK(r.everywhere() == "feature.scale is -2e+300, must be in -1e+38..1e+38");
    linear_call<feature::relu> e;
    e.without_w();
    e.feature.eps = 2e300;
    CHECK(e.everywhere() == "feature.eps is 2e+300, must be in -1e+38..1e+38");
  }
  SUBCASE("of divisors") {
    linear_call<> c;
    c.divisor.eps = 2e300;
    CHECK(c.everywhere() == "divisor.eps is 2e+300, must be in -1e+38..1e+38");
    linear_call<feature::random_exp, divisor::at_least> d;
    d.divisor.eps = -2e300;
    CHECK(d.everywhere() == "divisor.eps is -2e+300, must be in -1e+38..1e+38");
  }
#if !defined(__FAST_MATH__)
  SUBCASE("no numbers") {
    linear_call<> c;
    c.divisor.eps = std::nan("");
    CHECK(says(c.everywhere(), "divisor.eps is nan, must be in -1e+38..1e+38"));
    c.feature.eps = HUGE_VAL;
    CHECK(c.everywhere() == "feature.eps is inf, must be in -1e+38..1e+38");
  }
#endif
}

TEST_CASE("the number of features of a map of the caller's") {
  linear_call<custom_feature> c;
  c.without_w();
  c.feature = {custom_feature_kind::counted, -1};
  CHECK(c.everywhere() == "feature.features is -1, must be in 0..2^31");
  c.feature.eps = 2147483649;
  CHECK(c.everywhere() == "feature.features is 2147483649, must be in 0..2^31");
}

TEST_CASE("lengths and dropout") {
  linear_call<> c;
  SUBCASE("of keys") {
    c.rows = {4, 5};
    CHECK(c.everywhere() == "lengths[1] is 5, must be in 0..4 (length)");
    c.rows = {-1, 4};
    CHECK(c.everywhere() == "lengths[0] is -1, must be in 0..4 (length)");
    c.rows = {4};
    CHECK(c.everywhere() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("of queries") {
    c.query_rows = {5, 6};
    CHECK(c.everywhere() == "query_lengths[1] is 6, must be in 0..5 (length)");
    c.query_rows = {1, 1, 1};
    CHECK(c.everywhere() == "query_lengths.size is 3, must be 2 (batch)");
  }
  SUBCASE("dropout") {
    c.dropout.rate = 0.25;
    CHECK(c.everywhere() == "dropout.rate is 0.25, must be 0: no weights are formed");
    c.dropout.rate = -1;
    CHECK(c.everywhere() == "dropout.rate is -1, must be 0: no weights are formed");
  }
}

TEST_CASE("what is written shares no element with anything") {
  linear_call<> c;
  // Pieces: q, k, v, w, dy, y, then the gradients.
  char const* const pieces[] = {"q", "k", "v", "w", "dy", "y", "dq", "dk", "dv", "dw"};
  auto const refused = [&](std::string const& message, std::string const& one, char const* other) {
    CAPTURE(message);
    CHECK((says(message, (one + " overlaps " + other).c_str()) ||
           says(message, (std::string(other) + " overlaps " + one).c_str())));
    CHECK(says(message, "must share no element"));
  };
  for (std::size_t piece = 0; piece < 4; ++piece) {
    c.y = {c.at(piece) + 1, c.y_shape};
    refused(c.forward(), "y", pieces[piece]);
  }
  c.y = {c.at(5), c.y_shape};
  tensor4<float>* const outputs[] = {&c.to.dq, &c.to.dk, &c.to.dv};
  for (std::size_t piece = 0; piece < 10; ++piece) {
    if (piece == 5) continue;  // backward has no y
    for (std::size_t output = 0; output < 3; ++output) {
      if (piece == 6 + output) continue;
      tensor4<float> const right = *outputs[output];
      *outputs[output] = {c.at(piece) + 1, right.extents()};
      refused(c.backward(), pieces[6 + output], pieces[piece]);
      *outputs[output] = right;
    }
    if (piece == 9) continue;
    c.to.dw = {c.at(piece) + 1, c.w_shape};
    refused(c.backward(), "dw", pieces[piece]);
    c.to.dw = {c.at(9), c.w_shape};
  }
  check_accepted(c);
}

TEST_CASE("workspace and policy") {
  causal_call c;
  std::size_t const forward =
                        c.op().workspace_bytes<float>(c.exec, c.q_shape, c.v_shape, c.w_shape),
                    backward = c.op().workspace_bytes<float>(c.exec, c.q_shape, c.v_shape,
                                                             c.w_shape, c.w_shape);
  REQUIRE(forward > 0);
  CHECK(backward > forward);
  auto const message = [](std::size_t is, std::size_t need) {
    return "workspace.bytes is " + std::to_string(is) + ", must be at least " +
           std::to_string(need);
  };
  c.scratch = {c.scratch_memory.data(), backward};
  check_accepted(c);
  c.scratch.bytes = backward - 1;
  CHECK(c.backward_alone() == message(backward - 1, backward));
  c.to.dw = {};
  c.scratch.bytes = forward;
  check_accepted(c);
  c.scratch.bytes = forward - 1;
  CHECK(c.everywhere() == message(forward - 1, forward));
  c.scratch = {nullptr, forward};
  CHECK(c.everywhere() ==
        "workspace.data is null, must point to " + std::to_string(forward) + " bytes");
  c.exec.threads = 0;
  CHECK(c.everywhere() == "exec.threads is 0, must be at least 1");
}
