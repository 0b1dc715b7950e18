// SPDX-License-Identifier: Apache-2.0
// Argument checks of sinkhorn_csp and their error messages.
#include "support/buffers.hpp"
#include "support/error_message.hpp"
#include "support/problems.hpp"

#include <slicesort/detail/sinkhorn_csp/params.hpp>
#include <slicesort/sinkhorn_csp.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace support;

namespace {

// A valid call; each test invalidates one argument.
struct sinkhorn_call {
  static constexpr extents3 shape{2, 5, 3};

  tensor<float> x_memory = tensor<float>(shape), y_memory = tensor<float>(shape),
                dy_memory = x_memory;
  tensor3<float const> x{x_memory.view()}, dy{dy_memory.view()};
  tensor3<float> y{y_memory.view()};
  ss::grouping groups = ss::group_size{2};
  ss::sinkhorn relaxation{0.5, 3};
  std::vector<std::int32_t> shifts = {0, 1, 2};
  ss::reference reference{1};
  ss::exec::host exec{};
  std::vector<index_t> lengths;
  std::vector<unsigned char> workspace_memory = std::vector<unsigned char>(1 << 16);
  ss::workspace scratch{workspace_memory.data(), workspace_memory.size()};

  auto op() const {
    ss::tensor1<std::int32_t const> const table(shifts.data(), static_cast<index_t>(shifts.size()));
    return ss::sinkhorn_csp<ss::shift::table>{groups, relaxation, ss::shift::table{table},
                                              reference};
  }
  std::string forward() const {
    return error_message(op().forward(ss::exec::dry_run{exec}, x, y, scratch, {view_of(lengths)}),
                         [&] { op().forward(exec, x, y, scratch, {view_of(lengths)}); });
  }
  std::string backward() const {
    ss::backward_options const options{ss::grad_mode::overwrite, view_of(lengths)};
    return error_message(op().backward(ss::exec::dry_run{exec}, dy, x, y, scratch, options),
                         [&] { op().backward(exec, dy, x, y, scratch, options); });
  }
  // Checks that forward and backward report the same error, and returns it.
  std::string common_error() const {
    std::string const forward_message = forward(), backward_message = backward();
    CHECK(forward_message.substr(0, 22) == "sinkhorn_csp.forward: ");
    CHECK(backward_message.substr(0, 23) == "sinkhorn_csp.backward: ");
    CHECK(forward_message.substr(22) == backward_message.substr(23));
    return forward_message.substr(22);
  }
};

}  // namespace

TEST_CASE("valid calls are accepted") {
  sinkhorn_call call;
  CHECK(call.forward() == "");
  CHECK(call.backward() == "");
  call.lengths = {0, 5};
  call.groups = ss::group_count{9};
  CHECK(call.forward() == "");
  CHECK(call.backward() == "");
}

TEST_CASE("parameters") {
  sinkhorn_call call;
  SUBCASE("groups") {
    call.groups = ss::group_size{0};
    CHECK(call.common_error() == "groups must be at least 1");
  }
  SUBCASE("tau") {
    for (double tau : {0.0, -1.0}) {
      call.relaxation = ss::sinkhorn(tau, 3);
      CHECK(call.common_error() ==
            std::string("tau is ") + (tau == 0 ? "0" : "-1") + ", must be positive and finite");
    }
#if !defined(__FAST_MATH__)
    call.relaxation = ss::sinkhorn(std::numeric_limits<double>::infinity(), 3);
    CHECK(call.common_error() == "tau is inf, must be positive and finite");
    call.relaxation = ss::sinkhorn(std::numeric_limits<double>::quiet_NaN(), 3);
    CHECK(says(call.common_error(), "must be positive and finite"));
#endif
  }
  SUBCASE("iterations") {
    call.relaxation = ss::sinkhorn(1, 0);
    CHECK(call.common_error() == "iterations is 0, must be in 1..65536");
    call.relaxation = ss::sinkhorn(1, 65537);
    CHECK(call.common_error() == "iterations is 65537, must be in 1..65536");
  }
  SUBCASE("shift") {
    call.shifts = {0, 1};
    CHECK(call.common_error() ==
          "shift table: there must be one shift for every channel (channels is 3)");
  }
  SUBCASE("reference") {
    for (index_t channel : {-1, 3}) {
      call.reference.channel = channel;
      CHECK(call.common_error() ==
            "alignment reference: channel must be one of the channels (channels is 3)");
    }
  }
}

