// SPDX-License-Identifier: Apache-2.0
// A valid csp call; tests make one argument invalid and check the error.
#pragma once

#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"

#include <slicesort/csp.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace support {

// x, y and scratch do not overlap. `indices` is large enough for every index width.
template <class Shift = ss::shift::linear, class Alignment = ss::reference>
struct csp_call {
  static constexpr extents3 shape{2, 5, 3};
  ss::grouping groups = ss::group_size{3};
  Shift shift{};
  Alignment alignment{};
  ss::exec::host exec{2};
  tensor<float> x{shape}, y{shape};
  std::vector<std::uint32_t> indices = std::vector<std::uint32_t>(64, 0);
  std::vector<index_t> lengths;
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 19, 0x11);

  tensor3<float const> input = std::as_const(x).view();
  tensor3<float> output = y.view();
  ss::index_tensor3 order = order_in_bytes({2, 5, 3});
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};

  csp_call() = default;
  csp_call(csp_call const&) = delete;

  ss::index_tensor3 order_in_bytes(extents3 extents) {
    return tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(indices.data()), extents);
  }
  ss::csp<Shift, Alignment> op() const {
    return ss::csp<Shift, Alignment>(groups, shift, alignment);
  }
  std::string forward() {
    ss::forward_options const options{view_of(lengths)};
    return check_unchanged_on_error([&] {
      return error_message(
          op().forward(ss::exec::dry_run{exec}, input, output, {order}, scratch, options),
          [&] { op().forward(exec, input, output, {order}, scratch, options); });
    });
  }
  std::string forward_not_saved() {
    ss::forward_options const options{view_of(lengths)};
    return check_unchanged_on_error([&] {
      return error_message(
          op().forward(ss::exec::dry_run{exec}, input, output, ss::no_saved, scratch, options),
          [&] { op().forward(exec, input, output, ss::no_saved, scratch, options); });
    });
  }
  std::string backward() {
    ss::const_saved_order const saved{ss::const_index_tensor3(order)};
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return check_unchanged_on_error([&] {
      return error_message(
          op().backward(ss::exec::dry_run{exec}, input, saved, output, scratch, options),
          [&] { op().backward(exec, input, saved, output, scratch, options); });
    });
  }
  // Checks that all three calls report the same error, apart from the function name in front, and
  // returns it.
  std::string common_error() {
    std::string const first = forward(), second = backward(), not_saved = forward_not_saved();
    CHECK(first == not_saved);
    auto const without_prefix = [](std::string const& message) {
      return message.substr(std::min(message.size(), message.find(": ")));
    };
    CHECK(without_prefix(first) == without_prefix(second));
    CHECK(first.find("csp.forward: ") == 0);
    CHECK(second.find("csp.backward: ") == 0);
    return first.size() > 13 ? first.substr(13) : first;
  }

 private:
  template <class F>
  std::string check_unchanged_on_error(F const& call) {
    auto const x_before = x.elements(), y_before = y.elements();
    auto const indices_before = indices;
    auto const scratch_before = scratch_memory;
    std::string const message = call();
    if (!message.empty()) {
      CHECK(same_bits(x.elements(), x_before));
      CHECK(same_bits(y.elements(), y_before));
      CHECK(indices == indices_before);
      CHECK(scratch_memory == scratch_before);
    }
    return message;
  }
};

}  // namespace support
