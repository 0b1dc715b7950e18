// SPDX-License-Identifier: Apache-2.0
/// Masks that read your tensors: a boolean per pair or per key, and the offsets of samples packed
/// into one sequence. You own the tensors: for `exec::cuda` they must be in device memory, and stay
/// there until backward is done. Part of `mask.hpp`.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_TYPES_BEGIN

namespace mask {

/// A query attends to the keys whose element is true. `table`: `[batch or 1, heads or 1, queries or
/// 1, keys]` of type bool, any strides; an extent of 1 is shared. With one query it is a padding
/// mask of keys. Tiles without a true element are skipped; in tiles of true elements no pair is
/// tested again.
///
/// - **Errors** `invalid_argument` unless the extents are those of the call or, except that of the
///   keys, 1, and no stride is negative.
struct tensor {
  tensor4<bool const> table;

  SLICESORT_HD_ABI_TAG constexpr tensor for_head(index_t sample, index_t head) const {
    extents4 const e = table.extents();
    strides4 const s = table.strides();
    index_t const offset =
        (e.batch == 1 ? 0 : sample) * s.batch + (e.heads == 1 ? 0 : head) * s.heads;
    return {{table.data() + offset, {1, 1, e.length, e.channels}, s}};
  }
  SLICESORT_HD_ABI_TAG constexpr bool allows(index_t query, index_t key) const {
    return row(query)[key * table.strides().channels];
  }
  SLICESORT_HD_ABI_TAG bool meets(index_t first_query, index_t last_query, index_t first_key,
                                  index_t last_key) const {
    return last_key - first_key > max_scanned_keys ||
           finds(true, {first_query, last_query, first_key, last_key});
  }
  SLICESORT_HD_ABI_TAG bool covers(index_t first_query, index_t last_query, index_t first_key,
                                   index_t last_key) const {
    return last_key - first_key <= max_scanned_keys &&
           !finds(false, {first_query, last_query, first_key, last_key});
  }
  SLICESORT_ABI_TAG constexpr std::uint64_t query_bits(index_t first_query, index_t key) const {
    index_t const rows = table.extents().length;
    if (rows == 1) return allows(0, key) ? ~std::uint64_t{0} : 0;
    std::uint64_t bits = 0;
    for (index_t i = 0; i < 64 && first_query + i < rows; ++i)
      bits |= std::uint64_t{allows(first_query + i, key)} << i;
    return bits;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(mask_call call) const {
    extents4 const e = table.extents();
    strides4 const s = table.strides();
    if (e.channels != call.keys) return "tensor: the table must have as many keys as k";
    if (!is_extent(e.length, call.queries))
      return "tensor: the table must have as many queries as q, or 1";
    if (!is_extent(e.batch, call.batch) || !is_extent(e.heads, call.heads))
      return "tensor: the table must have as many samples and heads as q, or 1";
    if (s.batch < 0 || s.heads < 0 || s.length < 0 || s.channels < 0)
      return "tensor: strides of the table must not be negative";
    return table.data() != nullptr || e.batch == 0 || e.heads == 0 || e.length == 0 ||
                   e.channels == 0
               ? nullptr
               : "tensor: the table is null";
  }

 private:
  // Longer ranges of keys count as mixed, so that searches that halve a range stay linear.
  static constexpr index_t max_scanned_keys = 128;

  SLICESORT_ABI_TAG static constexpr bool is_extent(index_t extent, index_t expected) {
    return extent == 1 || extent == expected || expected < 0;
  }
  SLICESORT_HD_ABI_TAG constexpr bool const* row(index_t query) const {
    return table.data() + (table.extents().length == 1 ? 0 : query) * table.strides().length;
  }
  // Eight elements, for loads of whole words.
  struct alignas(8) word {
    unsigned char bytes[8];
  };
  // True if an element of these pairs has the value.
  SLICESORT_HD_ABI_TAG bool finds(bool value, detail::pair_range r) const {
    if (table.extents().length == 1) r.last_query = r.first_query + 1;
    for (index_t query = r.first_query; query < r.last_query; ++query)
      if (finds_in_row(value, row(query), r.first_key, r.last_key)) return true;
    return false;
  }
  SLICESORT_HD_ABI_TAG bool finds_in_row(bool value, bool const* elements, index_t key,
                                         index_t last_key) const {
    index_t const stride = table.strides().channels;
    std::uint64_t const opposite = value ? 0 : 0x0101010101010101u;
    bool found = false;
    if (stride == 1) {
      for (; key < last_key && reinterpret_cast<std::uintptr_t>(elements + key) % 8 != 0; ++key)
        found |= elements[key] == value;
      for (; last_key - key >= 8; key += 8)
        found |= detail::bit_cast<std::uint64_t>(*reinterpret_cast<word const*>(elements + key)) !=
                 opposite;
    }
    for (; key < last_key; ++key) found |= elements[key * stride] == value;
    return found;
  }
};

/// Several samples packed into one sequence: a query of segment s attends to the keys of segment s.
/// Segment s has the queries `offsets[s] .. offsets[s + 1] - 1` (`cu_seqlens`), and these keys too,
/// or those of `key_offsets`, as many. Offsets must ascend from 0; rows past the last one attend to
/// nothing. Their type is an integer. `both{causal{}, segments{offsets}}` is causal in each
/// segment.
///
/// - **Errors** `invalid_argument` unless `offsets` has an element, and `key_offsets`, if any, as
///   many.
template <class Offset = index_t>
struct segments {
  tensor1<Offset const> offsets, key_offsets{};

