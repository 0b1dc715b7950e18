// SPDX-License-Identifier: Apache-2.0
// How far apart the host lays a tile's channels out: where shifts that grow from channel to channel
// would bring the places that are written side by side to the same set of the cache.
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

// The most channels that begin on one of the 64 sets of a first-level cache.
template <class T>
int most_on_a_set(index_t pitch, std::vector<index_t> const& row) {
  int banks[64] = {};
  for (std::size_t lane = 0; lane < row.size(); ++lane) {
    index_t const byte =
        (static_cast<index_t>(lane) * pitch + row[lane]) * static_cast<index_t>(sizeof(T));
    ++banks[byte / 64 % 64];
  }
  return *std::max_element(banks, banks + 64);
}

}  // namespace

TEST_CASE_TEMPLATE("channels that are written side by side share few sets of the cache", T, float,
                   double, ss::bfloat16) {
  int worst_at_the_least = 0;
  for (index_t const rows : {64, 100, 1000, 1024, 3072, 4032, 4096, 8192})
    for (index_t step = 0; step < std::min<index_t>(rows, 1100); ++step) {
      std::vector<index_t> first;
      for (index_t lane = 1; lane <= detail::tile_columns; ++lane)
        first.push_back(lane * (rows - step) % rows);
      index_t const least = detail::column_pitch(rows + detail::csp_batch);
      index_t const pitch = detail::spread_pitch<T>(least, first.data(), detail::tile_columns);
      CAPTURE(rows);
      CAPTURE(step);
      REQUIRE(pitch >= least);
      REQUIRE(pitch <= detail::widest_csp_pitch(least));
      REQUIRE(most_on_a_set<T>(pitch, first) <= 4);
      worst_at_the_least = std::max(worst_at_the_least, most_on_a_set<T>(least, first));
    }
  CHECK(worst_at_the_least == detail::tile_columns);  // so there was something to do
}
