// SPDX-License-Identifier: Apache-2.0
// A valid slicing_sort call; tests make one argument invalid and check the error.
#pragma once

#include "support/buffers.hpp"
#include "support/error_message.hpp"

#include <doctest/doctest.h>
#include <slicesort/argsort.hpp>
#include <slicesort/slicing_sort.hpp>

#include <string>
#include <utility>
#include <vector>

namespace support {

namespace ss = slicesort;

// The views do not overlap.
template <class Order = ss::ascending>
struct slicing_sort_call {
  static constexpr extents3 shape{2, 5, 3};
  static constexpr std::size_t floats_per_view = 256;

  std::vector<float> memory = std::vector<float>(8 * floats_per_view, 2.5f);
  std::vector<unsigned char> scratch_bytes = std::vector<unsigned char>(1 << 20);
  Order order{};
  ss::exec::host exec{};
  tensor3<float const> x{memory.data(), shape};
  tensor3<float> y{memory.data() + floats_per_view, shape};
  ss::index_tensor3 perm = tensor3<std::uint32_t>(
      reinterpret_cast<std::uint32_t*>(memory.data() + 2 * floats_per_view), shape);
  ss::workspace scratch{scratch_bytes.data(), scratch_bytes.size()};
  std::vector<index_t> lengths;

  ss::tensor1<index_t const> lengths_view() const {
    if (lengths.empty()) return {};
    return {lengths.data(), static_cast<index_t>(lengths.size())};
  }

  // Each returns the error message of a call ("" if accepted), and checks that a dry run agrees.
  std::string forward() {
    ss::slicing_sort<Order> const op(order);
    return check_error_message(
        op.forward(ss::exec::dry_run{exec}, x, y, {perm}, scratch, {lengths_view()}),
        [&] { op.forward(exec, x, y, {perm}, scratch, {lengths_view()}); });
  }
  std::string forward_not_saved() {
    ss::slicing_sort<Order> const op(order);
    return check_error_message(
        op.forward(ss::exec::dry_run{exec}, x, y, ss::no_saved, scratch, {lengths_view()}),
        [&] { op.forward(exec, x, y, ss::no_saved, scratch, {lengths_view()}); });
  }
  std::string backward() {
    ss::slicing_sort<Order> const op(order);
    ss::backward_options const options{ss::grad_mode::overwrite, lengths_view()};
    return check_error_message(
        op.backward(ss::exec::dry_run{exec}, x, {ss::const_index_tensor3(perm)}, y, scratch,
                    options),
        [&] { op.backward(exec, x, {ss::const_index_tensor3(perm)}, y, scratch, options); });
  }

 private:
  // Returns the error message of `call`. Checks that it is the one of the dry run, and that a
  // failed call writes nothing.
  template <class F>
  std::string check_error_message(ss::status const& dry_status, F const& call) {
    auto const memory_before = memory;
    auto const scratch_before = scratch_bytes;
    auto const [exception, message] = run_and_catch(call);
    CHECK(message == dry_status.message);
    CHECK(static_cast<bool>(dry_status) == (exception == thrown::nothing));
    CHECK((dry_status.kind == ss::error_kind::workspace) == (exception == thrown::workspace));
    CHECK((dry_status.kind == ss::error_kind::argument) == (exception == thrown::argument));
    if (!dry_status) {
      CHECK(same_bits(memory, memory_before));
      CHECK(scratch_bytes == scratch_before);
    }
    return message;
  }
};
}  // namespace support
