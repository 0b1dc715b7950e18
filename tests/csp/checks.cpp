// SPDX-License-Identifier: Apache-2.0
// Argument checks of csp: every invalid argument has its message, a dry run returns the error that
// the call throws, and a failed call writes nothing.
#include "call.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace support;

TEST_CASE("valid calls are accepted") {
  csp_call<> c;
  CHECK(c.forward() == "");
  CHECK(c.forward_not_saved() == "");
  CHECK(c.backward() == "");
  c.lengths = {0, 4};
  CHECK(c.forward() == "");
  CHECK(c.backward() == "");
  c.output = c.x.view();  // in place
  CHECK(c.forward() == "");
  CHECK(c.backward() == "");
  c.groups = ss::group_count{1};
  CHECK(c.forward() == "");
  csp_call<ss::shift::none, ss::descending> sorted;
  CHECK(sorted.forward() == "");
  CHECK(sorted.backward() == "");
}

TEST_CASE("groups") {
  csp_call<> c;
  index_t const lowest = std::numeric_limits<index_t>::min();
  for (index_t invalid : {index_t{0}, index_t{-1}, lowest}) {
    c.groups = ss::group_size{invalid};
    CHECK(c.common_error() == "groups must be at least 1");
    c.groups = ss::group_count{invalid};
    CHECK(c.common_error() == "groups must be at least 1");
  }
  index_t const largest = std::numeric_limits<index_t>::max();
  c.groups = ss::group_size{largest};
  CHECK(c.forward() == "");
  c.groups = ss::group_count{largest};  // no state
  CHECK(c.forward() == "");
}

TEST_CASE("policies") {
  SUBCASE("a table of the wrong size") {
    csp_call<ss::shift::table> c;
    std::vector<std::int32_t> const table{1, 2, 3, 4};
    c.shift = {{table.data(), 3}};
    CHECK(c.forward() == "");
    c.shift = {{table.data(), 4}};
    CHECK(c.common_error() ==
          "shift table: there must be one shift for every channel (channels is 3)");
    c.shift = {{nullptr, 3}};
    CHECK(c.common_error() ==
          "shift table: there must be one shift for every channel (channels is 3)");
    c.shift = {};
    CHECK(c.common_error() ==
          "shift table: there must be one shift for every channel (channels is 3)");
  }
  SUBCASE("heads") {
    csp_call<ss::shift::per_head> c;
    for (index_t heads : {2, 0, -3}) {
      c.shift.heads = heads;
      CHECK(c.common_error() ==
            "shift per_head: channels must be a multiple of heads (channels is 3)");
    }
  }
  SUBCASE("layers") {
    csp_call<ss::shift::power> c;
    c.shift = {2, 2};
    CHECK(c.common_error() == "shift power: layer must be in 0..layers-1 (channels is 3)");
    csp_call<ss::shift::power_ceil> d;
    d.shift = {-1, 2};
    CHECK(d.common_error() == "shift power_ceil: layer must be in 0..layers-1 (channels is 3)");
    csp_call<ss::shift::linear_step> s;
    s.shift = {-2};
    CHECK(s.common_error() == "shift linear_step: step must not be negative (channels is 3)");
  }
  SUBCASE("a reference that is not a channel") {
    csp_call<> c;
    for (index_t channel : {-1, 3}) {
      c.alignment.channel = channel;
      CHECK(c.common_error() ==
            "alignment reference: channel must be one of the channels (channels is 3)");
    }
  }
  SUBCASE("a custom reference that is not a channel") {
    struct custom_reference {
      index_t channel = 0;
      index_t reference_channel(index_t) const { return channel; }
    };
    csp_call<ss::shift::linear, custom_reference> c;
    CHECK(c.forward() == "");
    c.alignment.channel = 3;
    CHECK(c.common_error() == "alignment: the reference is channel 3, must be in 0..2");
    c.alignment.channel = -1;
    CHECK(c.common_error() == "alignment: the reference is channel -1, must be in 0..2");
  }
  SUBCASE("a custom reference that varies is evaluated once per call") {
    struct custom_reference {
      index_t* calls = nullptr;
      index_t reference_channel(index_t) const { return calls == nullptr ? 0 : 2 + (*calls)++; }
    };
    csp_call<ss::shift::linear, custom_reference> c;
    index_t calls = 0;
    ss::csp const op{c.groups, c.shift, custom_reference{&calls}};
    op.forward(c.exec, c.input, c.output, ss::no_saved, c.scratch);
    CHECK(calls == 1);
    CHECK(
        says(error_message([&] { op.forward(c.exec, c.input, c.output, ss::no_saved, c.scratch); }),
             "alignment: the reference is channel 3, must be in 0..2"));
  }
  SUBCASE("heads of an order") {
    csp_call<ss::shift::none, ss::half_half> c;
    c.alignment.heads = 2;
    CHECK(c.common_error() ==
          "alignment half_half: channels must be a multiple of heads (channels is 3)");
  }
}

