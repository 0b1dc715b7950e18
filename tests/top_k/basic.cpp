// SPDX-License-Identifier: Apache-2.0
// Tests of top_k against a stable sort of whole columns.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "support/error_message.hpp"
#include "support/variants.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace support;

namespace {

template <class T>
void check_everywhere(top_k_problem<T> p, std::uint64_t seed) {
  compute_expected(p);
  for_each_grid(seed, [&](any_exec const& exec) {
    if (seed % 2 == 0)
      check_top_k<T, std::uint16_t>(p, exec, seed % 6);
    else
      check_top_k<T, std::int32_t>(p, exec, seed % 6);
  });
  check_every_host(p);
}

}  // namespace

TEST_CASE("golden values") {
  std::vector<float> const values = {3, 7, 1, 7, 5};
  ss::tensor3<float const> const x(values.data(), {1, 5, 1});
  tensor<float> largest({1, 2, 1}), dx({1, 5, 1});
  tensor<std::uint32_t> rows({1, 2, 1});
  ss::exec::host const exec{};
  ss::scratch memory;
  ss::top_k<> const op(2);
  op.forward(exec, x, largest.view(), rows.view(), memory);
  op.backward(exec, largest.view(), rows.view(), dx.view(), memory);
  CHECK(largest.elements() == std::vector<float>{7, 7});
  CHECK(rows.elements() == std::vector<std::uint32_t>{1, 3});
  CHECK(dx.elements() == std::vector<float>{0, 7, 0, 7, 0});
}

TEST_CASE_TEMPLATE("shapes, layouts, lengths and policies", T, float, bfloat16) {
  std::uint64_t seed = 0;
  for (extents3 e : {extents3{1, 1, 1}, extents3{5, 7, 1}, extents3{3, 40, 33}, extents3{2, 70, 3},
                     extents3{3, 0, 4}, extents3{0, 5, 4}, extents3{2, 5, 0}})
    for (index_t k : {index_t{0}, index_t{1}, e.length / 2, e.length})
      for (auto output : {ss::top_k_output::sorted, ss::top_k_output::by_index})
        for (auto nan : {ss::nan_order::total, ss::nan_order::last}) {
          top_k_problem<T> p{mixed_tensor<T>(e, all_kinds, ++seed), std::min(k, e.length)};
          p.order = seed % 3 == 0 ? irregular : seed % 3 == 1 ? down : up;
          p.output = output, p.nan = nan;
          if (seed % 5 == 0) p.lengths = mixed_lengths(e);
          check_everywhere(std::move(p), seed);
        }
}

TEST_CASE_TEMPLATE("every kind of input, in long columns", T, float, bfloat16) {
  for (index_t n : {512, 2100, 4099})
    for (index_t k : {index_t{1}, index_t{40}, n / 8}) {
      extents3 const rows{all_kinds, n, 1}, columns{1, n, all_kinds};
      for (extents3 e : {rows, columns}) {
        top_k_problem<T> p{mixed_tensor<T>(e, all_kinds, static_cast<std::uint64_t>(n + k)), k};
        p.order = irregular;
        compute_expected(p);
        check_every_host(p);
        p.order = down, p.nan = ss::nan_order::last;
        if (n == 2100) p.lengths = mixed_lengths(e);
        compute_expected(p);
        check_every_host(p);
      }
    }
}

TEST_CASE("many candidates: large values in few groups, and equal values around the k-th") {
  for (index_t n : {4096, 8192}) {
    constexpr index_t k = 60;
    tensor<float> x({3, n, 1});
    for (index_t i = 0; i < n; ++i) {
      x(0, i, 0) = static_cast<float>(i % 256 < 59 ? n - i : 0);
      x(1, i, 0) = i == n - 1 ? 2.f : i % 3 == 0 ? 1.f : 0.f;
      x(2, i, 0) = i < n / 2 ? 0.f : -0.f;
    }
    for (std::uint64_t order : {down, up})
      for (auto output : {ss::top_k_output::sorted, ss::top_k_output::by_index}) {
        top_k_problem<float> p{x, k, order, output};
        compute_expected(p);
        check_every_host(p);
      }
  }
}

TEST_CASE("columns beyond 65536 rows") {
  for (index_t k : {index_t{5}, index_t{3000}, index_t{9000}}) {
    top_k_problem<float> p{mixed_tensor<float>({1, 65600, 2}, all_kinds, 4), k, irregular};
    compute_expected(p);
    if (testing(backend_kind::host))
      check_top_k<float, std::uint32_t>(p, any_exec(ss::exec::host{2}));
  }
}

TEST_CASE_TEMPLATE("other element types", T, double, float16) {
  for (auto output : {ss::top_k_output::sorted, ss::top_k_output::by_index}) {
    top_k_problem<T> p{mixed_tensor<T>({1, 700, 22}, all_kinds, 3), 30, irregular};
    p.output = output;
    check_everywhere(std::move(p), 8);
  }
}

