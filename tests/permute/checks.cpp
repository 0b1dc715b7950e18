// SPDX-License-Identifier: Apache-2.0
// Error messages of permute's argument checks.
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

struct call_of_permute {
  tensor<float> x{shape}, y{shape};
  tensor<std::uint32_t> rows{shape};
  ss::const_index_tensor3 perm = rows.view();
  ss::exec::host exec{2};
  std::vector<index_t> lengths;
  guarded_workspace scratch{ss::permute::workspace_bytes<float>(exec, shape)};
  tensor3<float> to = y.view();
  ss::workspace w = scratch.get();

  std::string forward() {
    ss::permute const op;
    ss::forward_options const options{view_of(lengths)};
    return error_message(op.forward(ss::exec::dry_run{exec}, x.view(), {perm}, to, w, options),
                         [&] { op.forward(exec, x.view(), {perm}, to, w, options); });
  }
  std::string backward() {
    ss::permute const op;
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return error_message(op.backward(ss::exec::dry_run{exec}, x.view(), {perm}, to, w, options),
                         [&] { op.backward(exec, x.view(), {perm}, to, w, options); });
  }
  void check_both(std::string const& rest) {
    CHECK(forward() == "permute.forward: " + rest);
    CHECK(backward() == "permute.backward: " + rest);
    CHECK(same_bits(y.elements(), tensor<float>(shape).elements()));
  }
};

}  // namespace

TEST_CASE("valid calls are accepted") {
  call_of_permute call;
  CHECK(call.forward() == "");
  CHECK(call.backward() == "");
}

TEST_CASE("shapes") {
  call_of_permute call;
  SUBCASE("of the output") {
    call.to = {call.to.data(), {2, 4, 3}};
    CHECK(call.forward() == "permute.forward: y.length is 4, must be 5 (x.length)");
    CHECK(call.backward() == "permute.backward: dx.length is 4, must be 5 (dy.length)");
  }
  SUBCASE("of the permutation") {
    call.perm = tensor3<std::uint32_t const>(call.rows.elements().data(), {2, 5, 2});
    CHECK(call.forward() == "permute.forward: perm.channels is 2, must be 3 (x.channels)");
    CHECK(call.backward() == "permute.backward: perm.channels is 2, must be 3 (dy.channels)");
  }
  SUBCASE("too long to number") {
    index_t const length = (index_t{1} << 31) + 1;
    tensor3<float const> const from(call.x.elements().data(), {1, length, 1}, {0, 0, 0});
    tensor3<float> const far(call.x.elements().data() + 1, {1, length, 1});  // no overlap
    CHECK(
        std::string(
            ss::permute().forward(ss::exec::dry_run{call.exec}, from, {call.perm}, far).message) ==
        "permute.forward: x.length is 2147483649, must be at most 2147483648");
    CHECK(std::string(
              ss::permute::workspace_bytes<float>(ss::exec::dry_run{call.exec}, {1, length, 1})
                  .message) ==
          "permute.workspace_bytes: x.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("indices") {
  call_of_permute call;
  SUBCASE("of 8 bits") {
    call.perm =
        tensor3<std::uint8_t const>(reinterpret_cast<std::uint8_t const*>(call.perm.data()), shape);
    call.check_both("perm has 8-bit indices, must have 16-bit or 32-bit ones");
  }
  SUBCASE("too narrow") {
    extents3 const e{1, 65537, 1};
    tensor<float> const x(e);
    tensor<float> y(e);
    tensor<std::uint16_t> const rows(e);
    CHECK(std::string(ss::permute()
                          .forward(ss::exec::dry_run{call.exec}, x.view(), {rows.view()}, y.view())
                          .message) ==
          "permute.forward: perm has 16-bit indices, which hold lengths up to 65536; the length is "
          "65537");
  }
  SUBCASE("none") {
    call.perm = tensor3<std::uint32_t const>(nullptr, shape);
    CHECK(says(call.forward(), "permute.forward: perm.data is null, must point to "));
    CHECK(says(call.backward(), "permute.backward: perm.data is null, must point to "));
  }
}

TEST_CASE("overlap") {
  call_of_permute call;
  SUBCASE("of the output with the input, in part") {
    call.to = {call.x.view().data() + 1, shape};
    CHECK(says(call.forward(), "permute.forward: y overlaps x ("));
    CHECK(says(call.backward(), "permute.backward: dx overlaps dy ("));
  }
  SUBCASE("of the permutation with the output") {
    call.perm = tensor3<std::uint32_t const>(
        reinterpret_cast<std::uint32_t const*>(call.y.elements().data()), shape);
    CHECK(says(call.forward(), "permute.forward: perm overlaps y ("));
    CHECK(says(call.backward(), "permute.backward: perm overlaps dx ("));
  }
}

TEST_CASE("lengths, workspace, threads") {
  call_of_permute call;
  SUBCASE("lengths") {
    call.lengths = {5, -1};
    call.check_both("lengths[1] is -1, must be in 0..5 (length)");
  }
  SUBCASE("workspace") {
    REQUIRE(call.w.bytes > 0);
    std::string const needed = std::to_string(call.w.bytes);
    --call.w.bytes;
    call.check_both("workspace.bytes is " + std::to_string(call.w.bytes) + ", must be at least " +
                    needed);
  }
  SUBCASE("threads") {
    call.exec.threads = 0;
    call.check_both("exec.threads is 0, must be at least 1");
  }
}