TEST_CASE("views") {
  sinkhorn_call call;
  SUBCASE("shape of y and dx") {
    call.y = {call.y.data(), {2, 4, 3}};
    CHECK(call.forward() == "sinkhorn_csp.forward: y.length is 4, must be 5 (x.length)");
    CHECK(call.backward() == "sinkhorn_csp.backward: dx.length is 4, must be 5 (x.length)");
  }
  SUBCASE("shape of dy") {
    call.dy = {call.dy.data(), {2, 5, 2}};
    CHECK(call.backward() == "sinkhorn_csp.backward: dy.channels is 2, must be 3 (x.channels)");
  }
  SUBCASE("no memory") {
    call.x = {nullptr, call.shape};
    CHECK(call.common_error() == "x.data is null, must point to [2, 5, 3]");
  }
  SUBCASE("no memory for dy, dx") {
    call.dy = {nullptr, call.shape};
    CHECK(call.backward() == "sinkhorn_csp.backward: dy.data is null, must point to [2, 5, 3]");
  }
  SUBCASE("in place") {
    call.x = call.y;
    CHECK(says(call.forward(), "sinkhorn_csp.forward: y overlaps x ("));
    CHECK(says(call.backward(), "sinkhorn_csp.backward: dx overlaps x ("));
    CHECK(says(call.backward(), "must share no element"));
  }
  SUBCASE("gradient in place") {
    call.dy = call.y;
    CHECK(says(call.backward(), "sinkhorn_csp.backward: dx overlaps dy ("));
  }
  SUBCASE("lengths") {
    call.lengths = {3, 6};
    CHECK(call.common_error() == "lengths[1] is 6, must be in 0..5 (length)");
    call.lengths = {3};
    CHECK(call.common_error() == "lengths.size is 1, must be 2 (batch)");
  }
  SUBCASE("too long") {
    index_t const length = (index_t{1} << 31) + 1;
    call.x = {call.x.data(), {1, length, 1}, {0, 0, 0}};
    call.shifts = {0};
    call.reference.channel = 0;
    ss::tensor3<float> const distant_y(reinterpret_cast<float*>(std::uintptr_t{1} << 46),
                                       {1, length, 1});  // never accessed
    CHECK(std::string(call.op().forward(ss::exec::dry_run{call.exec}, call.x, distant_y).message) ==
          "sinkhorn_csp.forward: x.length is 2147483649, must be at most 2147483648");
  }
}

TEST_CASE("workspace and policy") {
  sinkhorn_call call;
  std::size_t const bytes = call.op().workspace_bytes<float>(call.exec, call.shape);
  CHECK(bytes > 0);
  call.scratch.bytes = bytes;
  CHECK(call.forward() == "");
  CHECK(call.backward() == "");
  SUBCASE("one byte too few") {
    call.scratch.bytes = bytes - 1;
    CHECK(call.common_error() == "workspace.bytes is " + std::to_string(bytes - 1) +
                                     ", must be at least " + std::to_string(bytes));
  }
  SUBCASE("null") {
    call.scratch.data = nullptr;
    CHECK(call.common_error() ==
          "workspace.data is null, must point to " + std::to_string(bytes) + " bytes");
  }
  SUBCASE("threads") {
    call.exec.threads = 0;
    CHECK(call.common_error() == "exec.threads is 0, must be at least 1");
  }
}

TEST_CASE("a sample with more elements than backward's limit is processed alone") {
  CHECK(ss::detail::samples_at_once({3, index_t{1} << 20, 2}) == 1);
  CHECK(ss::detail::samples_at_once({3, index_t{1} << 19, 1}) == 2);
  CHECK(ss::detail::samples_at_once({3, 5, 2}) == 3);
}
