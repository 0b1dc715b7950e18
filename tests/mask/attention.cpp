// SPDX-License-Identifier: Apache-2.0
// Softmax attention with sparse masks: golden values from the specification, and the check that the
// mask has the number of keys of the call.
#include "linked_operators.hpp"

#include <slicesort/policies/mask.hpp>
#include <slicesort/softmax_attention.hpp>
#include <slicesort/view.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace ss = slicesort;
namespace mask = slicesort::mask;

namespace {

using values = std::vector<double>;

void check_near(values const& actual, values const& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) <= 6e-11);
}

}  // namespace

TEST_CASE_TEMPLATE("both{causal, fixed{2, 1}}", Algorithm, ss::streaming, ss::materialized<>) {
  values const q{1, 0, 0, 1, 1, 1, -1, 2}, k{1, 1, 0, 2, -1, 1, 2, 0}, v{1, 0, 0, 1, 2, -1, 1, 3},
      dy{1, 2, 0, 1, -1, 1, 2, 0};
  values y(8), dq(8), dk(8), dv(8), state_data(16);
  ss::extents4 const e{1, 1, 4, 2};
  using both = mask::both<mask::causal, mask::fixed>;
  ss::softmax_attention<both, Algorithm> const op{both{{}, {2, 1}}};
  auto const state = ss::tensor4<double>(state_data.data(), op.saved_extents(e, e));
  ss::attention_inputs<double> const in{ss::view(q, e), ss::view(k, e), ss::view(v, e), {}};
  ss::exec::host const exec;
  ss::scratch memory;
  op.forward(exec, in, ss::view(y, e), {state}, memory);
  op.backward(exec, ss::view(dy, e), in, ss::view(y, e), {ss::tensor4<double const>(state)},
              {ss::view(dq, e), ss::view(dk, e), ss::view(dv, e), {}}, memory);
  check_near(
      y, {1, 0, 0.3302384507, 0.6697615493, 0.391140635, 0.608859365, 0.6637133919, 0.3648839899});
  check_near(dq, {0, 0, -0.1563985965, 0.1563985965, 0.4449754198, 0.4449754198, -0.6090668944,
                  -0.6272007261});
  check_near(dk, {0, -0.1563985965, 1.067642688, -0.6439605199, -1.06310923, 0.7912922006,
                  -0.0045334579, 0.0090669159});
  check_near(dv, {1, 2.3302384507, 0.522324465, 1.4741912318, 0.4586106138, 0.1955703175,
                  0.0190649212, 0});
}

TEST_CASE("a mask with another number of keys is rejected") {
  ss::extents4 const e{1, 1, 12, 2};
  mask::bigbird m;
  m.block = 2, m.keys = 10;
  ss::exec::host const exec;
  auto const error_of = [&](mask::bigbird bigbird) {
    ss::softmax_attention<mask::bigbird> const op{bigbird};
    return std::string(op.template workspace_bytes<double>(ss::exec::dry_run{exec}, e, e).message);
  };
  CHECK(
      error_of(m) ==
      "softmax_attention.workspace_bytes: mask bigbird: keys must be the number of keys (k.length is "
      "12)");
  m.keys = 12;
  CHECK(error_of(m) == "");
}
