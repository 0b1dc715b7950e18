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

// Two samples of three heads, five queries, four keys, in separate pieces of one buffer.
template <class Mask = pattern_mask, class Algorithm = ss::streaming>
struct attention_call {
  static constexpr extents4 q_shape{2, 3, 5, 6}, k_shape{2, 3, 4, 6}, v_shape{2, 3, 4, 7},
      y_shape{2, 3, 5, 7}, map_shape{2, 3, 5, 4};
  static constexpr std::size_t piece = 512;

  std::vector<float> memory = std::vector<float>(11 * piece, 2.5f);
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 18, 0x11);
  Mask mask{};
  std::optional<double> scale;
  ss::exec::host exec{};
  ss::attention_inputs<float> in{{at(0), q_shape}, {at(1), k_shape}, {at(2), v_shape}, {}};
  tensor4<float const> bias{at(3), map_shape}, dy{at(4), y_shape};
  tensor4<float> y{at(5), y_shape}, state{at(6), op().saved_extents(q_shape, v_shape)};
  ss::attention_gradients<float> grads{{at(7), q_shape}, {at(8), k_shape}, {at(9), v_shape}, {}};
  tensor4<float> dbias{at(10), map_shape};
  std::vector<index_t> rows, query_rows;
  ss::dropout dropout;
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};

  attention_call() = default;
  attention_call(attention_call const&) = delete;

  float* at(std::size_t number) { return memory.data() + number * piece; }
  void with_bias() { in.bias = bias, grads.dbias = dbias; }
  ss::softmax_attention<Mask, Algorithm> op() const {
    return ss::softmax_attention<Mask, Algorithm>(mask, scale);
  }

  std::string forward() {
    ss::attention_options const options{ss::lengths(view_of(rows), view_of(query_rows)), dropout};
    return unchanged(op().forward(ss::exec::dry_run{exec}, in, y, {state}, scratch, options),
                     [&] { op().forward(exec, in, y, {state}, scratch, options); });
  }
  std::string forward_not_saved() {
    ss::attention_options const options{ss::lengths(view_of(rows), view_of(query_rows)), dropout};
    return unchanged(op().forward(ss::exec::dry_run{exec}, in, y, ss::no_saved, scratch, options),
                     [&] { op().forward(exec, in, y, ss::no_saved, scratch, options); });
  }
  std::string backward() {
    ss::attention_backward_options const options{ss::lengths(view_of(rows), view_of(query_rows)),
                                                 dropout};
    return unchanged(
        op().backward(ss::exec::dry_run{exec}, dy, in, y, {state}, grads, scratch, options),
        [&] { op().backward(exec, dy, in, y, {state}, grads, scratch, options); });
  }
  // Checks that all three calls report the same error, apart from the function name in front, and
  // returns it.
  std::string everywhere() {
    std::string const of_forward = forward(), of_backward = backward();
    CHECK(forward_not_saved() == of_forward);
    return common_message(of_forward, of_backward);
  }
  // Checks that the two calls with a state report the same error, and returns it.
  std::string with_state() { return common_message(forward(), backward()); }

 private:
  static std::string common_message(std::string const& forward, std::string const& backward) {
    std::string const first = "softmax_attention.forward: ",
                      second = "softmax_attention.backward: ";
    CHECK(forward.substr(0, first.size()) == first);
    CHECK(backward.substr(0, second.size()) == second);
    std::string const message = forward.substr(std::min(first.size(), forward.size()));
    CHECK(message == backward.substr(std::min(second.size(), backward.size())));
    return message;
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
