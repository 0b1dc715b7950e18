// SPDX-License-Identifier: Apache-2.0
// Argument checks of multi_permutation: error messages that slicing_sort does not have.
#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"

#include <slicesort/multi_permutation.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace support;

namespace {

// A valid call; each test invalidates one argument. Backward uses `input` as dy, `forward_x` as x,
// and `output` as dx.
struct multi_call {
  extents3 e{2, 5, 3};
  index_t components = 2;
  ss::half_half order{};
  ss::exec::host exec{2};
  tensor<float> x{e}, y{e}, dy{e};
  tensor<std::uint32_t> indices{e};
  std::vector<float> w = std::vector<float>(4, 0.5f), dw = std::vector<float>(4, 9);
  std::vector<index_t> lengths;
  guarded_workspace memory{
      ss::multi_permutation<ss::half_half>(2).workspace_bytes<float>(ss::exec::host{2}, {2, 5, 3})};

  tensor3<float const> input = std::as_const(x).view(), forward_x = std::as_const(dy).view();
  tensor3<float> output = y.view();
  ss::index_tensor3 perm = indices.view();
  ss::tensor1<float const> weights{w.data(), 2};
  ss::tensor1<float> dweights{dw.data(), 2};
  ss::workspace scratch = memory.get();

  multi_call() = default;
  multi_call(multi_call const&) = delete;

  ss::multi_permutation<ss::half_half> op() const {
    return ss::multi_permutation<ss::half_half>(components, order);
  }
  std::string forward() {
    ss::forward_options const options{view_of(lengths)};
    return error_leaving_outputs_unchanged(error_message(
        op().forward(ss::exec::dry_run{exec}, input, weights, output, {perm}, scratch, options),
        [&] { op().forward(exec, input, weights, output, {perm}, scratch, options); }));
  }
  std::string forward_uniform() {
    return error_leaving_outputs_unchanged(error_message(
        op().forward(ss::exec::dry_run{exec}, input, ss::uniform_weights, output, ss::no_saved,
                     scratch),
        [&] { op().forward(exec, input, ss::uniform_weights, output, ss::no_saved, scratch); }));
  }
  std::string backward() {
    ss::const_saved_permutation const saved{ss::const_index_tensor3(perm)};
    return error_leaving_outputs_unchanged(error_message(
        op().backward(ss::exec::dry_run{exec}, input, weights, saved, output, scratch),
        [&] { op().backward(exec, input, weights, saved, output, scratch); }));
  }
  std::string backward_with_weights() {
    ss::const_saved_permutation const saved{ss::const_index_tensor3(perm)};
    return error_leaving_outputs_unchanged(error_message(
        op().backward(ss::exec::dry_run{exec}, input, forward_x, weights, saved, output, dweights,
                      scratch),
        [&] { op().backward(exec, input, forward_x, weights, saved, output, dweights, scratch); }));
  }

 private:
  std::string error_leaving_outputs_unchanged(std::string message) const {
    if (!message.empty()) {
      CHECK(same_bits(y.elements(), tensor<float>(e).elements()));
      CHECK(dw == std::vector<float>(4, 9));
    }
    return message;
  }
};

}  // namespace

TEST_CASE("valid calls are accepted") {
  multi_call c;
  CHECK(c.forward() == "");
  CHECK(c.forward_uniform() == "");
  CHECK(c.backward() == "");
  CHECK(c.backward_with_weights() == "");
  c.output = c.x.view();  // in place
  CHECK(c.forward() == "");
  CHECK(c.backward_with_weights() == "");
}

TEST_CASE("components and weights") {
  multi_call c;
  SUBCASE("components") {
    c.components = 0;
    CHECK(c.forward_uniform() == "multi_permutation.forward: components is 0, must be at least 1");
    CHECK(c.backward() == "multi_permutation.backward: components is 0, must be at least 1");
  }
  SUBCASE("number of weights") {
    c.weights = {c.w.data(), 3};
    CHECK(c.forward() == "multi_permutation.forward: weights.size is 3, must be 2 (components)");
    CHECK(c.backward() == "multi_permutation.backward: weights.size is 3, must be 2 (components)");
    c.weights = {};  // not the same as uniform_weights
    CHECK(c.forward() == "multi_permutation.forward: weights.size is 0, must be 2 (components)");
  }
  SUBCASE("null weights") {
    c.weights = {nullptr, 2};
    CHECK(c.forward() ==
          "multi_permutation.forward: weights.data is null, must point to [1, 2, 1]");
  }
  SUBCASE("strides") {
    c.weights = {c.w.data(), 2, 0};  // one weight for all components
    CHECK(c.forward() == "");
    c.dweights = {c.dw.data(), 2, 0};
    CHECK(c.backward_with_weights() ==
          "multi_permutation.backward: dweights.stride is 0, must be positive");
  }
  SUBCASE("weights overlap an output") {
    c.weights = {c.y.view().data(), 2};
    CHECK(says(c.forward(), "multi_permutation.forward: y overlaps weights ("));
    CHECK(says(c.backward(), "multi_permutation.backward: dx overlaps weights ("));
    c.weights = {reinterpret_cast<float*>(c.indices.view().data()), 2};
    CHECK(says(c.forward(), "multi_permutation.forward: perm overlaps weights ("));
  }
}