TEST_CASE("kernels sort more rows than fit in shared memory") {
  top_k_problem<float> p{mixed_tensor<float>({2, 8300, 1}, all_kinds, 6), 8200, irregular};
  compute_expected(p);
  for_each_grid(2, [&](any_exec const& exec) { check_top_k<float, std::uint16_t>(p, exec); });
}

TEST_CASE("gradients accumulate, and are the transpose of the selection") {
  extents3 const e{2, 40, 35};
  top_k_problem<float> p{integer_tensor<float>(e, 100, 8), 7};
  compute_expected(p);
  tensor<float> const before = integer_tensor<float>(e, 20, 3);
  for_each_backend_once(3, [&](any_exec const& exec) {
    tensor<float> dx = before, values(p.selected_shape());
    tensor<std::uint32_t> indices(p.selected_shape());
    guarded_workspace scratch(p.op().workspace_bytes<float>(exec, e));
    p.op().forward(exec, p.x.view(), values.view(), indices.view(), scratch.get());
    p.op().backward(exec, p.dy.view(), indices.view(), dx.view(), {}, ss::grad_mode::accumulate);
    double forward_product = 0, backward_product = 0;
    for (std::size_t i = 0; i < dx.elements().size(); ++i) {
      CHECK(dx.elements()[i] == before.elements()[i] + p.dx.elements()[i]);
      backward_product += double{p.dx.elements()[i]} * double{p.x.elements()[i]};
    }
    for (std::size_t i = 0; i < values.elements().size(); ++i)
      forward_product += double{p.dy.elements()[i]} * double{values.elements()[i]};
    CHECK(forward_product == backward_product);
  });
}

TEST_CASE("argument checks") {
  extents3 const e{2, 5, 3}, selected{2, 2, 3};
  tensor<float> x(e), outputs(selected), dx_memory(e);
  tensor<std::uint32_t> row_memory(selected);
  index_t k = 2;
  ss::exec::host const exec;
  ss::scratch memory;
  tensor3<float> values = outputs.view(), dx = dx_memory.view();
  ss::index_tensor3 rows = row_memory.view();
  std::vector<index_t> lengths;
  auto const forward = [&] {
    ss::top_k<> const op(k);
    return error_message(
        op.forward(ss::exec::dry_run{exec}, x.view(), values, {rows}, memory, {view_of(lengths)}),
        [&] { op.forward(exec, x.view(), values, {rows}, memory, {view_of(lengths)}); });
  };
  auto const backward = [&] {
    ss::top_k<> const op(k);
    ss::const_top_k_indices const state{ss::const_index_tensor3(rows)};
    return error_message(op.backward(ss::exec::dry_run{exec}, values, state, dx),
                         [&] { op.backward(exec, values, state, dx); });
  };
  SUBCASE("accepted") {
    CHECK(forward() == "");
    CHECK(backward() == "");
    lengths = {0, 1};
    CHECK(forward() == "");
  }
  SUBCASE("k") {
    k = 6;
    CHECK(forward() == "top_k.forward: k is 6, must be in 0..5 (length of x)");
    CHECK(backward() == "top_k.backward: k is 6, must be in 0..5 (length of dx)");
    CHECK(error_message([&] { (void)ss::top_k<>(-1).workspace_bytes<float>(exec, e); }) ==
          "top_k.workspace_bytes: k is -1, must be in 0..5 (length of x)");
  }
  SUBCASE("shapes") {
    k = 3;
    CHECK(forward() == "top_k.forward: values.length is 2, must be 3 (k)");
    CHECK(backward() == "top_k.backward: dy.length is 2, must be 3 (k)");
    k = 2;
    rows = tensor3<std::uint32_t>(row_memory.view().data(), {2, 2, 2});
    CHECK(forward() == "top_k.forward: indices.channels is 2, must be 3 (x.channels)");
    CHECK(backward() == "top_k.backward: indices.channels is 2, must be 3 (dx.channels)");
  }
  SUBCASE("lengths") {
    lengths = {3, 6};
    CHECK(forward() == "top_k.forward: lengths[1] is 6, must be in 0..5 (length)");
  }
  SUBCASE("overlap") {
    values = {x.view().data(), selected};
    CHECK(says(forward(), "top_k.forward: values overlaps x ("));
    values = outputs.view();
    rows = tensor3<std::uint32_t>(reinterpret_cast<std::uint32_t*>(values.data()), selected);
    CHECK(says(forward(), "top_k.forward: indices overlaps values ("));
    rows = row_memory.view();
    dx = {values.data(), e, {6, 3, 1}};
    CHECK(says(backward(), "top_k.backward: "));
  }
  SUBCASE("workspace") {
    ss::top_k<> const op(1);
    tensor<float> long_x({1, 600, 1}), value({1, 1, 1});
    CHECK(says(error_message([&] { op.forward(exec, long_x.view(), value.view(), ss::no_saved); }),
               "top_k.forward: workspace.bytes is 0, must be at least "));
  }
}
