// SPDX-License-Identifier: Apache-2.0
// A valid softmax_attention call; tests make one argument invalid and check the message.
#pragma once

#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/pattern_mask.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/softmax_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace support {

enum attention_buffer : std::size_t {
  q_buffer,
  k_buffer,
  v_buffer,
  bias_buffer,
  dy_buffer,
  y_buffer,
  state_buffer,
  dq_buffer,
  dk_buffer,
  dv_buffer,
  dbias_buffer,
  buffer_count
};

// Two samples of three heads, five queries, four keys, in separate parts of one allocation.
template <class Mask = pattern_mask, class Algorithm = ss::streaming>
struct attention_call {
  static constexpr extents4 q_shape{2, 3, 5, 6}, k_shape{2, 3, 4, 6}, v_shape{2, 3, 4, 7},
      y_shape{2, 3, 5, 7}, bias_shape{2, 3, 5, 4};
  static constexpr std::size_t buffer_size = 512;

  std::vector<float> memory = std::vector<float>(buffer_count * buffer_size, 2.5f);
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 18, 0x11);
  Mask mask{};
  std::optional<double> scale;
  ss::exec::host exec{};
  ss::attention_inputs<float> in{
      {buffer(q_buffer), q_shape}, {buffer(k_buffer), k_shape}, {buffer(v_buffer), v_shape}, {}};
  tensor4<float const> bias{buffer(bias_buffer), bias_shape}, dy{buffer(dy_buffer), y_shape};
  tensor4<float> y{buffer(y_buffer), y_shape},
      state{buffer(state_buffer), op().saved_extents(q_shape, v_shape)};
  ss::attention_gradients<float> grads{
      {buffer(dq_buffer), q_shape}, {buffer(dk_buffer), k_shape}, {buffer(dv_buffer), v_shape}, {}};
  tensor4<float> dbias{buffer(dbias_buffer), bias_shape};
  std::vector<index_t> lengths, query_lengths;
  ss::dropout dropout;
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};

  attention_call() = default;
  attention_call(attention_call const&) = delete;

  float* buffer(std::size_t index) { return memory.data() + index * buffer_size; }
  void with_bias() { in.bias = bias, grads.dbias = dbias; }
  ss::softmax_attention<Mask, Algorithm> op() const {
    return ss::softmax_attention<Mask, Algorithm>(mask, scale);
  }

  std::string forward_error() {
    ss::attention_options const options{ss::lengths(view_of(lengths), view_of(query_lengths)),
                                        dropout};
    return error_leaving_buffers_unchanged(
        *this, op().forward(ss::exec::dry_run{exec}, in, y, {state}, scratch, options),
        [&] { op().forward(exec, in, y, {state}, scratch, options); });
  }
  std::string forward_error_without_state() {
    ss::attention_options const options{ss::lengths(view_of(lengths), view_of(query_lengths)),
                                        dropout};
    return error_leaving_buffers_unchanged(
        *this, op().forward(ss::exec::dry_run{exec}, in, y, ss::no_saved, scratch, options),
        [&] { op().forward(exec, in, y, ss::no_saved, scratch, options); });
  }
  std::string backward_error() {
    ss::attention_backward_options const options{
        ss::lengths(view_of(lengths), view_of(query_lengths)), dropout};
    return error_leaving_buffers_unchanged(
        *this, op().backward(ss::exec::dry_run{exec}, dy, in, y, {state}, grads, scratch, options),
        [&] { op().backward(exec, dy, in, y, {state}, grads, scratch, options); });
  }
  // Checks that all three calls report the same error, apart from the function name in front, and
  // returns it.
  std::string common_error() {
    std::string const forward = forward_error(), backward = backward_error();
    CHECK(forward_error_without_state() == forward);
    return common_message(forward, backward);
  }
  // Checks that the two calls with a state report the same error, and returns it.
  std::string error_with_state() { return common_message(forward_error(), backward_error()); }

 private:
  static std::string common_message(std::string const& forward, std::string const& backward) {
    std::string const forward_prefix = "softmax_attention.forward: ",
                      backward_prefix = "softmax_attention.backward: ";
    CHECK(forward.substr(0, forward_prefix.size()) == forward_prefix);
    CHECK(backward.substr(0, backward_prefix.size()) == backward_prefix);
    std::string const message = forward.substr(std::min(forward_prefix.size(), forward.size()));
    CHECK(message == backward.substr(std::min(backward_prefix.size(), backward.size())));
    return message;
  }
};

}  // namespace support