TEST_CASE("gradient of the weights") {
  multi_call c;
  SUBCASE("size") {
    c.dweights = {c.dw.data(), 1};
    CHECK(c.backward_with_weights() ==
          "multi_permutation.backward: dweights.size is 1, must be 2 (components)");
  }
  SUBCASE("overlaps") {
    c.dweights = {c.w.data(), 2};
    CHECK(
        says(c.backward_with_weights(), "multi_permutation.backward: dweights overlaps weights ("));
    c.dweights = {c.y.view().data(), 2};
    CHECK(says(c.backward_with_weights(), "multi_permutation.backward: dweights overlaps dx ("));
    c.dweights = {c.x.view().data(), 2};
    CHECK(says(c.backward_with_weights(), "multi_permutation.backward: dweights overlaps dy ("));
    c.dweights = {c.dy.view().data(), 2};
    CHECK(says(c.backward_with_weights(), "multi_permutation.backward: dweights overlaps x ("));
    c.dweights = {reinterpret_cast<float*>(c.indices.view().data()), 2};
    CHECK(says(c.backward_with_weights(), "multi_permutation.backward: dweights overlaps perm ("));
  }
  SUBCASE("x") {
    c.forward_x = {c.dy.view().data(), {2, 4, 3}};
    CHECK(c.backward_with_weights() ==
          "multi_permutation.backward: x.length is 4, must be 5 (dy.length)");
    c.forward_x = std::as_const(c.y).view();
    CHECK(says(c.backward_with_weights(), "multi_permutation.backward: dx overlaps x ("));
  }
}

TEST_CASE("checks that all sorting operators share") {
  multi_call c;
  SUBCASE("shape") {
    c.output = {c.output.data(), {2, 4, 3}};
    CHECK(c.forward() == "multi_permutation.forward: y.length is 4, must be 5 (x.length)");
    CHECK(c.backward() == "multi_permutation.backward: dx.length is 4, must be 5 (dy.length)");
  }
  SUBCASE("perm") {
    c.perm = tensor3<std::uint32_t>(c.indices.view().data(), {2, 5, 1});
    CHECK(c.forward() == "multi_permutation.forward: perm.channels is 1, must be 3 (x.channels)");
    CHECK(c.backward() ==
          "multi_permutation.backward: perm.channels is 1, must be 3 (dy.channels)");
  }
  SUBCASE("order") {
    c.order.heads = 2;
    CHECK(c.forward() ==
          "multi_permutation.forward: order half_half: channels must be a multiple of heads "
          "(channels is 3)");
  }
  SUBCASE("lengths") {
    c.lengths = {5, 6};
    CHECK(c.forward() == "multi_permutation.forward: lengths[1] is 6, must be in 0..5 (length)");
  }
  SUBCASE("threads") {
    c.exec.threads = 0;
    CHECK(c.forward() == "multi_permutation.forward: exec.threads is 0, must be at least 1");
  }
  SUBCASE("more rows than 32-bit indices") {
    index_t const length = (index_t{1} << 31) + 1;
    c.input = {c.y.view().data(), {1, length, 1}, {0, 0, 0}};
    c.output = {c.y.view().data() + 1,
                {1, length, 1}};  // extends to higher addresses, without reaching `input`
    CHECK(std::string(c.op()
                          .forward(ss::exec::dry_run{c.exec}, c.input, ss::uniform_weights,
                                   c.output, ss::no_saved)
                          .message) ==
          "multi_permutation.forward: x.length is 2147483649, must be at most 2147483648");
  }
  SUBCASE("workspace") {
    std::string const error = "workspace.bytes is " + std::to_string(c.scratch.bytes - 1) +
                              ", must be at least " + std::to_string(c.scratch.bytes);
    --c.scratch.bytes;
    CHECK(c.forward() == "multi_permutation.forward: " + error);
    CHECK(c.forward_uniform() == "multi_permutation.forward: " + error);
    CHECK(c.backward() == "multi_permutation.backward: " + error);
    CHECK(c.backward_with_weights() == "multi_permutation.backward: " + error);
    c.scratch = {nullptr, c.scratch.bytes + 1};
    CHECK(says(c.forward(), "multi_permutation.forward: workspace.data is null, must point to "));
  }
}
