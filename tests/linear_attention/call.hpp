// SPDX-License-Identifier: Apache-2.0
// A valid call of linear_attention. Tests make one argument invalid and check the message.
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

// Tensors of linear_call, in the order of their buffers in memory.
enum call_buffer : std::size_t {
  buffer_q,
  buffer_k,
  buffer_v,
  buffer_w,
  buffer_dy,
  buffer_y,
  buffer_dq,
  buffer_dk,
  buffer_dv,
  buffer_dw,
  buffer_count
};

// Two samples of three heads with five queries, four keys (causal: five) and eight random features.
template <class Feature = ss::feature::random_exp, class Divisor = ss::divisor::sum_plus,
          class Direction = ss::direction::noncausal>
struct linear_call {
  static constexpr bool causal = std::is_same_v<Direction, ss::direction::causal>;
  static constexpr index_t keys = causal ? 5 : 4;
  static constexpr extents4 q_shape{2, 3, 5, 6}, k_shape{2, 3, keys, 6}, v_shape{2, 3, keys, 7},
      y_shape{2, 3, 5, 7};
  static constexpr extents3 w_shape{3, 8, 6};
  static constexpr std::size_t floats_per_buffer = 512;

  std::vector<float> memory = std::vector<float>(buffer_count * floats_per_buffer, 0.5f);
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 18, 0x11);
  Feature feature{};
  Divisor divisor{};
  ss::exec::host exec{};
  ss::linear_attention_inputs<float> in{{buffer(buffer_q), q_shape},
                                        {buffer(buffer_k), k_shape},
                                        {buffer(buffer_v), v_shape},
                                        {buffer(buffer_w), w_shape}};
  tensor4<float const> dy{buffer(buffer_dy), y_shape};
  tensor4<float> y{buffer(buffer_y), y_shape};
  ss::linear_attention_gradients<float> grads{{buffer(buffer_dq), q_shape},
                                              {buffer(buffer_dk), k_shape},
                                              {buffer(buffer_dv), v_shape},
                                              {buffer(buffer_dw), w_shape}};
  std::vector<index_t> lengths, query_lengths;
  ss::dropout dropout;
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};

  linear_call() = default;
  linear_call(linear_call const&) = delete;

  float* buffer(std::size_t index) { return memory.data() + index * floats_per_buffer; }
  void remove_w() { in.w = {}, grads.dw = {}; }
  ss::linear_attention<Feature, Divisor, Direction> op() const {
    return ss::linear_attention<Feature, Divisor, Direction>(feature, divisor);
  }

  std::string forward_error() {
    ss::attention_options const options{ss::lengths(view_of(lengths), view_of(query_lengths)),
                                        dropout};
    return error_leaving_buffers_unchanged(
        *this, op().forward(ss::exec::dry_run{exec}, in, y, scratch, options),
        [&] { op().forward(exec, in, y, scratch, options); });
  }
  std::string backward_error() {
    ss::attention_backward_options const options{
        ss::lengths(view_of(lengths), view_of(query_lengths)), dropout};
    return error_leaving_buffers_unchanged(
        *this, op().backward(ss::exec::dry_run{exec}, dy, in, grads, scratch, options),
        [&] { op().backward(exec, dy, in, grads, scratch, options); });
  }
  // Checks that forward and backward report the same error, apart from the prefix, and returns it.
  std::string forward_and_backward_error() {
    std::string const message = strip_prefix(forward_error(), "linear_attention.forward: "),
                      backward_message =
                          strip_prefix(backward_error(), "linear_attention.backward: ");
    CHECK(message == backward_message);
    return message;
  }
  std::string backward_only_error() {
    CHECK(forward_error() == "");
    return strip_prefix(backward_error(), "linear_attention.backward: ");
  }

 private:
  static std::string strip_prefix(std::string const& message, std::string const& prefix) {
    CHECK(message.substr(0, prefix.size()) == prefix);
    return message.substr(std::min(prefix.size(), message.size()));
  }
};

}  // namespace support