TEST_CASE("order") {
  csp_call<> c;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(c.indices.data());
  SUBCASE("shape") {
    c.order = c.order_in_bytes({2, 4, 3});
    CHECK(c.forward() == "csp.forward: order.length is 4, must be 5 (saved_extents().length)");
    CHECK(c.backward() == "csp.backward: order.length is 4, must be 5 (saved_extents().length)");
    c.groups = ss::group_size{2};  // one bit per pair
    c.order = c.order_in_bytes({2, 5, 3});
    CHECK(c.forward() == "csp.forward: order.length is 5, must be 1 (saved_extents().length)");
    c.order = c.order_in_bytes({2, 1, 3});
    CHECK(c.forward() == "");
    c.order = c.order_in_bytes({2, 1, 4});
    CHECK(c.backward() ==
          "csp.backward: order.channels is 4, must be 3 (saved_extents().channels)");
    c.order = c.order_in_bytes({1, 1, 3});
    CHECK(c.forward() == "csp.forward: order.batch is 1, must be 2 (saved_extents().batch)");
  }
  SUBCASE("width") {
    c.order = tensor3<std::uint32_t>(c.indices.data(), c.shape);
    CHECK(c.forward() ==
          "csp.forward: order has 32-bit elements, must have 8-bit ones (groups of 3 rows)");
    c.order = tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(bytes), c.shape);
    CHECK(c.backward() ==
          "csp.backward: order has 16-bit elements, must have 8-bit ones (groups of 3 rows)");
    c.groups = ss::group_size{2};
    c.order = tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(bytes), {2, 1, 3});
    CHECK(c.forward() ==
          "csp.forward: order has 16-bit elements, must have 8-bit ones (groups of 2 rows)");
  }
  SUBCASE("data and strides") {
    c.order = tensor3<std::uint8_t>(nullptr, c.shape);
    CHECK(c.forward() == "csp.forward: order.data is null, must point to [2, 5, 3]");
    CHECK(c.backward() == "csp.backward: order.data is null, must point to [2, 5, 3]");
    c.order = tensor3<std::uint8_t>(bytes, c.shape, {15, 0, 1});
    CHECK(c.forward() == "csp.forward: order.stride.length is 0, must be positive");
    CHECK(c.backward() == "");  // backward only reads it
    c.order = tensor3<std::uint8_t>(bytes, c.shape, {15, 1, 1});
    CHECK(says(c.forward(), "csp.forward: order.strides are [15, 1, 1] for extents [2, 5, 3]"));
  }
  SUBCASE("overlap with a tensor") {
    c.order = tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(c.x.view().data()), c.shape);
    CHECK(says(c.forward(), "csp.forward: order overlaps x ("));
    CHECK(says(c.backward(), "csp.backward: order overlaps dy ("));
    c.order = tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(c.output.data()), c.shape);
    CHECK(says(c.forward(), "csp.forward: order overlaps y ("));
    CHECK(says(c.backward(), "csp.backward: order overlaps dx ("));
  }
  SUBCASE("groups of one row have none: it is ignored") {
    c.groups = ss::group_size{1};
    c.order = {};
    CHECK(c.forward() == "");
    CHECK(c.backward() == "");
  }
}

TEST_CASE("checks that all operators that move rows share") {
  csp_call<> c;
  SUBCASE("shape") {
    c.output = {c.output.data(), {2, 4, 3}};
    CHECK(c.forward() == "csp.forward: y.length is 4, must be 5 (x.length)");
    CHECK(c.backward() == "csp.backward: dx.length is 4, must be 5 (dy.length)");
    c.input = {c.input.data(), {2, -5, 3}};
    CHECK(c.forward() == "csp.forward: x.length is -5, must not be negative");
    c.input = {c.input.data(), c.shape, {15, -3, 1}};
    CHECK(c.backward() == "csp.backward: dy.stride.length is -3, must be zero or positive");
  }
  SUBCASE("overlap") {
    c.output = {c.x.view().data() + 1, c.shape};
    CHECK(says(c.forward(), "csp.forward: y overlaps x ("));
    CHECK(says(c.backward(), "csp.backward: dx overlaps dy ("));
  }
  SUBCASE("lengths") {
    c.lengths = {5, -1};
    CHECK(c.common_error() == "lengths[1] is -1, must be in 0..5 (length)");
    c.lengths = {6, 0};
    CHECK(c.common_error() == "lengths[0] is 6, must be in 0..5 (length)");
    c.lengths = {5};
    CHECK(c.common_error() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("threads") {
    c.exec.threads = 0;
    CHECK(c.common_error() == "exec.threads is 0, must be at least 1");
  }
  SUBCASE("too long for 32-bit row numbers") {
    index_t const length = (index_t{1} << 31) + 1;
    c.input = {c.y.view().data(), {1, length, 1}, {0, 0, 0}};
    c.output = {c.y.view().data() + 1, {1, length, 1}};  // does not overlap `input`
    CHECK(std::string(
              c.op().forward(ss::exec::dry_run{c.exec}, c.input, c.output, ss::no_saved).message) ==
          "csp.forward: x.length is 2147483649, must be at most 2147483648");
  }
  SUBCASE("workspace") {
    for (index_t group : {1, 2, 3, 5}) {
      c.groups = ss::group_size{group};
      c.order = c.order_in_bytes(c.op().saved_extents(c.shape));
      std::size_t const required = c.op().workspace_bytes<float>(c.exec, c.shape);
      REQUIRE(required > 0);
      c.scratch = {c.scratch_memory.data(), required};
      CHECK(c.forward() == "");
      CHECK(c.backward() == "");
      c.scratch.bytes = required - 1;
      CHECK(c.common_error() == "workspace.bytes is " + std::to_string(required - 1) +
                                    ", must be at least " + std::to_string(required));
      c.scratch = {nullptr, required};
      CHECK(c.common_error() ==
            "workspace.data is null, must point to " + std::to_string(required) + " bytes");
    }
  }
}