  SLICESORT_HD_ABI_TAG constexpr key_range range(index_t query, index_t) const {
    index_t const segment = segment_of(query);
    return segment < 0 ? key_range{0, 0} : keys_of(segment, segment);
  }
  SLICESORT_HD_ABI_TAG constexpr bool meets(index_t first_query, index_t last_query,
                                            index_t first_key, index_t last_key) const {
    index_t const first = segment_of(first_query), last = segment_of(last_query - 1);
    if (first < 0) return false;
    key_range const keys = keys_of(first, last < 0 ? offsets.size() - 2 : last);
    return keys.first < last_key && first_key < keys.last;
  }
  SLICESORT_HD_ABI_TAG constexpr bool covers(index_t first_query, index_t last_query,
                                             index_t first_key, index_t last_key) const {
    index_t const segment = segment_of(first_query);
    if (segment < 0 || segment_of(last_query - 1) != segment) return false;
    key_range const keys = keys_of(segment, segment);
    return keys.first <= first_key && last_key <= keys.last;
  }
  SLICESORT_ABI_TAG constexpr char const* validate(index_t) const {
    if (offsets.data() == nullptr || offsets.size() < 1)
      return "segments: offsets must have an element";
    return key_offsets.data() == nullptr || key_offsets.size() == offsets.size()
               ? nullptr
               : "segments: key_offsets must be as many as offsets";
  }

 private:
  // Segment of a query, by bisection; -1 if it is past the last one.
  SLICESORT_HD_ABI_TAG constexpr index_t segment_of(index_t query) const {
    index_t first = 0, last = offsets.size() - 1;  // offsets[first] <= query < offsets[last]
    if (last < 1 || query >= static_cast<index_t>(offsets(last))) return -1;
    while (last - first > 1) {
      index_t const middle = first + (last - first) / 2;
      (static_cast<index_t>(offsets(middle)) <= query ? first : last) = middle;
    }
    return first;
  }
  SLICESORT_HD_ABI_TAG constexpr key_range keys_of(index_t first, index_t last) const {
    auto const& bounds = key_offsets.data() == nullptr ? offsets : key_offsets;
    return {static_cast<index_t>(bounds(first)), static_cast<index_t>(bounds(last + 1))};
  }
};
template <class Offset>
segments(tensor1<Offset>) -> segments<std::remove_const_t<Offset>>;
template <class Offset, class KeyOffset>
segments(tensor1<Offset>, tensor1<KeyOffset>) -> segments<std::remove_const_t<Offset>>;

}  // namespace mask

SLICESORT_TYPES_END
