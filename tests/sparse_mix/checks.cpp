// SPDX-License-Identifier: Apache-2.0
// Argument checks of sparse_mix: every invalid argument has its message, a dry run returns the same
// error, and a rejected call writes nothing.
#include "call.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace support;

TEST_CASE("valid calls are accepted") {
  mix_call<> c;
  auto const check_accepted = [&] {
    CHECK(c.forward() == "");
    CHECK(c.forward_not_saved() == "");
    CHECK(c.backward() == "");
    CHECK(c.backward_x_only() == "");
  };
  SUBCASE("all states") { check_accepted(); }
  SUBCASE("lengths") {
    c.lengths = {0, 5};
    check_accepted();
  }
  SUBCASE("weights that all samples share") {
    c.w = {c.w.data(), c.w.extents(), {20, 0, 4, 1}};
    check_accepted();
  }
  SUBCASE("some states") {
    c.saved = ss::save_every(2);
    c.states = {c.states.data(), {1, 2, 5, 3}};
    check_accepted();
  }
  SUBCASE("no states: they are not read") {
    for (ss::checkpoints none : {ss::recompute, ss::save_every(3), ss::save_every(65535)}) {
      c.saved = none;
      c.states = {};
      check_accepted();
    }
  }
  SUBCASE("one factor, as a view of rank 3 or 4") {
    c.topology.count = 4;
    c.w = {c.w.data(), {1, 2, 5, 4}};
    c.dw = {c.dw.data(), {1, 2, 5, 4}};
    c.states = {};
    check_accepted();
    tensor3<float const> const w(c.w.data(), {2, 5, 4});
    tensor3<float> const dw(c.dw.data(), {2, 5, 4});
    CHECK(c.op().forward(ss::exec::dry_run{c.exec}, c.x, w, c.y, ss::no_saved, c.scratch));
    CHECK(c.op().backward(ss::exec::dry_run{c.exec}, c.x, c.forward_x, w, ss::no_saved, c.y, dw,
                          c.scratch));
  }
}

TEST_CASE("topologies") {
  SUBCASE("the number of links") {
    mix_call<> c;
    c.topology.count = 5;
    CHECK(c.common_error() == "w.links is 4, must be 5 (topology.links)");
    mix_call<ss::topology::cdil> d;
    CHECK(d.common_error() == "w.links is 4, must be 3 (topology.links)");
    index_t const list[] = {0, 1, 2, 3, 4};
    mix_call<ss::topology::offsets> f;
    f.topology = {{list, 4}};
    CHECK(f.forward() == "");
    f.topology = {{list, 3}};
    CHECK(f.common_error() == "w.links is 4, must be 3 (topology.links)");
  }
  SUBCASE("parameters") {
    mix_call<> c;
    c.topology.count = 64;
    CHECK(c.common_error() == "topology chord: there must be 1 to 63 links (w.factors is 3)");
    mix_call<ss::topology::cdil> d;
    d.topology.half = -1;
    CHECK(d.common_error() == "topology cdil: half must be in 0..32767 (w.factors is 3)");
    mix_call<ss::topology::offsets> f;
    f.topology = {{nullptr, 4}};
    CHECK(f.common_error() == "topology offsets: list.data is null (w.factors is 3)");
  }
  SUBCASE("user-defined, without links()") {
    struct custom_topology {
      index_t offset(index_t link, index_t factor) const { return link * factor; }
    };
    mix_call<custom_topology> c;
    CHECK(c.forward() == "");
    CHECK(c.backward() == "");
  }
  SUBCASE("user-defined, with a failing validate()") {
    struct custom_topology {
      index_t offset(index_t, index_t) const { return 0; }
      char const* validate(index_t factors) const {
        return factors % 2 == 0 ? nullptr : "own: factors must be even";
      }
    };
    mix_call<custom_topology> c;
    CHECK(c.common_error() == "topology own: factors must be even (w.factors is 3)");
  }
}

