// SPDX-License-Identifier: Apache-2.0
// Argument checks of CSP: every invalid argument has its message, a dry run returns the error that
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
  c.rows = {0, 4};
  CHECK(c.forward() == "");
  CHECK(c.backward() == "");
  c.to = c.x.view();  // in place
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
  for (index_t wrong : {index_t{0}, index_t{-1}, lowest}) {
    c.groups = ss::group_size{wrong};
    CHECK(c.everywhere() == "groups must be at least 1");
    c.groups = ss::group_count{wrong};
    CHECK(c.everywhere() == "groups must be at least 1");
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
    std::vector<std::int32_t> const numbers{1, 2, 3, 4};
    c.shift = {{numbers.data(), 3}};
    CHECK(c.forward() == "");
    c.shift = {{numbers.data(), 4}};
    CHECK(c.everywhere() ==
          "shift table: there must be one shift for every channel (channels is 3)");
    c.shift = {{nullptr, 3}};
    CHECK(c.everywhere() ==
          "shift table: there must be one shift for every channel (channels is 3)");
    c.shift = {};
    CHECK(c.everywhere() ==
          "shift table: there must be one shift for every channel (channels is 3)");
  }
  SUBCASE("heads") {
    csp_call<ss::shift::per_head> c;
    for (index_t heads : {2, 0, -3}) {
      c.shift.heads = heads;
      CHECK(c.everywhere() ==
            "shift per_head: channels must be a multiple of heads (channels is 3)");
    }
  }
  SUBCASE("layers") {
    csp_call<ss::shift::power> c;
    c.shift = {2, 2};
    CHECK(c.everywhere() == "shift power: layer must be in 0..layers-1 (channels is 3)");
    csp_call<ss::shift::power_ceil> d;
    d.shift = {-1, 2};
    CHECK(d.everywhere() == "shift power_ceil: layer must be in 0..layers-1 (channels is 3)");
    csp_call<ss::shift::linear_step> s;
    s.shift = {-2};
    CHECK(s.everywhere() == "shift linear_step: step must not be negative (channels is 3)");
  }
  SUBCASE("a reference that is no channel") {
    csp_call<> c;
    for (index_t channel : {-1, 3}) {
      c.alignment.channel = channel;
      CHECK(c.everywhere() ==
            "alignment reference: channel must be one of the channels (channels is 3)");
    }
  }
  SUBCASE("a custom reference that is no channel") {
    struct custom_reference {
      index_t channel = 0;
      index_t reference_channel(index_t) const { return channel; }
    };
    csp_call<ss::shift::linear, custom_reference> c;
    CHECK(c.forward() == "");
    c.alignment.channel = 3;
    CHECK(c.everywhere() == "alignment: the reference is channel 3, must be in 0..2");
    c.alignment.channel = -1;
    CHECK(c.everywhere() == "alignment: the reference is channel -1, must be in 0..2");
  }
  SUBCASE("a custom reference that varies is evaluated once per call") {
    struct custom_reference {
      index_t* calls = nullptr;
      index_t reference_channel(index_t) const { return calls == nullptr ? 0 : 2 + (*calls)++; }
    };
    csp_call<ss::shift::linear, custom_reference> c;
    index_t calls = 0;
    ss::csp const op{c.groups, c.shift, custom_reference{&calls}};
    op.forward(c.exec, c.from, c.to, ss::no_saved, c.scratch);
    CHECK(calls == 1);
    CHECK(says(error_message([&] { op.forward(c.exec, c.from, c.to, ss::no_saved, c.scratch); }),
               "alignment: the reference is channel 3, must be in 0..2"));
  }
  SUBCASE("an order") {
    csp_call<ss::shift::none, ss::half_half> c;
    c.alignment.heads = 2;
    CHECK(c.everywhere() ==
          "alignment half_half: channels must be a multiple of heads (channels is 3)");
  }
}

