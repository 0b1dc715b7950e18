// SPDX-License-Identifier: Apache-2.0
// Distance between neighboring channels in the scratch memory of csp on the host. Channels are
// written at the same time, and with shifts that grow from channel to channel their addresses could
// map to a single cache set.
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

// Returns the maximum number of channels whose first rows map to the same of the 64 sets of an L1
// cache.
template <class T>
int max_channels_per_set(index_t pitch, std::vector<index_t> const& first_row) {
  int counts[64] = {};
  for (std::size_t lane = 0; lane < first_row.size(); ++lane) {
    index_t const byte =
        (static_cast<index_t>(lane) * pitch + first_row[lane]) * static_cast<index_t>(sizeof(T));
    ++counts[byte / 64 % 64];
  }
  return *std::max_element(counts, counts + 64);
}

}  // namespace

TEST_CASE_TEMPLATE("channels that are written together share few cache sets", T, float, double,
                   ss::bfloat16) {
  int max_at_min_pitch = 0;
  for (index_t const rows : {64, 100, 1000, 1024, 3072, 4032, 4096, 8192})
    for (index_t shift = 0; shift < std::min<index_t>(rows, 1100); ++shift) {
      std::vector<index_t> first_row;
      for (index_t lane = 1; lane <= detail::tile_columns; ++lane)
        first_row.push_back(lane * (rows - shift) % rows);
      index_t const min_pitch = detail::column_pitch(rows + detail::csp_rows_per_batch);
      index_t const pitch =
          detail::best_pitch<T>(min_pitch, first_row.data(), detail::tile_columns);
      CAPTURE(rows);
      CAPTURE(shift);
      REQUIRE(pitch >= min_pitch);
      REQUIRE(pitch <= detail::max_csp_pitch(min_pitch));
      REQUIRE(max_channels_per_set<T>(pitch, first_row) <= 4);
      max_at_min_pitch = std::max(max_at_min_pitch, max_channels_per_set<T>(min_pitch, first_row));
    }
  // With the minimum pitch, all channels can map to one set.
  CHECK(max_at_min_pitch == detail::tile_columns);
}
