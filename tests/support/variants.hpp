// SPDX-License-Identifier: Apache-2.0
// Shared tests of the variants of slicing-sort: runs a problem under every policy, in every
// layout, in place and sample by sample, and expects the bits of its known results.
#pragma once

#include "backends.hpp"
#include "buffers.hpp"
#include "executors.hpp"
#include "problems.hpp"

#include <slicesort/exec.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace support {

namespace ss = slicesort;

// `run(exec, x, y, dy, dx, lengths)` calls forward and backward with its own state and workspace.
template <class T, class Run>
void check_policies(variant_problem<T> const& p, Run const& run) {
  auto const check = [&](any_exec const& exec) {
    tensor<T> y(p.x.extents()), dx(p.x.extents());
    run(exec, p.x.view(), y.view(), p.dy.view(), dx.view(), view_of(p.lengths));
    CAPTURE(describe_exec(exec));
    CHECK(same_bits(y.elements(), p.y.elements()));
    CHECK(same_bits(dx.elements(), p.dx.elements()));
  };
  for (std::uint64_t i = 0; i < (full_suite() ? 12u : 3u); ++i)
    for_each_grid(p.backend_seed() + i, check);
  if (!testing(backend_kind::host)) return;
  // ThreadSanitizer finds nothing in calls with one thread.
  for (unsigned threads = SLICESORT_TEST_TSAN ? 2 : 1; threads <= 4; ++threads)
    check(ss::exec::host{threads});
  if (!SLICESORT_TEST_TSAN)
    for (ss::isa set : available_isas()) check(ss::exec::host{1, set});
  for (auto schedule : {test_executor::schedule::backwards, test_executor::schedule::scattered}) {
    test_executor executor{schedule};
    check(any_exec(executor, 5));
  }
}

template <class T, class Run>
void check_layouts(variant_problem<T> const& p, Run const& run) {
  extents3 const e = p.x.extents();
  for (std::size_t i = 0; i < 6; ++i)
    for (index_t padding : {0, 3}) {
      strides3 const in_strides = strides_in_order(e, axis_orders[i], padding);
      strides3 const out_strides = strides_in_order(e, axis_orders[(i + 2) % 6], padding);
      for_each_backend_once(p.backend_seed() + i, [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        strided_tensor<T> const x(p.x, in_strides, 1), dy(p.dy, out_strides, 2);
        strided_tensor<T> y(e, out_strides, 3), dx(e, in_strides, 4);
        run(exec, x.view(), y.view(), dy.view(), dx.view(), view_of(p.lengths));
        CHECK(same_bits(y.contents().elements(), p.y.elements()));
        CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
        CHECK((y.padding_intact() && dx.padding_intact()));

        strided_tensor<T> x_and_y(p.x, in_strides), dy_and_dx(p.dy, out_strides);
        run(exec, x_and_y.view(), x_and_y.view(), dy_and_dx.view(), dy_and_dx.view(),
            view_of(p.lengths));
        CHECK(same_bits(x_and_y.contents().elements(), p.y.elements()));
        CHECK(same_bits(dy_and_dx.contents().elements(), p.dx.elements()));
        CHECK((x_and_y.padding_intact() && dy_and_dx.padding_intact()));
      });
    }
}

template <class T, class Run>
void check_sample_by_sample(variant_problem<T> const& p, Run const& run) {
  for (index_t b = 0; b < p.x.extents().batch; ++b) {
    tensor<T> const x = sample_of(p.x, b), dy = sample_of(p.dy, b);
    tensor<T> y(x.extents()), dx(x.extents());
    std::vector<index_t> lengths;
    if (!p.lengths.empty()) lengths = {p.rows(b)};
    for_each_backend_once(p.backend_seed() + static_cast<std::uint64_t>(b),
                          [&](any_exec const& exec) {
                            CAPTURE(describe_exec(exec));
                            run(exec, x.view(), y.view(), dy.view(), dx.view(), view_of(lengths));
                            CHECK(same_bits(y.elements(), sample_of(p.y, b).elements()));
                            CHECK(same_bits(dx.elements(), sample_of(p.dx, b).elements()));
                          });
  }
}

template <class T, class Run>
void check_every_way(variant_problem<T> const& p, Run const& run) {
  CAPTURE(p.x.extents().batch);
  CAPTURE(p.x.extents().length);
  CAPTURE(p.x.extents().channels);
  CAPTURE(p.lengths.size());
  check_policies(p, run);
  check_layouts(p, run);
  check_sample_by_sample(p, run);
}

// Returns shapes around tiles of 32 columns: partial tiles, several samples in one, tails, and
// empty tensors.
inline std::vector<extents3> variant_shapes() {
  return {{1, 1, 1},  {1, 2, 3},   {5, 7, 1}, {3, 16, 31}, {2, 33, 32}, {2, 20, 33},
          {9, 11, 5}, {1, 64, 70}, {3, 0, 4}, {0, 5, 4},   {2, 5, 0}};
}
// Returns lengths of 0, 1, half of the rows, all and all but one; 0 instead of those below
// `min_length`.
inline std::vector<index_t> mixed_lengths(extents3 e, index_t min_length = 0) {
  std::vector<index_t> lengths;
  for (index_t b = 0; b < e.batch; ++b) {
    index_t const choices[] = {0, e.length, 1, e.length / 2, e.length - 1};
    index_t const n = choices[b % 5];
    lengths.push_back(n < min_length || n > e.length ? 0 : n);
  }
  return lengths;
}

}  // namespace support