TEST_CASE("order") {
  csp_call<> c;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(c.indices.data());
  SUBCASE("shape") {
    c.order = c.bytes({2, 4, 3});
    CHECK(c.forward() == "csp.forward: order.length is 4, must be 5 (saved_extents().length)");
    CHECK(c.backward() == "csp.backward: order.length is 4, must be 5 (saved_extents().length)");
    c.groups = ss::group_size{2};  // one bit per pair
    c.order = c.bytes({2, 5, 3});
    CHECK(c.forward() == "csp.forward: order.length is 5, must be 1 (saved_extents().length)");
    c.order = c.bytes({2, 1, 3});
    CHECK(c.forward() == "");
    c.order = c.bytes({2, 1, 4});
    CHECK(c.backward() ==
          "csp.backward: order.channels is 4, must be 3 (saved_extents().channels)");
    c.order = c.bytes({1, 1, 3});
    CHECK(c.forward() == "csp.forward: order.batch is 1, must be 2 (saved_extents().batch)");
  }
  SUBCASE("width") {
    c.order = tensor3<std::uint32_t>(c.indices.data(), c.e);
    CHECK(c.forward() ==
          "csp.forward: order has 32-bit elements, must have 8-bit ones (groups of 3 rows)");
    c.order = tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(bytes), c.e);
    CHECK(c.backward() ==
          "csp.backward: order has 16-bit elements, must have 8-bit ones (groups of 3 rows)");
    c.groups = ss::group_size{2};
    c.order = tensor3<std::uint16_t>(reinterpret_cast<std::uint16_t*>(bytes), {2, 1, 3});
    CHECK(c.forward() ==
          "csp.forward: order has 16-bit elements, must have 8-bit ones (groups of 2 rows)");
  }
  SUBCASE("strides, place") {
    c.order = tensor3<std::uint8_t>(nullptr, c.e);
    CHECK(c.forward() == "csp.forward: order.data is null, must point to [2, 5, 3]");
    CHECK(c.backward() == "csp.backward: order.data is null, must point to [2, 5, 3]");
    c.order = tensor3<std::uint8_t>(bytes, c.e, {15, 0, 1});
    CHECK(c.forward() == "csp.forward: order.stride.length is 0, must be positive");
    CHECK(c.backward() == "");  // backward only reads it
    c.order = tensor3<std::uint8_t>(bytes, c.e, {15, 1, 1});
    CHECK(says(c.forward(), "csp.forward: order.strides are [15, 1, 1] for extents [2, 5, 3]"));
  }
  SUBCASE("over a tensor") {
    c.order = tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(c.x.view().data()), c.e);
    CHECK(says(c.forward(), "csp.forward: order overlaps x ("));
    CHECK(says(c.backward(), "csp.backward: order overlaps dy ("));
    c.order = tensor3<std::uint8_t>(reinterpret_cast<std::uint8_t*>(c.to.data()), c.e);
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
    c.to = {c.to.data(), {2, 4, 3}};
    CHECK(c.forward() == "csp.forward: y.length is 4, must be 5 (x.length)");
    CHECK(c.backward() == "csp.backward: dx.length is 4, must be 5 (dy.length)");
    c.from = {c.from.data(), {2, -5, 3}};
    CHECK(c.forward() == "csp.forward: x.length is -5, must not be negative");
    c.from = {c.from.data(), c.e, {15, -3, 1}};
    CHECK(c.backward() == "csp.backward: dy.stride.length is -3, must be zero or positive");
  }
  SUBCASE("overlap") {
    c.to = {c.x.view().data() + 1, c.e};
    CHECK(says(c.forward(), "csp.forward: y overlaps x ("));
    CHECK(says(c.backward(), "csp.backward: dx overlaps dy ("));
  }
  SUBCASE("lengths") {
    c.rows = {5, -1};
    CHECK(c.everywhere() == "lengths[1] is -1, must be in 0..5 (length)");
    c.rows = {6, 0};
    CHECK(c.everywhere() == "lengths[0] is 6, must be in 0..5 (length)");
    c.rows = {5};
    CHECK(c.everywhere() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("threads") {
    c.exec.threads = 0;
    CHECK(c.everywhere() == "exec.threads is 0, must be at least 1");
  }
  SUBCASE("too long to number") {
    index_t const length = (index_t{1} << 31) + 1;
    c.from = {c.y.view().data(), {1, length, 1}, {0, 0, 0}};
    c.to = {c.y.view().data() + 1, {1, length, 1}};  // does not overlap `from`
    CHECK(std::string(
              c.op().forward(ss::exec::dry_run{c.exec}, c.from, c.to, ss::no_saved).message) ==
          "csp.forward: x.length is 2147483649, must be at most 2147483648");
  }
  SUBCASE("workspace") {
    for (index_t group : {1, 2, 3, 5}) {
      c.groups = ss::group_size{group};
      c.order = c.bytes(c.op().saved_extents(c.e));
      std::size_t const need = c.op().workspace_bytes<float>(c.exec, c.e);
      REQUIRE(need > 0);
      c.scratch = {c.scratch_memory.data(), need};
      CHECK(c.forward() == "");
      CHECK(c.backward() == "");
      c.scratch.bytes = need - 1;
      CHECK(c.everywhere() == "workspace.bytes is " + std::to_string(need - 1) +
                                  ", must be at least " + std::to_string(need));
      c.scratch = {nullptr, need};
      CHECK(c.everywhere() ==
            "workspace.data is null, must point to " + std::to_string(need) + " bytes");
    }
  }
}
