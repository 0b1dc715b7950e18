// SPDX-License-Identifier: Apache-2.0
// slicing_sort compared with CUB's sorts of the transposed tensor: values and stable permutation.
#include "backend/device.hpp"
#include "backend/remote.hpp"
#include "oracles/cub.hpp"

#include "support/inputs.hpp"
#include "support/pattern_order.hpp"

#include <doctest/doctest.h>
#include <slicesort/slicing_sort.hpp>

#include <cstdint>
#include <vector>

using namespace support;

namespace {

namespace ss = slicesort;

// Inputs without NaN, which CUB orders by its bits.
constexpr input_kind kinds[] = {
    input_kind::normal,    input_kind::few_unique, input_kind::relu,      input_kind::signed_zeros,
    input_kind::denormals, input_kind::rare_pairs, input_kind::organ_pipe};

}  // namespace

TEST_CASE("values and rows agree with CUB") {
  for (extents3 e : {extents3{3, 17, 50}, extents3{2, 700, 21}, extents3{3, 4096, 9},
                     extents3{1, 30000, 4}, extents3{2, 100003, 3}}) {
    tensor<float> x(e);
    std::vector<float> columns;  // concatenated columns
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t c = 0; c < e.channels; ++c) {
        auto const column_seed = static_cast<std::uint64_t>(b * e.channels + c);
        auto const column = make_column<float>(kinds[column_seed % 7],
                                               static_cast<std::size_t>(e.length), column_seed);
        x.set_column(b, c, column);
        columns.insert(columns.end(), column.begin(), column.end());
      }
    device_tensor<float> const device_x(x), device_y(e);
    device_tensor<std::uint32_t> const perm(e);
    ss::slicing_sort<pattern_order> const op(pattern_order{up});
    device_stream const stream;
    stream_exec const exec{stream.get()};
    device_bytes const scratch(op.workspace_bytes<float>(exec, e));
    op.forward(exec, device_x.view(), device_y.view(), {perm.view()},
               {scratch.data(), scratch.size()});
    stream.wait();
    tensor<float> const y = device_y.download();
    tensor<std::uint32_t> const host_perm = perm.download();
    CAPTURE(e.length);
    for (cub_sort algorithm : {cub_sort::radix, cub_sort::segmented}) {
      sorted_segments const cub = sort_by_cub(algorithm, columns, static_cast<int>(e.length));
      std::vector<float> values;
      std::vector<std::uint32_t> rows;
      for (index_t b = 0; b < e.batch; ++b)
        for (index_t c = 0; c < e.channels; ++c) {
          auto const column_values = y.column(b, c);
          auto const column_rows = host_perm.column(b, c);
          values.insert(values.end(), column_values.begin(), column_values.end());
          rows.insert(rows.end(), column_rows.begin(), column_rows.end());
        }
      CAPTURE(static_cast<int>(algorithm));
      CHECK(rows == cub.rows);
      CHECK(same_bits(values, cub.keys));
    }
  }
}
