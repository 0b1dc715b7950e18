// SPDX-License-Identifier: Apache-2.0
// A valid slicing_sort call; tests make one argument invalid and check the error.
#pragma once

#include "support/buffers.hpp"
#include "support/error_message.hpp"

#include <doctest/doctest.h>
#include <slicesort/slicing_sort.hpp>

#include <string>
#include <utility>
#include <vector>

namespace support {

namespace ss = slicesort;

// The views are disjoint pieces of one buffer.
template <class Order = ss::ascending>
struct call_of {
  static constexpr extents3 shape{2, 5, 3};
  static constexpr std::size_t piece = 256;

  std::vector<float> memory = std::vector<float>(8 * piece, 2.5f);
  std::vector<unsigned char> scratch_memory = std::vector<unsigned char>(1 << 20);
  Order order{};
  ss::exec::host exec{};
  tensor3<float const> x{memory.data(), shape};
  tensor3<float> y{memory.data() + piece, shape};
  ss::index_tensor3 perm =
      tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(memory.data() + 2 * piece), shape);
  ss::workspace scratch{scratch_memory.data(), scratch_memory.size()};
  std::vector<index_t> lengths;

  ss::tensor1<index_t const> lengths_view() const {
    if (lengths.empty()) return {};
    return {lengths.data(), static_cast<index_t>(lengths.size())};
  }

  // Return the error message ("" if accepted), and check that a dry run agrees.
  std::string forward() {
    ss::slicing_sort<Order> const op(order);
    return agree(op.forward(ss::exec::dry_run{exec}, x, y, {perm}, scratch, {lengths_view()}),
                 [&] { op.forward(exec, x, y, {perm}, scratch, {lengths_view()}); });
  }
  std::string forward_not_saved() {
    ss::slicing_sort<Order> const op(order);
    return agree(op.forward(ss::exec::dry_run{exec}, x, y, ss::no_saved, scratch, {lengths_view()}),
                 [&] { op.forward(exec, x, y, ss::no_saved, scratch, {lengths_view()}); });
  }
  std::string backward() {
    ss::slicing_sort<Order> const op(order);
    ss::backward_options const options{ss::grad_mode::overwrite, lengths_view()};
    return agree(
        op.backward(ss::exec::dry_run{exec}, x, {ss::const_index_tensor3(perm)}, y, scratch,
                    options),
        [&] { op.backward(exec, x, {ss::const_index_tensor3(perm)}, y, scratch, options); });
  }

 private:
  template <class F>
  std::string agree(ss::status const& status, F const& call) {
    auto const memory_before = memory;
    auto const scratch_before = scratch_memory;
    auto const [what, message] = outcome_of(call);
    CHECK(message == status.message);
    CHECK(static_cast<bool>(status) == (what == thrown::nothing));
    CHECK((status.kind == ss::error_kind::workspace) == (what == thrown::workspace));
    CHECK((status.kind == ss::error_kind::argument) == (what == thrown::argument));
    if (!status) {
      CHECK(same_bits(memory, memory_before));
      CHECK(scratch_memory == scratch_before);
    }
    return message;
  }
};
}  // namespace support
