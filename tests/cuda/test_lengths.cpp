// SPDX-License-Identifier: Apache-2.0
// Lengths in device memory: the host does not read them, a dry run reads no memory at all, and
// lengths out of range are clamped.
#include "backend/device.hpp"
#include "backend/remote.hpp"

#include "slicing_sort/check.hpp"

#include <doctest/doctest.h>
#include <slicesort/max_exchange.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/shuffle.hpp>
#include <slicesort/slicing_sort.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace support;

TEST_CASE_TEMPLATE("lengths out of range are clamped", T, float, bfloat16) {
  for (index_t n : {20, 500, 70001}) {
    extents3 const e{6, n, 5};
    std::vector<index_t> const out_of_range = {
        -1, n + 1, std::int64_t{1} << 62, n / 2, -(std::int64_t{1} << 62), n};
    auto const p = make_mixed_problem<T>(e, all_kinds, 4, irregular, {0, n, n, n / 2, 0, n});
    device_bytes lengths(out_of_range.size() * sizeof(index_t));
    lengths.upload(out_of_range.data());
    device_tensor<T> const x(p.x), dy(p.dy), y(e), dx(e);
    device_tensor<std::uint32_t> const perm(e);
    ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
    device_stream const stream;
    stream_exec const exec{stream.get()};
    device_bytes const scratch(op.workspace_bytes<T>(exec, e));
    ss::workspace const workspace{scratch.data(), scratch.size()};
    ss::tensor1<index_t const> const lengths_view(static_cast<index_t const*>(lengths.data()), 6);
    op.forward(exec, x.view(), y.view(), {perm.view()}, workspace, {lengths_view});
    op.backward(exec, dy.view(), {perm.view()}, dx.view(), workspace,
                {ss::grad_mode::overwrite, lengths_view});
    stream.wait();
    CHECK(difference("y", y.download(), p.y) == "");
    CHECK(difference("perm", perm.download(), p.perm) == "");
    CHECK(difference("dx", dx.download(), p.dx) == "");
    CHECK(y.memory().red_zones_intact());
    CHECK(dx.memory().red_zones_intact());
  }
}

TEST_CASE("dry runs and workspace_bytes read no memory") {
  // Addresses that are invalid on the host and on the device.
  extents3 const e{3, 1000, 7};
  auto const invalid_address = [](std::uintptr_t i) { return reinterpret_cast<void*>(i << 40); };
  tensor3<float const> const x(static_cast<float const*>(invalid_address(1)), e);
  tensor3<float> const y(static_cast<float*>(invalid_address(2)), e);
  tensor3<std::uint16_t> const perm(static_cast<std::uint16_t*>(invalid_address(3)), e);
  ss::tensor1<index_t const> const lengths(static_cast<index_t const*>(invalid_address(4)),
                                           e.batch);
  stream_exec const exec{};
  ss::slicing_sort<pattern_order> const sort;
  ss::shuffle<> const shuffle(1);
  std::size_t const bytes =
      std::max(sort.workspace_bytes<float>(exec, e), shuffle.workspace_bytes<float>(exec, e));
  ss::workspace const workspace{invalid_address(5), bytes};
  CHECK(sort.forward(ss::exec::dry_run{exec}, x, y, {perm}, workspace, {lengths}));
  CHECK(sort.backward(ss::exec::dry_run{exec}, x, {ss::const_index_tensor3(perm)}, y, workspace,
                      {ss::grad_mode::accumulate, lengths}));
  CHECK(ss::max_exchange(999).forward(ss::exec::dry_run{exec}, x, y, ss::no_saved, workspace,
                                      {lengths}));
  CHECK(shuffle.forward(ss::exec::dry_run{exec}, x, y, workspace, {lengths}));
  CHECK(ss::permute().forward(ss::exec::dry_run{exec}, x, {ss::const_index_tensor3(perm)}, y,
                              workspace, {lengths}));
  ss::tensor1<index_t const> const too_few(lengths.data(), 2);
  CHECK(sort.forward(ss::exec::dry_run{exec}, x, y, {perm}, workspace, {too_few}).kind ==
        ss::error_kind::argument);
}
