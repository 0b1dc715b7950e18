// SPDX-License-Identifier: Apache-2.0
// A valid sparse_mix call; tests make one argument invalid and check the error.
#pragma once

#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/sparse_mix.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace support {

// Three factors of four links. The views are disjoint parts of one allocation. Backward uses `x` as
// dy, `forward_x` as x, and `y` as dx.
template <class Topology = ss::topology::chord>
struct mix_call {
  static constexpr extents3 e{2, 5, 3};
  static constexpr std::size_t floats_per_buffer = 512;

  std::vector<float> memory = std::vector<float>(6 * floats_per_buffer, 2.5f);
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 18, 0x11);
  Topology topology{};
  ss::checkpoints saved = ss::save_all;
  ss::exec::host exec{};
  tensor3<float const> x{memory.data(), e}, forward_x{memory.data() + floats_per_buffer, e};
  tensor3<float> y{memory.data() + 2 * floats_per_buffer, e};
  tensor_stack<float const> w{memory.data() + 3 * floats_per_buffer, {3, 2, 5, 4}};
  tensor_stack<float> states{memory.data() + 4 * floats_per_buffer, {2, 2, 5, 3}};
  tensor_stack<float> dw{memory.data() + 5 * floats_per_buffer, {3, 2, 5, 4}};
  std::vector<index_t> lengths;
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};

  mix_call() = default;
  mix_call(mix_call const&) = delete;

  float* buffer(std::size_t index) { return memory.data() + index * floats_per_buffer; }
  ss::sparse_mix<Topology> op() const { return ss::sparse_mix<Topology>(topology, saved); }

  std::string forward() {
    ss::forward_options const options{view_of(lengths)};
    return error_leaving_buffers_unchanged(
        *this, op().forward(ss::exec::dry_run{exec}, x, w, y, {states}, scratch, options),
        [&] { op().forward(exec, x, w, y, {states}, scratch, options); });
  }
  std::string forward_not_saved() {
    ss::forward_options const options{view_of(lengths)};
    return error_leaving_buffers_unchanged(
        *this, op().forward(ss::exec::dry_run{exec}, x, w, y, ss::no_saved, scratch, options),
        [&] { op().forward(exec, x, w, y, ss::no_saved, scratch, options); });
  }
  std::string backward() {
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return error_leaving_buffers_unchanged(
        *this,
        op().backward(ss::exec::dry_run{exec}, x, forward_x, w, {states}, y, dw, scratch, options),
        [&] { op().backward(exec, x, forward_x, w, {states}, y, dw, scratch, options); });
  }
  std::string backward_x_only() {
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return error_leaving_buffers_unchanged(
        *this, op().backward(ss::exec::dry_run{exec}, x, w, y, scratch, options),
        [&] { op().backward(exec, x, w, y, scratch, options); });
  }
  // Checks that all four calls report the same error, apart from the function name in front, and
  // returns it.
  std::string common_error() {
    std::string const forward_message = forward(), backward_message = backward();
    CHECK(forward_not_saved() == forward_message);
    CHECK(backward_x_only() == backward_message);
    CHECK(forward_message.substr(0, 20) == "sparse_mix.forward: ");
    CHECK(backward_message.substr(0, 21) == "sparse_mix.backward: ");
    CHECK(forward_message.substr(std::min<std::size_t>(20, forward_message.size())) ==
          backward_message.substr(std::min<std::size_t>(21, backward_message.size())));
    return forward_message.substr(std::min<std::size_t>(20, forward_message.size()));
  }
};

}  // namespace support
