// SPDX-License-Identifier: Apache-2.0
// Distance between a tile's channels in the host's scratch memory. Channels are written at the same
// time, and with shifts that grow from channel to channel their addresses could map to a single
// cache set.
#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ss = slicesort;
namespace detail = ss::detail;
using ss::index_t;

namespace {

// Returns the largest number of channels that start in the same one of the 64 sets of an L1 cache.
template <class T>
int max_sharing(index_t pitch, std::vector<index_t> const& row) {
  int counts[64] = {};
  for (std::size_t lane = 0; lane < row.size(); ++lane) {
    index_t const byte =
        (static_cast<index_t>(lane) * pitch + row[lane]) * static_cast<index_t>(sizeof(T));
    ++counts[byte / 64 % 64];
  }
  return *std::max_element(counts, counts + 64);
}

}  // namespace

TEST_CASE_TEMPLATE("channels that are written together share few cache sets", T, float, double,
                   ss::bfloat16) {
  int worst_unspread = 0;
  for (index_t const rows : {64, 100, 1000, 1024, 3072, 4032, 4096, 8192})
    for (index_t step = 0; step < std::min<index_t>(rows, 1100); ++step) {
      std::vector<index_t> first;
      for (index_t lane = 1; lane <= detail::tile_columns; ++lane)
        first.push_back(lane * (rows - step) % rows);
      index_t const min_pitch = detail::column_pitch(rows + detail::csp_rows_per_batch);
      index_t const pitch = detail::best_pitch<T>(min_pitch, first.data(), detail::tile_columns);
      CAPTURE(rows);
      CAPTURE(step);
      REQUIRE(pitch >= min_pitch);
      REQUIRE(pitch <= detail::max_csp_pitch(min_pitch));
      REQUIRE(max_sharing<T>(pitch, first) <= 4);
      worst_unspread = std::max(worst_unspread, max_sharing<T>(min_pitch, first));
    }
  CHECK(worst_unspread ==
        detail::tile_columns);  // without spreading, all channels can share one set
}
