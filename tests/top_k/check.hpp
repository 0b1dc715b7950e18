// SPDX-License-Identifier: Apache-2.0
// Cases of top_k, and checks against a stable sort of whole columns.
#pragma once

#include "slicing_sort/oracle.hpp"
#include "support/backends.hpp"
#include "support/buffers.hpp"
#include "support/numbers.hpp"
#include "support/pattern_order.hpp"
#include "support/problems.hpp"

#include <slicesort/top_k.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace support {

template <class T>
struct top_k_problem {
  tensor<T> x;
  index_t k = 0;
  std::uint64_t order = down;
  ss::top_k_output output = ss::top_k_output::sorted;
  ss::nan_order nan = ss::nan_order::total;
  std::vector<index_t> lengths{};  // may be empty
  // Expected results.
  tensor<T> values{}, dy{}, dx{};
  tensor<std::uint32_t> indices{};

  extents3 selected_shape() const { return {x.extents().batch, k, x.extents().channels}; }
  ss::top_k<pattern_order> op() const { return ss::top_k<pattern_order>(k, output, nan, {order}); }
};

// Returns the selected rows of a column, by a stable sort of all of its rows.
template <class T>
row_order select_by_sort(std::vector<T> const& column, top_k_problem<T> const& p, bool ascending) {
  row_order rows = argsort_by_stable_sort(column, ascending);
  if (p.nan == ss::nan_order::last)
    std::stable_partition(rows.begin(), rows.end(), [&](std::uint32_t row) {
      return decode(column[row]).kind != number_class::nan;
    });
  rows.resize(std::min(rows.size(), static_cast<std::size_t>(p.k)));
  if (p.output == ss::top_k_output::by_index) std::sort(rows.begin(), rows.end());
  return rows;
}

// Computes the expected results. Rows past the length follow in place.
template <class T>
void compute_expected(top_k_problem<T>& p) {
  extents3 const e = p.x.extents(), selected = p.selected_shape();
  p.values = tensor<T>(selected), p.indices = tensor<std::uint32_t>(selected);
  p.dy = integer_tensor<T>(selected, 20, 5), p.dx = integer_tensor<T>(e, 0, 1);
  for (index_t b = 0; b < e.batch; ++b)
    for (index_t c = 0; c < e.channels; ++c) {
      index_t const valid = p.lengths.empty() ? e.length : p.lengths[static_cast<std::size_t>(b)];
      row_order rows = select_by_sort(p.x.column(b, c, valid), p,
                                      pattern_order{p.order}.ascending(c, e.channels));
      while (rows.size() < static_cast<std::size_t>(p.k))
        rows.push_back(static_cast<std::uint32_t>(rows.size()));
      for (index_t n = 0; n < p.k; ++n) {
        std::uint32_t const row = rows[static_cast<std::size_t>(n)];
        p.indices(b, n, c) = row;
        p.values(b, n, c) = p.x(b, row, c);
        p.dx(b, row, c) = p.dy(b, n, c);
      }
    }
}

// Checks all outputs of a policy, with the strides of x, and of the others in a permuted order of
// axes.
template <class T, class Index>
void check_top_k(top_k_problem<T> const& p, any_exec const& exec, std::size_t layout = 0) {
  constexpr std::array<int, 3> axes[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  auto const strides = [&](extents3 e, std::size_t turn) {
    return layout == 0 ? row_major(e)
                       : strides_in_order(e, axes[(layout + turn) % 6], layout % 3 == 0 ? 2 : 0);
  };
  extents3 const e = p.x.extents(), selected = p.selected_shape();
  CAPTURE(describe_exec(exec));
  CAPTURE(e.batch);
  CAPTURE(e.length);
  CAPTURE(e.channels);
  CAPTURE(p.k);
  auto const op = p.op();
  strided_tensor<T> const x(p.x, strides(e, 0), 1), dy(p.dy, strides(selected, 2), 2);
  strided_tensor<T> values(selected, strides(selected, 3), 1), dx(e, strides(e, 1), 3);
  strided_tensor<Index> indices(selected, strides(selected, 4), 2), alone = indices;
  auto const lengths = view_of(p.lengths);
  guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
  op.forward(exec, x.view(), values.view(), {indices.view()}, scratch.get(), {lengths});
  CHECK(same_bits(values.contents().elements(), p.values.elements()));
  CHECK(std::equal(p.indices.elements().begin(), p.indices.elements().end(),
                   indices.contents().elements().begin(),
                   [](std::uint32_t a, Index b) { return a == static_cast<std::uint32_t>(b); }));
  op.forward(exec, x.view(), ss::no_saved, {alone.view()}, scratch.get(), {lengths});
  CHECK(same_bits(alone.contents().elements(), indices.contents().elements()));
  strided_tensor<T> again(selected, strides(selected, 0), 1);
  op.forward(exec, x.view(), again.view(), ss::no_saved, scratch.get(), {lengths});
  CHECK(same_bits(again.contents().elements(), p.values.elements()));
  op.backward(exec, dy.view(), {indices.view()}, dx.view(), scratch.get());
  CHECK(same_bits(dx.contents().elements(), p.dx.elements()));
  CHECK(scratch.red_zones_intact());
  CHECK((values.padding_intact() && indices.padding_intact() && alone.padding_intact() &&
         again.padding_intact() && dx.padding_intact()));
}

template <class T>
void check_every_host(top_k_problem<T> const& p) {
  if (!testing(backend_kind::host)) return;
  for (ss::isa set : available_isas())
    check_top_k<T, std::uint32_t>(p, any_exec(ss::exec::host{1, set}));
}

}  // namespace support
