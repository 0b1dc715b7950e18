// SPDX-License-Identifier: Apache-2.0
// Topologies of sparse factors: rows linked by CHORD and CDIL, numbers of factors, rejected
// parameters; and the number of saved states of checkpoints.
#include <slicesort/policies/checkpoints.hpp>
#include <slicesort/policies/topology.hpp>
#include <slicesort/sparse_mix.hpp>
#include <slicesort/tensor_view.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace ss = slicesort;
using ss::index_t;
using ss::topology::cdil;
using ss::topology::chord;
using ss::topology::offsets;

namespace {

using rows = std::vector<index_t>;

template <class Topology>
rows linked_rows(Topology const& t, index_t row, index_t factor, index_t links, index_t length) {
  rows result;
  for (index_t k = 0; k < links; ++k)
    result.push_back(((row + t.offset(k, factor)) % length + length) % length);
  return result;
}

struct custom_topology {
  index_t offset(index_t link, index_t factor) const { return link - factor; }
};
struct int_topology {
  int offset(int link, int factor) const { return link + factor; }
};
struct no_offset {};
struct not_const {
  index_t offset(index_t, index_t) { return 0; }
};
struct not_an_integer {
  char const* offset(index_t, index_t) const { return ""; }
};

static_assert(ss::detail::has_offset<chord> && ss::detail::has_links<chord>, "");
static_assert(ss::detail::has_offset<cdil> && ss::detail::has_links<cdil>, "");
static_assert(ss::detail::has_offset<offsets> && ss::detail::has_links<offsets>, "");
static_assert(ss::detail::has_offset<custom_topology> && !ss::detail::has_links<custom_topology>,
              "");
static_assert(ss::detail::has_offset<int_topology>, "");
static_assert(!ss::detail::has_offset<no_offset>, "");
static_assert(!ss::detail::has_offset<not_const>, "");
static_assert(!ss::detail::has_offset<not_an_integer>, "");

static_assert(std::is_trivially_copyable_v<ss::sparse_mix<>>, "an operator is its policies");
static_assert(std::is_same_v<decltype(ss::sparse_mix{cdil{2}}),
                             ss::sparse_mix<cdil, ss::residual::per_factor>>,
              "the topology is deduced");
static_assert(std::is_same_v<ss::sparse_mix<>, ss::sparse_mix<chord, ss::residual::per_factor>>,
              "CHORD as published");

}  // namespace

TEST_CASE("numbers of factors") {
  for (index_t n : {std::numeric_limits<index_t>::min(), index_t{-3}, index_t{0}, index_t{1}}) {
    CHECK(ss::ceil_log2(n) == 0);
    CHECK(ss::floor_log2(n) == 0);
  }
  for (index_t m = 1; m < 62; ++m) {
    index_t const n = index_t{1} << m;
    CHECK(ss::ceil_log2(n) == m);
    CHECK(ss::floor_log2(n) == m);
    CHECK(ss::ceil_log2(n + 1) == m + 1);
    CHECK(ss::floor_log2(n + 1) == m);
    if (m > 1) CHECK(ss::ceil_log2(n - 1) == m);
    CHECK(ss::floor_log2(n - 1) == m - 1);
  }
  CHECK(ss::ceil_log2(1000) == 10);
  CHECK(ss::floor_log2(1000) == 9);
}

TEST_CASE("CHORD links the published rows") {
  for (index_t factor : {0, 1, 7}) {
    CHECK(linked_rows(chord{4}, 0, factor, 4, 8) == rows{0, 1, 2, 4});
    CHECK(linked_rows(chord{4}, 5, factor, 4, 8) == rows{5, 6, 7, 1});
    CHECK(linked_rows(chord{}, 5, factor, 4, 6) == rows{5, 0, 1, 3});
  }
  CHECK(chord{}.links(0) == 1);
  CHECK(chord{}.links(12) == 13);
  CHECK(chord{5}.links(12) == 5);
  CHECK(chord{}.links(std::numeric_limits<index_t>::max()) == 65536);  // more than any call accepts
  CHECK(chord{63}.offset(62, 0) == index_t{1} << 61);
}

