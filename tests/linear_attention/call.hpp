// SPDX-License-Identifier: Apache-2.0
// A valid call of linear_attention; tests make one argument invalid and check the message.
#pragma once

#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/linear_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace support {

// Two samples of three heads with five queries, four keys (causal: five) and eight random features.
// The views are pieces of one buffer.
template <class Feature = ss::feature::random_exp, class Divisor = ss::divisor::sum_plus,
          class Direction = ss::direction::noncausal>
struct linear_call {
  static constexpr bool causal = std::is_same_v<Direction, ss::direction::causal>;
  static constexpr index_t keys = causal ? 5 : 4;
  static constexpr extents4 q_shape{2, 3, 5, 6}, k_shape{2, 3, keys, 6}, v_shape{2, 3, keys, 7},
      y_shape{2, 3, 5, 7};
  static constexpr extents3 w_shape{3, 8, 6};
  static constexpr std::size_t piece = 512;

  std::vector<float> memory = std::vector<float>(10 * piece, 0.5f);
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 18, 0x11);
  Feature feature{};
  Divisor divisor{};
  ss::exec::host exec{};
  ss::linear_attention_inputs<float> in{
      {at(0), q_shape}, {at(1), k_shape}, {at(2), v_shape}, {at(3), w_shape}};
  tensor4<float const> dy{at(4), y_shape};
  tensor4<float> y{at(5), y_shape};
  ss::linear_attention_gradients<float> grads{
      {at(6), q_shape}, {at(7), k_shape}, {at(8), v_shape}, {at(9), w_shape}};
  std::vector<index_t> rows, query_rows;
  ss::dropout dropout;
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};

  linear_call() = default;
  linear_call(linear_call const&) = delete;

  float* at(std::size_t number) { return memory.data() + number * piece; }
  void without_w() { in.w = {}, grads.dw = {}; }
  ss::linear_attention<Feature, Divisor, Direction> op() const {
    return ss::linear_attention<Feature, Divisor, Direction>(feature, divisor);
  }

  std::string forward() {
    ss::attention_options const options{ss::lengths(view_of(rows), view_of(query_rows)), dropout};
    return unchanged(op().forward(ss::exec::dry_run{exec}, in, y, scratch, options),
                     [&] { op().forward(exec, in, y, scratch, options); });
  }
  std::string backward() {
    ss::attention_backward_options const options{ss::lengths(view_of(rows), view_of(query_rows)),
                                                 dropout};
    return unchanged(op().backward(ss::exec::dry_run{exec}, dy, in, grads, scratch, options),
                     [&] { op().backward(exec, dy, in, grads, scratch, options); });
  }
  // Checks that forward and backward report the same error, apart from the prefix, and returns it.
  std::string both_directions() {
    std::string const message = rest_of(forward(), "linear_attention.forward: "),
                      backward_message = rest_of(backward(), "linear_attention.backward: ");
    CHECK(message == backward_message);
    return message;
  }
  std::string backward_only() {
    CHECK(forward() == "");
    return rest_of(backward(), "linear_attention.backward: ");
  }

 private:
  static std::string rest_of(std::string const& message, std::string const& head) {
    CHECK(message.substr(0, head.size()) == head);
    return message.substr(std::min(head.size(), message.size()));
  }
  template <class F>
  std::string unchanged(ss::status const& status, F const& call) {
    auto const memory_before = memory;
    auto const scratch_before = scratch_memory;
    std::string const message = error_message(status, call);
    if (!message.empty()) {
      CHECK(same_bits(memory, memory_before));
      CHECK(scratch_memory == scratch_before);
    }
    return message;
  }
};

}  // namespace support
