// SPDX-License-Identifier: Apache-2.0
// Argument checks of permute: every invalid argument has its message.
#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"

#include <slicesort/permute.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace support;

namespace {

constexpr extents3 shape{2, 5, 3};

// A valid call; tests make one argument invalid.
struct permute_call {
  tensor<float> x{shape}, y{shape};
  tensor<std::uint32_t> indices{shape};
  ss::const_index_tensor3 perm = indices.view();
  ss::exec::host exec{2};
  std::vector<index_t> lengths;
  guarded_workspace scratch{ss::permute::workspace_bytes<float>(exec, shape)};
  tensor3<float> output = y.view();
  ss::workspace workspace = scratch.get();

  std::string forward() {
    ss::permute const op;
    ss::forward_options const options{view_of(lengths)};
    return error_message(
        op.forward(ss::exec::dry_run{exec}, x.view(), {perm}, output, workspace, options),
        [&] { op.forward(exec, x.view(), {perm}, output, workspace, options); });
  }
  std::string backward() {
    ss::permute const op;
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return error_message(
        op.backward(ss::exec::dry_run{exec}, x.view(), {perm}, output, workspace, options),
        [&] { op.backward(exec, x.view(), {perm}, output, workspace, options); });
  }
  void check_errors(std::string const& error) {
    CHECK(forward() == "permute.forward: " + error);
    CHECK(backward() == "permute.backward: " + error);
    CHECK(same_bits(y.elements(), tensor<float>(shape).elements()));
  }
};

}  // namespace

TEST_CASE("valid calls are accepted") {
  permute_call call;
  CHECK(call.forward() == "");
  CHECK(call.backward() == "");
}

TEST_CASE("shapes") {
  permute_call call;
  SUBCASE("output") {
    call.output = {call.output.data(), {2, 4, 3}};
    CHECK(call.forward() == "permute.forward: y.length is 4, must be 5 (x.length)");
    CHECK(call.backward() == "permute.backward: dx.length is 4, must be 5 (dy.length)");
  }
  SUBCASE("permutation") {
    call.perm = tensor3<std::uint32_t const>(call.indices.elements().data(), {2, 5, 2});
    CHECK(call.forward() == "permute.forward: perm.channels is 2, must be 3 (x.channels)");
    CHECK(call.backward() == "permute.backward: perm.channels is 2, must be 3 (dy.channels)");
  }
  SUBCASE("too long for 32-bit row numbers") {
    index_t const length = (index_t{1} << 31) + 1;
    tensor3<float const> const long_x(call.x.elements().data(), {1, length, 1}, {0, 0, 0});
    tensor3<float> const long_y(call.x.elements().data() + 1, {1, length, 1});  // no overlap
    CHECK(std::string(ss::permute()
                          .forward(ss::exec::dry_run{call.exec}, long_x, {call.perm}, long_y)
                          .message) ==
          "permute.forward: x.length is 2147483649, must be at most 2147483648");
    CHECK(std::string(
              ss::permute::workspace_bytes<float>(ss::exec::dry_run{call.exec}, {1, length, 1})
                  .message) ==
          "permute.workspace_bytes: x.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("indices") {
  permute_call call;
  SUBCASE("8 bits") {
    call.perm =
        tensor3<std::uint8_t const>(reinterpret_cast<std::uint8_t const*>(call.perm.data()), shape);
    call.check_errors("perm has 8-bit indices, must have 16-bit or 32-bit ones");
  }
  SUBCASE("too narrow") {
    extents3 const e{1, 65537, 1};
    tensor<float> const x(e);
    tensor<float> y(e);
    tensor<std::uint16_t> const indices(e);
    CHECK(
        std::string(ss::permute()
                        .forward(ss::exec::dry_run{call.exec}, x.view(), {indices.view()}, y.view())
                        .message) ==
        "permute.forward: perm has 16-bit indices, which hold lengths up to 65536; the length is "
        "65537");
  }
  SUBCASE("null") {
    call.perm = tensor3<std::uint32_t const>(nullptr, shape);
    CHECK(says(call.forward(), "permute.forward: perm.data is null, must point to "));
    CHECK(says(call.backward(), "permute.backward: perm.data is null, must point to "));
  }
}

TEST_CASE("overlap") {
  permute_call call;
  SUBCASE("the output overlaps a part of the input") {
    call.output = {call.x.view().data() + 1, shape};
    CHECK(says(call.forward(), "permute.forward: y overlaps x ("));
    CHECK(says(call.backward(), "permute.backward: dx overlaps dy ("));
  }
  SUBCASE("the permutation overlaps the output") {
    call.perm = tensor3<std::uint32_t const>(
        reinterpret_cast<std::uint32_t const*>(call.y.elements().data()), shape);
    CHECK(says(call.forward(), "permute.forward: perm overlaps y ("));
    CHECK(says(call.backward(), "permute.backward: perm overlaps dx ("));
  }
}

TEST_CASE("lengths, workspace, threads") {
  permute_call call;
  SUBCASE("lengths") {
    call.lengths = {5, -1};
    call.check_errors("lengths[1] is -1, must be in 0..5 (length)");
  }
  SUBCASE("workspace") {
    REQUIRE(call.workspace.bytes > 0);
    std::string const needed = std::to_string(call.workspace.bytes);
    --call.workspace.bytes;
    call.check_errors("workspace.bytes is " + std::to_string(call.workspace.bytes) +
                      ", must be at least " + needed);
  }
  SUBCASE("threads") {
    call.exec.threads = 0;
    call.check_errors("exec.threads is 0, must be at least 1");
  }
}
