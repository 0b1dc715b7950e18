// SPDX-License-Identifier: Apache-2.0
/// Topologies of sparse factors, which are semantic policies: link `k` of factor `m` of row `i` is
/// row `(i + offset(k, m)) mod length` (Paramixer, section 3; the page `sparse_mix.md` lists where
/// paper and published code differ).
///
/// A user-defined topology is a copyable type with
/// `index_t offset(index_t link, index_t factor) const`. It may have
/// `index_t links(index_t factors) const`, the links per row in a chain of `factors` factors
/// (otherwise the shape of the weights defines it), and
/// `char const* validate(index_t factors) const`, which returns null or an error message. Offsets
/// may be any integers and are taken modulo the sample's length; links to the same row add up. They
/// are evaluated on the host, also for `exec::cuda`.
#pragma once

#include <slicesort/tensor_view.hpp>

#include <type_traits>
#include <utility>

SLICESORT_TYPES_BEGIN

/// Smallest `m` with `2^m >= n` (0 if `n < 1`): the usual number of factors for `n` rows. With this
/// number, CHORD and CDIL connect all rows.
SLICESORT_ABI_TAG constexpr index_t ceil_log2(index_t n) {
  index_t m = 0;
  for (index_t remaining = n > 0 ? n - 1 : 0; remaining > 0; remaining /= 2) ++m;
  return m;
}
/// Largest `m` with `2^m <= n` (0 if `n < 1`): the number of factors in parts of the published
/// code. Unless `n` is a power of two, CHORD may fail to connect all rows with it (for example if n
/// = 1000).
SLICESORT_ABI_TAG constexpr index_t floor_log2(index_t n) {
  index_t m = 0;
  for (index_t remaining = n; remaining > 1; remaining /= 2) ++m;
  return m;
}

namespace topology {

/// Offsets 0, 1, 2, 4, ..., 2^(links - 2), the same in every factor (CHORD of Paramixer, section
/// 3). `count` 0 means one more link than there are factors.
///
/// - **Errors** `invalid_argument` unless there are 1 to 63 links.
struct chord {
  index_t count = 0;

  SLICESORT_ABI_TAG constexpr index_t links(index_t factors) const {
    return count == 0 ? (factors > 65535 ? 65536 : factors + 1) : count;
  }
  SLICESORT_ABI_TAG constexpr index_t offset(index_t link, index_t) const {
    return link == 0 ? 0 : index_t{1} << (link - 1);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t factors) const {
    return 1 <= links(factors) && links(factors) <= 63 ? nullptr
                                                       : "chord: there must be 1 to 63 links";
  }
};

/// Offsets 0, d, 2d, ..., half * d, -d, -2d, ..., -half * d, with d = 2^m in factor m (CDIL of
/// Paramixer, section 3).
///
/// - **Errors** `invalid_argument` unless `half` is in 0..32767 and there are at most 47 factors.
struct cdil {
  index_t half = 1;

  SLICESORT_ABI_TAG constexpr index_t links(index_t) const { return detail::product(2, half) + 1; }
  SLICESORT_ABI_TAG constexpr index_t offset(index_t link, index_t factor) const {
    index_t const steps = link <= half ? link : half - link;
    return steps * (index_t{1} << factor);
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t factors) const {
    if (half < 0 || half > 32767) return "cdil: half must be in 0..32767";
    return factors <= 47 ? nullptr : "cdil: there must be at most 47 factors";
  }
};

/// User-supplied offsets, the same in every factor. A call reads them from host memory, also with
/// `exec::cuda`.
///
/// - **Errors** `invalid_argument` if `list` has elements, but no memory.
struct offsets {
  tensor1<index_t const> list;

  SLICESORT_ABI_TAG constexpr index_t links(index_t) const { return list.size(); }
  SLICESORT_ABI_TAG constexpr index_t offset(index_t link, index_t) const { return list(link); }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    return list.data() != nullptr || list.size() == 0 ? nullptr : "offsets: list.data is null";
  }
};

}  // namespace topology

/// Residuals, which are semantic policies: the tensor that each factor adds to its weighted sum.
namespace residual {

/// Every factor adds its input: `V <- W V + V` (published code).
struct per_factor {};
/// No residual: `V <- W V` (Paramixer, eq. 3).
struct none {};
/// Every factor adds the first factor's input: `V <- W V + V_0` (a variant of the published code
/// for long sequences).
struct initial {};

}  // namespace residual

SLICESORT_TYPES_END

SLICESORT_DETAIL_BEGIN

template <class Topology, class = void>
inline constexpr bool has_offset = false;
template <class Topology>
inline constexpr bool has_offset<
    Topology,
    std::enable_if_t<std::is_convertible_v<
        decltype(std::declval<Topology const&>().offset(index_t{}, index_t{})), index_t>>> = true;
template <class Policy>
using is_topology = std::bool_constant<has_offset<Policy>>;
template <class Policy>
using is_residual = std::bool_constant<std::is_same_v<Policy, residual::per_factor> ||
                                       std::is_same_v<Policy, residual::none> ||
                                       std::is_same_v<Policy, residual::initial>>;

template <class Topology, class = void>
inline constexpr bool has_links = false;
template <class Topology>
inline constexpr bool
    has_links<Topology, std::enable_if_t<std::is_convertible_v<
                            decltype(std::declval<Topology const&>().links(index_t{})), index_t>>> =
        true;

SLICESORT_DETAIL_END