TEST_CASE("CDIL links the published rows, in their order") {
  CHECK(linked_rows(cdil{1}, 0, 0, 3, 8) == rows{0, 1, 7});
  CHECK(linked_rows(cdil{1}, 0, 1, 3, 8) == rows{0, 2, 6});
  CHECK(linked_rows(cdil{1}, 0, 2, 3, 8) == rows{0, 4, 4});
  CHECK(linked_rows(cdil{2}, 0, 0, 5, 8) == rows{0, 1, 2, 7, 6});
  CHECK(linked_rows(cdil{2}, 0, 1, 5, 8) == rows{0, 2, 4, 6, 4});
  CHECK(linked_rows(cdil{2}, 0, 2, 5, 8) == rows{0, 4, 0, 4, 0});
  CHECK(linked_rows(cdil{1}, 3, 1, 3, 7) == rows{3, 5, 1});
  CHECK(cdil{}.links(9) == 3);
  CHECK(cdil{4}.links(9) == 9);
  CHECK(cdil{0}.links(9) == 1);
  CHECK(cdil{0}.offset(0, 5) == 0);
}

TEST_CASE("the caller's offsets, with any stride") {
  std::vector<index_t> const list = {3, 100, -1, 100, 8, 100};
  offsets const t{{list.data(), 3, 2}};
  CHECK(t.links(5) == 3);
  for (index_t factor : {0, 4}) CHECK(linked_rows(t, 1, factor, 3, 5) == rows{4, 0, 4});
}

TEST_CASE("topologies reject invalid parameters") {
  CHECK(chord{}.validate(62) == nullptr);
  CHECK(std::string(chord{}.validate(63)) == "chord: there must be 1 to 63 links");
  for (index_t invalid : {-1, 64}) CHECK(chord{invalid}.validate(3) != nullptr);
  for (index_t valid : {1, 63}) CHECK(chord{valid}.validate(3) == nullptr);
  for (index_t valid : {0, 32767}) CHECK(cdil{valid}.validate(47) == nullptr);
  for (index_t invalid : {-1, 32768})
    CHECK(std::string(cdil{invalid}.validate(3)) == "cdil: half must be in 0..32767");
  CHECK(std::string(cdil{}.validate(48)) == "cdil: there must be at most 47 factors");
  // The largest accepted offset is representable.
  CHECK(cdil{32767}.offset(32767, 46) == 32767 * (index_t{1} << 46));
  CHECK(cdil{32767}.offset(65534, 46) == -32767 * (index_t{1} << 46));
  index_t const offset = 1;
  CHECK(offsets{}.validate(3) == nullptr);
  CHECK(offsets{{&offset, 1}}.validate(3) == nullptr);
  CHECK(std::string(offsets{{nullptr, 2}}.validate(3)) == "offsets: list.data is null");
}

TEST_CASE("numbers of states that checkpoints keep") {
  for (index_t factors : {0, 1}) {
    for (index_t every : {0, 1, 2, 9}) CHECK(ss::save_every(every).states(factors) == 0);
  }
  for (index_t factors = 2; factors < 12; ++factors) {
    CHECK(ss::save_all.states(factors) == factors - 1);
    CHECK(ss::recompute.states(factors) == 0);
    for (index_t every = 1; every < 14; ++every) {
      index_t saved_inputs = 0;  // of factors `every`, `2 * every`, ..
      for (index_t m = 1; m < factors; ++m) saved_inputs += m % every == 0 ? 1 : 0;
      CHECK(ss::save_every(every).states(factors) == saved_inputs);
    }
  }
  ss::sparse_mix<> const op{chord{}, ss::save_every(2)};
  CHECK(op.saved_extents({3, 10, 4}, {5, 3, 10, 6}) == ss::stack_extents{2, 3, 10, 4});
  CHECK(op.saved().every == 2);
  CHECK(op.topology().count == 0);
  CHECK(ss::sparse_mix<>{}.saved_extents({3, 10, 4}, {5, 3, 10, 6}) ==
        ss::stack_extents{4, 3, 10, 4});
}