TEST_CASE("sizes") {
  mix_call<> c;
  SUBCASE("checkpoints") {
    c.saved = {-1};
    CHECK(c.common_error() == "checkpoints.every is -1, must be in 0..65535");
    c.saved = {65536};
    CHECK(c.common_error() == "checkpoints.every is 65536, must be in 0..65535");
  }
  SUBCASE("factors and links") {
    c.w = {c.w.data(), {65536, 2, 5, 4}, {0, 0, 0, 0}};
    CHECK(c.common_error() == "w.factors is 65536, must be in 0..65535");
    c.w = {c.w.data(), {3, 2, 5, 65536}, {0, 0, 0, 0}};
    CHECK(c.common_error() == "w.links is 65536, must be in 0..65535");
  }
  SUBCASE("shape of w compared with x") {
    c.w = {c.w.data(), {3, 1, 5, 4}};
    CHECK(c.forward() == "sparse_mix.forward: w.batch is 1, must be 2 (x.batch)");
    CHECK(c.backward() == "sparse_mix.backward: w.batch is 1, must be 2 (dy.batch)");
    c.w = {c.w.data(), {3, 2, 6, 4}};
    CHECK(c.forward() == "sparse_mix.forward: w.length is 6, must be 5 (x.length)");
  }
  SUBCASE("view of w") {
    c.w = {c.w.data(), {3, 2, 5, -4}};
    CHECK(c.common_error() == "w.links is -4, must not be negative");
    c.w = {c.w.data(), {-1, 2, 5, 4}};
    CHECK(c.common_error() == "w.factors is -1, must not be negative");
    c.w = {c.w.data(), {3, 2, 5, 4}, {40, 20, 4, -1}};
    CHECK(c.common_error() == "w.stride.links is -1, must be zero or positive");
    c.w = {nullptr, {3, 2, 5, 4}};
    CHECK(c.common_error() == "w.data is null, must point to [3, 2, 5, 4]");
  }
  SUBCASE("y and dx") {
    c.y = {c.y.data(), {2, 4, 3}};
    CHECK(c.forward() == "sparse_mix.forward: y.length is 4, must be 5 (x.length)");
    CHECK(c.backward() == "sparse_mix.backward: dx.length is 4, must be 5 (dy.length)");
    c.y = {c.y.data(), c.e, {15, 0, 1}};
    CHECK(c.forward() == "sparse_mix.forward: y.stride.length is 0, must be positive");
    CHECK(c.backward_x_only() == "sparse_mix.backward: dx.stride.length is 0, must be positive");
    c.x = {nullptr, c.e};
    CHECK(c.forward() == "sparse_mix.forward: x.data is null, must point to [2, 5, 3]");
  }
  SUBCASE("x of backward") {
    c.forward_x = {c.forward_x.data(), {2, 5, 4}};
    CHECK(c.backward() == "sparse_mix.backward: x.channels is 4, must be 3 (dy.channels)");
    c.forward_x = {nullptr, c.e};
    CHECK(c.backward() == "sparse_mix.backward: x.data is null, must point to [2, 5, 3]");
  }
  SUBCASE("dw") {
    c.dw = {c.dw.data(), {2, 2, 5, 4}};
    CHECK(c.backward() == "sparse_mix.backward: dw.factors is 2, must be 3 (w.factors)");
    c.dw = {c.dw.data(), {3, 1, 5, 4}};
    CHECK(c.backward() == "sparse_mix.backward: dw.batch is 1, must be 2 (dy.batch)");
    c.dw = {c.dw.data(), {3, 2, 4, 4}};
    CHECK(c.backward() == "sparse_mix.backward: dw.length is 4, must be 5 (dy.length)");
    c.dw = {c.dw.data(), {3, 2, 5, 3}};
    CHECK(c.backward() == "sparse_mix.backward: dw.links is 3, must be 4 (w.links)");
    c.dw = {c.dw.data(), {3, 2, 5, 4}, {20, 0, 4, 1}};
    CHECK(c.backward() == "sparse_mix.backward: dw.stride.batch is 0, must be positive");
    c.dw = {c.dw.data(), {3, 2, 5, 4}, {1, 40, 4, 1}};
    CHECK(says(c.backward(), "sparse_mix.backward: dw.strides are [1, 40, 4, 1] for extents"));
  }
  SUBCASE("lengths") {
    c.lengths = {5, -1};
    CHECK(c.common_error() == "lengths[1] is -1, must be in 0..5 (length)");
    c.lengths = {5};
    CHECK(c.common_error() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("more rows than 32-bit indices") {
    index_t const length = (index_t{1} << 31) + 1;
    c.x = {c.x.data(), {1, length, 1}, {0, 0, 0}};
    c.y = {reinterpret_cast<float*>(std::uintptr_t{1} << 46), {1, length, 1}};  // never accessed
    c.w = {c.w.data(), {3, 1, length, 4}, {0, 0, 0, 0}};
    CHECK(std::string(
              c.op().forward(ss::exec::dry_run{c.exec}, c.x, c.w, c.y, ss::no_saved).message) ==
          "sparse_mix.forward: x.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("states") {
  mix_call<> c;
  SUBCASE("shape") {
    c.states = {c.states.data(), {3, 2, 5, 3}};
    CHECK(c.forward() == "sparse_mix.forward: states.states is 3, must be 2 (checkpoints.states)");
    CHECK(c.backward() ==
          "sparse_mix.backward: states.states is 3, must be 2 (checkpoints.states)");
    c.states = {c.states.data(), {2, 2, 4, 3}};
    CHECK(c.forward() == "sparse_mix.forward: states.length is 4, must be 5 (x.length)");
    CHECK(c.backward() == "sparse_mix.backward: states.length is 4, must be 5 (dy.length)");
    c.states = {};
    CHECK(c.forward() == "sparse_mix.forward: states.states is 0, must be 2 (checkpoints.states)");
    // Forward saves states, but backward does not receive them.
    CHECK(std::string(c.op()
                          .backward(ss::exec::dry_run{c.exec}, c.x, c.forward_x, c.w, ss::no_saved,
                                    c.y, c.dw, c.scratch)
                          .message) ==
          "sparse_mix.backward: states.states is 0, must be 2 (checkpoints.states)");
  }
  SUBCASE("address and strides") {
    c.states = {nullptr, {2, 2, 5, 3}};
    CHECK(c.forward() == "sparse_mix.forward: states.data is null, must point to [2, 2, 5, 3]");
    c.states = {c.buffer(4), {2, 2, 5, 3}, {0, 15, 3, 1}};
    CHECK(c.forward() == "sparse_mix.forward: states.stride.states is 0, must be positive");
    CHECK(c.backward() == "");  // backward only reads the states
  }
}

TEST_CASE("outputs share no element with other tensors") {
  mix_call<> c;
  auto const overlap_message = [](char const* call, char const* output, char const* tensor_name) {
    return std::string("sparse_mix.") + call + ": " + output + " overlaps " + tensor_name + " (";
  };
  auto const check_overlap_error = [&](std::string const& message, char const* call,
                                       char const* output, char const* tensor_name) {
    CAPTURE(message);
    CHECK(says(message, overlap_message(call, output, tensor_name).c_str()));
    CHECK(says(message, "must share no element"));
  };
  SUBCASE("y") {
    c.y = {c.buffer(0), c.e};  // in place
    check_overlap_error(c.forward(), "forward", "y", "x");
    check_overlap_error(c.backward(), "backward", "dx", "dy");
    check_overlap_error(c.backward_x_only(), "backward", "dx", "dy");
    c.y = {c.buffer(3), c.e};
    check_overlap_error(c.forward_not_saved(), "forward", "y", "w");
    check_overlap_error(c.backward(), "backward", "dx", "w");
    c.y = {c.buffer(1), c.e};
    check_overlap_error(c.backward(), "backward", "dx", "x");
    c.y = {c.buffer(4) + 30, c.e};
    check_overlap_error(c.forward(), "forward", "states", "y");
    check_overlap_error(c.backward(), "backward", "dx", "states");
    CHECK(c.forward_not_saved() == "");
  }
  SUBCASE("states") {
    c.states = {c.buffer(0), c.states.extents()};
    check_overlap_error(c.forward(), "forward", "states", "x");
    c.states = {c.buffer(3), c.states.extents()};
    check_overlap_error(c.forward(), "forward", "states", "w");
  }
  SUBCASE("dw") {
    c.dw = {c.buffer(0), c.dw.extents()};
    check_overlap_error(c.backward(), "backward", "dw", "dy");
    c.dw = {c.buffer(1), c.dw.extents()};
    check_overlap_error(c.backward(), "backward", "dw", "x");
    c.dw = {c.buffer(2), c.dw.extents()};
    check_overlap_error(c.backward(), "backward", "dw", "dx");
    c.dw = {c.buffer(3), c.dw.extents()};
    check_overlap_error(c.backward(), "backward", "dw", "w");
    c.dw = {c.buffer(4), c.dw.extents()};
    check_overlap_error(c.backward(), "backward", "dw", "states");
  }
}

TEST_CASE("workspace and policy") {
  mix_call<> c;
  for (ss::checkpoints saved : {ss::save_all, ss::recompute}) {
    c.saved = saved;
    std::size_t const required_bytes = c.op().workspace_bytes<float>(c.exec, c.e, c.w.extents());
    c.scratch = {c.scratch_memory.data(), required_bytes};
    CHECK(c.forward() == "");
    CHECK(c.backward() == "");
    REQUIRE(required_bytes > 0);
    c.scratch.bytes = required_bytes - 1;
    CHECK(c.common_error() == "workspace.bytes is " + std::to_string(required_bytes - 1) +
                                  ", must be at least " + std::to_string(required_bytes));
    c.scratch = {nullptr, required_bytes};
    CHECK(c.common_error() ==
          "workspace.data is null, must point to " + std::to_string(required_bytes) + " bytes");
  }
  c.exec.threads = 0;
  CHECK(c.common_error() == "exec.threads is 0, must be at least 1");
}
